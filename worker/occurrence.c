/* The life of one occurrence up to the end of its run: asked for, granted, run. What each answer to a claim means
 * is verdict.c; how it is recorded is finish.c. */
#include "worker/occurrence.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/scoreboard/scoreboard.h"

const char *const occurrence_state_names[] = {
        "planned", "claiming", "granted", "running", "finishing", "closed", NULL,
};

static const bool moves[OCCURRENCE_STATE_COUNT_][OCCURRENCE_STATE_COUNT_] = {
        [OCCURRENCE_PLANNED][OCCURRENCE_CLAIMING] = true,
        [OCCURRENCE_PLANNED][OCCURRENCE_GRANTED] = true,      /* handed on by the one before */
        [OCCURRENCE_PLANNED][OCCURRENCE_CLOSED] = true,
        [OCCURRENCE_CLAIMING][OCCURRENCE_GRANTED] = true,
        [OCCURRENCE_CLAIMING][OCCURRENCE_CLOSED] = true,
        [OCCURRENCE_GRANTED][OCCURRENCE_RUNNING] = true,
        [OCCURRENCE_GRANTED][OCCURRENCE_FINISHING] = true,    /* granted, but it may not be started */
        [OCCURRENCE_RUNNING][OCCURRENCE_FINISHING] = true,
        [OCCURRENCE_FINISHING][OCCURRENCE_CLOSED] = true,
};

static bool takes_handle(enum occurrence_state st)
{
        return st != OCCURRENCE_FINISHING && st != OCCURRENCE_CLOSED;
}

static void show_current(struct spine *s)
{
        const struct occurrence *o = s->all;

        while (o && o->state != OCCURRENCE_RUNNING)
                o = o->next;
        place_set_current(s->o.place, o ? o->claim.occ : "", o ? o->unit->of->task->name : "");
}

static void close_now(struct occurrence *o)
{
        struct spine *s = o->spine;

        if (o->next)
                o->next->prev = o->prev;
        if (o->prev)
                o->prev->next = o->next;
        else
                s->all = o->next;
        s->count--;
        delay_clear(s->o.delays, &o->wait);
        claim_answer_free(&o->claim);
        run_done_free(&o->run);
        free(o->attempt_log);
        free(o);
}

void occurrence_go(struct occurrence *o, enum occurrence_state to)
{
        struct spine *s = o->spine;
        enum occurrence_state from = o->state;

        assert(moves[from][to]);
        o->state = to;
        if (s->handles >= s->o.max_handles && takes_handle(from) && !takes_handle(to))
                s->full = stamp_instant(clock_wall());
        s->handles = s->handles - takes_handle(from) + takes_handle(to);
        if (from == OCCURRENCE_CLAIMING || to == OCCURRENCE_CLAIMING)
                *(o->claim.take ? &o->unit->taking : &o->unit->claiming) = to == OCCURRENCE_CLAIMING;
        if (to == OCCURRENCE_GRANTED)
                o->unit->running++;
        if (from == OCCURRENCE_FINISHING)
                o->unit->running--;
        if (from == OCCURRENCE_RUNNING || to == OCCURRENCE_RUNNING)
                show_current(s);
        if (to == OCCURRENCE_CLOSED) {
                if (from == OCCURRENCE_FINISHING)
                        claim_release(o->unit->of->claimer, &o->claim);
                close_now(o);
        }
}

struct line_subject occurrence_subject(const struct occurrence *o)
{
        return (struct line_subject) {
                .trig = o->claim.trig, .occ = o->claim.occ,
                .task = o->unit->of->task->name,
                .scope_key = o->unit->of->scope_key,
                .shard = o->unit->shard,
                .planned = o->claim.planned,
        };
}

static void on_claimed(struct claim *c)
{
        occurrence_judge(container_of(c, struct occurrence, claim));
}

static void lease_is_lost(struct occurrence *o)
{
        const struct job *j = o->unit->of;
        struct line_subject subject = occurrence_subject(o);

        triglog_lease(o->spine->o.log, &subject, "lost");
        place_add(o->spine->o.place, COUNT_LEASE_CONFLICTS, 1);
        (void) log_warning(0, "task %s: lease lost while it runs (%s)", j->task->name, o->claim.trig);
        if (o->state == OCCURRENCE_RUNNING && j->task->on_lease_lost == LEASE_LOST_KILL)
                j->runner_kind->stop(j->runner, &o->run, RUN_STOP_LEASE_LOST);
}

/* A stopped worker cannot end what it may not run any more: who watches over its command is told the limit too. */
static struct mono run_limit(const struct occurrence *o)
{
        const struct task *t = o->unit->of->task;

        return t->singleton == PATH_REDIS && t->on_lease_lost == LEASE_LOST_KILL ? o->claim.answer.valid_until
                                                                                  : (struct mono) { 0 };
}

