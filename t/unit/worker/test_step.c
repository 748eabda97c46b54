/* What a set clock means for units: who waits, what is looked at anew, whose fault the rest was. */
#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"
#include "worker/ahead.h"

#define HOUR_MS 3600000LL
#define MAX_FUTURE_MS HOUR_MS

static struct rig rig;

static int up(void **state)
{
        *state = &rig;
        rig_up(&rig);
        return 0;
}

static int down(void **state)
{
        rig_down(*state);
        return 0;
}

static struct stamp at(const struct rig *r, int64_t ms)
{
        return instant_stamp((struct instant) { rig_due(r).ms + ms });
}

static void what_the_clock_went_over_is_the_misfire_policys(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        spine_enlist(&r->spine, r->unit);
        spine_stepped(&r->spine, &r->job, 1, at(r, 3 * HOUR_MS + 1));
        spine_turn(&r->spine, at(r, 3 * HOUR_MS + 1));
        assert_int_equal(rig_claim(r)->gap.count, 2);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_MISFIRE);
        rig_answer(r, OUTCOME_DONE);
}

static void what_passes_later_is_not(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        spine_stepped(&r->spine, &r->job, 1, at(r, 1));
        spine_enlist(&r->spine, r->unit);
        spine_turn(&r->spine, at(r, 3 * HOUR_MS + 1));
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_NOBODY);
        rig_answer(r, OUTCOME_DONE);
}

/* The instant is due by either clock; the wait was meant to be one of milliseconds. */
static void a_wait_is_not_lengthened_by_a_step_back(void **state)
{
        struct rig *r = *state;
        rig_go(r);
        rig_answer(r, OUTCOME_BUSY);
        assert_int_equal(r->claim_count, 1);
        spine_stepped(&r->spine, &r->job, 1, at(r, 1));
        assert_true(spine_next(&r->spine).ms <= stamp_instant(clock_wall()).ms);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 2);
        rig_answer(r, OUTCOME_DONE);
}

static struct ahead ahead_at(const struct rig *r, int64_t ms)
{
        struct ahead a;

        ahead_find(&r->job, 1, stamp_instant(at(r, ms)), MAX_FUTURE_MS, &a);
        return a;
}

static void a_cursor_behind_the_clock_waits_for_nothing(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        assert_int_equal(ahead_at(r, 0).tasks, 0);
        /* Another node's clock may be a little ahead of this one's. */
        assert_int_equal(ahead_at(r, -AHEAD_MIN_MS).tasks, 0);
}

static void a_cursor_ahead_waits_for_what_follows_it(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        struct ahead a = ahead_at(r, -MAX_FUTURE_MS);
        assert_int_equal(a.tasks, 1);
        assert_int_equal(a.first.ms, rig_due(r).ms + HOUR_MS);
        assert_int_equal(a.last.ms, a.first.ms);
        assert_ptr_equal(a.soonest, &r->job);
        assert_int_equal(a.refused, 0);
}

static void a_cursor_beyond_max_future_is_refused(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        struct ahead a = ahead_at(r, -MAX_FUTURE_MS - 1);
        assert_int_equal(a.refused, 1);
        assert_int_equal(a.furthest_ms, MAX_FUTURE_MS + 1);
        assert_ptr_equal(a.furthest, &r->job);
}

static void who_does_not_compete_does_not_wait(void **state)
{
        struct rig *r = *state;
        r->unit->cursor = rig_due(r);
        r->job.competes = false;
        assert_int_equal(ahead_at(r, -HOUR_MS).tasks, 0);
        r->job.competes = true;
        r->unit->registered = false;
        assert_int_equal(ahead_at(r, -HOUR_MS).tasks, 0);
}

static void of_many_tasks_the_first_the_last_and_the_furthest_are_named(void **state)
{
        struct rig *r = *state;
        struct unit units[3] = { *r->unit, *r->unit, *r->unit };
        struct job jobs[3] = { r->job, r->job, r->job };
        struct ahead a;
        for (int i = 0; i < 3; i++) {
                units[i].cursor.ms = rig_due(r).ms + (int64_t[]) { 1, 3, 2 }[i] * HOUR_MS;
                jobs[i].units = &units[i];
        }

        ahead_find(jobs, 3, rig_due(r), MAX_FUTURE_MS, &a);
        assert_int_equal(a.tasks, 3);
        assert_int_equal(a.first.ms, rig_due(r).ms + 2 * HOUR_MS);
        assert_int_equal(a.last.ms, rig_due(r).ms + 4 * HOUR_MS);
        assert_ptr_equal(a.soonest, &jobs[0]);
        assert_int_equal(a.refused, 2);
        assert_ptr_equal(a.furthest, &jobs[1]);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_the_clock_went_over_is_the_misfire_policys),
                CASE(what_passes_later_is_not),
                CASE(a_wait_is_not_lengthened_by_a_step_back),
                CASE(a_cursor_behind_the_clock_waits_for_nothing),
                CASE(a_cursor_ahead_waits_for_what_follows_it),
                CASE(a_cursor_beyond_max_future_is_refused),
                CASE(who_does_not_compete_does_not_wait),
                CASE(of_many_tasks_the_first_the_last_and_the_furthest_are_named),
        };

        return RUN_CASES(argc, argv, "step", tests);
}
