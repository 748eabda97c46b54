/* The table of cases for claims, revokes and finishes: what can start, and that it starts once. */
#include "t/unit/ledger/conformance.h"

#include "t/unit/cases.h"
#include "t/unit/ledger/conformance_cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct conformance_backend *backend;

int conformance_begin(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        alarm(60);   /* an answer that never comes ends the test */
        if (world_begin(w, backend) < 0) {
                free(w);
                *state = NULL;
                return 0;
        }
        world_open(w);
        *state = w;
        return 0;
}

int conformance_end(void **state)
{
        if (*state)
                world_end(*state);
        free(*state);
        alarm(0);
        return 0;
}

struct world *conformance_world(void **state, unsigned needs)
{
        struct world *w = *state;

        if (!w || (w->backend->lacks & needs))
                skip();
        return w;
}

enum outcome try_claim(struct world *w, struct ask a, struct ledger_call *ret)
{
        struct ask_texts texts;
        struct ledger_call own, *c = ret ? ret : &own;

        ask_claim(w, &a, &texts, c);
        world_call(w, c);
        if (c->error != 0)
                print_error("claim: error %d, %s\n", c->error, c->why);
        assert_int_equal(c->error, 0);
        enum outcome out = c->out.claim.outcome;
        if (!ret)
                ledger_call_done(c);
        return out;
}

void granted(struct world *w, struct ask a, struct ask_texts *texts)
{
        struct ledger_call c;

        ask_claim(w, &a, texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c.out.claim.fence);
        ledger_call_done(&c);
}

enum finished try_finish(struct world *w, struct ask a, struct ask_texts *texts, enum state state)
{
        struct ledger_call c;

        ask_finish(w, &a, texts, state, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.finish.finished;
}

struct peek_out peeked(struct world *w, unsigned shard)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, shard };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.peek;
}

size_t history_count(struct world *w, enum state state)
{
        struct ledger_call c = { .op = LEDGER_HISTORY };

        c.in.history = (struct history_in) { WORLD_TASK, (int) state, INSTANT_NONE, 100 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        size_t count = c.out.history.count;
        ledger_call_done(&c);
        return count;
}

static void first_claim_is_granted_with_a_fence(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        world_task(w, 1, -10);

        assert_int_equal(try_claim(w, (struct ask) { .at = -9, .expect = -10 }, &c), OUTCOME_GRANTED);

        assert_true(strtoull(c.out.claim.fence, NULL, 10) > 0);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -9).ms);
        assert_false(c.out.claim.replay);
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -9).ms);
}

static void instant_is_never_granted_twice(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, (struct ask) { .at = -9, .expect = -10 }, &texts);

        struct ask other = { .owner = "other.1.2.3", .at = -9, .expect = -10 };
        assert_int_equal(try_claim(w, other, &c), OUTCOME_DONE);
        assert_string_equal(c.out.claim.holder, w->owner);

        /* A lock by name is free again after the finish; the instant is still taken. */
        assert_int_equal(try_finish(w, (struct ask) { .at = -9 }, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(try_claim(w, other, NULL), OUTCOME_DONE);
        other.expect = -9;
        assert_int_equal(try_claim(w, other, NULL), OUTCOME_DONE);
}

static void same_token_gets_the_same_fence_again(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .at = -9, .expect = -10 };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, a, &texts);

        assert_int_equal(try_claim(w, a, &c), OUTCOME_GRANTED);

        assert_true(c.out.claim.replay);
        assert_string_equal(c.out.claim.fence, texts.fence);
        assert_int_equal(peeked(w, 0).running, 1);
}

static void finished_instant_is_not_granted_to_its_own_token(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .at = -9, .expect = -10 };
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, a, &texts);
        assert_int_equal(try_finish(w, a, &texts, STATE_FAILED), FINISHED_OK);

        assert_int_equal(try_claim(w, a, NULL), OUTCOME_DONE);
}

static void unit_without_cursor_is_unregistered(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);
        w->shards = 1;

        struct ledger_call c;
        struct ask_texts texts;
        ask_claim(w, &(struct ask) { .at = -9, .expect = -10 }, &texts, &c);
        c.in.claim.unit.scope_key = "elsewhere-00000000";
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_UNREGISTERED);
}

