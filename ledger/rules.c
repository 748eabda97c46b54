/* The rules of once, as pure functions; the header lists them. No rule reads a clock or a store. */
#include "ledger/rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/record/names.h"

static void answer(struct claim_verdict *v, enum outcome outcome, enum state state, enum cause cause)
{
        *v = (struct claim_verdict) { .outcome = outcome, .state = state, .cause = cause };
}

static void answer_again(const struct record_facts *r, struct claim_verdict *v)
{
        enum outcome again = OUTCOME_DONE;

        if (r->own && r->state == STATE_RUNNING && r->in_slot)
                again = OUTCOME_GRANTED;
        else if (r->own && r->state == STATE_QUEUED)
                again = OUTCOME_QUEUED;
        else if (r->own && (r->state == STATE_SKIPPED || r->state == STATE_MISSED ||
                            (r->state == STATE_UNKNOWN && r->cause == CAUSE_BARRIER)))
                again = OUTCOME_DECIDED;
        answer(v, again, r->state, r->cause);
        v->replay = r->own;
}

static bool in_force(uint64_t rev, unsigned shards, uint64_t term, const struct unit_facts *u)
{
        return rev == u->rev && shards == u->shards && (term == 0 || term >= u->term);
}

static bool lies_behind(struct instant planned, struct instant barrier)
{
        return !instant_is_none(barrier) && planned.ms <= barrier.ms;
}

static int64_t lateness_ms(struct instant planned, struct stamp now)
{
        return stamp_instant(now).ms - planned.ms;
}

static void settle_queue(const struct claim_in *in, const struct unit_facts *u, struct claim_verdict *v)
{
        if (u->slots == 0 && u->queued == 0)
                answer(v, OUTCOME_GRANTED, STATE_RUNNING, CAUSE_NONE);
        else if (u->queued < in->queue_limit)
                answer(v, OUTCOME_QUEUED, STATE_QUEUED, CAUSE_NONE);
        else
                answer(v, OUTCOME_DECIDED, STATE_SKIPPED, CAUSE_QUEUE_FULL);
}

static void settle_overlap(const struct claim_in *in, const struct unit_facts *u, struct claim_verdict *v)
{
        unsigned allowed = in->overlap == OVERLAP_CONCURRENT ? in->max_running : 1;

        if (u->slots < allowed)
                answer(v, OUTCOME_GRANTED, STATE_RUNNING, CAUSE_NONE);
        else if (u->ending > 0)
                /* A tree that outlives its worker is about to go: the instant may still run within grace. */
                answer(v, OUTCOME_BUSY, STATE_RUNNING, CAUSE_NONE);
        else
                answer(v, OUTCOME_DECIDED, STATE_SKIPPED, CAUSE_OVERLAP);
}

void rules_claim(const struct claim_in *in, const struct record_facts *r, const struct unit_facts *u,
                 struct claim_verdict *ret)
{
        bool gap_alone = instant_is_none(in->planned);
        struct instant newest = gap_alone ? in->gap.last : in->planned;

        if (r->exists)
                answer_again(r, ret);
        else if (!u->registered)
                answer(ret, OUTCOME_UNREGISTERED, STATE_RUNNING, CAUSE_NONE);
        else if (!gap_alone && in->planned.ms <= u->cursor.ms)
                answer(ret, OUTCOME_DONE, STATE_RUNNING, CAUSE_NONE);
        else if (!in_force(in->rev, in->shards, in->term, u))
                answer(ret, OUTCOME_STALE, STATE_RUNNING, CAUSE_NONE);
        else if (lateness_ms(newest, u->now) < -CLAIM_EARLY_MS)
                answer(ret, OUTCOME_EARLY, STATE_RUNNING, CAUSE_NONE);
        else if (in->expect.ms != u->cursor.ms)
                answer(ret, OUTCOME_MOVED, STATE_RUNNING, CAUSE_NONE);
        else if (gap_alone)
                answer(ret, OUTCOME_DECIDED, rules_gap_state(in->gap_cause), in->gap_cause);
        else if (lies_behind(in->planned, u->barrier))
                answer(ret, OUTCOME_DECIDED, STATE_UNKNOWN, CAUSE_BARRIER);
        else if (!in->catch_up && lateness_ms(in->planned, u->now) > in->grace_ms)
                answer(ret, OUTCOME_DECIDED, STATE_MISSED, CAUSE_LATE);
        else if (in->overlap == OVERLAP_QUEUE)
                settle_queue(in, u, ret);
        else
                settle_overlap(in, u, ret);
}