static void prolong(struct occurrence *o)
{
        const struct job *j = o->unit->of;

        if (o->state != OCCURRENCE_RUNNING)
                return;
        o->run.valid_until = run_limit(o);
        if (j->runner_kind->prolong)
                j->runner_kind->prolong(j->runner, &o->run);
}

static void on_notice(struct claim *c, enum claim_notice n)
{
        struct occurrence *o = container_of(c, struct occurrence, claim);
        struct line_subject subject = occurrence_subject(o);

        switch (n) {
        case CLAIM_LOST_LOCAL:
                triglog_attempt(o->spine->o.log, &subject, o->unit->of->task->singleton, OUTCOME_LOST_LOCAL, "",
                                c->token, o->late_us, CAUSE_NONE, (struct stamp) { 0 });
                row_attempt(o->unit->of->row, OUTCOME_LOST_LOCAL);
                break;
        case CLAIM_LEASE_RENEWED:
                prolong(o);
                break;
        case CLAIM_LEASE_LATE:
                triglog_lease(o->spine->o.log, &subject, "late");
                break;
        case CLAIM_LEASE_REASSERTED:
                triglog_lease(o->spine->o.log, &subject, "reasserted");
                break;
        case CLAIM_LEASE_LOST:
                lease_is_lost(o);
                break;
        }
}

/* Why the instants of the gap were not run: those from before this life, or that a clock went over when it was set,
 * are the misfire policy's, and so is what lies between two rounds. */
static enum cause gap_cause(const struct spine *s, const struct unit *u, const struct instant_range *gap)
{
        if (gap->count == 0)
                return CAUSE_NONE;
        if (gap->first.ms <= s->began.ms)
                return CAUSE_MISFIRE;
        if (u->trouble != CAUSE_NONE)
                return u->trouble;
        if (gap->first.ms <= u->held.ms)
                return CAUSE_LEDGER_DOWN;
        if (s->o.in_rounds || gap->first.ms <= s->stepped.ms)
                return CAUSE_MISFIRE;
        return gap->first.ms <= s->full.ms ? CAUSE_NO_HANDLE : CAUSE_NOBODY;
}

static void fill_claim(struct occurrence *o, const struct misfire_plan *p)
{
        struct spine *s = o->spine;
        const struct job *j = o->unit->of;
        struct claim *c = &o->claim;

        c->planned = p->run;
        c->expect = o->unit->cursor;
        c->gap = p->given_up;
        c->gap_cause = gap_cause(s, o->unit, &p->given_up);
        if (!instant_is_none(p->run)) {
                c->grace_ms = misfire_grace_ms(&j->task->misfire, &j->task->schedule, p->run);
                occurrence_id(j->scope_key, j->task->name, o->unit->shard, p->run, c->occ);
                claim_token(s->o.owner, c->occ, c->token);
        }
}

struct occurrence *occurrence_new(struct spine *s, struct unit *u)
{
        struct occurrence *o = calloc(1, sizeof(*o));
        if (!o) {
                (void) log_error(ENOMEM, "task %s: an occurrence", u->of->task->name);
                return NULL;
        }

        o->spine = s;
        o->unit = u;
        o->next = s->all;
        if (s->all)
                s->all->prev = o;
        s->all = o;
        s->count++;
        s->handles++;
        o->claim = (struct claim) { .unit = u, .planned = INSTANT_NONE, .done = on_claimed, .notice = on_notice };
        trigger_id(s->o.owner, ++s->seq, o->claim.trig);
        return o;
}

void occurrence_to_take(struct occurrence *o)
{
        struct claim *c = &o->claim;

        /* What will be taken is not known yet: the token is that of the attempt. */
        c->take = true;
        claim_token(o->spine->o.owner, c->trig, c->token);
}

int occurrence_begin(struct spine *s, struct unit *u, const struct misfire_plan *p, struct stamp now)
{
        struct occurrence *o = occurrence_new(s, u);
        if (!o)
                return -ENOMEM;

        fill_claim(o, p);
        if (!instant_is_none(p->run)) {
                o->late_us = (now.ns - instant_stamp(p->run).ns) / NS_PER_US;
                if (p->run.ms > u->handed.ms)
                        u->handed = p->run;
        }
        o->asked = clock_mono();
        occurrence_go(o, OCCURRENCE_CLAIMING);
        claim_ask(u->of->claimer, &o->claim);
        return 0;
}

int occurrence_take(struct spine *s, struct unit *u)
{
        struct occurrence *o = occurrence_new(s, u);
        if (!o)
                return -ENOMEM;

        occurrence_to_take(o);
        occurrence_go(o, OCCURRENCE_CLAIMING);
        claim_ask(u->of->claimer, &o->claim);
        return 0;
}

/* Running. */

