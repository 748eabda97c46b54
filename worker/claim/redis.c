/* The redis way: a worker of every node asks (turn.c says which), one script decides. What is granted comes with a
 * lease, which this file renews at a third of its life, from the loop's own timer and never from task code. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "worker/claim/ask.h"
#include "worker/claim/look.h"
#include "worker/claim/turn.h"
#include "worker/claim/watch.h"
#include "worker/unit.h"

/* Two renewals may fail before the lease is lost; a failed one is tried again after a tenth. */
#define RENEW_PARTS 3
#define RETRY_PARTS 10

struct redis_claimer {
        struct claimer base;
        struct looks looks;
};

/* Keeps one lease. It has a life of its own, since a renewal may be under way when its claim is released. */
struct lease {
        struct ledger_call call;
        struct delay wait;
        struct claim *claim;             /* borrowed; NULL once released: the answer frees us then */
        struct claimer *claimer;
        struct unit_key unit;
        struct instant planned;
        char occ[OCC_TEXT], token[TOKEN_TEXT], fence[FENCE_TEXT];
        int64_t lease_ms;
        struct mono renew_until;         /* longer than any run may take: a run that hangs is not kept alive */
        bool in_flight, said_lost, gone; /* gone: the store said so, renewing is over */
};

static void on_due(struct delay *d);

static void say_lost(struct lease *l)
{
        if (l->said_lost)
                return;
        l->said_lost = true;
        l->claim->notice(l->claim, CLAIM_LEASE_LOST);
}

/* The wait until the next try, or until the validity limit when that is nearer. */
static void lease_wait(struct lease *l, int64_t ms)
{
        int64_t left_ms = mono_since_ms(clock_mono(), l->claim->answer.valid_until) + 1;

        if (!l->said_lost && left_ms > 0 && left_ms < ms)
                ms = left_ms;
        l->wait.over = on_due;
        delay_set(l->claimer->options->delays, &l->wait, ms);
}

static void note_renewed(struct lease *l, const struct renew_out *out)
{
        struct claim *c = l->claim;

        if (out->renewed == RENEWED_LOST) {
                l->gone = true;
                say_lost(l);
                return;
        }
        c->answer.valid_until = out->valid_until;
        c->notice(c, CLAIM_LEASE_RENEWED);
        if (out->renewed == RENEWED_LATE)
                c->notice(c, CLAIM_LEASE_LATE);
        else if (out->renewed == RENEWED_REASSERTED)
                c->notice(c, CLAIM_LEASE_REASSERTED);
        lease_wait(l, l->lease_ms / RENEW_PARTS);
}

static void on_renewed(struct ledger_call *call)
{
        struct lease *l = call->arg;
        int error = call->error;
        struct renew_out out = call->out.renew;

        l->in_flight = false;
        ledger_call_done(call);
        if (!l->claim)
                free(l);
        else if (error == 0)
                note_renewed(l, &out);
        else if (error != -ECANCELED)
                lease_wait(l, l->lease_ms / RETRY_PARTS);
}

static void send_renew(struct lease *l)
{
        l->call = (struct ledger_call) { .op = LEDGER_RENEW, .done = on_renewed, .arg = l };
        l->call.in.renew = (struct renew_in) {
                .unit = l->unit, .occ = l->occ, .token = l->token, .fence = l->fence,
                .lease_ms = l->lease_ms, .planned = l->planned,
        };
        l->in_flight = true;
        fault_point("renewing");
        ledger_send(l->claimer->ledger, &l->call);
}

static void on_due(struct delay *d)
{
        struct lease *l = container_of(d, struct lease, wait);
        struct mono now = clock_mono();

        if (now.ns >= l->claim->answer.valid_until.ns)
                say_lost(l);
        if (now.ns < l->renew_until.ns)
                send_renew(l);
        else if (!l->said_lost)
                lease_wait(l, l->lease_ms);
}

static struct lease *lease_new(struct claimer *cr, struct claim *c)
{
        const struct task *t = c->unit->of->task;
        struct lease *l = calloc(1, sizeof(*l));
        if (!l)
                return NULL;

        l->claim = c;
        l->claimer = cr;
        l->unit = unit_key(c->unit);
        l->planned = c->planned;
        l->lease_ms = t->lease_ms;
        l->renew_until = mono_plus_ms(clock_mono(), t->timeout_ms + t->exec.kill_after_ms + t->lease_ms);
        (void) snprintf(l->occ, sizeof(l->occ), "%s", c->occ);
        (void) snprintf(l->token, sizeof(l->token), "%s", c->token);
        (void) snprintf(l->fence, sizeof(l->fence), "%s", c->answer.fence);
        return l;
}

/* Without memory for it the claim counts as not held, and the run is not started. */
static void keep_lease(struct claimer *cr, struct claim *c)
{
        c->lease = lease_new(cr, c);
        if (c->lease)
                lease_wait(c->lease, c->lease->lease_ms / RENEW_PARTS);
}

static void on_answered(struct claim *c)
{
        struct claimer *cr = c->unit->of->claimer;

        turn_answered(c);
        if (c->answer.holder_occ[0] || c->answer.outcome == OUTCOME_GRANTED)
                watch_note(&c->unit->watch, c->answer.holder_occ, c->answer.seq, c->unit->of->task->lease_ms,
                           clock_mono());
        if (c->answer.holder_occ[0] && c->answer.outcome != OUTCOME_GRANTED)
                look_begin(&container_of(cr, struct redis_claimer, base)->looks, c->unit);
        if (c->answer.outcome == OUTCOME_GRANTED)
                keep_lease(cr, c);
        c->done(c);
}

static void redis_ask(struct claimer *cr, struct claim *c)
{
        c->answered = on_answered;
        turn_ask(cr, c);
}

static void redis_release(struct claimer *cr, struct claim *c)
{
        struct lease *l = TAKE(c->lease);

        if (!l)
                return;
        delay_clear(cr->options->delays, &l->wait);
        l->claim = NULL;
        if (!l->in_flight)
                free(l);
}

static void redis_hand_over(struct claimer *cr, struct claim *from, struct claim *to)
{
        (void) from;   /* its lease ended with its record */
        keep_lease(cr, to);
}

static int redis_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        struct redis_claimer *cr = calloc(1, sizeof(*cr));

        if (!cr)
                return -ENOMEM;
        cr->base = (struct claimer) { .kind = &claim_redis, .options = o, .ledger = l };
        cr->looks = (struct looks) { .claimer = &cr->base };
        *ret = &cr->base;
        return 0;
}

static void redis_close(struct claimer *base)
{
        struct redis_claimer *cr = container_of(base, struct redis_claimer, base);

        looks_done(&cr->looks);
        free(cr);
}

const struct claim_kind claim_redis = {
        .name = "redis", .path = PATH_REDIS,
        .open = redis_open, .ask = redis_ask, .hurry = ask_hurry, .release = redis_release,
        .hand_over = redis_hand_over, .close = redis_close,
};
