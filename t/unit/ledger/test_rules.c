/* The rules of once without any store: each rule alone, and which goes before which. */
#include "ledger/rules.h"

#include "t/unit/cases.h"

#define NOW_MS 1000000LL

/* A claim that is granted; each case spoils one thing. */
static const struct claim_in fine = { .planned = { NOW_MS - 1000 }, .expect = { NOW_MS - 2000 }, .grace_ms = 59000,
                                      .max_running = 1, .rev = 3, .shards = 1 };
static const struct unit_facts ready = { .now = { NOW_MS * NS_PER_MS }, .barrier = { INT64_MIN }, .registered = true,
                                         .cursor = { NOW_MS - 2000 }, .rev = 3, .shards = 1 };
static const struct record_facts none;

static enum outcome decide(const struct claim_in *in, const struct record_facts *r, const struct unit_facts *u,
                           enum cause *ret_cause)
{
        struct claim_verdict v;

        rules_claim(in, r, u, &v);
        if (ret_cause)
                *ret_cause = v.cause;
        return v.outcome;
}

static void first_claim_is_granted(void **state)
{
        (void) state;
        assert_int_equal(decide(&fine, &none, &ready, NULL), OUTCOME_GRANTED);
}

static void known_occurrence_answers_by_its_token(void **state)
{
        (void) state;
        static const struct {
                struct record_facts r;
                enum outcome out;
        } cases[] = {
                { { .exists = true, .own = true, .in_slot = true, .state = STATE_RUNNING }, OUTCOME_GRANTED },
                { { .exists = true, .own = true, .in_slot = false, .state = STATE_RUNNING }, OUTCOME_DONE },
                { { .exists = true, .own = false, .in_slot = true, .state = STATE_RUNNING }, OUTCOME_DONE },
                { { .exists = true, .own = true, .state = STATE_SUCCEEDED }, OUTCOME_DONE },
                { { .exists = true, .own = true, .state = STATE_INTERRUPTED }, OUTCOME_DONE },
                { { .exists = true, .own = true, .state = STATE_UNKNOWN, .cause = CAUSE_POWER }, OUTCOME_DONE },
                { { .exists = true, .own = true, .state = STATE_UNKNOWN, .cause = CAUSE_BARRIER }, OUTCOME_DECIDED },
                { { .exists = true, .own = true, .state = STATE_SKIPPED, .cause = CAUSE_OVERLAP }, OUTCOME_DECIDED },
                { { .exists = true, .own = true, .state = STATE_MISSED, .cause = CAUSE_LATE }, OUTCOME_DECIDED },
                { { .exists = true, .own = false, .state = STATE_MISSED, .cause = CAUSE_LATE }, OUTCOME_DONE },
                { { .exists = true, .own = true, .state = STATE_QUEUED }, OUTCOME_QUEUED },
                { { .exists = true, .own = false, .state = STATE_QUEUED }, OUTCOME_DONE },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_int_equal(decide(&fine, &cases[i].r, &ready, NULL), cases[i].out);
}

static void grace_includes_its_last_millisecond(void **state)
{
        (void) state;
        struct claim_in in = fine;
        enum cause cause;

        in.grace_ms = 1000;
        assert_int_equal(decide(&in, &none, &ready, NULL), OUTCOME_GRANTED);
        in.grace_ms = 999;
        assert_int_equal(decide(&in, &none, &ready, &cause), OUTCOME_DECIDED);
        assert_int_equal(cause, CAUSE_LATE);
        in.catch_up = true;
        assert_int_equal(decide(&in, &none, &ready, NULL), OUTCOME_GRANTED);
}

static void clocks_may_differ_by_fifty_milliseconds(void **state)
{
        (void) state;
        struct claim_in in = fine;

        in.planned.ms = NOW_MS + CLAIM_EARLY_MS;
        assert_int_equal(decide(&in, &none, &ready, NULL), OUTCOME_GRANTED);
        in.planned.ms++;
        assert_int_equal(decide(&in, &none, &ready, NULL), OUTCOME_EARLY);
}

static void nothing_is_written_for_a_stale_claim(void **state)
{
        (void) state;
        struct claim_in in = fine;
        struct unit_facts u = ready;

        /* It would be late, and before the barrier, and expects another cursor. */
        in.grace_ms = 1;
        in.expect.ms--;
        u.barrier.ms = NOW_MS;
        in.rev = 2;
        assert_int_equal(decide(&in, &none, &u, NULL), OUTCOME_STALE);
        in.rev = 3;
        assert_int_equal(decide(&in, &none, &u, NULL), OUTCOME_MOVED);
        in.expect = u.cursor;
        enum cause cause;
        assert_int_equal(decide(&in, &none, &u, &cause), OUTCOME_DECIDED);
        assert_int_equal(cause, CAUSE_BARRIER);
}

static void only_a_lower_term_is_stale(void **state)
{
        (void) state;
        struct claim_in in = fine;
        struct unit_facts u = ready;

        u.term = 5;
        in.term = 4;
        assert_int_equal(decide(&in, &none, &u, NULL), OUTCOME_STALE);
        in.term = 5;
        assert_int_equal(decide(&in, &none, &u, NULL), OUTCOME_GRANTED);
        in.term = 0;   /* not on the dedicated path */
        assert_int_equal(decide(&in, &none, &u, NULL), OUTCOME_GRANTED);
}

static void slots_are_settled_by_the_overlap_policy(void **state)
{
        (void) state;
        static const struct {
                enum overlap_policy policy;
                unsigned max, slots, ending;
                enum outcome out;
        } cases[] = {
                { OVERLAP_DROP, 1, 1, 0, OUTCOME_DECIDED },
                { OVERLAP_DROP, 9, 1, 0, OUTCOME_DECIDED },
                { OVERLAP_DROP, 1, 1, 1, OUTCOME_BUSY },
                { OVERLAP_CONCURRENT, 2, 1, 0, OUTCOME_GRANTED },
                { OVERLAP_CONCURRENT, 2, 1, 1, OUTCOME_GRANTED },
                { OVERLAP_CONCURRENT, 2, 2, 0, OUTCOME_DECIDED },
                { OVERLAP_CONCURRENT, 2, 2, 1, OUTCOME_BUSY },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct claim_in in = fine;
                struct unit_facts u = ready;
                in.overlap = cases[i].policy;
                in.max_running = cases[i].max;
                u.slots = cases[i].slots;
                u.ending = cases[i].ending;
                assert_int_equal(decide(&in, &none, &u, NULL), cases[i].out);
        }
}

static void queue_keeps_its_order_and_its_limit(void **state)
{
        (void) state;
        static const struct {
                unsigned slots, ending, queued;
                enum outcome out;
        } cases[] = {
                { 0, 0, 0, OUTCOME_GRANTED },
                { 1, 0, 0, OUTCOME_QUEUED },
                { 1, 1, 0, OUTCOME_QUEUED },
                { 0, 0, 1, OUTCOME_QUEUED },   /* the slot is free, but others wait */
                { 1, 0, 2, OUTCOME_QUEUED },
                { 1, 0, 3, OUTCOME_DECIDED },
                { 0, 0, 3, OUTCOME_DECIDED },
                { 1, 0, 4, OUTCOME_DECIDED },  /* the limit was lowered */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct claim_in in = fine;
                struct unit_facts u = ready;
                enum cause cause;
                in.overlap = OVERLAP_QUEUE;
                in.queue_limit = 3;
                u.slots = cases[i].slots;
                u.ending = cases[i].ending;
                u.queued = cases[i].queued;
                assert_int_equal(decide(&in, &none, &u, &cause), cases[i].out);
                if (cases[i].out == OUTCOME_DECIDED)
                        assert_int_equal(cause, CAUSE_QUEUE_FULL);
        }
}

/* A take that is granted; each case spoils one thing. */
static const struct take_in take = { .rev = 3, .shards = 1, .not_after = { NOW_MS } };
static const struct unit_facts waiting = { .now = { NOW_MS * NS_PER_MS }, .barrier = { INT64_MIN }, .registered = true,
                                           .cursor = { NOW_MS - 2000 }, .rev = 3, .shards = 1,
                                           .oldest = { NOW_MS - 3000 } };

static enum outcome decide_take(const struct take_in *in, const struct record_facts *r, const struct unit_facts *u)
{
        struct claim_verdict v;

        rules_take(in, r, u, &v);
        return v.outcome;
}

static void take_follows_its_rules_in_their_order(void **state)
{
        (void) state;
        struct take_in in = take;
        struct unit_facts u = waiting;

        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_GRANTED);
        u.slots = 1;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_BUSY);
        u.barrier = u.oldest;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_DECIDED);
        u.barrier.ms--;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_BUSY);
        u.oldest.ms = u.barrier.ms = NOW_MS + CLAIM_EARLY_MS + 1;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_EARLY);
        u.oldest.ms = u.barrier.ms = NOW_MS + CLAIM_EARLY_MS;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_DECIDED);
        u.oldest = INSTANT_NONE;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_DONE);
        in.rev = 2;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_STALE);
        u.registered = false;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_UNREGISTERED);
        in.not_after.ms--;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_EARLY);
}

