/* The observation rule: a lease that ran out may be taken over only by who has itself seen its holder
 * unmoved for the whole life of a lease and a fifth more, on its own clock and by two answers of the store,
 * the last one after that time. A stalled store makes the leases of healthy holders run out. */
#ifndef ONCED_WATCH_H
#define ONCED_WATCH_H

#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"

struct watch;

/* Notes that `occ` (renewed `seq` times) holds the slot; "" that nobody does. Allocates and frees `*w`. */
void watch_note(struct watch **w, const char *occ, uint64_t seq, int64_t lease_ms, struct mono now);

/* The holder that may be taken over, "" when there is none yet. */
void watch_ripe(const struct watch *w, char ret_occ[OCC_TEXT]);

/* Who is watched, "" nobody. */
const char *watch_occ(const struct watch *w);   /* NULL is fine */

void watch_free(struct watch *w);   /* NULL is fine */

#endif
