/* The noop runner, and the choice of a runner. */
#include "t/unit/cases.h"
#include "t/unit/runner/trial.h"

static struct trial t;

static int setup(void **state)
{
        (void) state;
        trial_init(&t, &runner_noop);
        return 0;
}

static void noop_succeeds_without_a_result(void **state)
{
        (void) state;
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, -1);
        assert_int_equal(t.started, 1);
        trial_close(&t);
}

static void unwritten_run_line_is_a_failure(void **state)
{
        (void) state;
        t.refuses_start = true;
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_LOG, RESULT_NONE, -1);
        trial_close(&t);
}

static void stop_before_the_start_starts_nothing(void **state)
{
        (void) state;
        trial_open(&t);
        trial_start(&t);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        assert_int_equal(t.started, 0);
        trial_close(&t);
}

static void later_types_have_no_runner(void **state)
{
        (void) state;
        assert_ptr_equal(runner_kind(RUNNER_HTTP), &runner_http);
        assert_ptr_equal(runner_kind(RUNNER_EXEC), &runner_exec);
        assert_ptr_equal(runner_kind(RUNNER_NOOP), &runner_noop);
        assert_ptr_equal(runner_kind(RUNNER_REDIS), &runner_redis);
        assert_null(runner_kind(RUNNER_CALL));
        assert_int_equal(uv_loop_close(&t.loop), 0);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
        const struct CMUnitTest tests[] = {
                CASE(noop_succeeds_without_a_result),
                CASE(unwritten_run_line_is_a_failure),
                CASE(stop_before_the_start_starts_nothing),
                CASE(later_types_have_no_runner),
        };

        return RUN_CASES(argc, argv, "noop", tests);
}
