/* A cron schedule on the wall clock of its zone, in UTC seconds. A local time that a change of offset leaves out is on
 * no stretch of the wall clock, so it is never met; one that comes twice is met on two of them, and with dst_fold
 * `first` what an earlier stretch has shown is cut out of the later. */
#ifndef ONCED_WALL_H
#define ONCED_WALL_H

#include <stdbool.h>
#include <stdint.h>

struct schedule;

/* The smallest planned instant at or after `from_s`. 0, or -ENOENT. */
int wall_next(const struct schedule *s, int64_t from_s, int64_t *ret);

/* The largest planned instant at or before `at_s`. 0, or -ENOENT. */
int wall_last(const struct schedule *s, int64_t at_s, int64_t *ret);

/* How many planned instants lie in [from_s, until_s). */
uint64_t wall_count(const struct schedule *s, int64_t from_s, int64_t until_s);

bool wall_has(const struct schedule *s, int64_t utc_s);

#endif
