/* The runner that does nothing and says so: for dry runs, selftest and load tests. */
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "worker/runner/closing.h"
#include "worker/runner/outcome.h"
#include "worker/runner/runner.h"

struct runner {
        uv_loop_t *loop;            /* borrowed, outlives us: it runs our callbacks */
        struct closing closing;
};

struct noop_run {
        uv_timer_t begin;           /* at 0 ms: a run never begins before its start returned */
        struct run *run;            /* borrowed until done */
        bool stopped;
        enum run_stop why;
};

static int noop_open(const struct runner_options *o, struct runner **ret)
{
        struct runner *rn = calloc(1, sizeof(*rn));

        if (!rn)
                return -ENOMEM;
        rn->loop = o->loop;
        *ret = rn;
        return 0;
}

static void on_closed(uv_handle_t *h)
{
        struct noop_run *n = container_of(h, struct noop_run, begin);
        struct run *r = n->run;

        r->state = NULL;
        free(n);
        r->done(r);
}

static void on_begin(uv_timer_t *timer)
{
        struct noop_run *n = container_of(timer, struct noop_run, begin);
        struct run *r = n->run;

        if (n->stopped)
                outcome_stopped(&r->outcome, n->why);
        else if (r->starting(r) < 0)
                outcome_set(&r->outcome, STATE_FAILED, CAUSE_LOG, RESULT_NONE, "the run line could not be written");
        else
                outcome_set(&r->outcome, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, NULL);
        fault_point("started");
        uv_close((uv_handle_t *) timer, on_closed);
}

static int noop_start(struct runner *rn, struct run *r)
{
        struct noop_run *n = calloc(1, sizeof(*n));

        if (!n)
                return -ENOMEM;
        n->run = r;
        outcome_init(&r->outcome);
        r->state = n;
        r->runner = rn;
        (void) uv_timer_init(rn->loop, &n->begin);
        (void) uv_timer_start(&n->begin, on_begin, 0, 0);
        return 0;
}

static void noop_stop(struct runner *rn, struct run *r, enum run_stop why)
{
        struct noop_run *n = r->state;

        (void) rn;
        if (!n || n->stopped)
                return;
        n->stopped = true;
        n->why = why;
}

static void noop_close(struct runner *rn, void (*closed)(void *arg), void *arg)
{
        closing_begin(&rn->closing, rn->loop, rn, closed, arg);
}

const struct runner_kind runner_noop = {
        .name = "noop",
        .open = noop_open,
        .start = noop_start,
        .stop = noop_stop,
        .close = noop_close,
        .tree = false,
};