static void first_to_register_gives_the_cursor(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c = { .op = LEDGER_REGISTER };
        assert_false(peeked(w, 0).registered);

        c.in.reg = (struct register_in) { { "", WORLD_TASK, 0 }, world_at(w, -10) };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_true(c.out.reg.created);
        c.in.reg.cursor = world_at(w, -5);
        world_call(w, &c);
        assert_false(c.out.reg.created);
        assert_int_equal(c.out.reg.cursor.ms, world_at(w, -10).ms);
}

static void instants_up_to_the_cursor_are_done(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);

        assert_int_equal(try_claim(w, (struct ask) { .at = -10, .expect = -11 }, NULL), OUTCOME_DONE);
        assert_int_equal(try_claim(w, (struct ask) { .at = -15, .expect = -10 }, NULL), OUTCOME_DONE);
}

static void wrong_expectation_is_told_the_cursor(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        world_task(w, 1, -10);

        assert_int_equal(try_claim(w, (struct ask) { .at = -5, .expect = -6 }, &c), OUTCOME_MOVED);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -10).ms);
        assert_int_equal(try_claim(w, (struct ask) { .at = -5, .expect = -12 }, NULL), OUTCOME_MOVED);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
        assert_int_equal(peeked(w, 0).running, 0);
}

static void gap_is_recorded_once_with_the_claim(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask a = { .at = -5, .expect = -10, .gap_first = -9, .gap_last = -6 };
        struct ledger_call c;
        world_task(w, 1, -10);

        assert_int_equal(try_claim(w, a, &c), OUTCOME_GRANTED);
        assert_true(c.out.claim.gap_written);
        a.owner = "other.1.2.3";
        assert_int_equal(try_claim(w, a, &c), OUTCOME_DONE);
        assert_false(c.out.claim.gap_written);

        struct ledger_call h = { .op = LEDGER_HISTORY };
        h.in.history = (struct history_in) { WORLD_TASK, STATE_SKIPPED, INSTANT_NONE, 100 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 1);
        assert_true(h.out.history.rows[0].range);
        assert_int_equal(h.out.history.rows[0].planned.ms, world_at(w, -9).ms);
        assert_int_equal(h.out.history.rows[0].last.ms, world_at(w, -6).ms);
        assert_int_equal(h.out.history.rows[0].count, 4);
        assert_int_equal(h.out.history.rows[0].cause, CAUSE_MISFIRE);
        ledger_call_done(&h);
}

static void lost_answer_tells_again_that_the_gap_was_written(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .at = -5, .expect = -10, .gap_first = -9, .gap_last = -6 };
        struct ledger_call c;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_GRANTED);

        assert_int_equal(try_claim(w, a, &c), OUTCOME_GRANTED);
        assert_true(c.out.claim.replay);
        assert_true(c.out.claim.gap_written);
}

static void gap_alone_moves_the_cursor(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .gap_alone = true, .expect = -10, .gap_first = -9, .gap_last = -4,
                         .gap_cause = CAUSE_NOBODY };
        struct ledger_call c;
        world_task(w, 1, -10);

        assert_int_equal(try_claim(w, a, &c), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.state, STATE_MISSED);
        assert_int_equal(c.out.claim.cause, CAUSE_NOBODY);
        assert_true(c.out.claim.gap_written);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -4).ms);

        /* Another's gap from the same place comes too late, and is not written twice. */
        a.owner = "other.1.2.3";
        assert_int_equal(try_claim(w, a, &c), OUTCOME_MOVED);
        assert_false(c.out.claim.gap_written);
        assert_int_equal(try_claim(w, (struct ask) { .at = -3, .expect = -4 }, NULL), OUTCOME_GRANTED);
}

