/* What a command leaves behind is ended: by its keeper, whatever becomes of command and worker. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/unit/runner/exec_trial.h"

static void child_that_keeps_the_output_is_ended(void **state)
{
        (void) state;
        exec_trial_sh("sleep 60 & echo pid=$!; echo x");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_true(trial_text_has(&t, "x\n"));
        assert_true(t.took_ms < 1000);
        assert_true(pid_gone(exec_trial_printed_pid()));
        assert_string_equal(t.run.outcome.error, "ended 1 process that it left behind");
        exec_trial_end();
}

static void what_was_left_behind_is_told_beside_the_failure(void **state)
{
        (void) state;
        exec_trial_sh("sleep 60 >/dev/null & sleep 60 >/dev/null & echo no luck >&2; exit 4");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 4);
        assert_string_equal(t.run.outcome.error, "exit code 4: no luck; ended 2 processes that it left behind");
        trial_again(&t);
        EXEC_SH("sleep 0.01 & wait; echo fine");
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_string_equal(t.run.outcome.error, "");
        exec_trial_end();
}

static void double_fork_with_setsid_is_ended(void **state)
{
        (void) state;
        exec_trial_sh("(setsid sh -c 'echo pid=$$; exec sleep 300' &) | { read -r line; echo $line; }");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_true(pid_gone(exec_trial_printed_pid()));
        exec_trial_end();
}

/* A child born, or given to another parent, while its tree was being told, was not told, and held the unit until
 * kill_after. */
static void tree_that_still_grows_is_told_whole(void **state)
{
#define GROWING "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'sleep 60 & sleep 60' &) ; done >/dev/null"
        (void) state;
        exec_trial_sh(GROWING);
        assert_true(t.took_ms < 2000);
        for (int i = 0; i < 20; i++) {
                trial_again(&t);
                EXEC_SH(GROWING);
                trial_run(&t);
                trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
                assert_true(t.took_ms < 2000);
        }
        exec_trial_end();
}

static void left_children_are_told(void **state)
{
        (void) state;
        t.task.exec.leave_children = true;
        exec_trial_sh("sleep 300 >/dev/null 2>&1 & echo pid=$!");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_string_equal(t.run.outcome.error, "left 1 process running");
        assert_int_equal(kill(exec_trial_printed_pid(), 0), 0);
        assert_int_equal(kill(exec_trial_printed_pid(), SIGKILL), 0);
        exec_trial_end();
}

static void left_child_delays_the_end_by_a_second_at_most(void **state)
{
        (void) state;
        t.task.exec.leave_children = true;
        exec_trial_sh("sleep 300 & echo pid=$!");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_in_range(t.took_ms, 900, 2500);
        assert_int_equal(kill(exec_trial_printed_pid(), SIGKILL), 0);
        exec_trial_end();
}

static void deadline_ends_the_tree(void **state)
{
        (void) state;
        t.run.timeout_ms = 200;
        exec_trial_sh("trap 'echo bye; exit 0' TERM; setsid sleep 60 & echo pid=$!; while :; do sleep 0.05; done");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 200, 2000);
        assert_true(trial_text_has(&t, "bye"));
        assert_true(pid_gone(exec_trial_printed_pid()) && pid_gone(t.pid));
        exec_trial_end();
}

static void deadline_reaches_a_stopped_command(void **state)
{
        (void) state;
        t.run.timeout_ms = 200;
        exec_trial_sh("kill -STOP $$");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 200, 2000);
        exec_trial_end();
}

static void ignored_term_is_followed_by_kill(void **state)
{
        (void) state;
        t.run.timeout_ms = 200;
        t.task.exec.kill_after_ms = 300;
        exec_trial_sh("trap '' TERM; (sleep 300; :) & echo pid=$!; while :; do sleep 300; done");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 500, 2500);
        assert_true(pid_gone(exec_trial_printed_pid()));
        exec_trial_end();
}

