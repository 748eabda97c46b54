/* The end of an occurrence: its final record, tried until the ledger has it; siblings wait for the slot. The same
 * step asks for the oldest instant that waits in the unit's queue: the slot is handed on, and never seen free. */
#include <assert.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/occurrence.h"
#include "worker/shortfall.h"

#define FINISH_RETRY_MIN_MS 50
#define FINISH_RETRY_MAX_MS 1000
#define FINISH_DRAIN_MS     5000

static void send_finish(struct occurrence *o);

static void on_finish_wait(struct delay *d)
{
        send_finish(container_of(d, struct occurrence, wait));
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
        shortfall_run(s->o.shortfalls, subject.task, subject.occ, out->state, out->cause, out->error);
        if (out->state == STATE_FAILED)
                place_add(s->o.place, COUNT_FAILED, 1);
        if (out->state == STATE_INTERRUPTED)
                place_add(s->o.place, COUNT_INTERRUPTED, 1);
        if (out->cause == CAUSE_CLEANUP)
                place_add(s->o.place, COUNT_CLEANUP_FAILURES, 1);
}

/* The slot handed on. The successor is made before the ledger is asked for it: what is granted without anybody to
 * run it would hold the unit for nothing. */

static void drop_successor(struct occurrence *o)
{
        struct occurrence *next = TAKE(o->successor);

        if (next)
                occurrence_go(next, OCCURRENCE_CLOSED);
}

static void name_successor(struct occurrence *o)
{
        bool may_queue = o->unit->of->task->overlap.policy == OVERLAP_QUEUE;

        if (o->successor || !may_queue || !spine_may_take(o->spine, o->unit))
                return;
        o->successor = occurrence_new(o->spine, o->unit);
        if (o->successor)
                occurrence_to_take(o->successor);
}

/* What the finish brought for the successor is judged like the answer to any claim. */
static void hand_on(struct occurrence *o, struct take_out *took)
{
        struct occurrence *next = TAKE(o->successor);

        claim_took(&next->claim, took);
        if (next->claim.answer.outcome == OUTCOME_GRANTED)
                claim_hand_over(o->unit->of->claimer, &o->claim, &next->claim);
        occurrence_go(o, OCCURRENCE_CLOSED);
        occurrence_judge(next);
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

/* A lost reply may have handed on the slot: then the same is asked for again, whatever happens meanwhile. */
static void retry(struct occurrence *o, int error, const struct ledger_call *call)
{
        if (error == -ETIMEDOUT)
                o->unsure = true;
        if (!o->unsure)
                drop_successor(o);
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

static void on_finished(struct ledger_call *call)
{
        struct occurrence *o = call->arg;
        int error = call->error;
        struct finish_out *out = &call->out.finish;

        o->call_in_flight = false;
        if (error < 0) {
                ledger_call_done(call);
                if (error == -ECANCELED || is_given_up(o, error))
                        occurrence_abandon(o);
                else
                        retry(o, error, call);
                return;
        }

        fault_point("recorded");
        log_finish(o, out->finished);
        if (o->successor)
                hand_on(o, &out->take);   /* what the call owns goes to the claim */
        else
                occurrence_go(o, OCCURRENCE_CLOSED);
}

static void send_finish(struct occurrence *o)
{
        const struct run_outcome *out = &o->run.outcome;
        struct ledger_call *call = &o->call;

        name_successor(o);
        if (o->successor)
                claim_take_in(o->unit->of->claimer, &o->successor->claim, &o->take);
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
                .take = o->successor ? &o->take : NULL,
        };
        o->call_in_flight = true;
        ledger_send(o->unit->of->ledger, call);
}

/* A task of no ledger: its queue is this process's own. */
static void close_unrecorded(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;

        log_finish(o, FINISHED_OK);
        occurrence_go(o, OCCURRENCE_CLOSED);
        if (u->queued > 0)
                spine_take(s, u);
}

void occurrence_finish(struct occurrence *o)
{
        o->ended_at = clock_wall();
        o->run_ended = clock_mono();
        occurrence_go(o, OCCURRENCE_FINISHING);
        fault_point("finished-not-recorded");
        if (o->unit->of->ledger)
                send_finish(o);
        else
                close_unrecorded(o);
}

void occurrence_finish_now(struct occurrence *o)
{
        if (!delay_is_set(&o->wait))
                return;
        delay_clear(o->spine->o.delays, &o->wait);
        send_finish(o);
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
        drop_successor(o);
        occurrence_go(o, OCCURRENCE_CLOSED);
}
