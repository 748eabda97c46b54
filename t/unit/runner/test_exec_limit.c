/* A command whose right to run runs out is ended by its keeper, whatever its worker is at. */
#include "t/unit/runner/exec_trial.h"

static void command_that_nobody_prolongs_is_ended_at_its_limit(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), 300);
        exec_trial_sh("setsid sleep 60 & echo pid=$!; sleep 60");
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 250, 2000);
        assert_true(pid_gone(exec_trial_printed_pid()) && pid_gone(t.pid));
        exec_trial_end();
}

/* The parent dies of it first, and its children have another parent from then on. */
static void all_of_a_tree_hear_term(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), 300);
        exec_trial_sh("i=0; while [ $i -lt 30 ]; do sleep 60 & i=$((i + 1)); done; wait");
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 250, 4000);   /* not by KILL, five seconds later */
        exec_trial_end();
}

static void limit_needs_no_worker(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), 400);
        EXEC_SH("trap '' TERM; while :; do sleep 0.05; done");
        t.task.exec.kill_after_ms = 50;
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        wait_until(process_ended, &t.pid);       /* the loop stands still, as that of a stopped worker */
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        exec_trial_end();
}

static void prolonged_command_goes_on(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), 400);
        EXEC_SH("sleep 0.8; echo fine");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        t.run.valid_until = mono_plus_ms(clock_mono(), 60000);
        runner_exec.prolong(t.runner, &t.run);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        exec_trial_end();
}

static void limit_that_passed_before_the_start_ends_at_once(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), -1000);
        t.task.exec.kill_after_ms = 100;   /* a process that is forked just then does not hear TERM */
        exec_trial_sh("sleep 60");
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_true(t.took_ms < 1000);
        exec_trial_end();
}

static void run_without_a_limit_is_not_given_one(void **state)
{
        (void) state;
        EXEC_SH("sleep 0.4");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        runner_exec.prolong(t.runner, &t.run);   /* nothing to tell */
        trial_finish(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        exec_trial_end();
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, exec_trial_setup, exec_trial_teardown)

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                CASE(command_that_nobody_prolongs_is_ended_at_its_limit),
                CASE(all_of_a_tree_hear_term),
                CASE(limit_needs_no_worker),
                CASE(prolonged_command_goes_on),
                CASE(limit_that_passed_before_the_start_ends_at_once),
                CASE(run_without_a_limit_is_not_given_one),
        };

        return RUN_CASES(argc, argv, "exec_limit", cases);
}
