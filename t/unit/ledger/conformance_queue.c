/* The table of cases for queues: instants that wait for their unit are started one by one, in their order, by whoever
 * comes, and each of them once. */
#include "t/unit/ledger/conformance_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct take_out try_take(struct world *w, const char *owner, int n)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts texts;

        ask_take(w, owner, n, &texts, &c.in.take);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct take_out out = c.out.take;
        ledger_call_done(&c);
        return out;
}

void assert_taken(struct world *w, const struct take_out *out, int at)
{
        char occ[OCC_TEXT];

        occurrence_id("", WORLD_TASK, 0, world_at(w, at), occ);
        assert_int_equal(out->claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(out->planned.ms, world_at(w, at).ms);
        assert_string_equal(out->occ, occ);
        assert_true(strtoull(out->claim.fence, NULL, 10) > 0);
        assert_true(out->claim.valid_until.ns > clock_mono().ns);
}

/* Ends the run of a take at `at`, and takes the next as the `next`th take, unless that is 0. */
struct finish_out finish_taken(struct world *w, const char *owner, int n, const struct take_out *took, int at, int next)
{
        struct ask a = { .owner = owner, .at = at };
        struct take_texts texts, more;
        struct ask_texts words;
        struct take_in take;
        struct ledger_call c;

        ask_take(w, owner, n, &texts, &take);
        (void) snprintf(words.fence, sizeof(words.fence), "%s", took->claim.fence);
        ask_finish(w, &a, &words, STATE_SUCCEEDED, &c);
        c.in.finish.token = texts.token;
        c.in.finish.trig = texts.trig;
        if (next) {
                ask_take(w, owner, next, &more, &take);
                c.in.finish.take = &take;
        }
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct finish_out out = c.out.finish;
        ledger_call_done(&c);
        return out;
}

/* Ends the run of a claim, and takes the oldest. */
struct finish_out finish_and_take(struct world *w, struct ask a, struct ask_texts *words, enum state state, int n)
{
        struct take_texts texts;
        struct take_in take;
        struct ledger_call c;

        ask_take(w, a.owner, n, &texts, &take);
        ask_finish(w, &a, words, state, &c);
        c.in.finish.take = &take;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct finish_out out = c.out.finish;
        ledger_call_done(&c);
        return out;
}

enum outcome try_queue(struct world *w, int at, struct ledger_call *ret)
{
        return try_claim(w, (struct ask) { .at = at, .expect = at - 1, .overlap = OVERLAP_QUEUE }, ret);
}

const struct ask queue_first = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };

/* The first one runs, `waiting` more wait: -8, -7, .. */
struct world *queue_world(void **state, unsigned needs, int waiting, struct ask_texts *texts)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS | needs);

        world_task(w, 1, -10);
        granted(w, queue_first, texts);
        for (int i = 0; i < waiting; i++)
                assert_int_equal(try_queue(w, -8 + i, NULL), OUTCOME_QUEUED);
        return w;
}

static void instant_of_a_taken_unit_waits(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 1u << LEDGER_HISTORY, 0, &texts);
        struct ledger_call c, h = { .op = LEDGER_HISTORY };

        assert_int_equal(try_queue(w, -8, &c), OUTCOME_QUEUED);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -8).ms);
        assert_string_equal(c.out.claim.fence, "");
        assert_string_equal(c.out.claim.holder_occ, texts.occ);
        struct peek_out p = peeked(w, 0);
        assert_int_equal(p.cursor.ms, world_at(w, -8).ms);
        assert_int_equal(p.running, 1);
        assert_int_equal(p.queued, 1);

        h.in.history = (struct history_in) { WORLD_TASK, STATE_QUEUED, INSTANT_NONE, 100 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 1);
        assert_int_equal(h.out.history.rows[0].planned.ms, world_at(w, -8).ms);
        assert_string_equal(h.out.history.rows[0].fence, "");
        assert_string_equal(h.out.history.rows[0].owner, w->owner);
        assert_int_equal(h.out.history.rows[0].ended.ns, 0);
        ledger_call_done(&h);
}

