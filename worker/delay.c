/* Delays: a heap by due time under one timer, set to the earliest. */
#include "worker/delay.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/exits.h"
#include "common/log.h"

/* libuv's clock stands still in suspend: looking once a second bounds how late a delay is after it. */
#define LOOK_MS 1000

/* Delays that one wake-up may end: a delay set again to 0 must not keep the loop from its descriptors. */
#define OVER_PER_TURN 10000

struct delays {
        uv_timer_t timer;
        struct heap heap;
        void (*closed)(void *arg);
        void *closed_arg;
};

static bool due_earlier(const struct heap_node *a, const struct heap_node *b)
{
        return container_of_const(a, struct delay, node)->due.ns <
               container_of_const(b, struct delay, node)->due.ns;
}

static void on_timer(uv_timer_t *timer);

static void rearm(struct delays *ds)
{
        struct heap_node *top = heap_top(&ds->heap);
        if (!top) {
                (void) uv_timer_stop(&ds->timer);
                return;
        }

        int64_t wait_ns = container_of(top, struct delay, node)->due.ns - clock_mono().ns;
        int64_t wait_ms = wait_ns <= 0 ? 0 : (wait_ns + NS_PER_MS - 1) / NS_PER_MS;
        /* libuv counts from the start of its turn; a long turn would shorten the wait. */
        uv_update_time(ds->timer.loop);
        (void) uv_timer_start(&ds->timer, on_timer, (uint64_t) (wait_ms < LOOK_MS ? wait_ms : LOOK_MS), 0);
}

static void on_timer(uv_timer_t *timer)
{
        struct delays *ds = timer->data;
        struct mono now = clock_mono();
        struct heap_node *top;

        for (unsigned n = 0; n < OVER_PER_TURN && (top = heap_top(&ds->heap)); n++) {
                struct delay *d = container_of(top, struct delay, node);
                if (d->due.ns > now.ns)
                        break;
                heap_remove(&ds->heap, &d->node);
                d->over(d);
        }
        rearm(ds);
}

int delays_open(uv_loop_t *loop, struct delays **ret)
{
        struct delays *ds = calloc(1, sizeof(*ds));
        if (!ds)
                return -ENOMEM;

        heap_init(&ds->heap, due_earlier);
        (void) uv_timer_init(loop, &ds->timer);
        ds->timer.data = ds;
        *ret = ds;
        return 0;
}

void delay_set(struct delays *ds, struct delay *d, int64_t ms)
{
        delay_clear(ds, d);
        d->due = mono_plus_ms(clock_mono(), ms);
        if (heap_insert(&ds->heap, &d->node) < 0) {
                /* A worker that cannot keep time must not go on; the master replaces it. */
                (void) log_error(ENOMEM, "delays: setting one of %zu", ds->heap.count);
                _exit(EXIT_OS);
        }
        if (heap_top(&ds->heap) == &d->node)
                rearm(ds);
}

void delay_clear(struct delays *ds, struct delay *d)
{
        if (delay_is_set(d))
                heap_remove(&ds->heap, &d->node);
}

bool delay_is_set(const struct delay *d)
{
        return d->node.index != 0;
}

static void on_closed(uv_handle_t *h)
{
        struct delays *ds = h->data;
        void (*closed)(void *) = ds->closed;
        void *arg = ds->closed_arg;

        heap_done(&ds->heap);
        free(ds);
        closed(arg);
}

void delays_close(struct delays *ds, void (*closed)(void *arg), void *arg)
{
        ds->closed = closed;
        ds->closed_arg = arg;
        uv_close((uv_handle_t *) &ds->timer, on_closed);
}
