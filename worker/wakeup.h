/* The wake-up: one timerfd on the wall clock, absolute, for all that is planned. The kernel keeps it to the
 * microsecond, without drift, and tells when the clock is set, so that planned instants are looked at anew. */
#ifndef ONCED_WAKEUP_H
#define ONCED_WAKEUP_H

#include <stdint.h>
#include <uv.h>

#include "common/clock.h"

struct wakeup;

struct wakeup_calls {
        void (*due)(void *arg);
        /* The wall clock was set; it jumped by about `jump_ns`. `due` is not called for this wake-up. */
        void (*stepped)(int64_t jump_ns, void *arg);
        void *arg;
};

int wakeup_open(uv_loop_t *loop, const struct wakeup_calls *calls, struct wakeup **ret);

/* Sets the timer to `at` (now, when that is past); INSTANT_NONE: never. 0 or -errno. */
int wakeup_arm(struct wakeup *w, struct instant at);

void wakeup_close(struct wakeup *w, void (*closed)(void *arg), void *arg);

#endif
