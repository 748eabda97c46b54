/* What an exec run's end says of it: the outcome and its text. */
#ifndef ONCED_EXEC_OUTCOME_H
#define ONCED_EXEC_OUTCOME_H

struct exec_output;
struct exec_target;
struct keeper_message;
struct run_outcome;

/* The command was not started, and why. */
void exec_outcome_refused(struct run_outcome *o, const struct exec_target *t, const struct keeper_message *m);

/* It ended by itself; `status` as of waitpid(2). */
void exec_outcome_exited(struct run_outcome *o, const struct exec_target *t, int status);

/* Beside the exit code: what the command said last, which in most cases is why, and what it left behind.
 * `output` NULL: there was none. */
void exec_outcome_complete(struct run_outcome *o, const struct exec_output *output, unsigned ended, unsigned left);

#endif
