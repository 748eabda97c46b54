/* Cron expressions: five fields, or six with seconds in front. Parsed into sets, which decide about times of a wall
 * clock; what zone that clock shows is schedule.c's. The grammar and every decision: onced-schedule(7). */
#ifndef ONCED_CRON_H
#define ONCED_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cron {
        uint64_t seconds, minutes;   /* bit n: n matches */
        uint32_t hours;              /* 0..23 */
        uint32_t days;               /* 1..31 */
        uint32_t weekdays_nearest;   /* nW: bit n, the weekday nearest day n */
        uint64_t nth_weekdays;       /* d#k: bit d * 5 + k - 1 */
        uint16_t months;             /* 1..12 */
        uint8_t weekdays;            /* 0..6, Sunday is 0 */
        uint8_t last_weekdays;       /* dL: bit d */
        bool last_day, last_weekday; /* day of month L, LW */
        bool any_day, any_weekday;   /* the field is * or ?: it does not restrict */
        bool has_seconds;            /* six fields were given */
};

/* Bytes of an expression, NUL included; and of the longest that cron_text writes. */
#define CRON_MAX  256
#define CRON_TEXT 640

struct cron_error {
        size_t at, length;       /* the offending bytes of the expression; length 0: the whole of it */
        char text[160];          /* which field, what is wrong, what is allowed */
};

/* 0, or -EINVAL with `error` filled. */
int cron_parse(const char *expression, struct cron *ret, struct cron_error *error);

/* What daemons read differently, for `check`: NULL or a sentence. */
const char *cron_doubt(const struct cron *c);

/* The expression in its shortest plain form: numbers for names, one blank between fields. cron_parse gives the same
 * sets again. `ret` holds CRON_TEXT bytes. */
void cron_text(const struct cron *c, char ret[CRON_TEXT]);

/* The schedule in an English sentence, for `explain`: "at 05:35 on Monday to Friday". Cut at `room` bytes. */
void cron_sentence(const struct cron *c, char *ret, size_t room);

/* Local times are seconds since 1970-01-01T00:00:00 of a wall clock, which knows no zone. */

/* The smallest matching local time at or after `local_s`, before `limit_s`. 0, or -ENOENT. */
int cron_next(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret);

/* The largest matching local time at or before `local_s`, not before `limit_s`. 0, or -ENOENT. */
int cron_last(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret);

/* How many local times in [from_s, until_s) match; counted by days, not one by one. */
uint64_t cron_count(const struct cron *c, int64_t from_s, int64_t until_s);

bool cron_has(const struct cron *c, int64_t local_s);

#endif
