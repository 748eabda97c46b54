/* Asking the ledger for a claim, so that a lost reply leads neither to a second start nor to a silent loss:
 * after an unknown outcome the same token is asked for again until planned + grace; then, or when the
 * worker has to hurry, the token is revoked. Reading the record back would not do: the request may be
 * executed after the read. */
#include "worker/claim/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "worker/claim/watch.h"
#include "worker/unit.h"

#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 1000

/* How long a request may lie in a socket or a proxy and still be executed. A request to the local ledger
 * can only wait for the write lock, and dies with its process. */
#define VOID_AFTER_REMOTE_MS 2000
#define VOID_AFTER_LOCAL_MS  60000

/* A worker of rank n looks again n times this long after it lost. */
#define LOOK_AGAIN_MS 2
#define RANK_MAX      16

static struct claimer *claimer_of(const struct claim *c)
{
        return c->unit->of->claimer;
}

static int64_t void_after_ms(const struct claimer *cr)
{
        if (cr->kind->path != PATH_REDIS)
                return VOID_AFTER_LOCAL_MS;
        return VOID_AFTER_REMOTE_MS + cr->options->config->redis.max_skew_ms;
}

static void on_wait_over(struct delay *d)
{
        struct claim *c = container_of(d, struct claim, wait);
        void (*over)(struct claim *) = TAKE(c->wait_over);

        over(c);
}

void ask_wait(struct claimer *cr, struct claim *c, int64_t ms, void (*over)(struct claim *c))
{
        c->wait_over = over;
        c->wait.over = on_wait_over;
        delay_set(cr->options->delays, &c->wait, ms);
}

void ask_end(struct claim *c, enum outcome outcome, const char *why)
{
        delay_clear(claimer_of(c)->options->delays, &c->wait);
        c->answer.outcome = outcome;
        if (why != c->why)
                (void) snprintf(c->why, sizeof(c->why), "%s", why);
        c->answered(c);
}

int64_t ask_rank_ms(const struct claimer *cr)
{
        unsigned rank = cr->options->rank < RANK_MAX ? cr->options->rank : RANK_MAX;

        return (int64_t) rank * LOOK_AGAIN_MS;
}

void ask_end_done(struct claim *c)
{
        c->answer.cursor = c->planned;
        ask_end(c, OUTCOME_DONE, "");
}

void ask_lost_local(struct claim *c)
{
        if (c->was_lost_local)
                return;
        c->was_lost_local = true;
        c->notice(c, CLAIM_LOST_LOCAL);
}

static void send_claim(struct claim *c);
static void send_revoke(struct claim *c);

static int64_t next_backoff_ms(struct claim *c)
{
        c->backoff_ms = c->backoff_ms ? c->backoff_ms * 2 : RETRY_MIN_MS;
        if (c->backoff_ms > RETRY_MAX_MS)
                c->backoff_ms = RETRY_MAX_MS;
        return c->backoff_ms;
}

static bool grace_is_over(const struct claim *c)
{
        return stamp_instant(clock_wall()).ms > c->planned.ms + c->grace_ms;
}

/* A gap alone: there is nothing to start, so that it does not matter who wrote it. */
static bool is_gap_alone(const struct claim *c)
{
        return instant_is_none(c->planned) && !c->take;
}

/* The token may be alive in the store: it is asked for again, or made void. A gap alone starts nothing, so there
 * is nothing to make void: it is asked for until it is known who wrote it. What waited in a queue was decided long
 * ago: whether this token took it is asked until it is known, in a hurry as well. */
static void go_on_unsure(struct claim *c)
{
        if (c->given_up || (is_gap_alone(c) && c->hurried)) {
                ask_end(c, OUTCOME_DOWN, c->why);
                return;
        }
        bool void_it = !is_gap_alone(c) && !c->take && (c->hurried || grace_is_over(c));
        ask_wait(claimer_of(c), c, next_backoff_ms(c), void_it ? send_revoke : send_claim);
}

static void on_revoked(struct ledger_call *call)
{
        struct claim *c = call->arg;
        int error = call->error;
        struct revoke_out out = call->out.revoke;

        c->in_flight = false;
        ledger_call_done(call);
        if (error == -EUCLEAN) {
                ask_end(c, OUTCOME_HALTED, call->why);
                return;
        }
        if (error == -ECANCELED) {
                ask_end(c, OUTCOME_DOWN, call->why);
                return;
        }
        if (error < 0) {
                go_on_unsure(c);
                return;
        }

        switch (out.revoked) {
        case REVOKED_WAIT:
                go_on_unsure(c);
                return;
        case REVOKED_FREE:
                c->answer.cursor = out.cursor;
                ask_end(c, OUTCOME_DOWN, c->why);
                return;
        case REVOKED_ABANDONED:
        case REVOKED_DECIDED:
                /* Nothing can be started by this token any more. What it decided before is said again to
                 * who asks with it, and gets its line: a record without one would look like a loss. */
                send_claim(c);
                return;
        }
}

