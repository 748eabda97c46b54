/* How the end of a command is told: its status, its last words and what it left behind. */
#include "worker/runner/exec_outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/config/config.h"
#include "keeper/keeper.h"
#include "worker/runner/exec_output.h"
#include "worker/runner/outcome.h"

static const char *const step_names[KEEPER_STEP_COUNT_] = {
        [KEEPER_STEP_NONE] = "starting",
        [KEEPER_STEP_FORK] = "fork",
        [KEEPER_STEP_IDENTITY] = "changing to the user",
        [KEEPER_STEP_NICE] = "nice",
        [KEEPER_STEP_CWD] = "entering the folder",
        [KEEPER_STEP_EXEC] = "executing",
};

void exec_outcome_refused(struct run_outcome *o, const struct exec_target *t, const struct keeper_message *m)
{
        const char *step = m->step < KEEPER_STEP_COUNT_ ? step_names[m->step] : step_names[KEEPER_STEP_NONE];
        const char *what = m->step == KEEPER_STEP_CWD && t->cwd ? t->cwd
                         : m->step == KEEPER_STEP_IDENTITY && t->user ? t->user : t->argv.items[0];

        outcome_set(o, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, "not started: %s %.1024s: %s", step, what,
                    strerror(m->error));
}

static bool exit_is_noop(const struct exec_target *t, int code)
{
        for (size_t i = 0; i < t->noop_exit.count; i++)
                if (atoi(t->noop_exit.items[i]) == code)
                        return true;
        return false;
}

void exec_outcome_exited(struct run_outcome *o, const struct exec_target *t, int status)
{
        if (WIFSIGNALED(status)) {
                outcome_set(o, STATE_FAILED, CAUSE_SIGNAL, RESULT_NONE, "ended by signal %d (%s)", WTERMSIG(status),
                            strsignal(WTERMSIG(status)));
                return;
        }
        o->code = WEXITSTATUS(status);
        if (o->code == 0)
                outcome_set(o, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, NULL);
        else if (exit_is_noop(t, o->code))
                outcome_set(o, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, NULL);
        else
                outcome_set(o, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, "exit code %d", o->code);
}

static void error_add(struct run_outcome *o, const char *separator, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void error_add(struct run_outcome *o, const char *separator, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void error_add(struct run_outcome *o, const char *separator, const char *format, ...)
{
        size_t len = strlen(o->error);
        va_list args;

        len += (size_t) snprintf(o->error + len, sizeof(o->error) - len, "%s", len ? separator : "");
        va_start(args, format);
        if (len < sizeof(o->error))
                (void) vsnprintf(o->error + len, sizeof(o->error) - len, format, args);
        va_end(args);
}

void exec_outcome_complete(struct run_outcome *o, const struct exec_output *output, unsigned ended, unsigned left)
{
        char line[EXEC_LINE];
        bool by_itself = o->cause == CAUSE_STATUS || o->cause == CAUSE_SIGNAL || o->cause == CAUSE_TIMEOUT;

        if (output && by_itself && *exec_output_last_line(output, line))
                error_add(o, ": ", "%s", line);
        if (ended > 0)
                error_add(o, "; ", "ended %u process%s that it left behind", ended, ended == 1 ? "" : "es");
        if (left > 0)
                error_add(o, "; ", "left %u process%s running", left, left == 1 ? "" : "es");
}
