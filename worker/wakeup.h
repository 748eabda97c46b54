/* The wake-up: one timerfd on the wall clock, absolute, for all that is planned. The kernel keeps it to the
 * microsecond, without drift, and tells when the clock is set or the machine was asleep; by how much is measured. */
#ifndef ONCED_WAKEUP_H
#define ONCED_WAKEUP_H

#include <stdint.h>
#include <uv.h>

#include "common/clock.h"

struct wakeup;

struct clock_jump {
        int64_t wall_ns;     /* the wall clock was set by this much; 0: less than can be told */
        int64_t slept_ns;    /* the machine was in suspend; 0: it was not */
};

struct wakeup_calls {
        void (*due)(void *arg);
        /* Time went on otherwise than it was waited for. `due` is not called for this wake-up. */
        void (*stepped)(const struct clock_jump *jump, void *arg);
        void *arg;
};

int wakeup_open(uv_loop_t *loop, const struct wakeup_calls *calls, struct wakeup **ret);

/* Sets the timer to `at` (now, when that is past); INSTANT_NONE: never. 0 or -errno. */
int wakeup_arm(struct wakeup *w, struct instant at);

void wakeup_close(struct wakeup *w, void (*closed)(void *arg), void *arg);

#endif