static void queue_starts_in_the_order_of_its_instants(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 3, &texts);
        unsigned long long fence = strtoull(texts.fence, NULL, 10);

        struct take_out out = finish_and_take(w, queue_first, &texts, STATE_FAILED, 1).take;
        for (int at = -8; at <= -6; at++) {
                int n = at + 9;
                assert_taken(w, &out, at);
                assert_true(strtoull(out.claim.fence, NULL, 10) > fence);
                fence = strtoull(out.claim.fence, NULL, 10);
                assert_int_equal(peeked(w, 0).running, 1);
                assert_int_equal(peeked(w, 0).queued, -6 - at);
                struct finish_out f = finish_taken(w, NULL, n, &out, at, n + 1);
                assert_int_equal(f.finished, FINISHED_OK);
                out = f.take;
        }
        assert_int_equal(out.claim.outcome, OUTCOME_DONE);
        assert_int_equal(peeked(w, 0).running, 0);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -6).ms);
}

static void who_comes_while_others_wait_goes_behind_them(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 1, &texts);
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(peeked(w, 0).running, 0);

        assert_int_equal(try_queue(w, -7, NULL), OUTCOME_QUEUED);
        struct take_out out = try_take(w, NULL, 1);
        assert_taken(w, &out, -8);
        assert_int_equal(finish_taken(w, NULL, 1, &out, -8, 0).finished, FINISHED_OK);
        out = try_take(w, NULL, 2);
        assert_taken(w, &out, -7);
        assert_int_equal(finish_taken(w, NULL, 2, &out, -7, 0).finished, FINISHED_OK);
        assert_int_equal(try_queue(w, -6, NULL), OUTCOME_GRANTED);
}

static void full_queue_skips_and_goes_on(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 1u << LEDGER_HISTORY, 2, &texts);
        struct ask_texts words;
        struct ledger_call c;

        for (int i = 0; i < 2; i++) {   /* the answer may be lost */
                ask_claim(w, &(struct ask) { .at = -6, .expect = -7, .overlap = OVERLAP_QUEUE }, &words, &c);
                c.in.claim.queue_limit = 2;
                world_call(w, &c);
                assert_int_equal(c.error, 0);
                assert_int_equal(c.out.claim.outcome, OUTCOME_DECIDED);
                assert_int_equal(c.out.claim.state, STATE_SKIPPED);
                assert_int_equal(c.out.claim.cause, CAUSE_QUEUE_FULL);
                assert_int_equal(c.out.claim.replay, i == 1);
        }
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -6).ms);
        assert_int_equal(peeked(w, 0).queued, 2);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);

        assert_int_equal(finish_and_take(w, queue_first, &texts, STATE_SUCCEEDED, 1).take.claim.outcome,
                         OUTCOME_GRANTED);
        ask_claim(w, &(struct ask) { .at = -5, .expect = -6, .overlap = OVERLAP_QUEUE }, &words, &c);
        c.in.claim.queue_limit = 2;
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_QUEUED);
}

static void lost_answer_of_a_queued_claim_is_told_again(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 0, &texts);
        struct ask a = { .at = -5, .expect = -9, .gap_first = -8, .gap_last = -6, .overlap = OVERLAP_QUEUE };
        struct ledger_call c;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);

        assert_int_equal(try_claim(w, a, &c), OUTCOME_QUEUED);
        assert_true(c.out.claim.replay);
        assert_true(c.out.claim.gap_written);
        assert_int_equal(peeked(w, 0).queued, 1);
        a.owner = QUEUE_OTHER;
        assert_int_equal(try_claim(w, a, &c), OUTCOME_DONE);
        assert_false(c.out.claim.gap_written);

        /* Once it was taken it is another's. */
        assert_int_equal(finish_and_take(w, queue_first, &texts, STATE_SUCCEEDED, 1).take.claim.outcome,
                         OUTCOME_GRANTED);
        a.owner = NULL;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_DONE);
}

static void repeated_finish_hands_over_the_same_once(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 2, &texts);
        struct finish_out one = finish_and_take(w, queue_first, &texts, STATE_SUCCEEDED, 1);
        assert_false(one.take.claim.replay);

        struct finish_out two = finish_and_take(w, queue_first, &texts, STATE_SUCCEEDED, 1);
        assert_int_equal(two.finished, FINISHED_OK);
        assert_taken(w, &two.take, -8);
        assert_true(two.take.claim.replay);
        assert_string_equal(two.take.claim.fence, one.take.claim.fence);
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(peeked(w, 0).queued, 1);
}

