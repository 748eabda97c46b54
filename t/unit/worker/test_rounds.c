/* Rounds: what was due when one began is looked at, and nothing else until the next. */
#include <errno.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

#define HOUR_MS 3600000

static struct rig rig, *r = &rig;

static int up(void **state)
{
        (void) state;
        rig_up(r);
        r->spine.o.in_rounds = true;
        r->spine.horizon = INSTANT_NONE;
        return 0;
}

static int down(void **state)
{
        (void) state;
        rig_down(r);
        return 0;
}

static struct instant hours(int n)
{
        return (struct instant) { rig_due(r).ms + n * HOUR_MS };
}

static void round_at(struct instant at)
{
        struct stamp then = instant_stamp(at), now;

        spine_round(&r->spine, &r->job, 1, at);
        now = clock_wall();   /* what is overdue stands in line as of now */
        spine_turn(&r->spine, then.ns > now.ns ? then : now);
}

static void nothing_is_looked_at_before_the_first_round(void **state)
{
        (void) state;
        spine_enlist(&r->spine, r->unit);
        assert_true(spine_is_idle(&r->spine));
        spine_turn(&r->spine, instant_stamp(hours(5)));
        assert_int_equal(r->claim_count, 0);
}

static void a_round_takes_what_was_due_by_then_and_no_more(void **state)
{
        (void) state;
        round_at(rig_due(r));
        assert_int_equal(rig_claim(r)->planned.ms, rig_due(r).ms);
        assert_false(spine_is_idle(&r->spine));
        rig_answer(r, OUTCOME_DONE);
        assert_true(spine_is_idle(&r->spine));
        spine_turn(&r->spine, instant_stamp(hours(5)));
        assert_int_equal(r->claim_count, 1);
}

static void the_next_round_takes_the_next(void **state)
{
        (void) state;
        round_at(rig_due(r));
        rig_answer(r, OUTCOME_DONE);
        round_at(hours(1));
        assert_int_equal(r->claim_count, 2);
        assert_int_equal(rig_claim(r)->planned.ms, hours(1).ms);
        rig_answer(r, OUTCOME_DONE);
}

static void an_instant_that_has_come_belongs_to_the_round_that_begins_with_it(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        round_at((struct instant) { hours(1).ms - 1 });
        assert_int_equal(r->claim_count, 0);
        round_at(hours(1));
        assert_int_equal(r->claim_count, 1);
        rig_answer(r, OUTCOME_DONE);
}

static void what_lies_between_rounds_is_the_misfire_policys(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        round_at(hours(4));
        assert_int_equal(rig_claim(r)->gap.count, 3);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_MISFIRE);
        rig_answer(r, OUTCOME_DONE);
}

static void what_was_tried_in_vain_in_a_round_is_not_misfire(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        r->unit->trouble = CAUSE_LEDGER_DOWN;
        round_at(hours(4));
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_LEDGER_DOWN);
        rig_answer(r, OUTCOME_DONE);
}

static void a_unit_in_trouble_keeps_its_round_from_being_over(void **state)
{
        (void) state;
        round_at(rig_due(r));
        rig_answer(r, OUTCOME_DOWN);
        assert_int_equal(r->spine.count, 0);
        assert_false(spine_is_idle(&r->spine));
        spine_dismiss(&r->spine, r->unit);
        assert_true(spine_is_idle(&r->spine));
}

static void a_unit_without_a_cursor_lets_nobody_say_how_far_it_came(void **state)
{
        struct cease_line line;

        (void) state;
        r->unit->registered = false;
        spine_ceased(&r->spine, &r->job, 1, hours(1), &line);
        assert_int_equal(line.local.ms, 0);
        assert_int_equal(line.group.ms, hours(1).ms);
}

static void a_backlog_is_that_of_the_begin_of_its_round(void **state)
{
        (void) state;
        r->task.misfire = (struct misfire) {
                .policy = MISFIRE_CATCH_UP, .limit = 2, .lookback_ms = 100 * HOUR_MS,
        };
        r->unit->cursor = rig_due(r);
        round_at(hours(4));
        assert_int_equal(rig_claim(r)->planned.ms, hours(3).ms);
        assert_int_equal(rig_claim(r)->gap.count, 2);
        rig_answer(r, OUTCOME_DONE);
        spine_turn(&r->spine, instant_stamp(hours(9)));   /* much later */
        assert_int_equal(rig_claim(r)->planned.ms, hours(4).ms);
        assert_int_equal(rig_claim(r)->gap.count, 0);
        rig_answer(r, OUTCOME_DONE);
        assert_true(spine_is_idle(&r->spine));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(nothing_is_looked_at_before_the_first_round),
                CASE(a_round_takes_what_was_due_by_then_and_no_more),
                CASE(the_next_round_takes_the_next),
                CASE(an_instant_that_has_come_belongs_to_the_round_that_begins_with_it),
                CASE(what_lies_between_rounds_is_the_misfire_policys),
                CASE(what_was_tried_in_vain_in_a_round_is_not_misfire),
                CASE(a_unit_in_trouble_keeps_its_round_from_being_over),
                CASE(a_unit_without_a_cursor_lets_nobody_say_how_far_it_came),
                CASE(a_backlog_is_that_of_the_begin_of_its_round),
        };
        return RUN_CASES(argc, argv, "rounds", tests);
}
