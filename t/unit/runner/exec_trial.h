/* A trial of the exec runner. */
#ifndef ONCED_EXEC_TRIAL_H
#define ONCED_EXEC_TRIAL_H

#include "t/unit/cases.h"
#include "t/unit/runner/trial.h"

extern struct trial t;

int exec_trial_setup(void **state);
int exec_trial_teardown(void **state);   /* a test that failed leaves nothing running either */

/* The command of the task: argv[0] and its arguments. */
void exec_trial_command(const char *const *argv);
#define EXEC_COMMAND(...) exec_trial_command((const char *const[]) { __VA_ARGS__, NULL })
#define EXEC_SH(script) EXEC_COMMAND("/bin/sh", "-c", script)

void exec_trial_sh(const char *script);   /* opens the runner and runs it */
void exec_trial_end(void);

bool exec_trial_has_child(void *unused);  /* the command is known to run */
int exec_trial_printed_pid(void);         /* the command printed "pid=123" */

bool pid_gone(int pid);
bool process_ended(void *pid);            /* of *(int *): gone or a zombie */

#endif