static void overlap_is_dropped_by_exactly_one(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask second = { .at = -8, .expect = -9 };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, (struct ask) { .at = -9, .expect = -10 }, &texts);

        assert_int_equal(try_claim(w, second, &c), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.state, STATE_SKIPPED);
        assert_int_equal(c.out.claim.cause, CAUSE_OVERLAP);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -8).ms);
        second.owner = "other.1.2.3";
        assert_int_equal(try_claim(w, second, NULL), OUTCOME_DONE);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);

        /* The slot is free after the finish. */
        assert_int_equal(try_finish(w, (struct ask) { .at = -9 }, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(try_claim(w, (struct ask) { .at = -7, .expect = -8 }, NULL), OUTCOME_GRANTED);
}

static void lost_answer_of_a_drop_is_told_again(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask second = { .at = -8, .expect = -9 };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, (struct ask) { .at = -9, .expect = -10 }, &texts);
        assert_int_equal(try_claim(w, second, NULL), OUTCOME_DECIDED);

        assert_int_equal(try_claim(w, second, &c), OUTCOME_DECIDED);
        assert_true(c.out.claim.replay);
        assert_int_equal(c.out.claim.state, STATE_SKIPPED);
        assert_int_equal(c.out.claim.cause, CAUSE_OVERLAP);
}

static void concurrent_runs_up_to_its_maximum(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .overlap = OVERLAP_CONCURRENT, .max_running = 2 };
        struct ask_texts first, second;
        world_task(w, 1, -10);

        a.at = -9, a.expect = -10;
        granted(w, a, &first);
        a.at = -8, a.expect = -9;
        granted(w, a, &second);
        assert_int_equal(peeked(w, 0).running, 2);
        a.at = -7, a.expect = -8;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_DECIDED);

        assert_int_equal(try_finish(w, (struct ask) { .at = -9 }, &first, STATE_SUCCEEDED), FINISHED_OK);
        a.at = -6, a.expect = -7;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_GRANTED);
        assert_int_equal(peeked(w, 0).running, 2);
}

static void shards_are_units_of_their_own(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 2, -10);

        assert_int_equal(try_claim(w, (struct ask) { .at = -9, .expect = -10 }, NULL), OUTCOME_GRANTED);
        assert_int_equal(try_claim(w, (struct ask) { .at = -9, .expect = -10, .shard = 1 }, NULL),
                         OUTCOME_GRANTED);
}

static void later_than_grace_is_missed(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ledger_call c;
        world_task(w, 1, -10);

        struct ask a = { .at = -9, .expect = -10, .grace_ms = 2000 };
        assert_int_equal(try_claim(w, a, &c), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.state, STATE_MISSED);
        assert_int_equal(c.out.claim.cause, CAUSE_LATE);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -9).ms);
        assert_int_equal(history_count(w, STATE_MISSED), 1);

        a = (struct ask) { .at = -8, .expect = -9, .grace_ms = 2000, .catch_up = true };
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_GRANTED);
}

static void instant_ahead_of_the_clock_is_early(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);

        struct ask a = { .at = 30, .expect = -10, .gap_first = -9, .gap_last = 29 };
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_EARLY);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);

        /* Nor can whose clock is ahead give up what is still to come. */
        a = (struct ask) { .gap_alone = true, .expect = -10, .gap_first = -9, .gap_last = 29,
                           .gap_cause = CAUSE_MISFIRE };
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_EARLY);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
}

static void claim_of_an_old_definition_is_stale(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        world_task(w, 1, -10);

        struct ask a = { .at = -9, .expect = -10, .rev = w->rev + 7 };
        assert_int_equal(try_claim(w, a, &c), OUTCOME_STALE);
        assert_int_equal(c.out.claim.rev, w->rev);
        assert_int_equal(c.out.claim.shards, 1);
        a = (struct ask) { .at = -9, .expect = -10, .shards = 4 };
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_STALE);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
}

