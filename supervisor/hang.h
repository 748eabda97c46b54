/* Is a child's loop still turning? A pure function of its beats; evidence for the log is evidence.h. */
#ifndef ONCED_HANG_H
#define ONCED_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

/* A turn of the master itself that comes later than this says that everything stood still. */
#define PAUSE_MS 1000

enum hang {
        HANG_NONE,
        HANG_BOOT,    /* not ready in boot_timeout, counted from the newest step of setting up */
        HANG_BEAT,    /* no beat for hang_timeout */
        HANG_DEAF,    /* it closed its channel and lives on: nothing can be asked of it any more */
};

struct life_signs {
        bool said_ready;
        struct mono born, ready;   /* ready: when it said so */
        struct mono beat;          /* newest beat; ns 0: none. Untrusted: one in the future counts as now */
        struct mono set_up;        /* newest step of setting up of any worker; ns 0: none. As untrusted */
        struct mono deaf;          /* its channel ended then; ns 0: it is open */
        struct mono counted_from;  /* after a pause of everything nothing older than this counts; ns 0: no pause */
};

/* `ret_due`: when it would be hung if no sign came until then. */
enum hang hang_verdict(const struct life_signs *s, struct mono now, int64_t boot_timeout_ms,
                       int64_t hang_timeout_ms, struct mono *ret_due);

/* The master wanted to wake at `wanted` and woke at `woke`. */
bool hang_was_pause(struct mono wanted, struct mono woke);

#endif
