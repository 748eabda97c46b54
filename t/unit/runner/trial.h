/* One runner on a loop of its own, and one run at a time on it, for tests. */
#ifndef ONCED_TRIAL_H
#define ONCED_TRIAL_H

#include "worker/runner/runner.h"

struct trial {
        uv_loop_t loop;
        const struct runner_kind *kind;
        struct runner *runner;
        struct config config;           /* tests set http_secret and http_base */
        struct task task;
        struct run_context context;
        struct run run;
        char keeper[4096];
        int node_lock, tree_pipe;       /* -1 at first */
        struct ledger *group;           /* of the redis runner */
        bool refuses_start;             /* the run line cannot be written */
        int started, done;              /* how often */
        int started_before_begin;       /* callbacks seen before runner_start returned */
        bool in_start, closed;
        int keeper_pid, pid;
        uint64_t took_ms;
        int fds_before;
};

/* Opens the runner with `t->config`, `t->node_lock`, `t->tree_pipe`. */
void trial_init(struct trial *t, const struct runner_kind *kind);
void trial_open(struct trial *t);
void trial_start(struct trial *t);      /* begins a run of t->task */
void trial_finish(struct trial *t);     /* runs the loop until done */
void trial_run(struct trial *t);        /* both */
void trial_again(struct trial *t);      /* frees the outcome, so that another run can begin */
void trial_close(struct trial *t);      /* also checks that nothing is left open */

/* True when the text a run gave holds `part`. */
bool trial_text_has(const struct trial *t, const char *part);

void trial_assert_ended(const struct trial *t, enum state state, enum cause cause, enum result result, int code);

int open_fds(void);

/* Runs the loop until `condition` holds; fails the test after ten seconds. */
void loop_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg);

/* Waits, without a loop, until `condition` holds. */
void wait_until(bool (*condition)(void *arg), void *arg);

#endif
