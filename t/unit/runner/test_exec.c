/* The exec runner with real keepers and real commands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "t/unit/runner/exec_trial.h"
#include "worker/runner/keeper_path.h"

static void exit_zero_is_done(void **state)
{
        (void) state;
        exec_trial_sh("echo out; echo err >&2");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_int_equal(t.started, 1);
        assert_string_equal(t.run.outcome.text, "out\nerr\n");
        assert_true(t.pid > 0 && t.keeper_pid > 0 && t.pid != t.keeper_pid);
        assert_true(pid_gone(t.pid) && pid_gone(t.keeper_pid));
        exec_trial_end();
}

static void exit_codes_say_noop_or_failure(void **state)
{
        static char code[] = "17";
        static char *codes[] = { code, NULL };

        (void) state;
        t.task.exec.noop_exit = (struct text_list) { codes, 1 };
        exec_trial_sh("exit 17");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, 17);
        trial_again(&t);
        EXEC_SH("exit 3");
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 3);
        assert_string_equal(t.run.outcome.error, "exit code 3");
        exec_trial_end();
}

/* Exit codes say little; most commands say why in the last line they print. */
static void failure_tells_the_last_line(void **state)
{
        static const struct { const char *script, *error; } cases[] = {
                { "echo out; echo err >&2; exit 3", "exit code 3: err" },
                { "printf 'a\\n  b c \\n \\n\\n'; exit 3", "exit code 3: b c" },
                { "printf 'no newline'; exit 3", "exit code 3: no newline" },
                { "printf '10%%\\r20%%\\rbroken\\r\\n'; exit 3", "exit code 3: broken" },
                { "printf 'a\\033[31mred\\tx\\n'; exit 3", "exit code 3: a [31mred x" },
                { "printf 'bad \\377\\n'; exit 3", "exit code 3: bad ?" },
                { "printf '\\n\\n'; exit 3", "exit code 3" },
                { "echo last words; kill -9 $$", "ended by signal 9 (Killed): last words" },
                { "head -c 300000 /dev/zero; echo; echo at the very end; exit 3", "exit code 3: at the very end" },
                { "echo fine; exit 0", "" },
        };

        (void) state;
        EXEC_COMMAND("/bin/true");
        trial_open(&t);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                EXEC_SH(cases[i].script);
                trial_run(&t);
                if (strcmp(t.run.outcome.error, cases[i].error) != 0)
                        fail_msg("%s: \"%s\"", cases[i].script, t.run.outcome.error);
                trial_again(&t);
        }
        EXEC_SH("head -c 5000 /dev/zero | tr '\\0' x; exit 3");
        trial_run(&t);
        assert_int_equal(strlen(t.run.outcome.error), strlen("exit code 3: ") + 255);
        assert_non_null(strstr(t.run.outcome.error, "xxx..."));
        trial_again(&t);
        t.run.timeout_ms = 100;
        EXEC_SH("echo step 7; exec sleep 60");
        trial_run(&t);
        assert_string_equal(t.run.outcome.error, "ended after its timeout of 100 ms: step 7");
        exec_trial_end();
}

static void foreign_signal_is_a_failure(void **state)
{
        (void) state;
        exec_trial_sh("kill -9 $$");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_SIGNAL, RESULT_NONE, -1);
        exec_trial_end();
}

static void what_cannot_start_was_not_sent(void **state)
{
        static char folder[] = "/nowhere/at/all";

        (void) state;
        EXEC_COMMAND("/nowhere/command");
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "/nowhere/command: No such file"));
        assert_int_equal(t.pid, 0);
        trial_again(&t);
        EXEC_COMMAND("/etc/passwd");
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "Permission denied"));
        trial_again(&t);
        t.task.exec.cwd = folder;
        EXEC_COMMAND("/bin/true");
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, folder));
        exec_trial_end();
}

static void missing_keeper_is_not_sent(void **state)
{
        (void) state;
        (void) snprintf(t.keeper, sizeof(t.keeper), "/nowhere/onced-keeper");
        exec_trial_sh("true");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        exec_trial_end();
}

static void file_without_interpreter_gets_no_shell(void **state)
{
        char path[] = "/tmp/onced-exec-XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        (void) state;
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "echo ran\n", 9), 9);
        (void) fchmod(fd, 0755);
        (void) close(fd);
        EXEC_COMMAND(path);
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_false(trial_text_has(&t, "ran"));
        (void) unlink(path);
        exec_trial_end();
}