void rules_take(const struct take_in *in, const struct record_facts *r, const struct unit_facts *u,
                struct claim_verdict *ret)
{
        if (r->exists)
                answer_again(r, ret);
        else if (!instant_is_none(in->not_after) && stamp_instant(u->now).ms > in->not_after.ms)
                answer(ret, OUTCOME_EARLY, STATE_QUEUED, CAUSE_NONE);
        else if (!u->registered)
                answer(ret, OUTCOME_UNREGISTERED, STATE_QUEUED, CAUSE_NONE);
        else if (!in_force(in->rev, in->shards, in->term, u))
                answer(ret, OUTCOME_STALE, STATE_QUEUED, CAUSE_NONE);
        else if (instant_is_none(u->oldest))
                answer(ret, OUTCOME_DONE, STATE_QUEUED, CAUSE_NONE);
        else if (lateness_ms(u->oldest, u->now) < -CLAIM_EARLY_MS)
                answer(ret, OUTCOME_EARLY, STATE_QUEUED, CAUSE_NONE);
        else if (lies_behind(u->oldest, u->barrier))
                answer(ret, OUTCOME_DECIDED, STATE_UNKNOWN, CAUSE_BARRIER);
        else if (u->slots > 0)
                answer(ret, OUTCOME_BUSY, STATE_QUEUED, CAUSE_NONE);
        else
                answer(ret, OUTCOME_GRANTED, STATE_RUNNING, CAUSE_NONE);
}

enum state rules_gap_state(enum cause cause)
{
        switch (cause) {
        case CAUSE_MISFIRE:
        case CAUSE_DISABLED:
        case CAUSE_REVISED:
        case CAUSE_OVERLAP:
        case CAUSE_NOT_OWNER:
        case CAUSE_QUEUE_FULL:
                return STATE_SKIPPED;
        case CAUSE_BARRIER:
                return STATE_UNKNOWN;
        default:
                return STATE_MISSED;
        }
}

enum revoked rules_revoke(const struct revoke_in *in, const struct record_facts *r, const struct unit_facts *u)
{
        if (r->exists) {
                bool abandoned = r->state == STATE_MISSED && r->cause == CAUSE_ABANDONED;
                return r->own && (r->state == STATE_RUNNING || abandoned) ? REVOKED_ABANDONED : REVOKED_DECIDED;
        }
        if (u->registered && in->planned.ms <= u->cursor.ms)
                return REVOKED_DECIDED;
        /* A cursor elsewhere means that somebody else decides what lies in between, this instant included. */
        if (lateness_ms(in->planned, u->now) > in->grace_ms && u->registered && in->expect.ms == u->cursor.ms)
                return REVOKED_ABANDONED;
        if (!instant_is_none(in->not_after) && stamp_instant(u->now).ms <= in->not_after.ms)
                return REVOKED_WAIT;
        return REVOKED_FREE;
}

enum finish_verdict rules_finish(const struct finish_in *in, const struct record_facts *r)
{
        /* Nobody has a fence for what is queued unless the store lost that it was taken. */
        if (!r->exists || r->state == STATE_QUEUED || (r->state == STATE_UNKNOWN && r->cause == CAUSE_BARRIER))
                return FINISH_RECOVER;
        if (!r->own)
                return FINISH_FENCED;
        if (r->state == STATE_RUNNING)
                return FINISH_WRITE;
        return r->state == in->state ? FINISH_KNOWN : FINISH_FENCED;
}

#define PLACE "in:"

const char *rules_place(enum path path)
{
        return path == PATH_REDIS ? PLACE "redis" : path == PATH_NONE ? PLACE "none" : PLACE "local";
}

bool rules_is_away(const char *when_hash)
{
        return strncmp(when_hash, PLACE, strlen(PLACE)) == 0;
}

bool rules_is_in_ledger(const char *when_hash)
{
        return rules_is_away(when_hash) && strcmp(when_hash, rules_place(PATH_NONE)) != 0;
}

bool rules_moves_in(const struct define_in *in, const char *old_when)
{
        return !in->away && (old_when ? rules_is_away(old_when) : in->left.ms != 0);
}

struct instant rules_valid_from(const struct define_in *in, const char *old_when, struct instant newest,
                                struct instant now)
{
        bool is_known = in->left.ms != 0 && (in->away || rules_moves_in(in, old_when));
        struct instant from = is_known ? in->left : now;

        return in->away && from.ms < newest.ms ? newest : from;
}

int64_t rules_fence(int64_t newest, struct stamp now)
{
        int64_t by_time = now.ns / NS_PER_US;

        return by_time > newest ? by_time : newest + 1;
}

int64_t rules_fence_of_both(int64_t newest, const char *other)
{
        int64_t theirs = other ? strtoll(other, NULL, 10) : 0;

        return theirs > newest && theirs < INT64_MAX / 2 ? theirs : newest;
}