static void take_is_stale_by_each_of_three(void **state)
{
        (void) state;
        struct take_in in = take;
        struct unit_facts u = waiting;

        in.shards = 2;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_STALE);
        in = take;
        u.term = 5;
        in.term = 4;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_STALE);
        in.term = 5;
        assert_int_equal(decide_take(&in, &none, &u), OUTCOME_GRANTED);
}

static void token_of_a_take_is_answered_first(void **state)
{
        (void) state;
        struct take_in in = take;
        struct unit_facts u = waiting;
        struct record_facts r = { .exists = true, .own = true, .in_slot = true, .state = STATE_RUNNING };

        /* Whatever else has changed meanwhile. */
        in.rev = 2;
        in.not_after.ms -= 10000;
        u.slots = 1;
        assert_int_equal(decide_take(&in, &r, &u), OUTCOME_GRANTED);
        r.state = STATE_SUCCEEDED;
        r.in_slot = false;
        assert_int_equal(decide_take(&in, &r, &u), OUTCOME_DONE);
        r.state = STATE_UNKNOWN;
        assert_int_equal(decide_take(&in, &r, &u), OUTCOME_DONE);
        r.cause = CAUSE_BARRIER;
        assert_int_equal(decide_take(&in, &r, &u), OUTCOME_DECIDED);
}

