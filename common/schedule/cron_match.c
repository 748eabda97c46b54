/* Which local times a cron expression matches. Days are found by month: the days of a month that match are one mask,
 * made of the sets by shifts, so that a year costs twelve masks whatever the expression is. */
#include "common/schedule/cron.h"

#include <errno.h>

#include "common/civil.h"

#define DAY_S 86400

/* A month, and the mask of its matching days: bit n is day n. */
struct month {
        int64_t first;        /* its day 1, in days since 1970-01-01 */
        unsigned length;
        unsigned month;
        int64_t year;
        uint32_t days;
};

static unsigned lowest(uint64_t set)
{
        return (unsigned) __builtin_ctzll(set);
}

static unsigned highest(uint64_t set)
{
        return 63 - (unsigned) __builtin_clzll(set);
}

/* The bits of `set` from `n` on, and those up to it. */
static uint64_t from_bit(uint64_t set, unsigned n)
{
        return n > 63 ? 0 : set & (~0ULL << n);
}

static uint64_t upto_bit(uint64_t set, unsigned n)
{
        return n > 62 ? set : set & ((1ULL << (n + 1)) - 1);
}

static unsigned how_many(uint64_t set)
{
        return (unsigned) __builtin_popcountll(set);
}

/* Seven weekdays as seven days in a row, bit 0 being a day of weekday `first`. */
static uint64_t week_from(unsigned weekdays, unsigned first)
{
        return ((weekdays >> first) | (weekdays << (7 - first))) & 0x7f;
}

/* The Monday to Friday nearest day `n`, inside a month of `length` days whose day 1 is the weekday `first`. */
static unsigned weekday_near(unsigned n, unsigned first, unsigned length)
{
        unsigned weekday = (first + n - 1) % 7;

        if (weekday == 6)
                return n > 1 ? n - 1 : n + 2;
        if (weekday == 0)
                return n < length ? n + 1 : n - 2;
        return n;
}

static uint64_t by_day(const struct cron *c, const struct month *m, unsigned first)
{
        uint64_t days = c->days;

        if (c->last_day)
                days |= 1ULL << m->length;
        if (c->last_weekday)
                days |= 1ULL << weekday_near(m->length, first, m->length);
        if (c->weekday_nearest && c->weekday_nearest <= m->length)
                days |= 1ULL << weekday_near(c->weekday_nearest, first, m->length);
        return days;
}

/* The k-th of a weekday lies in the k-th seven days of a month, the last in the last seven. */
static uint64_t by_weekday(const struct cron *c, const struct month *m, unsigned first)
{
        uint64_t days = week_from(c->weekdays, first) * (1 + (1ULL << 7) + (1ULL << 14) + (1ULL << 21) + (1ULL << 28));

        for (unsigned week = 0; week < 5; week++)
                days |= week_from((c->nth_weekdays >> (week * 7)) & 0x7f, first) << (week * 7);
        days |= week_from(c->last_weekdays, (first + m->length) % 7) << (m->length - 7);
        return days << 1;
}

static void month_match(const struct cron *c, struct month *m)
{
        unsigned first = weekday_of(m->first);
        uint64_t days = 0;

        m->days = 0;
        if (!(c->months & (1U << m->month)))
                return;
        if (c->any_day && c->any_weekday)
                days = ~1ULL;
        if (!c->any_day)
                days |= by_day(c, m, first);
        if (!c->any_weekday)
                days |= by_weekday(c, m, first);
        m->days = (uint32_t) upto_bit(days, m->length);
}

/* The month of `day`, which is bit `ret_n` of its mask. */
static struct month month_of(const struct cron *c, int64_t day, unsigned *ret_n)
{
        struct civil date = civil_from_days(day);
        struct month m = { .first = day - (date.day - 1), .month = date.month, .year = date.year,
                           .length = month_length(date.year, date.month) };

        month_match(c, &m);
        *ret_n = date.day;
        return m;
}

static void month_after(const struct cron *c, struct month *m)
{
        m->first += m->length;
        m->year += m->month == 12;
        m->month = m->month == 12 ? 1 : m->month + 1;
        m->length = month_length(m->year, m->month);
        month_match(c, m);
}

static void month_before(const struct cron *c, struct month *m)
{
        m->year -= m->month == 1;
        m->month = m->month == 1 ? 12 : m->month - 1;
        m->length = month_length(m->year, m->month);
        m->first -= m->length;
        month_match(c, m);
}

/* The first matching second of a day at or after `s`; -1: none. */
static int time_next(const struct cron *c, unsigned s)
{
        unsigned hour = s / 3600, minute = s / 60 % 60;
        uint64_t left;

        if (c->hours & (1U << hour)) {
                if ((c->minutes >> minute & 1) && (left = from_bit(c->seconds, s % 60)))
                        return (int) (hour * 3600 + minute * 60 + lowest(left));
                if ((left = from_bit(c->minutes, minute + 1)))
                        return (int) (hour * 3600 + lowest(left) * 60 + lowest(c->seconds));
        }
        left = from_bit(c->hours, hour + 1);
        return left ? (int) (lowest(left) * 3600 + lowest(c->minutes) * 60 + lowest(c->seconds)) : -1;
}

