/* Runners: how an occurrence's work is done. One interface, one file an implementation, chosen by the
 * task's runner type. A run object belongs to the caller and is untouched by it until `done` runs.
 *
 * The life of a run: runner_start -> [starting] -> done, both on the loop and never before runner_start
 * returns. `starting` is called at the last moment before an outside effect can exist (http: libcurl's
 * prerequest callback, a connection stands and no byte of the request has left; exec: before the spawn); it
 * writes the run line. When it returns below 0 the runner must not start: done with failed(log). */
#ifndef ONCED_RUNNER_H
#define ONCED_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/record/ids.h"
#include "common/record/names.h"

#define RUN_TEXT_MAX  65536   /* result text kept, bytes */
#define RUN_ERROR_MAX 4096    /* error text kept, bytes, NUL included */

/* What every run is told. Strings are borrowed and live until done. */
struct run_context {
        const char *occ, *trig, *task, *fence, *node;
        unsigned shard, shards;
        struct instant planned;
        struct stamp deadline;         /* wall time, for the task's eyes; the runner's own is `timeout_ms` */
        int64_t window_ms;
        const char *attempt_log;       /* path of the trigger log of this process */
};

struct run_outcome {
        enum state state;              /* succeeded, failed, unknown, interrupted */
        enum cause cause;
        enum result result;
        int code;                      /* http status or exit code; -1 none */
        char *text;                    /* owned by the run until run_done_free; up to RUN_TEXT_MAX bytes */
        size_t text_len;
        uint64_t text_cut;             /* bytes that came beyond what is kept */
        char error[RUN_ERROR_MAX];     /* "" none */
};

enum run_stop {
        RUN_STOP_LEASE_LOST,           /* the right to run is gone: interrupted(lease_lost) */
        RUN_STOP_DRAIN,                /* the daemon's time to stop is over: interrupted(stopped) */
};

struct ledger;
struct runner;                         /* one type's shared state in one worker (curl multi, …) */

struct run {
        const struct task *task;       /* borrowed */
        const struct run_context *context;
        const char *token;             /* of its claim; lives until done */
        struct mono valid_until;       /* from then on it may not run, unless prolonged; ns 0: no such limit */
        int64_t timeout_ms;            /* the runner ends the run itself at this age: cause timeout */
        int (*starting)(struct run *r);
        void (*child)(struct run *r, int keeper_pid, int pid);   /* exec: the command exists; may be NULL */
        void (*done)(struct run *r);   /* `outcome` is filled; the runner has let go of everything but trees */
        void *arg;
        struct run_outcome outcome;

        void *state;                   /* the runner's own, freed by it before done */
        struct runner *runner;
};

/* Frees what the outcome owns. */
void run_done_free(struct run *r);

struct runner_options {
        uv_loop_t *loop;
        const struct config *config;
        int node_lock, tree_pipe;      /* for keepers: inherited by them, never by commands */
        const char *keeper_path;       /* onced-keeper */
        struct ledger *group;          /* of the redis runner; borrowed, closed when no run is left; NULL: none */
};

struct runner_kind {
        const char *name;
        int (*open)(const struct runner_options *o, struct runner **ret);
        /* 0, then done runs later; or -errno: nothing was begun and done will not run. */
        int (*start)(struct runner *rn, struct run *r);
        /* Ends the run soon; done still runs, with the cause of `why` (a run that finished just now keeps
         * its own outcome). Asked twice is fine. */
        void (*stop)(struct runner *rn, struct run *r, enum run_stop why);
        /* `valid_until` of the run is a later one. NULL: whoever stops it is enough. */
        void (*prolong)(struct runner *rn, struct run *r);
        void (*close)(struct runner *rn, void (*closed)(void *arg), void *arg);   /* no run is left */
        bool tree;                     /* runs leave a task tree that may outlive the worker */
};

/* The kind for a runner type; NULL: comes later. */
const struct runner_kind *runner_kind(enum runner_type type);

extern const struct runner_kind runner_noop, runner_http, runner_exec, runner_redis;

#endif
