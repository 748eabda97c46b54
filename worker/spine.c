/* The spine: from the agenda's due units to occurrences, within the limits of a turn and of a worker. */
#include "worker/spine.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/occurrence.h"

/* After the runs are ended, how long their final records may take to reach the ledger. */
#define LAST_CALL_MS 3000

/* Between looks at a trigger log that could not be written: no claim is made meanwhile. */
#define LOG_RETRY_MS 500

/* A beat that is late by more: the process was stopped, or had no processor. */
#define STOOD_STILL_MS 200

/* After memory ran out. */
#define MEMORY_RETRY_MS 1000

void spine_init(struct spine *s, const struct spine_options *o)
{
        *s = (struct spine) {
                .o = *o, .began = stamp_instant(clock_wall()), .stepped = INSTANT_NONE, .drained = INSTANT_NONE,
                .full = INSTANT_NONE,
                .horizon = { o->in_rounds ? INSTANT_NONE.ms : INT64_MAX },
        };
        agenda_init(&s->agenda, o->timer_delay_ms);
}

void spine_done(struct spine *s)
{
        delay_clear(s->o.delays, &s->last_call);
        agenda_done(&s->agenda);
}

void spine_wake(struct spine *s, struct unit *u, struct instant wake)
{
        if (u->of->split || (u->of->task->singleton == PATH_DEDICATED && !s->o.claims->term))
                agenda_remove(&s->agenda, u);
        else
                agenda_put(&s->agenda, u, wake);
}

void spine_plan(struct spine *s, struct unit *u)
{
        struct instant now = stamp_instant(clock_wall()), next;

        /* Counted from the last decided instant, not from now: a late start must not shift the grid. */
        if (schedule_next(&u->of->task->schedule, u->cursor, &next) < 0)
                next = INSTANT_NONE;   /* never again */
        if (u->shard == 0)
                row_next(u->of->row, next);
        if (instant_is_none(next) || next.ms > s->horizon.ms)
                agenda_remove(&s->agenda, u);
        else
                /* A backlog stands in line with what is due now, or it would always be first. */
                spine_wake(s, u, next.ms < now.ms ? now : next);
}

void spine_enlist(struct spine *s, struct unit *u)
{
        if (!u->of->competes || !u->registered || u->claiming || s->phase != SPINE_WORKING)
                return;
        spine_plan(s, u);
}

void spine_dismiss(struct spine *s, struct unit *u)
{
        agenda_remove(&s->agenda, u);
}

void spine_ask(struct spine *s, struct unit *u, struct stamp now)
{
        const struct misfire *m = &u->of->task->misfire;
        struct instant at = stamp_instant(now);
        struct misfire_plan p;

        /* A backlog is counted when its round begins: that it is worked off slowly must not cost parts of it. */
        bool is_backlog = s->o.in_rounds && m->policy == MISFIRE_CATCH_UP;
        misfire_decide(m, &u->of->task->schedule, u->cursor, is_backlog ? s->horizon : at, &p);
        if (instant_is_none(p.run) && p.given_up.count == 0) {
                spine_plan(s, u);
                return;
        }
        if (occurrence_begin(s, u, &p, now) < 0) {
                place_add(s->o.place, COUNT_STORAGE_FAILURES, 1);
                spine_wake(s, u, (struct instant) { at.ms + MEMORY_RETRY_MS });
        }
}

void spine_round(struct spine *s, struct job *jobs, size_t count, struct instant horizon)
{
        s->horizon = horizon;
        for (size_t i = 0; i < count; i++)
                for (unsigned k = 0; k < jobs[i].unit_count; k++)
                        spine_enlist(s, &jobs[i].units[k]);
}

bool spine_is_idle(const struct spine *s)
{
        return s->count == 0 && instant_is_none(agenda_next(&s->agenda));
}

bool spine_may_take(const struct spine *s, const struct unit *u)
{
        const struct job *j = u->of;

        return s->phase == SPINE_WORKING && j->competes && !j->split && s->handles < s->o.max_handles &&
               (j->task->singleton != PATH_DEDICATED || s->o.claims->term) && triglog_state(s->o.log) == 0;
}

void spine_take(struct spine *s, struct unit *u)
{
        if (!spine_may_take(s, u) || u->taking || u->running >= job_slots(u->of))
                return;
        if (occurrence_take(s, u) < 0)
                place_add(s->o.place, COUNT_STORAGE_FAILURES, 1);
}

/* How many more may be begun in this turn. */
static unsigned turn_room(const struct spine *s)
{
        unsigned room = s->handles < s->o.max_handles ? s->o.max_handles - s->handles : 0;

        return room < s->o.tick_limit ? room : s->o.tick_limit;
}

/* What is due while the worker drains is left to the others and counted; the grid goes on. */
static void turn_away(struct spine *s, struct unit *u, struct instant now)
{
        struct instant next;

        place_add(s->o.place, COUNT_STOP_REJECTIONS, 1);
        if (schedule_next(&u->of->task->schedule, now, &next) == 0)
                agenda_put(&s->agenda, u, next);
}

static bool log_is_writable(struct spine *s)
{
        int error = triglog_state(s->o.log);

        if (error == 0) {
                s->said_log = false;
                return true;
        }
        if (!s->said_log)
                (void) log_error(error, "trigger log cannot be written; nothing is claimed until it can");
        s->said_log = true;
        place_add(s->o.place, COUNT_STORAGE_FAILURES, 1);
        return false;
}

