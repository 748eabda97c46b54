/* Whose turn it is to ask Redis: the words that workers share, and a claim beside a sibling that the test plays. */
#include "common/cleanup.h"
#include "common/scoreboard/asked.h"
#include "t/unit/cases.h"
#include "t/unit/worker/claim_rig.h"

static struct asked_table *table;
static struct asked *word;

static int up(void **state)
{
        char unit[UNIT_TEXT];

        assert_int_equal(asked_create(&table), 0);
        assert_int_equal(claim_rig_up(state), 0);
        r->claims.asked = table;
        unit_text(r->job.scope_key, r->task.name, 0, unit);
        word = asked_find(table, unit);
        assert_non_null(word);
        return 0;
}

static int down(void **state)
{
        int result = claim_rig_down(state);

        table = asked_free(table);
        return result;
}

/* For what concerns the words alone. */
static int table_up(void **state)
{
        (void) state;
        assert_int_equal(asked_create(&table), 0);
        word = asked_find(table, "unit");
        return 0;
}

static int table_down(void **state)
{
        (void) state;
        table = asked_free(table);
        return 0;
}

/* As a sibling would that came first. */
static void sibling_asks(void)
{
        assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_YOURS);
}

static void until_done(void)
{
        for (int i = 0; i < 400 && done_count == 0; i++)
                rig_pass(r, 5);
        assert_int_equal(done_count, 1);
}

static void the_first_asks_and_tells_its_siblings(void **state)
{
        (void) state;
        begin(&claim_redis);
        assert_int_equal(r->call_count, 1);
        assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_BY_OTHER);
        grant_call();
        assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_DECIDED);
        assert_int_equal(lost_local, 0);
}

static void who_comes_later_asks_nothing_and_is_told_done(void **state)
{
        (void) state;
        sibling_asks();
        begin(&claim_redis);
        assert_int_equal(lost_local, 1);
        rig_pass(r, 10);
        asked_decided(word, rig_due(r));
        until_done();
        assert_int_equal(r->call_count, 0);
        assert_int_equal(c->answer.outcome, OUTCOME_DONE);
        assert_int_equal(c->answer.cursor.ms, rig_due(r).ms);
        assert_int_equal(lost_local, 1);
}

static void a_sibling_that_never_answers_is_stood_in_for(void **state)
{
        (void) state;
        sibling_asks();
        begin(&claim_redis);
        assert_int_equal(r->call_count, 0);
        until_called(0);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        assert_int_equal(lost_local, 1);
        grant_call();
        assert_int_equal(c->answer.outcome, OUTCOME_GRANTED);
}

/* Of two that stand in one asks, and the other waits for it as for the first. */
static void one_stands_in_at_a_time(void **state)
{
        struct instant planned = { 1000 };
        struct mono t = { 0 };

        (void) state;
        assert_int_equal(asked_try(word, planned, t, 20), ASKED_YOURS);
        assert_int_equal(asked_try(word, planned, mono_plus_ms(t, 19), 20), ASKED_BY_OTHER);
        assert_int_equal(asked_try(word, planned, mono_plus_ms(t, 20), 20), ASKED_YOURS);
        assert_int_equal(asked_try(word, planned, mono_plus_ms(t, 21), 20), ASKED_BY_OTHER);
}

static void what_the_ledger_did_not_decide_is_asked_again_at_once(void **state)
{
        static const enum outcome undecided[] = { OUTCOME_MOVED, OUTCOME_BUSY, OUTCOME_EARLY, OUTCOME_STALE };

        (void) state;
        begin(&claim_redis);
        for (size_t i = 0; i < ARRAY_SIZE(undecided); i++) {
                answer_call(undecided[i]);
                assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_YOURS);
                asked_undecided(word, rig_due(r));
                claim_ask(claimer, c);
                assert_int_equal(r->call_count, i + 2);
        }
        rig_answer_call(r, -EAGAIN);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
        assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_YOURS);
}

static void what_was_decided_elsewhere_need_not_be_asked_for_again(void **state)
{
        static const enum outcome decided[] = { OUTCOME_DONE, OUTCOME_DECIDED, OUTCOME_QUEUED };

        (void) state;
        begin(&claim_redis);
        for (size_t i = 0; i < ARRAY_SIZE(decided); i++) {
                answer_call(decided[i]);
                assert_int_equal(asked_try(word, rig_due(r), clock_mono(), 60000), ASKED_DECIDED);
                asked_decided(word, (struct instant) { 1 });
                asked_undecided(word, rig_due(r));
                claim_ask(claimer, c);
        }
        assert_int_equal(r->call_count, 4);
        grant_call();
}

