/* Days and dates of the proleptic Gregorian calendar, by arithmetic on eras of 400 years: no libc, no zone. */
#ifndef ONCED_CIVIL_H
#define ONCED_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

struct civil {
        int64_t year;
        unsigned month, day;   /* 1..12, 1..31 */
};

static inline int64_t floor_div(int64_t a, int64_t b)
{
        return a % b < 0 ? a / b - 1 : a / b;
}

static inline int64_t floor_rest(int64_t a, int64_t b)
{
        return a % b < 0 ? a % b + b : a % b;
}

/* `days` since 1970-01-01, negative ones too. */
static inline struct civil civil_from_days(int64_t days)
{
        int64_t z = days + 719468;                 /* days since 0000-03-01 */
        int64_t era = floor_div(z, 146097);
        unsigned doe = (unsigned) (z - era * 146097);
        unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
        unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        unsigned mp = (5 * doy + 2) / 153;
        unsigned month = mp < 10 ? mp + 3 : mp - 9;

        return (struct civil) {
                .year = (int64_t) yoe + era * 400 + (month <= 2),
                .month = month,
                .day = doy - (153 * mp + 2) / 5 + 1,
        };
}

static inline int64_t days_from_civil(int64_t y, unsigned m, unsigned d)
{
        y -= m <= 2;
        int64_t era = floor_div(y, 400);
        unsigned yoe = (unsigned) (y - era * 400);
        unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
        unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

        return era * 146097 + (int64_t) doe - 719468;
}

static inline bool is_leap_year(int64_t y)
{
        return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

static inline unsigned month_length(int64_t y, unsigned m)
{
        return m == 2 ? (is_leap_year(y) ? 29 : 28) : 30 + ((m + m / 8) & 1);
}

/* Of a day since 1970-01-01, which was a Thursday; Sunday is 0. */
static inline unsigned weekday_of(int64_t days)
{
        return (unsigned) floor_rest(days + 4, 7);
}

#endif
