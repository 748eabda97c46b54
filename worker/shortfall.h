/* What did not come off, for people: runs that did not succeed, instants that were not run by nobody's wish. Each is
 * in the history; the log for people has a line a minute and task of it, and of all tasks together so many a minute
 * that what concerns a thousand of them is not a thousand lines. What a policy skips is no shortfall. */
#ifndef ONCED_SHORTFALL_H
#define ONCED_SHORTFALL_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/record/names.h"
#include "common/schedule/misfire.h"

/* Lines a minute and process. */
#define SHORTFALL_LINES 50

struct shortfalls;

/* For the tasks of `c`, borrowed. NULL when there is no memory. */
struct shortfalls *shortfalls_new(const struct config *c);
struct shortfalls *shortfalls_free(struct shortfalls *s);   /* NULL is fine, returns NULL */

/* A run ended so; nothing is said of one that succeeded. `error` may be "". */
void shortfall_run(struct shortfalls *s, const char *task, const char *occ, enum state state, enum cause cause,
                   const char *error);

/* These instants were decided so, without a start; nothing is said of those that were skipped. */
void shortfall_range(struct shortfalls *s, const char *task, const struct instant_range *range, enum state state,
                     enum cause cause);

/* For tests: as if `ms` had gone by. */
void shortfalls_age(struct shortfalls *s, int64_t ms);

#endif