/* Nothing that stands in a word keeps an instant from being asked for. */
static void a_word_of_another_instant_says_nothing(void **state)
{
        struct instant due = { INT64_C(1764522000000) };
        static const int64_t others[] = { -1, 1, 1000, -3600000, INT64_C(1) << 38, -(INT64_C(1) << 38) };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                asked_decided(word, (struct instant) { due.ms + others[i] });
                (void) asked_try(word, (struct instant) { due.ms + others[i] }, clock_mono(), 60000);
                assert_int_equal(asked_try(word, due, clock_mono(), 60000), ASKED_YOURS);
                asked_undecided(word, due);
        }
}

static void an_undecided_answer_leaves_the_word_of_a_newer_instant(void **state)
{
        (void) state;
        assert_int_equal(asked_try(word, (struct instant) { 2000 }, clock_mono(), 60000), ASKED_YOURS);
        asked_undecided(word, (struct instant) { 1000 });
        assert_int_equal(asked_try(word, (struct instant) { 2000 }, clock_mono(), 60000), ASKED_BY_OTHER);
}

static void a_stop_ends_the_wait_for_a_sibling(void **state)
{
        (void) state;
        sibling_asks();
        begin(&claim_redis);
        claim_hurry(claimer, c, false);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_LOST_LOCAL);
        assert_int_equal(r->call_count, 0);
}

/* A unit without a word asks for itself, as all do. */
static void a_full_table_has_no_word_left(void **state)
{
        char unit[32];
        size_t found = 0;

        (void) state;
        for (size_t i = 0; i < 2 * ASKED_UNITS; i++) {
                (void) snprintf(unit, sizeof(unit), "unit %zu", i);
                found += asked_find(table, unit) != NULL;
        }
        assert_true(found <= ASKED_UNITS - 1);
        assert_true(found > ASKED_UNITS * 3 / 4);
        assert_null(asked_find(NULL, "unit"));
        assert_ptr_equal(asked_find(table, "unit 1"), asked_find(table, "unit 1"));
}

static void without_siblings_all_is_asked(void **state)
{
        (void) state;
        sibling_asks();
        r->claims.asked = NULL;
        begin(&claim_redis);
        assert_int_equal(r->call_count, 1);
        assert_int_equal(lost_local, 0);
        grant_call();
}

static void a_gap_alone_and_what_waits_are_asked_for_by_each(void **state)
{
        (void) state;
        sibling_asks();
        begin(&claim_redis);
        claim_hurry(claimer, c, false);
        c->planned = INSTANT_NONE;
        c->gap = (struct instant_range) { { 1 }, { 2 }, 2 };
        claim_ask(claimer, c);
        assert_int_equal(r->call_count, 1);
        answer_call(OUTCOME_DECIDED);
        c->take = true;
        claim_ask(claimer, c);
        assert_int_equal(r->call_count, 2);
        assert_int_equal(rig_call(r)->op, LEDGER_TAKE);
        rig_call(r)->out.take.claim.outcome = OUTCOME_BUSY;
        rig_answer_call(r, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)
#define WORD(f) cmocka_unit_test_setup_teardown(f, table_up, table_down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(the_first_asks_and_tells_its_siblings),
                CASE(who_comes_later_asks_nothing_and_is_told_done),
                CASE(a_sibling_that_never_answers_is_stood_in_for),
                WORD(one_stands_in_at_a_time),
                CASE(what_the_ledger_did_not_decide_is_asked_again_at_once),
                CASE(what_was_decided_elsewhere_need_not_be_asked_for_again),
                WORD(a_word_of_another_instant_says_nothing),
                WORD(an_undecided_answer_leaves_the_word_of_a_newer_instant),
                CASE(a_stop_ends_the_wait_for_a_sibling),
                WORD(a_full_table_has_no_word_left),
                CASE(without_siblings_all_is_asked),
                CASE(a_gap_alone_and_what_waits_are_asked_for_by_each),
        };

        return RUN_CASES(argc, argv, "turn", tests);
}
