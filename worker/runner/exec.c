/* The exec runner: what all commands of one worker share, and its place in the table of runners. A run's own life
 * is exec_run.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "worker/runner/exec_run.h"

struct runner {
        struct exec_place place;
        uv_timer_t closing;
        int closing_handles;
        void (*closed)(void *arg);
        void *closed_arg;
};

static int exec_start(struct runner *rn, struct run *r)
{
        int e = exec_run_start(&rn->place, r);

        if (e == 0)
                r->runner = rn;
        return e;
}

static void exec_stop(struct runner *rn, struct run *r, enum run_stop why)
{
        (void) rn;
        if (r->state)
                exec_run_stop(r->state, why);
}

static void exec_prolong(struct runner *rn, struct run *r)
{
        (void) rn;
        if (r->state)
                exec_run_prolong(r->state);
}

static void runner_free(struct runner *rn)
{
        exec_accounts_done(&rn->place.accounts);
        free(rn->place.keeper_path);
        free(rn);
}

static int exec_open(const struct runner_options *o, struct runner **ret)
{
        struct runner *rn = calloc(1, sizeof(*rn));

        if (!rn)
                return -ENOMEM;
        struct exec_place *p = &rn->place;
        p->loop = o->loop;
        p->node_lock = o->node_lock;
        p->tree_pipe = o->tree_pipe;
        p->keeper_path = strdup(o->keeper_path ? o->keeper_path : "onced-keeper");
        int r = p->keeper_path ? exec_accounts_init(&p->accounts) : -ENOMEM;
        if (r < 0) {
                runner_free(rn);
                return r;
        }

        /* Users are looked up now, since a name service may block; a missing one is told by its first run. */
        for (size_t i = 0; o->config && i < o->config->task_count; i++)
                if (o->config->tasks[i].runner == RUNNER_EXEC)
                        (void) exec_accounts_of(&p->accounts, o->config->tasks[i].exec.user);
        *ret = rn;
        return 0;
}

static void on_part_closed(struct runner *rn)
{
        if (--rn->closing_handles > 0)
                return;
        void (*closed)(void *) = rn->closed;
        void *arg = rn->closed_arg;
        runner_free(rn);
        closed(arg);
}

static void on_keepers_closed(struct exec_keepers *k)
{
        on_part_closed(container_of(k, struct runner, place.keepers));
}

static void on_closing_closed(uv_handle_t *h)
{
        on_part_closed(container_of(h, struct runner, closing));
}

static void exec_close(struct runner *rn, void (*closed)(void *arg), void *arg)
{
        rn->closed = closed;
        rn->closed_arg = arg;
        rn->closing_handles = 1 + (rn->place.keepers.count > 0);
        exec_keepers_close(&rn->place.keepers, on_keepers_closed);
        (void) uv_timer_init(rn->place.loop, &rn->closing);
        uv_close((uv_handle_t *) &rn->closing, on_closing_closed);
}

const struct runner_kind runner_exec = {
        .name = "exec",
        .open = exec_open,
        .start = exec_start,
        .stop = exec_stop,
        .prolong = exec_prolong,
        .close = exec_close,
        .tree = true,
};
