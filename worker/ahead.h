/* Tasks whose newest decided instant lies ahead of the clock: after the clock was set back, or after a restart with a
 * clock that is wrong, or was. What was decided never runs again, so they wait until the clock has come that far. */
#ifndef ONCED_AHEAD_H
#define ONCED_AHEAD_H

#include <stddef.h>

#include "common/clock.h"
#include "worker/unit.h"

/* Clocks of nodes differ: what is ahead by less is an instant that another one saw come first. */
#define AHEAD_MIN_MS 1000

struct ahead {
        unsigned tasks;                /* that wait */
        struct instant first, last;    /* planned instants with which the first and the last of them go on */
        const struct job *soonest;     /* the first; NULL: none waits */
        unsigned refused;              /* of them, those that are more than max_future ahead */
        const struct job *furthest;    /* of those the furthest; NULL: none */
        int64_t furthest_ms;           /* how far */
};

void ahead_find(const struct job *jobs, size_t count, struct instant now, int64_t max_future_ms, struct ahead *ret);

/* Two lines at most, however many tasks there are. */
void ahead_say(const struct ahead *a, int64_t max_future_ms);

#endif