static void killed_keeper_takes_the_command_along(void **state)
{
        (void) state;
        EXEC_SH("sleep 60");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        assert_int_equal(kill(t.keeper_pid, SIGKILL), 0);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_CLEANUP, RESULT_NONE, -1);
        wait_until(process_ended, &t.pid);
        exec_trial_end();
}

static void stuck_keeper_is_a_cleanup_failure(void **state)
{
        (void) state;
        t.run.timeout_ms = 100;
        t.task.exec.kill_after_ms = 100;
        EXEC_SH("sleep 60");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        assert_int_equal(kill(t.keeper_pid, SIGSTOP), 0);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_CLEANUP, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 2100, 4000);
        assert_int_equal(kill(t.keeper_pid, SIGCONT), 0);
        wait_until(process_ended, &t.keeper_pid);
        exec_trial_end();
        (void) waitpid(t.keeper_pid, NULL, 0);
        assert_true(pid_gone(t.keeper_pid));
}

/* The worker of the next test: starts a command whose tree ignores TERM, tells its pids, and waits. */
static void doomed_worker(int tell, int tree_pipe, int node_lock)
{
        int pids[2];

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        t.tree_pipe = tree_pipe;
        t.node_lock = node_lock;
        t.task.exec.kill_after_ms = 100;
        EXEC_SH("trap '' TERM; setsid sleep 300 & while :; do sleep 300; done");
        trial_open(&t);
        trial_start(&t);
        while (t.pid == 0)
                (void) uv_run(&t.loop, UV_RUN_ONCE);
        pids[0] = t.keeper_pid;
        pids[1] = t.pid;
        if (write(tell, pids, sizeof(pids)) != (ssize_t) sizeof(pids))
                _exit(1);
        for (;;)
                (void) pause();
}

static bool both_gone(void *arg)
{
        int *pids = arg;

        return process_ended(&pids[0]) && process_ended(&pids[1]);
}

static void killed_worker_leaves_no_tree(void **state)
{
        int tell[2], tree[2], pids[2];
        char byte;

        (void) state;
        assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
        assert_int_equal(pipe2(tree, O_CLOEXEC), 0);
        pid_t worker = fork();
        if (worker == 0)
                doomed_worker(tell[1], tree[1], tree[1]);
        assert_true(worker > 0);
        (void) close(tell[1]);
        (void) close(tree[1]);
        assert_int_equal(read(tell[0], pids, sizeof(pids)), sizeof(pids));

        assert_int_equal(kill(worker, SIGKILL), 0);
        assert_int_equal(waitpid(worker, NULL, 0), worker);

        /* The tree still lives for a moment, and so long the pipe is held. */
        struct pollfd end = { .fd = tree[0], .events = POLLIN };
        assert_int_equal(poll(&end, 1, 10000), 1);
        assert_int_equal(read(tree[0], &byte, 1), 0);
        assert_true(process_ended(&pids[1]));
        wait_until(both_gone, pids);
        (void) close(tell[0]);
        (void) close(tree[0]);
        assert_int_equal(uv_loop_close(&t.loop), 0);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, exec_trial_setup, exec_trial_teardown)
        const struct CMUnitTest tests[] = {
                CASE(child_that_keeps_the_output_is_ended),
                CASE(what_was_left_behind_is_told_beside_the_failure),
                CASE(double_fork_with_setsid_is_ended),
                CASE(tree_that_still_grows_is_told_whole),
                CASE(left_children_are_told),
                CASE(left_child_delays_the_end_by_a_second_at_most),
                CASE(deadline_ends_the_tree),
                CASE(deadline_reaches_a_stopped_command),
                CASE(ignored_term_is_followed_by_kill),
                CASE(killed_keeper_takes_the_command_along),
                CASE(stuck_keeper_is_a_cleanup_failure),
                CASE(killed_worker_leaves_no_tree),
        };

        return RUN_CASES(argc, argv, "exec_tree", tests);
}