static void name_is_found_on_the_standard_path(void **state)
{
        static char path[] = "PATH=/nowhere";
        static char *env[] = { path, NULL };

        (void) state;
        t.task.exec.env = (struct text_list) { env, 1 };
        EXEC_COMMAND("env");
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_true(trial_text_has(&t, "PATH=/nowhere\n"));
        exec_trial_end();
}

static void unwritten_run_line_starts_nothing(void **state)
{
        (void) state;
        t.refuses_start = true;
        exec_trial_sh("echo ran");
        trial_assert_ended(&t, STATE_FAILED, CAUSE_LOG, RESULT_NONE, -1);
        assert_int_equal(t.pid, 0);
        assert_int_equal(t.run.outcome.text_len, 0);
        exec_trial_end();
}

static void environment_is_clean_and_tells_the_context(void **state)
{
        static char given[] = "GIVEN=a=b", lie[] = "ONCED_FENCE=0", pass[] = "ONCED_TEST_PASS";
        static char *env[] = { given, lie, NULL }, *passed[] = { pass, NULL };
        static const char *const wanted[] = {
                "GIVEN=a=b\n", "ONCED_TEST_PASS=yes\n", "ONCED_TASK=mail\n",
                "ONCED_OCCURRENCE=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
                "ONCED_TRIGGER=web1-2a3b4c5d.2.4711.81234-a2f3.17\n", "ONCED_PLANNED=1764522000000\n",
                "ONCED_FENCE=1764522000000042\n", "ONCED_NODE=web1-2a3b4c5d\n", "ONCED_SHARD=1\n",
                "ONCED_SHARDS=3\n", "ONCED_DEADLINE=1764522030000\n", "ONCED_WINDOW=500\n",
                "ONCED_ATTEMPT_LOG=/tmp/attempts.jsonl\n", "HOME=", "USER=",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
        };

        (void) state;
        (void) setenv("REDIS_URL", "redis://:secret@host", 1);
        (void) setenv("ONCED_TEST_PASS", "yes", 1);
        t.task.exec.env = (struct text_list) { env, 2 };
        t.task.exec.env_pass = (struct text_list) { passed, 1 };
        EXEC_COMMAND("/usr/bin/env");
        trial_open(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                if (!trial_text_has(&t, wanted[i]))
                        fail_msg("not in the environment: %s", wanted[i]);
        assert_false(trial_text_has(&t, "REDIS_URL"));
        assert_false(trial_text_has(&t, "ONCED_FENCE=0\n"));
        assert_false(trial_text_has(&t, "ONCED_BUILD"));
        exec_trial_end();
}

static void command_has_no_descriptor_above_two(void **state)
{
        int lock = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), pipe_ends[2];
        int leaky = dup(lock);   /* not even close-on-exec: the worst a library can do */

        (void) state;
        assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
        t.fds_before += 4;
        t.node_lock = lock;
        t.tree_pipe = pipe_ends[1];
        exec_trial_sh("i=3; while [ $i -lt 64 ]; do [ -e /proc/$$/fd/$i ] && echo fd=$i; i=$((i+1)); done;"
               "readlink /proc/$$/fd/0");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_string_equal(t.run.outcome.text, "/dev/null\n");
        exec_trial_end();
        (void) close(lock);
        (void) close(leaky);
        (void) close(pipe_ends[0]);
        (void) close(pipe_ends[1]);
}

static void command_is_alone_in_its_session(void **state)
{
        static char folder[] = "/usr";

        (void) state;
        t.task.exec.cwd = folder;
        t.task.exec.umask = 0027;
        t.task.exec.nice = 3;
        exec_trial_sh("pwd; umask; nice; cut -d' ' -f5,6 /proc/$$/stat; echo pid=$$; grep SigBlk /proc/self/status;"
               "grep SigIgn /proc/self/status");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        char ids[64];
        (void) snprintf(ids, sizeof(ids), "/usr\n0027\n3\n%d %d\n", t.pid, t.pid);
        assert_true(trial_text_has(&t, ids));
        assert_true(trial_text_has(&t, "SigBlk:\t0000000000000000\n"));
        /* 32 and 33 are the C library's own: posix_spawn itself ignores them. */
        assert_true(trial_text_has(&t, "SigIgn:\t0000000180000000\n") ||
                    trial_text_has(&t, "SigIgn:\t0000000000000000\n"));
        exec_trial_end();
}

