/* The agenda: which unit is to be looked at next. A heap by wake-up instant; it reads no clock and decides
 * nothing but order: what is due is said by the caller's `now`. */
#ifndef ONCED_AGENDA_H
#define ONCED_AGENDA_H

#include <stdint.h>

#include "common/clock.h"
#include "common/heap.h"

struct unit;

struct agenda {
        struct heap heap;    /* of units, borrowed */
        int64_t delay_ms;    /* every wake-up comes this much later: a skewed timer, for tests */
};

void agenda_init(struct agenda *a, int64_t delay_ms);
void agenda_done(struct agenda *a);

/* Wakes `u` at `wake`; moves it when it is there already. */
void agenda_put(struct agenda *a, struct unit *u, struct instant wake);
void agenda_remove(struct agenda *a, struct unit *u);   /* not there is fine */

/* Takes out the earliest unit that is due at `now`; NULL: none is. */
struct unit *agenda_take(struct agenda *a, struct instant now);

/* When the timer has to fire; INSTANT_NONE: nothing is planned. */
struct instant agenda_next(const struct agenda *a);

#endif
