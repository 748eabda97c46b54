/* Which of the instants since the cursor are run now and which are given up: the misfire policy as a pure
 * function. The policy decides from (cursor, now] alone, so every process comes to the same answer. */
#ifndef ONCED_MISFIRE_H
#define ONCED_MISFIRE_H

#include "common/schedule/schedule.h"

enum misfire_policy {
        MISFIRE_SKIP,       /* only the newest instant not older than grace */
        MISFIRE_CATCH_UP,   /* the newest `limit` instants within lookback, ascending */
};

extern const char *const misfire_names[];   /* "skip", "catch_up"; NULL-terminated */

#define GRACE_DEFAULT_MS 59000LL

struct misfire {
        enum misfire_policy policy;
        int64_t grace_ms;      /* skip; -1: the lesser of 59 s and the interval that follows the instant */
        unsigned limit;        /* catch_up: 1..1000 */
        int64_t lookback_ms;   /* catch_up: up to 366 d */
};

/* Instants given up: `count` planned instants from `first` to `last`, both included. */
struct instant_range {
        struct instant first, last;
        uint64_t count;        /* 0: empty, first and last mean nothing */
};

struct misfire_plan {
        struct instant run;          /* the oldest instant to run now; INSTANT_NONE: nothing is due */
        uint64_t run_count;          /* how many are to run, `run` and its successors (1 under skip) */
        struct instant_range given_up; /* those between the cursor and `run` (or now) */
};

/* The grace of `planned` under the policy, in ms: for skip as above, for catch_up the lookback. */
int64_t misfire_grace_ms(const struct misfire *m, const struct schedule *s, struct instant planned);

/* Decides (cursor, now]. `cursor` INSTANT_NONE: first run; the policy's own window counts then. */
void misfire_decide(const struct misfire *m, const struct schedule *s, struct instant cursor,
                    struct instant now, struct misfire_plan *ret);

/* Where a unit's cursor starts: just before the first that the policy runs now (where it runs none, at the start of its
 * window), or at `now` when `next_only`. */
struct instant misfire_first_cursor(const struct misfire *m, const struct schedule *s, struct instant now,
                                    bool next_only);

#endif
