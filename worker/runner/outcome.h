/* Filling in how a run went; shared by the runners. */
#ifndef ONCED_RUNNER_OUTCOME_H
#define ONCED_RUNNER_OUTCOME_H

#include "worker/runner/runner.h"

/* No outcome yet: no code, no text, no error. */
void outcome_init(struct run_outcome *o);

/* The end of a run. `format` NULL: no error text. */
void outcome_set(struct run_outcome *o, enum state state, enum cause cause, enum result result,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Sets the outcome of a run that was stopped. */
void outcome_stopped(struct run_outcome *o, enum run_stop why);

/* Keeps what fits of `bytes`, counts the rest. Returns how much was kept; without memory all is counted. */
size_t outcome_text_add(struct run_outcome *o, const char *bytes, size_t len);

#endif