static void much_output_is_cut_and_counted(void **state)
{
        (void) state;
        exec_trial_sh("head -c 10485760 /dev/zero; echo end >&2");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        assert_int_equal(t.run.outcome.text_len, RUN_TEXT_MAX);
        assert_int_equal(t.run.outcome.text_cut, 10485760 + 4 - RUN_TEXT_MAX);
        assert_int_equal(t.run.outcome.text[0], 0);
        assert_int_equal(t.run.outcome.text[RUN_TEXT_MAX - 1], 0);
        exec_trial_end();
}

static void stop_is_interrupted_with_its_reason(void **state)
{
        (void) state;
        EXEC_SH("sleep 60");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        t.kind->stop(t.runner, &t.run, RUN_STOP_LEASE_LOST);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        trial_again(&t);
        t.pid = 0;
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        assert_true(pid_gone(t.pid));
        exec_trial_end();
}

static void stop_before_the_start_starts_nothing(void **state)
{
        (void) state;
        EXEC_SH("echo ran");
        trial_open(&t);
        trial_start(&t);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        assert_int_equal(t.started, 0);
        exec_trial_end();
}

static void exit_just_before_the_stop_keeps_its_outcome(void **state)
{
        (void) state;
        EXEC_SH("exit 0");
        trial_open(&t);
        trial_start(&t);
        loop_until(&t.loop, exec_trial_has_child, NULL);

        /* The loop stands still until the keeper, too, has ended: all was said, nothing was heard. */
        wait_until(process_ended, &t.keeper_pid);
        t.kind->stop(t.runner, &t.run, RUN_STOP_LEASE_LOST);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
        exec_trial_end();
}

static void many_at_once_end_by_themselves(void **state)
{
        enum { MANY = 20 };
        static struct trial others[MANY];

        (void) state;
        EXEC_SH("head -c 300000 /dev/zero; exit 0");
        trial_open(&t);
        for (int i = 0; i < MANY; i++) {
                others[i].run = t.run;
                others[i].run.arg = &others[i];
                assert_int_equal(t.kind->start(t.runner, &others[i].run), 0);
        }
        trial_run(&t);
        for (int i = 0; i < MANY; i++) {
                while (others[i].done == 0)
                        (void) uv_run(&t.loop, UV_RUN_ONCE);
                assert_int_equal(others[i].run.outcome.state, STATE_SUCCEEDED);
                assert_int_equal(others[i].run.outcome.text_len + others[i].run.outcome.text_cut, 300000);
                run_done_free(&others[i].run);
        }
        exec_trial_end();
}

static void other_user_is_dropped_to_by_root(void **state)
{
        static char nobody[] = "nobody", missing[] = "no-such-user-here";

        (void) state;
        t.task.exec.user = nobody;
        EXEC_COMMAND("/bin/sh", "-c", "id -un; id -u; echo $USER; grep Groups /proc/self/status");
        trial_open(&t);
        trial_run(&t);
        if (geteuid() == 0) {
                trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 0);
                assert_true(trial_text_has(&t, "nobody\n65534\nnobody\nGroups:\t65534 \n"));
        } else {
                trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        }
        trial_again(&t);
        t.task.exec.user = missing;
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        exec_trial_end();
}

static void keeper_is_found_beside_the_program(void **state)
{
        char path[4096], small[4];

        (void) state;
        assert_int_equal(keeper_find(small, sizeof(small)) < 0, 1);
        int r = keeper_find(path, sizeof(path));
        assert_true(r == -ENOENT || (r == 0 && access(path, X_OK) == 0));
        assert_int_equal(uv_loop_close(&t.loop), 0);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, exec_trial_setup, exec_trial_teardown)
        const struct CMUnitTest tests[] = {
                CASE(exit_zero_is_done),
                CASE(exit_codes_say_noop_or_failure),
                CASE(failure_tells_the_last_line),
                CASE(foreign_signal_is_a_failure),
                CASE(what_cannot_start_was_not_sent),
                CASE(missing_keeper_is_not_sent),
                CASE(file_without_interpreter_gets_no_shell),
                CASE(name_is_found_on_the_standard_path),
                CASE(unwritten_run_line_starts_nothing),
                CASE(environment_is_clean_and_tells_the_context),
                CASE(command_has_no_descriptor_above_two),
                CASE(command_is_alone_in_its_session),
                CASE(much_output_is_cut_and_counted),
                CASE(stop_is_interrupted_with_its_reason),
                CASE(stop_before_the_start_starts_nothing),
                CASE(exit_just_before_the_stop_keeps_its_outcome),
                CASE(many_at_once_end_by_themselves),
                CASE(other_user_is_dropped_to_by_root),
                CASE(keeper_is_found_beside_the_program),
        };

        return RUN_CASES(argc, argv, "exec", tests);
}
