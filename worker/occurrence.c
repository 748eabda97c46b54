/* The life of one occurrence: asked for, run, recorded. What each answer to a claim means is verdict.c. */
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

#define FINISH_RETRY_MIN_MS 50
#define FINISH_RETRY_MAX_MS 1000
#define FINISH_DRAIN_MS     5000

/* A task that fails each second must not fill the log; all of them are in its history. */
#define WARN_AGAIN_MS 60000

const char *const occurrence_state_names[] = {
        "planned", "claiming", "granted", "running", "finishing", "closed", NULL,
};

static const bool moves[OCCURRENCE_STATE_COUNT_][OCCURRENCE_STATE_COUNT_] = {
        [OCCURRENCE_PLANNED][OCCURRENCE_CLAIMING] = true,
        [OCCURRENCE_CLAIMING][OCCURRENCE_GRANTED] = true,
        [OCCURRENCE_CLAIMING][OCCURRENCE_CLOSED] = true,
        [OCCURRENCE_GRANTED][OCCURRENCE_RUNNING] = true,
        [OCCURRENCE_GRANTED][OCCURRENCE_FINISHING] = true,    /* granted, but it may not be started */
        [OCCURRENCE_RUNNING][OCCURRENCE_FINISHING] = true,
        [OCCURRENCE_FINISHING][OCCURRENCE_CLOSED] = true,
};

