/* Why instants were not run: what held up their unit while they were due. */
#include <errno.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

static struct rig rig, *r = &rig;

/* An instant every 50 ms, each to be run within 50. */
static int up(void **state)
{
        (void) state;
        rig_up(r);
        assert_int_equal(schedule_every(50, rig_due(r).ms, &r->task.schedule), 0);
        r->task.misfire.grace_ms = 50;
        return 0;
}

static int down(void **state)
{
        (void) state;
        rig_down(r);
        return 0;
}

/* The claim that waited is granted and run; then the gap behind it is asked for. */
static enum cause cause_of_the_gap(void)
{
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, 0);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 2);
        assert_true(rig_claim(r)->gap.count > 0);
        enum cause cause = rig_claim(r)->gap_cause;
        rig_claim(r)->answer.gap_written = true;
        rig_answer(r, OUTCOME_DONE);
        return cause;
}

static void what_is_due_while_the_ledger_does_not_answer_is_the_ledgers(void **state)
{
        (void) state;
        rig_go(r);
        rig_pass(r, 320);
        assert_int_equal(cause_of_the_gap(), CAUSE_LEDGER_DOWN);
        assert_int_equal(rig_line("range", 0)->state, STATE_MISSED);
}

static void of_a_process_that_stood_still_the_ledger_is_not_to_blame(void **state)
{
        (void) state;
        rig_go(r);
        struct mono now = clock_mono();
        spine_beat(&r->spine, now, mono_plus_ms(now, 50));
        rig_pass(r, 320);
        assert_int_equal(cause_of_the_gap(), CAUSE_NOBODY);
}

static void a_late_beat_is_remembered_by_the_claims_of_its_time(void **state)
{
        (void) state;
        rig_go(r);
        struct mono now = clock_mono();
        spine_beat(&r->spine, now, mono_plus_ms(now, 50));
        rig_pass(r, 320);
        now = clock_mono();
        spine_beat(&r->spine, now, mono_plus_ms(now, 1000));
        assert_int_equal(cause_of_the_gap(), CAUSE_NOBODY);
}

static void what_is_due_after_the_answer_is_not_the_ledgers(void **state)
{
        (void) state;
        rig_go(r);
        rig_pass(r, 250);
        r->unit->held = rig_due(r);   /* a claim long before */
        struct mono now = clock_mono();
        spine_beat(&r->spine, now, mono_plus_ms(now, 10));
        spine_beat(&r->spine, mono_plus_ms(now, 500), mono_plus_ms(now, 1500));
        assert_int_equal(cause_of_the_gap(), CAUSE_NOBODY);
}

static void what_is_due_while_the_log_cannot_be_written_is_the_logs(void **state)
{
        (void) state;
        rig_log.state = -ENOSPC;
        rig_go(r);
        assert_int_equal(r->claim_count, 0);
        rig_pass(r, 120);
        rig_log.state = 0;
        rig_pass(r, 500);
        assert_int_equal(r->claim_count, 1);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_LOG);
        rig_claim(r)->answer.gap_written = true;
        rig_answer(r, OUTCOME_DONE);
        assert_int_equal(rig_line("range", 0)->state, STATE_MISSED);
        assert_int_equal(rig_line("range", 0)->cause, CAUSE_LOG);
}

static void what_is_due_while_all_handles_are_taken_is_for_want_of_one(void **state)
{
        (void) state;
        r->spine.o.max_handles = 1;
        rig_go(r);
        rig_pass(r, 320);
        r->unit->held = INSTANT_NONE;
        rig_grant(r);
        r->unit->held = INSTANT_NONE;   /* the ledger had answered; it was the run that took so long */
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, 0);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 2);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_NO_HANDLE);
        rig_claim(r)->answer.gap_written = true;
        rig_answer(r, OUTCOME_DONE);
        assert_int_equal(rig_line("range", 0)->state, STATE_MISSED);
        assert_int_equal(rig_line("range", 0)->cause, CAUSE_NO_HANDLE);
}

/* An hour of a wrong clock would else be a question a second for each unit. */
static void a_store_that_is_far_behind_is_asked_less_and_less(void **state)
{
        int64_t waits[7];

        (void) state;
        rig_go(r);
        for (unsigned i = 0; i < 7; i++) {
                rig_claim(r)->answer.store_time.ns = clock_wall().ns - 3600 * NS_PER_S;
                rig_answer(r, OUTCOME_EARLY);
                waits[i] = agenda_next(&r->spine.agenda).ms - stamp_instant(clock_wall()).ms;
                spine_wake(&r->spine, r->unit, stamp_instant(clock_wall()));
                spine_turn(&r->spine, clock_wall());
        }
        rig_answer(r, OUTCOME_DONE);
        for (unsigned i = 0; i < 7; i++) {
                int64_t expected = i < 5 ? 1000 << i : 30000;
                assert_true(waits[i] > expected - 500 && waits[i] <= expected);
        }
        assert_int_equal(r->unit->early_ms, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(what_is_due_while_the_ledger_does_not_answer_is_the_ledgers),
                CASE(of_a_process_that_stood_still_the_ledger_is_not_to_blame),
                CASE(a_late_beat_is_remembered_by_the_claims_of_its_time),
                CASE(what_is_due_after_the_answer_is_not_the_ledgers),
                CASE(what_is_due_while_the_log_cannot_be_written_is_the_logs),
                CASE(what_is_due_while_all_handles_are_taken_is_for_want_of_one),
                CASE(a_store_that_is_far_behind_is_asked_less_and_less),
        };

        return RUN_CASES(argc, argv, "causes", tests);
}