static void finish_of_another_hands_over_nothing(void **state)
{
        struct ask_texts texts, others = { .fence = "1" };
        struct world *w = queue_world(state, 0, 1, &texts);
        struct ask a = queue_first;

        a.owner = QUEUE_OTHER;
        struct finish_out f = finish_and_take(w, a, &others, STATE_SUCCEEDED, 1);
        assert_int_equal(f.finished, FINISHED_FENCED);
        assert_int_equal(f.take.claim.outcome, OUTCOME_BUSY);
        assert_int_equal(peeked(w, 0).queued, 1);
        assert_int_equal(peeked(w, 0).running, 1);
}

static void any_worker_takes_when_the_slot_is_free(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 1, &texts);

        struct take_out out = try_take(w, QUEUE_OTHER, 1);
        assert_int_equal(out.claim.outcome, OUTCOME_BUSY);
        assert_string_equal(out.claim.holder, w->owner);
        assert_string_equal(out.claim.holder_occ, texts.occ);
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        out = try_take(w, QUEUE_OTHER, 2);
        assert_taken(w, &out, -8);
        assert_int_equal(finish_taken(w, QUEUE_OTHER, 2, &out, -8, 0).finished, FINISHED_OK);
        assert_int_equal(try_take(w, QUEUE_OTHER, 3).claim.outcome, OUTCOME_DONE);
}

static void take_is_answered_the_same_again(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 2, &texts);
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        struct take_out one = try_take(w, NULL, 1), two = try_take(w, NULL, 1);

        assert_taken(w, &two, -8);
        assert_false(one.claim.replay);
        assert_true(two.claim.replay);
        assert_string_equal(one.claim.fence, two.claim.fence);
        assert_int_equal(peeked(w, 0).queued, 1);
        /* A request that comes again after its run is over starts no other. */
        assert_int_equal(finish_taken(w, NULL, 1, &one, -8, 0).finished, FINISHED_OK);
        assert_int_equal(try_take(w, NULL, 1).claim.outcome, OUTCOME_DONE);
        assert_int_equal(peeked(w, 0).running, 0);
        assert_int_equal(peeked(w, 0).queued, 1);
}

static void of_two_takes_one_wins(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 2, &texts);
        struct ledger_call calls[2] = { { .op = LEDGER_TAKE }, { .op = LEDGER_TAKE } };
        struct take_texts words[2];
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);

        ask_take(w, NULL, 1, &words[0], &calls[0].in.take);
        ask_take(w, QUEUE_OTHER, 1, &words[1], &calls[1].in.take);
        world_call_all(w, calls, 2);
        assert_int_equal(calls[0].error, 0);
        assert_int_equal(calls[1].error, 0);
        assert_int_equal(calls[0].out.take.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(calls[1].out.take.claim.outcome, OUTCOME_BUSY);
        assert_int_equal(peeked(w, 0).queued, 1);
}

static void void_take_starts_nothing(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 1, &texts);
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);

        ask_take(w, NULL, 1, &words, &c.in.take);
        c.in.take.not_after.ms = stamp_instant(clock_wall()).ms - 5000;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_EARLY);
        assert_int_equal(peeked(w, 0).running, 0);
        assert_int_equal(peeked(w, 0).queued, 1);
}

const struct CMUnitTest queue_cases[] = {
        CONFORMANCE_CASE(instant_of_a_taken_unit_waits),
        CONFORMANCE_CASE(queue_starts_in_the_order_of_its_instants),
        CONFORMANCE_CASE(who_comes_while_others_wait_goes_behind_them),
        CONFORMANCE_CASE(full_queue_skips_and_goes_on),
        CONFORMANCE_CASE(lost_answer_of_a_queued_claim_is_told_again),
        CONFORMANCE_CASE(repeated_finish_hands_over_the_same_once),
        CONFORMANCE_CASE(finish_of_another_hands_over_nothing),
        CONFORMANCE_CASE(any_worker_takes_when_the_slot_is_free),
        CONFORMANCE_CASE(take_is_answered_the_same_again),
        CONFORMANCE_CASE(of_two_takes_one_wins),
        CONFORMANCE_CASE(void_take_starts_nothing),
};
const size_t queue_case_count = sizeof(queue_cases) / sizeof(queue_cases[0]);