static bool takes_handle(enum occurrence_state st)
{
        return st == OCCURRENCE_CLAIMING || st == OCCURRENCE_GRANTED || st == OCCURRENCE_RUNNING;
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
        s->handles = s->handles - takes_handle(from) + takes_handle(to);
        o->unit->claiming = to == OCCURRENCE_CLAIMING;
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

/* Why the instants of the gap were not run: those from before this life are the misfire policy's. */
static enum cause gap_cause(const struct spine *s, const struct unit *u, const struct instant_range *gap)
{
        if (gap->count == 0)
                return CAUSE_NONE;
        if (gap->first.ms <= s->began.ms)
                return CAUSE_MISFIRE;
        return u->trouble != CAUSE_NONE ? u->trouble : CAUSE_NOBODY;
}

static void fill_claim(struct occurrence *o, const struct misfire_plan *p)
{
        struct spine *s = o->spine;
        const struct job *j = o->unit->of;
        struct claim *c = &o->claim;

        c->unit = o->unit;
        c->planned = p->run;
        c->expect = o->unit->cursor;
        c->gap = p->given_up;
        c->gap_cause = gap_cause(s, o->unit, &p->given_up);
        trigger_id(s->o.owner, ++s->seq, c->trig);
        if (!instant_is_none(p->run)) {
                c->grace_ms = misfire_grace_ms(&j->task->misfire, &j->task->schedule, p->run);
                occurrence_id(j->scope_key, j->task->name, o->unit->shard, p->run, c->occ);
                claim_token(s->o.owner, c->occ, c->token);
        }
        c->done = on_claimed;
        c->notice = on_notice;
}

int occurrence_begin(struct spine *s, struct unit *u, const struct misfire_plan *p, struct stamp now)
{
        struct occurrence *o = calloc(1, sizeof(*o));
        if (!o)
                return log_error(ENOMEM, "task %s: an occurrence", u->of->task->name);

        o->spine = s;
        o->unit = u;
        o->next = s->all;
        if (s->all)
                s->all->prev = o;
        s->all = o;
        s->count++;
        fill_claim(o, p);
        if (!instant_is_none(p->run)) {
                o->late_us = (now.ns - instant_stamp(p->run).ns) / NS_PER_US;
                if (p->run.ms > u->handed.ms)
                        u->handed = p->run;
        }
        occurrence_go(o, OCCURRENCE_CLAIMING);
        claim_ask(u->of->claimer, &o->claim);
        return 0;
}

/* Finishing: the final record, tried until the ledger has it; siblings wait for the slot. */

static void send_finish(struct occurrence *o);

static void on_finish_wait(struct delay *d)
{
        send_finish(container_of(d, struct occurrence, wait));
}

static void warn_of_failure(const struct occurrence *o)
{
        const struct run_outcome *out = &o->run.outcome;
        struct job *j = o->unit->of;
        struct mono now = clock_mono();
        const char *cause = cause_names[out->cause];
        char more[48] = "";

        if (j->warned.ns && mono_since_ms(j->warned, now) < WARN_AGAIN_MS) {
                j->unwarned++;
                return;
        }
        if (j->unwarned)
                (void) snprintf(more, sizeof(more), "; %u more since the last such line", j->unwarned);
        j->warned = now;
        j->unwarned = 0;
        (void) log_warning(0, "task %s: occurrence %.12s %s%s%s%s%s%s%s", j->task->name, o->claim.occ,
                           state_names[out->state], *cause ? " (" : "", cause, *cause ? ")" : "",
                           out->error[0] ? ": " : "", out->error, more);
}

static void log_finish(struct occurrence *o, enum finished finished)
{
        struct spine *s = o->spine;
        const struct run_outcome *out = &o->run.outcome;
        struct line_subject subject = occurrence_subject(o);
        int64_t run_us = o->started ? (o->run_ended.ns - o->run_began.ns) / NS_PER_US : 0;

        if (finished == FINISHED_FENCED) {
                place_add(s->o.place, COUNT_LEASE_CONFLICTS, 1);
                (void) log_warning(0, "task %s: its record was ended by another before (%s)", subject.task,
                                   subject.trig);
        }
        triglog_finish(s->o.log, &subject, out->state, out->cause, out->result, run_us, NULL, out->error);
        row_finished(o->unit->of->row, out->state, out->result, o->started ? run_us : -1);
        if (out->state != STATE_SUCCEEDED)
                warn_of_failure(o);
        if (out->state == STATE_FAILED)
                place_add(s->o.place, COUNT_FAILED, 1);
        if (out->state == STATE_INTERRUPTED)
                place_add(s->o.place, COUNT_INTERRUPTED, 1);
        if (out->cause == CAUSE_CLEANUP)
                place_add(s->o.place, COUNT_CLEANUP_FAILURES, 1);
}

/* While the worker drains: a ledger that halts takes nothing more in this life, and Redis that is away is waited for
 * no longer than a person would wait for a stop. */
static bool is_given_up(struct occurrence *o, int error)
{
        struct mono now = clock_mono();

        if (o->spine->phase == SPINE_WORKING)
                return false;
        if (error == -EUCLEAN)
                return true;
        if (o->unit->of->task->singleton != PATH_REDIS)
                return false;
        if (o->give_up.ns == 0)
                o->give_up = mono_plus_ms(now, FINISH_DRAIN_MS);
        return now.ns >= o->give_up.ns;
}

static void on_finished(struct ledger_call *call)
{
        struct occurrence *o = call->arg;
        int error = call->error;
        struct finish_out out = call->out.finish;

        o->call_in_flight = false;
        ledger_call_done(call);
        if (error == 0) {
                fault_point("recorded");
                log_finish(o, out.finished);
                occurrence_go(o, OCCURRENCE_CLOSED);
                return;
        }
        if (error == -ECANCELED || is_given_up(o, error)) {
                occurrence_abandon(o);
                return;
        }

        if (o->backoff_ms == 0) {
                place_add(o->spine->o.place, COUNT_STORAGE_FAILURES, 1);
                (void) log_warning(0, "task %s: recording the end of %s, to be tried again: %s",
                                   o->unit->of->task->name, o->claim.trig, ledger_call_text(call));
        }
        o->backoff_ms = o->backoff_ms ? o->backoff_ms * 2 : FINISH_RETRY_MIN_MS;
        if (o->backoff_ms > FINISH_RETRY_MAX_MS)
                o->backoff_ms = FINISH_RETRY_MAX_MS;
        o->wait.over = on_finish_wait;
        delay_set(o->spine->o.delays, &o->wait, o->backoff_ms);
}

static void send_finish(struct occurrence *o)
{
        const struct run_outcome *out = &o->run.outcome;
        struct ledger_call *call = &o->call;

        *call = (struct ledger_call) { .op = LEDGER_FINISH, .done = on_finished, .arg = o };
        call->in.finish = (struct finish_in) {
                .unit = unit_key(o->unit),
                .occ = o->claim.occ, .token = o->claim.token, .fence = o->claim.answer.fence,
                .trig = o->claim.trig, .owner = o->spine->o.owner, .node = o->spine->o.node,
                .planned = o->claim.planned,
                .state = out->state, .cause = out->cause, .result = out->result,
                .started = o->started_at, .ended = o->ended_at,
                .text = out->text ? out->text : "", .text_len = out->text_len, .text_cut = out->text_cut,
                .error = out->error,
                .code = out->code,
                .keep = o->unit->of->task->history,
        };
        o->call_in_flight = true;
        ledger_send(o->unit->of->ledger, call);
}

static void finish(struct occurrence *o)
{
        o->ended_at = clock_wall();
        o->run_ended = clock_mono();
        occurrence_go(o, OCCURRENCE_FINISHING);
        fault_point("finished-not-recorded");
        if (o->unit->of->ledger) {
                send_finish(o);
                return;
        }
        log_finish(o, FINISHED_OK);
        occurrence_go(o, OCCURRENCE_CLOSED);
}

void occurrence_abandon(struct occurrence *o)
{
        assert(o->state == OCCURRENCE_FINISHING);
        if (o->call_in_flight)
                return;   /* its answer ends it */
        (void) log_warning(0, "task %s: the end of %s (%s) did not reach the ledger", o->unit->of->task->name,
                           o->claim.trig, state_names[o->run.outcome.state]);
        /* The log says how it ended all the same: nobody else knows. */
        log_finish(o, FINISHED_OK);
        occurrence_go(o, OCCURRENCE_CLOSED);
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
                    (o->started_at.ns - instant_stamp(o->claim.planned).ns) / NS_PER_US);
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
        finish(o);
}

/* Granted, but not to be started: the record says why. */
static void finish_unstarted(struct occurrence *o, enum state state, enum cause cause, const char *error)
{
        o->run.outcome = (struct run_outcome) { .state = state, .cause = cause, .code = -1 };
        (void) snprintf(o->run.outcome.error, sizeof(o->run.outcome.error), "%s", error);
        finish(o);
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
                .task = t, .context = &o->context, .valid_until = run_limit(o), .timeout_ms = t->timeout_ms,
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
                if (delay_is_set(&o->wait)) {
                        delay_clear(o->spine->o.delays, &o->wait);
                        send_finish(o);
                }
                break;
        default:
                break;
        }
}
