/* The closing of a runner that has nothing to wait for: it is over in a later turn of the loop, as all closings are. */
#ifndef ONCED_RUNNER_CLOSING_H
#define ONCED_RUNNER_CLOSING_H

#include <uv.h>

struct closing {
        uv_timer_t timer;
        void *runner;
        void (*closed)(void *arg);
        void *arg;
};

/* Frees `runner`, of which `c` is a part, and calls `closed`; both later, once. */
void closing_begin(struct closing *c, uv_loop_t *loop, void *runner, void (*closed)(void *arg), void *arg);

#endif