static int on_starting(struct run *r)
{
        struct occurrence *o = r->arg;
        struct spine *s = o->spine;
        struct line_subject subject = occurrence_subject(o);

        if (!claim_is_held(&o->claim))
                return -EKEYEXPIRED;
        int e = triglog_run(s->o.log, &subject, o->unit->of->task->singleton, o->claim.answer.fence,
                            o->unit->of->runner_kind->name);
        if (e < 0) {
                place_add(s->o.place, COUNT_STORAGE_FAILURES, 1);
                return e;
        }
        fault_point("line-written");

        o->started = true;
        o->started_at = clock_wall();
        o->run_began = clock_mono();
        place_add(s->o.place, COUNT_TRIGGERED, 1);
        row_started(o->unit->of->row, o->claim.planned,
                    o->claim.take ? LATE_UNCOUNTED
                                  : (o->started_at.ns - instant_stamp(o->claim.planned).ns) / NS_PER_US);
        return 0;
}

static void on_child(struct run *r, int keeper_pid, int pid)
{
        struct occurrence *o = r->arg;
        struct line_subject subject = occurrence_subject(o);

        triglog_child(o->spine->o.log, &subject, keeper_pid, pid);
        fault_point("started");
}

static void on_run_done(struct run *r)
{
        struct occurrence *o = r->arg;

        /* A runner that was refused its start says failed(log); a lease that ran out is another matter. */
        if (!o->started && r->outcome.cause == CAUSE_LOG && !claim_is_held(&o->claim)) {
                r->outcome.state = STATE_INTERRUPTED;
                r->outcome.cause = CAUSE_LEASE_LOST;
        }
        if (r->outcome.cause == CAUSE_STOPPED)
                o->spine->killed = true;
        occurrence_finish(o);
}

/* Granted, but not to be started: the record says why. */
static void finish_unstarted(struct occurrence *o, enum state state, enum cause cause, const char *error)
{
        o->run.outcome = (struct run_outcome) { .state = state, .cause = cause, .code = -1 };
        (void) snprintf(o->run.outcome.error, sizeof(o->run.outcome.error), "%s", error);
        occurrence_finish(o);
}

static int fill_context(struct occurrence *o)
{
        const struct spine *s = o->spine;
        const struct task *t = o->unit->of->task;
        struct stamp now = clock_wall();

        if (asprintf(&o->attempt_log, "%s/%s", s->o.log_dir, triglog_name(s->o.log)) < 0) {
                o->attempt_log = NULL;
                return -ENOMEM;
        }
        o->context = (struct run_context) {
                .occ = o->claim.occ, .trig = o->claim.trig, .task = t->name,
                .fence = o->claim.answer.fence, .node = s->o.node,
                .shard = o->unit->shard, .shards = t->shards,
                .planned = o->claim.planned,
                .deadline = { now.ns + t->timeout_ms * NS_PER_MS },
                .window_ms = t->window_ms ? t->window_ms : schedule_interval_ms(&t->schedule, o->claim.planned) / 2,
                .attempt_log = o->attempt_log,
        };
        o->run = (struct run) {
                .task = t, .context = &o->context, .token = o->claim.token, .valid_until = run_limit(o),
                .timeout_ms = t->timeout_ms,
                .starting = on_starting, .child = on_child, .done = on_run_done,
                .arg = o, .runner = o->unit->of->runner,
        };
        return 0;
}

void occurrence_run(struct occurrence *o)
{
        const struct job *j = o->unit->of;
        int r;

        if (o->spine->phase == SPINE_STOPPING) {
                finish_unstarted(o, STATE_INTERRUPTED, CAUSE_STOPPED, "");
                return;
        }
        if (!claim_is_held(&o->claim)) {
                lease_is_lost(o);
                finish_unstarted(o, STATE_INTERRUPTED, CAUSE_LEASE_LOST, "");
                return;
        }
        r = fill_context(o);
        if (r == 0) {
                occurrence_go(o, OCCURRENCE_RUNNING);
                r = j->runner_kind->start(j->runner, &o->run);
        }
        if (r < 0) {
                (void) log_error(r, "task %s: starting it", j->task->name);
                finish_unstarted(o, STATE_FAILED, CAUSE_NOT_SENT, strerror(-r));
        }
}

void occurrence_hurry(struct occurrence *o)
{
        if (o->state == OCCURRENCE_CLAIMING && !o->call_in_flight)
                claim_hurry(o->unit->of->claimer, &o->claim, o->spine->phase == SPINE_STOPPING);
}

void occurrence_stop(struct occurrence *o)
{
        const struct job *j = o->unit->of;

        switch (o->state) {
        case OCCURRENCE_CLAIMING:
                occurrence_hurry(o);
                break;
        case OCCURRENCE_RUNNING:
                if (!o->stop_asked)
                        j->runner_kind->stop(j->runner, &o->run, RUN_STOP_DRAIN);
                o->stop_asked = true;
                break;
        case OCCURRENCE_FINISHING:
                occurrence_finish_now(o);
                break;
        default:
                break;
        }
}