static void revoke_never_closes_an_open_grace(void **state)
{
        (void) state;
        struct revoke_in in = { .planned = fine.planned, .expect = fine.expect, .not_after = { NOW_MS },
                                .grace_ms = 59000 };

        assert_int_equal(rules_revoke(&in, &none, &ready), REVOKED_WAIT);
        in.not_after.ms = NOW_MS - 1;
        assert_int_equal(rules_revoke(&in, &none, &ready), REVOKED_FREE);
        in.grace_ms = 999;
        assert_int_equal(rules_revoke(&in, &none, &ready), REVOKED_ABANDONED);
        in.expect.ms--;   /* the cursor stands elsewhere: others decide what lies between */
        assert_int_equal(rules_revoke(&in, &none, &ready), REVOKED_FREE);
        in.planned.ms = ready.cursor.ms;
        assert_int_equal(rules_revoke(&in, &none, &ready), REVOKED_DECIDED);
}

static void final_states_are_left_for_no_other(void **state)
{
        (void) state;
        struct finish_in in = { .state = STATE_SUCCEEDED };
        struct record_facts r = { .exists = true, .own = true, .state = STATE_RUNNING };

        assert_int_equal(rules_finish(&in, &r), FINISH_WRITE);
        r.state = STATE_SUCCEEDED;
        assert_int_equal(rules_finish(&in, &r), FINISH_KNOWN);
        r.state = STATE_INTERRUPTED;
        assert_int_equal(rules_finish(&in, &r), FINISH_FENCED);
        r.state = STATE_UNKNOWN;
        assert_int_equal(rules_finish(&in, &r), FINISH_FENCED);
        r.cause = CAUSE_BARRIER;   /* the one exception: the store lost the claim */
        assert_int_equal(rules_finish(&in, &r), FINISH_RECOVER);
        assert_int_equal(rules_finish(&in, &none), FINISH_RECOVER);
        r = (struct record_facts) { .exists = true, .own = false, .state = STATE_RUNNING };
        assert_int_equal(rules_finish(&in, &r), FINISH_FENCED);
        r.state = STATE_QUEUED;   /* it was taken, and the store lost that */
        assert_int_equal(rules_finish(&in, &r), FINISH_RECOVER);
}

static void fences_rise_without_and_with_the_clock(void **state)
{
        (void) state;
        struct stamp now = { 5000000000LL };

        assert_int_equal(rules_fence(0, now), 5000000);
        assert_int_equal(rules_fence(5000000, now), 5000001);
        assert_int_equal(rules_fence(9000000, now), 9000001);   /* the clock went back */
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(first_claim_is_granted),
                cmocka_unit_test(known_occurrence_answers_by_its_token),
                cmocka_unit_test(grace_includes_its_last_millisecond),
                cmocka_unit_test(clocks_may_differ_by_fifty_milliseconds),
                cmocka_unit_test(nothing_is_written_for_a_stale_claim),
                cmocka_unit_test(only_a_lower_term_is_stale),
                cmocka_unit_test(slots_are_settled_by_the_overlap_policy),
                cmocka_unit_test(queue_keeps_its_order_and_its_limit),
                cmocka_unit_test(take_follows_its_rules_in_their_order),
                cmocka_unit_test(take_is_stale_by_each_of_three),
                cmocka_unit_test(token_of_a_take_is_answered_first),
                cmocka_unit_test(revoke_never_closes_an_open_grace),
                cmocka_unit_test(final_states_are_left_for_no_other),
                cmocka_unit_test(fences_rise_without_and_with_the_clock),
        };

        return RUN_CASES(argc, argv, "rules", tests);
}