static void void_request_is_not_executed(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        ask_claim(w, &(struct ask) { .at = -9, .expect = -10, .void_after_ms = -5000 }, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
}

static void fences_increase_over_all_units(void **state)
{
        struct world *w = conformance_world(state, 0);
        unsigned long long newest = 0;
        world_task(w, 3, -10);

        for (int at = -9; at < -2; at++)
                for (unsigned shard = 0; shard < 3; shard++) {
                        struct ask a = { .at = at, .expect = at - 1, .shard = shard };
                        struct ask_texts texts;
                        granted(w, a, &texts);
                        assert_true(strtoull(texts.fence, NULL, 10) > newest);
                        newest = strtoull(texts.fence, NULL, 10);
                        assert_int_equal(try_finish(w, a, &texts, STATE_SUCCEEDED), FINISHED_OK);
                }
}

static void finish_frees_the_slot_for_a_claim_of_the_same_turn(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask first = { .at = -9, .expect = -10 }, second = { .at = -8, .expect = -9 };
        struct ask_texts texts, next;
        struct ledger_call calls[2];
        world_task(w, 1, -10);
        granted(w, first, &texts);

        /* Sent the other way round: within one turn finishes go first. */
        ask_claim(w, &second, &next, &calls[0]);
        ask_finish(w, &first, &texts, STATE_SUCCEEDED, &calls[1]);
        world_call_all(w, calls, 2);
        assert_int_equal(calls[0].error, 0);
        assert_int_equal(calls[1].error, 0);
        assert_int_equal(calls[0].out.claim.outcome, OUTCOME_GRANTED);
}

static void batch_decides_many_units_at_once(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call calls[60];
        struct ask_texts texts[60];
        world_task(w, 60, -10);

        for (unsigned i = 0; i < 60; i++)
                ask_claim(w, &(struct ask) { .at = -9, .expect = -10, .shard = i }, &texts[i], &calls[i]);
        world_call_all(w, calls, 60);
        for (unsigned i = 0; i < 60; i++) {
                assert_int_equal(calls[i].error, 0);
                assert_int_equal(calls[i].out.claim.outcome, OUTCOME_GRANTED);
        }
}

const struct CMUnitTest claim_cases[] = {
        CONFORMANCE_CASE(first_claim_is_granted_with_a_fence),
        CONFORMANCE_CASE(instant_is_never_granted_twice),
        CONFORMANCE_CASE(same_token_gets_the_same_fence_again),
        CONFORMANCE_CASE(finished_instant_is_not_granted_to_its_own_token),
        CONFORMANCE_CASE(unit_without_cursor_is_unregistered),
        CONFORMANCE_CASE(first_to_register_gives_the_cursor),
        CONFORMANCE_CASE(instants_up_to_the_cursor_are_done),
        CONFORMANCE_CASE(wrong_expectation_is_told_the_cursor),
        CONFORMANCE_CASE(gap_is_recorded_once_with_the_claim),
        CONFORMANCE_CASE(lost_answer_tells_again_that_the_gap_was_written),
        CONFORMANCE_CASE(gap_alone_moves_the_cursor),
        CONFORMANCE_CASE(overlap_is_dropped_by_exactly_one),
        CONFORMANCE_CASE(lost_answer_of_a_drop_is_told_again),
        CONFORMANCE_CASE(concurrent_runs_up_to_its_maximum),
        CONFORMANCE_CASE(shards_are_units_of_their_own),
        CONFORMANCE_CASE(later_than_grace_is_missed),
        CONFORMANCE_CASE(instant_ahead_of_the_clock_is_early),
        CONFORMANCE_CASE(claim_of_an_old_definition_is_stale),
        CONFORMANCE_CASE(void_request_is_not_executed),
        CONFORMANCE_CASE(fences_increase_over_all_units),
        CONFORMANCE_CASE(finish_frees_the_slot_for_a_claim_of_the_same_turn),
        CONFORMANCE_CASE(batch_decides_many_units_at_once),
};
const size_t claim_case_count = sizeof(claim_cases) / sizeof(claim_cases[0]);

int conformance_main(int argc, char **argv, const struct conformance_backend *b)
{
        size_t life_at = claim_case_count, death_at = life_at + life_case_count;
        size_t queue_at = death_at + death_case_count, waiting_at = queue_at + queue_case_count;
        size_t nodes_at = waiting_at + waiting_case_count, moves_at = nodes_at + node_case_count;
        size_t count = moves_at + move_case_count;
        struct CMUnitTest *all = calloc(count, sizeof(*all));

        if (!all)
                return 1;
        backend = b;
        memcpy(all, claim_cases, claim_case_count * sizeof(*all));
        memcpy(all + life_at, life_cases, life_case_count * sizeof(*all));
        memcpy(all + death_at, death_cases, death_case_count * sizeof(*all));
        memcpy(all + queue_at, queue_cases, queue_case_count * sizeof(*all));
        memcpy(all + waiting_at, waiting_cases, waiting_case_count * sizeof(*all));
        memcpy(all + nodes_at, node_cases, node_case_count * sizeof(*all));
        memcpy(all + moves_at, move_cases, move_case_count * sizeof(*all));
        int r = run_cases(argc, argv, b->name, all, count);
        free(all);
        return r;
}