/* The last matching second of a day at or before `s`; -1: none. */
static int time_last(const struct cron *c, unsigned s)
{
        unsigned hour = s / 3600, minute = s / 60 % 60;
        uint64_t left;

        if (c->hours & (1U << hour)) {
                if ((c->minutes >> minute & 1) && (left = upto_bit(c->seconds, s % 60)))
                        return (int) (hour * 3600 + minute * 60 + highest(left));
                if (minute > 0 && (left = upto_bit(c->minutes, minute - 1)))
                        return (int) (hour * 3600 + highest(left) * 60 + highest(c->seconds));
        }
        left = hour > 0 ? upto_bit(c->hours, hour - 1) : 0;
        return left ? (int) (highest(left) * 3600 + highest(c->minutes) * 60 + highest(c->seconds)) : -1;
}

/* How many matching seconds a day has before second `s`. */
static uint64_t times_before(const struct cron *c, unsigned s)
{
        unsigned hour = s / 3600, minute = s / 60 % 60;
        uint64_t a_minute = how_many(c->seconds), an_hour = how_many(c->minutes) * a_minute;
        uint64_t count = how_many(c->hours & ((1U << hour) - 1)) * an_hour;

        if (c->hours & (1U << hour)) {
                count += (uint64_t) how_many(c->minutes & ((1ULL << minute) - 1)) * how_many(c->seconds);
                if (c->minutes >> minute & 1)
                        count += how_many(c->seconds & ((1ULL << s % 60) - 1));
        }
        return count;
}

int cron_next(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret)
{
        unsigned n;
        uint64_t left;

        if (local_s < CRON_FROM_S)
                local_s = CRON_FROM_S;
        if (limit_s > CRON_UNTIL_S)
                limit_s = CRON_UNTIL_S;
        if (local_s >= limit_s)
                return -ENOENT;
        int64_t day = floor_div(local_s, DAY_S);
        struct month m = month_of(c, day, &n);
        int time = m.days >> n & 1 ? time_next(c, (unsigned) (local_s - day * DAY_S)) : -1;
        if (time < 0) {
                time = time_next(c, 0);
                for (left = from_bit(m.days, n + 1); !left; left = m.days) {
                        month_after(c, &m);
                        if (m.first * DAY_S >= limit_s)
                                return -ENOENT;
                }
                day = m.first + lowest(left) - 1;
        }
        if (day * DAY_S + time >= limit_s)
                return -ENOENT;
        *ret = day * DAY_S + time;
        return 0;
}

int cron_last(const struct cron *c, int64_t local_s, int64_t limit_s, int64_t *ret)
{
        unsigned n;
        uint64_t left;

        if (local_s >= CRON_UNTIL_S)
                local_s = CRON_UNTIL_S - 1;
        if (limit_s < CRON_FROM_S)
                limit_s = CRON_FROM_S;
        if (local_s < limit_s)
                return -ENOENT;
        int64_t day = floor_div(local_s, DAY_S);
        struct month m = month_of(c, day, &n);
        int time = m.days >> n & 1 ? time_last(c, (unsigned) (local_s - day * DAY_S)) : -1;
        if (time < 0) {
                time = time_last(c, DAY_S - 1);
                for (left = upto_bit(m.days, n - 1); !left; left = m.days) {
                        if (m.first * DAY_S <= limit_s)
                                return -ENOENT;
                        month_before(c, &m);
                }
                day = m.first + highest(left) - 1;
        }
        if (day * DAY_S + time < limit_s)
                return -ENOENT;
        *ret = day * DAY_S + time;
        return 0;
}

/* How many days in [from, until) match. */
static uint64_t days_between(const struct cron *c, int64_t from, int64_t until)
{
        unsigned n;
        struct month m = month_of(c, from, &n);
        uint64_t days = from_bit(m.days, n), count = 0;

        for (; m.first + m.length <= until; days = m.days) {
                count += how_many(days);
                month_after(c, &m);
        }
        return until > m.first ? count + how_many(upto_bit(days, (unsigned) (until - m.first))) : count;
}

static uint64_t times_of_day_before(const struct cron *c, int64_t day, int64_t local_s)
{
        unsigned n;
        struct month m = month_of(c, day, &n);

        return m.days >> n & 1 ? times_before(c, (unsigned) (local_s - day * DAY_S)) : 0;
}

uint64_t cron_count(const struct cron *c, int64_t from_s, int64_t until_s)
{
        uint64_t of_a_day = (uint64_t) how_many(c->hours) * how_many(c->minutes) * how_many(c->seconds);

        if (from_s < CRON_FROM_S)
                from_s = CRON_FROM_S;
        if (until_s > CRON_UNTIL_S)
                until_s = CRON_UNTIL_S;
        if (from_s >= until_s)
                return 0;
        int64_t from = floor_div(from_s, DAY_S), until = floor_div(until_s, DAY_S);
        return days_between(c, from, until) * of_a_day + times_of_day_before(c, until, until_s) -
               times_of_day_before(c, from, from_s);
}

bool cron_has(const struct cron *c, int64_t local_s)
{
        int64_t found;

        return cron_last(c, local_s, local_s, &found) == 0;
}
