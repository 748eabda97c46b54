/* A handle that does nothing is closed: libuv says so in the next turn. */
#include "worker/runner/closing.h"

#include <stdlib.h>

#include "common/cleanup.h"

static void on_closed(uv_handle_t *h)
{
        struct closing *c = container_of(h, struct closing, timer);
        void (*closed)(void *) = c->closed;
        void *arg = c->arg;

        free(c->runner);
        closed(arg);
}

void closing_begin(struct closing *c, uv_loop_t *loop, void *runner, void (*closed)(void *arg), void *arg)
{
        c->runner = runner;
        c->closed = closed;
        c->arg = arg;
        (void) uv_timer_init(loop, &c->timer);
        uv_close((uv_handle_t *) &c->timer, on_closed);
}
