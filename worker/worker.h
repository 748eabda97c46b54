/* A worker's whole life: its own loop, ledger connections, trigger log, agenda. Born by the master. */
#ifndef ONCED_WORKER_H
#define ONCED_WORKER_H

#include "common/birth.h"

/* Returns the exit code: EXIT_FINE after a drain, EXIT_CONFIGURATION for what a restart cannot cure. */
int worker_main(const struct birth *b);

extern const struct child_kind worker_kind;

#endif
