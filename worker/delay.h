/* Short waits of many objects on one libuv timer. A delay is embedded in its owner, who may clear it at any
 * time; nothing is closed asynchronously, so owners can be freed at once. Counted on CLOCK_BOOTTIME: time in
 * suspend counts, and is noticed within a second of waking up. */
#ifndef ONCED_DELAY_H
#define ONCED_DELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "common/clock.h"
#include "common/heap.h"

struct delays;

struct delay {
        struct heap_node node;
        struct mono due;
        void (*over)(struct delay *d);   /* may set the delay again, or free its owner */
};

int delays_open(uv_loop_t *loop, struct delays **ret);

/* `over` runs once, later, on the loop, `ms` from now at the earliest; 0: in the next turn. Setting a delay
 * that runs moves it. */
void delay_set(struct delays *ds, struct delay *d, int64_t ms);
void delay_clear(struct delays *ds, struct delay *d);   /* not set is fine */
bool delay_is_set(const struct delay *d);

/* All delays must have been cleared or be over. `closed` runs later, once. */
void delays_close(struct delays *ds, void (*closed)(void *arg), void *arg);

#endif