static void send_revoke(struct claim *c)
{
        struct ledger_call *call = &c->call;

        *call = (struct ledger_call) { .op = LEDGER_REVOKE, .done = on_revoked, .arg = c };
        call->in.revoke = (struct revoke_in) {
                .unit = unit_key(c->unit),
                .occ = c->occ, .token = c->token,
                .planned = c->planned,
                /* A gap is written by a claim alone: the cursor must not be moved over one by a revoke. */
                .expect = c->gap.count ? INSTANT_NONE : c->expect,
                /* A local request that was answered is over, whatever the answer; one to Redis may be on its way. */
                .not_after = claimer_of(c)->kind->path == PATH_REDIS ? c->not_after : INSTANT_NONE,
                .grace_ms = c->grace_ms,
        };
        c->in_flight = true;
        ledger_send(claimer_of(c)->ledger, call);
}

/* The answer, and what it owns, is the claim's from here on. */
static void keep_answer(struct claim *c, struct ledger_call *call)
{
        if (call->op == LEDGER_TAKE) {
                claim_took(c, &call->out.take);
                return;
        }
        c->answer = call->out.claim;
        call->out.claim.ended = NULL;
        call->out.claim.ended_count = 0;
}

static void on_claim_answer(struct ledger_call *call)
{
        struct claim *c = call->arg;

        c->in_flight = false;
        if (call->error == 0) {
                keep_answer(c, call);
                if (c->answer.outcome == OUTCOME_GRANTED)
                        fault_point("answered");
                (void) snprintf(c->why, sizeof(c->why), "%s", call->why);
                ledger_call_done(call);
                c->answered(c);
                return;
        }

        (void) snprintf(c->why, sizeof(c->why), "%s", ledger_call_text(call));
        if (call->error == -ETIMEDOUT)
                c->unsure = true;
        enum outcome outcome = call->error == -EUCLEAN ? OUTCOME_HALTED : OUTCOME_DOWN;
        bool canceled = call->error == -ECANCELED;
        ledger_call_done(call);
        if (c->unsure && !canceled)
                go_on_unsure(c);
        else
                ask_end(c, outcome, c->why);
}

/* Until when the request may be executed, and the holder that was watched until its lease ran out, if any. */
static struct instant begin_request(const struct claimer *cr, struct claim *c, char stale_occ[OCC_TEXT])
{
        c->not_after.ms = stamp_instant(clock_wall()).ms + void_after_ms(cr);
        if (c->unit->watch)
                watch_ripe(c->unit->watch, stale_occ);
        return c->not_after;
}

static void fill_claim(const struct claimer *cr, struct claim *c, struct claim_in *in)
{
        const struct task *t = c->unit->of->task;

        *in = (struct claim_in) {
                .unit = unit_key(c->unit),
                .planned = c->planned,
                .occ = c->occ, .token = c->token, .trig = c->trig,
                .owner = cr->options->owner, .node = cr->options->node,
                .expect = c->expect,
                .gap = c->gap, .gap_cause = c->gap_cause,
                .grace_ms = c->grace_ms,
                .catch_up = t->misfire.policy == MISFIRE_CATCH_UP,
                .overlap = t->overlap.policy,
                .max_running = t->overlap.max_running, .queue_limit = t->overlap.queue_limit,
                .lease_ms = t->lease_ms, .timeout_ms = t->timeout_ms,
                .rev = c->unit->of->rev,
                .shards = t->shards,
                .term = cr->kind->path == PATH_DEDICATED ? cr->options->term : 0,
                .tree = t->runner == RUNNER_EXEC,
                .life = cr->options->life,
        };
        in->not_after = begin_request(cr, c, in->stale_occ);
}

void claim_take_in(struct claimer *cr, struct claim *c, struct take_in *ret)
{
        const struct task *t = c->unit->of->task;

        *ret = (struct take_in) {
                .unit = unit_key(c->unit),
                .token = c->token, .trig = c->trig,
                .owner = cr->options->owner, .node = cr->options->node,
                .lease_ms = t->lease_ms,
                .rev = c->unit->of->rev,
                .shards = t->shards,
                .term = cr->kind->path == PATH_DEDICATED ? cr->options->term : 0,
                .tree = t->runner == RUNNER_EXEC,
                .life = cr->options->life,
        };
        ret->not_after = begin_request(cr, c, ret->stale_occ);
}

static void send_claim(struct claim *c)
{
        struct claimer *cr = claimer_of(c);
        struct ledger_call *call = &c->call;

        *call = (struct ledger_call) { .op = c->take ? LEDGER_TAKE : LEDGER_CLAIM, .done = on_claim_answer, .arg = c };
        if (c->take)
                claim_take_in(cr, c, &call->in.take);
        else
                fill_claim(cr, c, &call->in.claim);
        c->in_flight = true;
        ledger_send(cr->ledger, call);
        fault_point("attempt-sent");
}

void ask_ledger(struct claimer *cr, struct claim *c)
{
        (void) cr;
        send_claim(c);
}

void ask_hurry(struct claimer *cr, struct claim *c)
{
        if (!delay_is_set(&c->wait))
                return;   /* a request is on its way; its answer finds out that there is no time */

        delay_clear(cr->options->delays, &c->wait);
        c->wait_over = NULL;
        if (!c->unsure)
                ask_end(c, OUTCOME_LOST_LOCAL, "");
        else if (c->given_up || is_gap_alone(c))
                ask_end(c, OUTCOME_DOWN, c->why);
        else if (c->take)
                send_claim(c);
        else
                send_revoke(c);
}