void spine_turn(struct spine *s, struct stamp now)
{
        struct instant at = stamp_instant(now);
        unsigned room = turn_room(s);
        struct unit *u;

        if (s->phase != SPINE_WORKING) {
                for (unsigned n = 0; n < s->o.tick_limit && (u = agenda_take(&s->agenda, at)); n++)
                        turn_away(s, u, at);
                return;
        }
        bool writable = log_is_writable(s);
        for (; room > 0 && (u = agenda_take(&s->agenda, at)); room--) {
                if (writable) {
                        spine_ask(s, u, now);
                        continue;
                }
                u->trouble = CAUSE_LOG;
                agenda_put(&s->agenda, u, (struct instant) { at.ms + LOG_RETRY_MS });
        }

        struct instant next = agenda_next(&s->agenda);
        if (room == 0 && !instant_is_none(next) && next.ms <= at.ms)
                place_add(s->o.place, COUNT_LIMIT_REACHED, 1);
}

struct instant spine_next(const struct spine *s)
{
        /* With all handles taken it is the end of an occurrence that goes on with what is due. */
        if (s->phase == SPINE_WORKING && s->handles >= s->o.max_handles)
                return INSTANT_NONE;
        return agenda_next(&s->agenda);
}

void spine_stepped(struct spine *s, struct job *jobs, size_t count, struct stamp now)
{
        s->stepped = stamp_instant(now);
        if (s->stepped.ms < s->began.ms)
                s->began = s->stepped;
        s->said_early = false;
        for (size_t i = 0; i < count; i++)
                for (unsigned k = 0; k < jobs[i].unit_count; k++)
                        if (jobs[i].units[k].node.index)
                                spine_enlist(s, &jobs[i].units[k]);
}

static bool is_overdue(struct mono beat_due, struct mono now)
{
        return beat_due.ns != 0 && mono_since_ms(beat_due, now) >= STOOD_STILL_MS;
}

void spine_beat(struct spine *s, struct mono now, struct mono next)
{
        if (is_overdue(s->beat_due, now))
                s->stood_still = now;
        s->beat_due = next;
}

/* An answer that came meanwhile is read before the beat that is due. */
bool spine_stood_still(const struct spine *s, struct mono since, struct mono now)
{
        return s->stood_still.ns > since.ns || is_overdue(s->beat_due, now);
}

void spine_ledger_up(struct spine *s, struct job *jobs, size_t count, const struct ledger *l, struct stamp now)
{
        if (s->phase != SPINE_WORKING)
                return;
        for (size_t i = 0; i < count; i++)
                for (unsigned k = 0; jobs[i].ledger == l && k < jobs[i].unit_count; k++) {
                        struct unit *u = &jobs[i].units[k];
                        if (u->node.index && u->backoff_ms)
                                agenda_put(&s->agenda, u, stamp_instant(now));
                }
}

/* Tasks that this worker is answerable for. One left to those with another definition is among them: of what
 * became of it nothing is known here. */
static bool has_a_part(const struct spine *s, const struct job *j)
{
        return j->competes && (j->task->singleton != PATH_DEDICATED || s->o.claims->term);
}

/* What is on its way to the ledger, or was tried in vain, is as good as not tried: who reads that this worker came
 * so far must not look for what may never have been decided. */
void spine_ceased(const struct spine *s, const struct job *jobs, size_t count, struct instant now,
                  struct cease_line *ret)
{
        struct instant upto = instant_is_none(s->drained) ? now : s->drained, next;

        *ret = (struct cease_line) { .local = upto, .group = upto, .led = s->o.claims->term != 0 };
        for (size_t i = 0; i < count; i++) {
                const struct job *j = &jobs[i];
                struct instant *ceased = j->task->singleton == PATH_REDIS ? &ret->group : &ret->local;

                for (unsigned k = 0; has_a_part(s, j) && k < j->unit_count; k++) {
                        const struct unit *u = &j->units[k];

                        /* Of one that got no cursor in this life it is not even known how far the one before came. */
                        if (!u->registered)
                                *ceased = (struct instant) { 0 };
                        else if (schedule_next(&j->task->schedule, u->cursor, &next) == 0 && next.ms < ceased->ms)
                                *ceased = next;
                }
        }
}

void spine_drain(struct spine *s, struct job *jobs, size_t count, struct stamp now)
{
        if (s->phase != SPINE_WORKING)
                return;

        struct cease_line line;
        s->phase = SPINE_DRAINING;
        s->drained = stamp_instant(now);
        spine_ceased(s, jobs, count, s->drained, &line);
        /* At once: a killed process is judged by it, whatever it wrote about runs that went on. */
        triglog_cease(s->o.log, &line);
        (void) triglog_flush(s->o.log);
        for (struct occurrence *o = s->all, *next; o; o = next) {
                next = o->next;
                occurrence_hurry(o);
        }
}

static void on_last_call(struct delay *d)
{
        struct spine *s = container_of(d, struct spine, last_call);

        for (struct occurrence *o = s->all, *next; o; o = next) {
                next = o->next;
                if (o->state == OCCURRENCE_FINISHING)
                        occurrence_abandon(o);
        }
        /* A run that resists its end is the master's to judge; its record is looked at again. */
        if (s->count > 0)
                delay_set(s->o.delays, d, LAST_CALL_MS);
}

void spine_stop(struct spine *s, struct job *jobs, size_t count, struct stamp now)
{
        if (s->phase == SPINE_STOPPING)
                return;

        spine_drain(s, jobs, count, now);
        s->phase = SPINE_STOPPING;
        for (struct occurrence *o = s->all, *next; o; o = next) {
                next = o->next;
                occurrence_stop(o);
        }
        s->last_call.over = on_last_call;
        delay_set(s->o.delays, &s->last_call, LAST_CALL_MS);
}
