/* Cron expressions: five fields, or six with seconds in front. Parsed into sets, which decide about times of a wall
 * clock; what zone that clock shows is schedule.c's. What is read, and what is not:
 *
 * - Fields are separated by blanks and tabs. An item is *, n, a-b, or * or a-b with a step /s; a field is an item or a
 *   list of them with commas. Numbers are decimal, leading zeros allowed. Names (JAN-DEC, SUN-SAT), L, W and macros are
 *   read in any case.
 * - Sunday is 0 and 7. SUN is 0, and 7 at the end of a range that begins later: FRI-SUN is 5-7, SUN-TUE 0-2.
 * - A range that runs backwards (22-2) is refused with its spelled-out form (22-23,0-2). A step counts from the first
 *   value of its range, of names too (MON-FRI/2), and anew each hour, day, month, year: every 7 minutes leave a rest of
 *   4. A step with more than the field's values (90 minutes) is refused; 60 minutes are the minute 0 alone.
 * - A day field that is exactly * or ? does not restrict. If both restrict, a day that matches either counts; a * with
 *   a step or in a list restricts, which other daemons read differently (cron_doubt). ? is one whole day field, not
 *   both.
 * - Day of month, each alone in its field: L the last day; nW the weekday (Monday to Friday) nearest day n inside the
 *   month, and no day in a month without day n; LW the last weekday. Day of week, also in lists: dL the last such day
 *   of the month, d#k the k-th, 1 to 5: no day in a month without a fifth.
 * - @hourly @daily @midnight @weekly @monthly @yearly @annually, with nothing behind. @reboot is no time: refused.
 *
 * Schedules that mean the same have the same sets: 1-31 is brought to *, d#1 to d#5 together to d, and a second 0 is
 * what five fields have. */
#ifndef ONCED_CRON_H
#define ONCED_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cron {
        uint64_t seconds, minutes;   /* bit n: n matches */
        uint64_t nth_weekdays;       /* d#k: bit (k - 1) * 7 + d */
        uint32_t hours;              /* 0..23 */
        uint32_t days;               /* 1..31; empty when L, LW or nW stands alone */
        uint16_t months;             /* 1..12 */
        uint8_t weekdays;            /* 0..6, Sunday is 0 */
        uint8_t last_weekdays;       /* dL: bit d */
        uint8_t weekday_nearest;     /* nW: n; 0: none */
        bool last_day, last_weekday; /* day of month L, LW */
        bool any_day, any_weekday;   /* the field does not restrict */
        bool starred;                /* both day fields restrict, and one has a * in it: see cron_doubt */
};

/* Bytes of an expression, NUL included. The longest that cron_text writes, of single values alone, is shorter. */
#define CRON_MAX  768
#define CRON_TEXT CRON_MAX

/* The first and the last instant that a cron schedule can have: 1900 to 9999, in UTC seconds. */
#define CRON_FIRST_S (-2208988800LL)
#define CRON_LAST_S  253402300799LL

/* Local times are seconds since 1970-01-01T00:00:00 of a wall clock, which knows no zone. Of those two days and more
 * outside of CRON_FIRST_S and CRON_LAST_S none is found or counted: no zone is that far from UTC. */
#define CRON_FROM_S  (CRON_FIRST_S - 2 * 86400)
#define CRON_UNTIL_S (CRON_LAST_S + 1 + 2 * 86400)

struct cron_error {
        size_t at, length;       /* the offending bytes of the expression; length 0: the whole of it */
        char text[256];          /* which field, what is wrong, what is allowed */
};

/* What is shown to people of one byte of an expression: itself, or '?' for what could steer a terminal and for what is
 * a part of a letter only. One for one, so that a mark below stays in its column. */
static inline char cron_shown(char byte)
{
        return byte >= ' ' && byte <= '~' ? byte : '?';
}

/* 0, or -EINVAL with `error` filled. An expression may be one that never comes: schedule_cron looks. */
int cron_parse(const char *expression, struct cron *ret, struct cron_error *error);

/* What daemons read differently, for `check`: NULL or a sentence. */
const char *cron_doubt(const struct cron *c);

/* The expression in a short plain form: numbers for names, one blank between fields. cron_parse gives the same sets
 * again; equal schedules have the same text. `ret` holds CRON_TEXT bytes. */
void cron_text(const struct cron *c, char ret[CRON_TEXT]);

/* The schedule in an English sentence, for `explain`: "at 05:35 on Monday to Friday". Cut at `room` bytes. */
void cron_sentence(const struct cron *c, char *ret, size_t room);

/* The same local times. */
bool cron_equal(const struct cron *a, const struct cron *b);

/* The smallest matching local time at or after `local_s`, before `limit_s`. 0, or -ENOENT. */
int cron_next(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret);

/* The largest matching local time at or before `local_s`, not before `limit_s`. 0, or -ENOENT. */
int cron_last(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret);

/* How many local times in [from_s, until_s) match; counted by months, not one by one. */
uint64_t cron_count(const struct cron *c, int64_t from_s, int64_t until_s);

bool cron_has(const struct cron *c, int64_t local_s);

#endif
