/* The harness of the exec tests. */
#include "t/unit/runner/exec_trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trial t;

static char *argv_room[16];

int exec_trial_setup(void **state)
{
        (void) state;
        trial_init(&t, &runner_exec);
        t.task.runner = RUNNER_EXEC;
        return 0;
}

/* Ends what the test was to end. A keeper that goes on finds its control socket closed when the test ends. */
int exec_trial_teardown(void **state)
{
        const char *at = t.run.outcome.text ? strstr(t.run.outcome.text, "pid=") : NULL;

        (void) state;
        if (!t.closed && t.keeper_pid > 0)
                (void) kill(t.keeper_pid, SIGCONT);
        if (at && t.task.exec.leave_children)
                (void) kill(atoi(at + 4), SIGKILL);
        return 0;
}

static void argv_free(void)
{
        for (char **a = argv_room; *a; a++)
                free(*a);
        argv_room[0] = NULL;
}

void exec_trial_command(const char *const *argv)
{
        size_t n = 0;

        argv_free();
        for (; argv[n]; n++)
                argv_room[n] = strdup(argv[n]);
        argv_room[n] = NULL;
        t.task.exec.argv = (struct text_list) { argv_room, n };
}

void exec_trial_sh(const char *script)
{
        EXEC_SH(script);
        trial_open(&t);
        trial_run(&t);
}

void exec_trial_end(void)
{
        argv_free();
        trial_close(&t);
}

bool exec_trial_has_child(void *unused)
{
        (void) unused;
        return t.pid > 0;
}

int exec_trial_printed_pid(void)
{
        char *at = t.run.outcome.text ? strstr(t.run.outcome.text, "pid=") : NULL;

        assert_non_null(at);
        return atoi(at + 4);
}

bool pid_gone(int pid)
{
        return kill(pid, 0) < 0 && errno == ESRCH;
}

bool process_ended(void *pid)
{
        char path[64], text[256] = "";

        (void) snprintf(path, sizeof(path), "/proc/%d/status", *(int *) pid);
        FILE *f = fopen(path, "re");
        if (!f)
                return true;
        while (fgets(text, sizeof(text), f))
                if (strncmp(text, "State:\tZ", 8) == 0)
                        break;
        (void) fclose(f);
        return strncmp(text, "State:\tZ", 8) == 0;
}
