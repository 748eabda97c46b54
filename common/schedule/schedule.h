/* When a task is due: a pure function from an instant to the next one. Worker, check, API and prove all
 * call it, so that they agree by construction. No clock is read here, nothing is allocated while asking. */
#ifndef ONCED_SCHEDULE_H
#define ONCED_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/schedule/cron.h"

struct zone;

enum schedule_kind {
        SCHEDULE_NONE,    /* never by itself: scope manual */
        SCHEDULE_EVERY,   /* anchor + k * every, for every whole k, negative ones too */
        SCHEDULE_CRON,    /* a cron expression on the wall clock of a zone */
};

#define EVERY_MIN_MS 10LL
#define EVERY_MAX_MS (366 * MS_PER_DAY)

struct schedule {
        enum schedule_kind kind;
        int64_t every_ms;
        int64_t anchor_ms;   /* may lie anywhere: it aligns the grid and is no start */
        struct cron cron;
        const struct zone *zone;   /* cron; never freed */
        bool fold_both;      /* cron: a local time that comes twice fires twice; else the first time only */
};

/* 0, or -ERANGE when `every_ms` is outside EVERY_MIN_MS..EVERY_MAX_MS. */
int schedule_every(int64_t every_ms, int64_t anchor_ms, struct schedule *ret);

/* A cron schedule. 0; -EINVAL: the expression, `error` says where; -ERANGE: it never comes (0 0 30 2 *); else as
 * zone_get, `error->text` being its `why`. */
int schedule_cron(const char *expression, const char *tz, bool fold_both, struct schedule *ret,
                  struct cron_error *error);

/* A cron schedule has instants from 1900 to 9999, CRON_FIRST_S to CRON_LAST_S. */

/* The smallest planned instant strictly later than `after`; -ENOENT when there is none. */
int schedule_next(const struct schedule *s, struct instant after, struct instant *ret);

/* The largest planned instant at or before `at`; -ENOENT when there is none. */
int schedule_last(const struct schedule *s, struct instant at, struct instant *ret);

/* How many planned instants lie in (after, upto]; 0 when upto <= after. */
uint64_t schedule_count(const struct schedule *s, struct instant after, struct instant upto);

/* True when `i` is a planned instant. */
bool schedule_has(const struct schedule *s, struct instant i);

/* Milliseconds from the planned instant `i` to its successor; 0 when there is none. */
int64_t schedule_interval_ms(const struct schedule *s, struct instant i);

/* The schedule for logs, ledgers and tables: "every 250ms", "every 1h anchor 1764522000000",
 * "cron 30 5 * * 1-5 tz Europe/Berlin", with " fold both" behind it, or "none". schedule_parse reads it back.
 * `ret` gets at most `room` bytes, NUL included; SCHEDULE_TEXT is always enough. */
#define SCHEDULE_TEXT (CRON_TEXT + 96)
void schedule_text(const struct schedule *s, char *ret, size_t room);

/* What schedule_text wrote. 0; -EINVAL; or as zone_get, when the zone is not there (any more). */
int schedule_parse(const char *text, struct schedule *ret);

/* The same instants by the same rule (not: the same text of an expression). */
bool schedule_equal(const struct schedule *a, const struct schedule *b);

#endif
