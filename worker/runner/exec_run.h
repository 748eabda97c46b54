/* One run of a command, from its begin to the end of all that it started. */
#ifndef ONCED_EXEC_RUN_H
#define ONCED_EXEC_RUN_H

#include "worker/runner/exec_account.h"
#include "worker/runner/exec_keeper.h"
#include "worker/runner/runner.h"

struct exec_run;

/* What all runs of one worker share; outlives them. */
struct exec_place {
        uv_loop_t *loop;               /* borrowed, outlives us: it runs our callbacks */
        char *keeper_path;             /* owned */
        int node_lock, tree_pipe;      /* borrowed: the worker's, open to its end */
        struct exec_keepers keepers;
        struct exec_accounts accounts;
};

/* The run's `state` is its exec_run until just before `done`. 0 or -errno. */
int exec_run_start(struct exec_place *p, struct run *r);

/* It ends soon, unless it ends already. */
void exec_run_stop(struct exec_run *x, enum run_stop why);

/* Its keeper is told of the run's `valid_until`. */
void exec_run_prolong(struct exec_run *x);

#endif
