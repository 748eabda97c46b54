/* See tzrule.h. Summers are intervals of UTC, one for each year; those that touch or overlap are one, which is how a
 * rule says that summer never ends. The calendar repeats after 400 years to the second, and so does a rule: that
 * bounds every search and keeps all numbers small. */
#include "common/schedule/tzrule.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "common/schedule/zone.h"

#define S_PER_DAY   86400LL
#define CYCLE_YEARS 400
#define CYCLE_S     (146097 * S_PER_DAY)

/* What is left of the text. */
struct rest {
        const char *at, *end;
};

static bool took(struct rest *t, char c)
{
        if (t->at == t->end || *t->at != c)
                return false;
        t->at++;
        return true;
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int number(struct rest *t, int min, int max, int *ret)
{
        int value = 0, digits = 0;

        for (; t->at < t->end && is_digit(*t->at) && digits < 3; t->at++, digits++)
                value = value * 10 + (*t->at - '0');
        if (digits == 0 || value < min || value > max)
                return -EBADMSG;
        *ret = value;
        return 0;
}

/* [+-]hh[:mm[:ss]] */
static int duration(struct rest *t, int hours_max, int32_t *ret)
{
        int sign = took(t, '-') ? -1 : 1, hours, minutes = 0, seconds = 0;

        if (sign == 1)
                (void) took(t, '+');
        int r = number(t, 0, hours_max, &hours);
        if (r == 0 && took(t, ':'))
                r = number(t, 0, 59, &minutes);
        if (r == 0 && took(t, ':'))
                r = number(t, 0, 59, &seconds);
        if (r < 0)
                return r;
        *ret = sign * (hours * 3600 + minutes * 60 + seconds);
        return 0;
}

int zone_kind_name(struct zone_kind *k, const char *text, size_t length)
{
        if (length >= sizeof(k->abbreviation))
                return -EBADMSG;
        for (size_t i = 0; i < length; i++) {
                if (!is_letter(text[i]) && !is_digit(text[i]) && text[i] != '+' && text[i] != '-')
                        return -EBADMSG;
        }
        memset(k->abbreviation, 0, sizeof(k->abbreviation));
        memcpy(k->abbreviation, text, length);
        return 0;
}

/* Letters, or in <> digits and signs too; three at least. */
static int name(struct rest *t, struct zone_kind *ret)
{
        bool quoted = took(t, '<');
        const char *from = t->at;

        while (t->at < t->end && (quoted ? *t->at != '>' : is_letter(*t->at)))
                t->at++;
        size_t length = (size_t) (t->at - from);
        if (length < 3 || (quoted && !took(t, '>')))
                return -EBADMSG;
        return zone_kind_name(ret, from, length);
}

static int date_in_month(struct rest *t, struct tzrule_date *ret)
{
        ret->form = DAY_OF_MONTH;
        int r = number(t, 1, 12, &ret->month);
        if (r == 0)
                r = took(t, '.') ? number(t, 1, 5, &ret->week) : -EBADMSG;
        if (r == 0)
                r = took(t, '.') ? number(t, 0, 6, &ret->weekday) : -EBADMSG;
        return r;
}

/* ,date[/time] */
static int date(struct rest *t, struct tzrule_date *ret)
{
        int r;

        *ret = (struct tzrule_date) { .time_s = 2 * 3600 };
        if (!took(t, ','))
                return -EBADMSG;
        if (took(t, 'M')) {
                r = date_in_month(t, ret);
        } else if (took(t, 'J')) {
                ret->form = DAY_WITHOUT_LEAP;
                r = number(t, 1, 365, &ret->day);
        } else {
                ret->form = DAY_OF_YEAR;
                r = number(t, 0, 365, &ret->day);
        }
        if (r == 0 && took(t, '/'))
                r = duration(t, 167, &ret->time_s);
        return r;
}

static int summer(struct rest *t, struct tzrule *r)
{
        int32_t west_s;
        int e = name(t, &r->summer);
        if (e < 0)
                return e;
        r->summer.is_dst = true;
        r->summer.offset_s = r->standard.offset_s + 3600;
        if (t->at < t->end && *t->at != ',') {
                e = duration(t, 24, &west_s);
                if (e < 0)
                        return e;
                r->summer.offset_s = -west_s;
        }
        e = date(t, &r->begin);
        return e < 0 ? e : date(t, &r->end);
}

static bool is_leap(int year)
{
        return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970-01-01 to the first of January; for years from 1 on. */
static int64_t days_before(int year)
{
        int y = year - 1;

        return 365LL * (year - 1970) + (y / 4 - y / 100 + y / 400) - 477;
}

static int day_in_month(const struct tzrule_date *d, int year)
{
        static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
        int leap = is_leap(year);
        int first = before[d->month - 1] + (d->month > 2 ? leap : 0);
        int next = before[d->month] + (d->month >= 2 ? leap : 0);
        int weekday = (int) (((days_before(year) + first + 4) % 7 + 7) % 7);   /* 1970-01-01: a Thursday */
        int day = first + (d->weekday - weekday + 7) % 7 + (d->week - 1) * 7;

        return day < next ? day : day - 7;
}

/* The local second at which the date of `year` comes. */
static int64_t date_s(const struct tzrule_date *d, int year)
{
        int day = d->form == DAY_OF_MONTH ? day_in_month(d, year) : d->day;

        if (d->form == DAY_WITHOUT_LEAP)
                day -= !(is_leap(year) && d->day >= 60);
        return (days_before(year) + day) * S_PER_DAY + d->time_s;
}

struct interval {
        int64_t from_s, until_s;
};

/* The summer that begins in `year`; false when it is empty. Both of its ends grow with the year. */
static bool summer_of(const struct tzrule *r, int year, struct interval *ret)
{
        ret->from_s = date_s(&r->begin, year) - r->standard.offset_s;
        ret->until_s = date_s(&r->end, year) - r->summer.offset_s;
        if (ret->until_s < ret->from_s)
                ret->until_s = date_s(&r->end, year + 1) - r->summer.offset_s;
        return ret->from_s < ret->until_s;
}

/* A date's time and offset move it by at most nine days, and a summer ends in the year after its own at the latest:
 * those that begin in [year - 2, year + 1] are all that a second of `year` can lie in. */
#define YEARS_BACK 2
#define YEARS_ON   1

static bool summer_around(const struct tzrule *r, int year, int64_t at_s, struct interval *ret)
{
        for (int y = year - YEARS_BACK; y <= year + YEARS_ON; y++) {
                if (summer_of(r, y, ret) && ret->from_s <= at_s && at_s < ret->until_s)
                        return true;
        }
        return false;
}

/* Where the summer ends that goes on until `until_s` at least; INT64_MAX: never. */
static int64_t summer_end(const struct tzrule *r, int year, int64_t until_s)
{
        struct interval i;

        for (int y = year - YEARS_BACK; y <= year + YEARS_ON + CYCLE_YEARS; y++) {
                if (!summer_of(r, y, &i))
                        continue;
                if (i.from_s > until_s)
                        return until_s;
                if (i.until_s > until_s)
                        until_s = i.until_s;
        }
        return INT64_MAX;
}

static int64_t summer_begin(const struct tzrule *r, int year, int64_t from_s)
{
        struct interval i;

        for (int y = year + YEARS_ON; y >= year - YEARS_BACK - CYCLE_YEARS; y--) {
                if (!summer_of(r, y, &i))
                        continue;
                if (i.until_s < from_s)
                        return from_s;
                if (i.from_s < from_s)
                        from_s = i.from_s;
        }
        return INT64_MIN;
}

/* The first summer that begins after `at_s`; INT64_MAX: none does. */
static int64_t next_begin(const struct tzrule *r, int year, int64_t at_s)
{
        struct interval i;

        for (int y = year - YEARS_BACK; y <= year + YEARS_ON + CYCLE_YEARS; y++) {
                if (summer_of(r, y, &i) && i.from_s > at_s)
                        return i.from_s;
        }
        return INT64_MAX;
}

static int64_t last_end(const struct tzrule *r, int year, int64_t at_s)
{
        struct interval i;

        for (int y = year + YEARS_ON; y >= year - YEARS_BACK - CYCLE_YEARS; y--) {
                if (summer_of(r, y, &i) && i.until_s <= at_s)
                        return i.until_s;
        }
        return INT64_MIN;
}

static int year_of(int64_t at_s)
{
        int year = 1970 + (int) (at_s * CYCLE_YEARS / CYCLE_S);

        while (days_before(year) * S_PER_DAY > at_s)
                year--;
        while (days_before(year + 1) * S_PER_DAY <= at_s)
                year++;
        return year;
}

/* The stretch around a second of the years 1970 to 2369; true when it is one of summer. */
static bool stretch_at(const struct tzrule *r, int64_t at_s, struct interval *ret)
{
        int year = year_of(at_s);
        struct interval i;

        if (summer_around(r, year, at_s, &i)) {
                ret->from_s = summer_begin(r, year, i.from_s);
                ret->until_s = summer_end(r, year, i.until_s);
                return true;
        }
        ret->from_s = last_end(r, year, at_s);
        ret->until_s = next_begin(r, year, at_s);
        return false;
}

int tzrule_parse(const char *text, size_t length, struct tzrule *ret)
{
        struct rest t = { text, text + length };
        struct tzrule rule = { .never_changes = true };
        struct interval i;
        int32_t west_s;

        int r = name(&t, &rule.standard);
        if (r == 0)
                r = duration(&t, 24, &west_s);
        if (r < 0)
                return r;
        rule.standard.offset_s = -west_s;
        if (t.at < t.end) {
                r = summer(&t, &rule);
                if (r < 0)
                        return r;
                if (t.at < t.end)
                        return -EBADMSG;
                rule.always_summer = stretch_at(&rule, 0, &i);
                rule.never_changes = i.until_s == INT64_MAX;
        }
        *ret = rule;
        return 0;
}

static int64_t added(int64_t a, int64_t b)
{
        int64_t sum;

        if (__builtin_add_overflow(a, b, &sum))
                return b < 0 ? INT64_MIN : INT64_MAX;
        return sum;
}

void tzrule_span_at(const struct tzrule *r, int64_t utc_s, struct zone_span *ret)
{
        int64_t at_s = (utc_s % CYCLE_S + CYCLE_S) % CYCLE_S;
        bool is_summer = r->always_summer;
        struct interval i = { INT64_MIN, INT64_MAX };

        if (!r->never_changes) {
                is_summer = stretch_at(r, at_s, &i);
                i.from_s = added(utc_s, i.from_s - at_s);
                i.until_s = added(utc_s, i.until_s - at_s);
        }
        const struct zone_kind *k = is_summer ? &r->summer : &r->standard;
        *ret = (struct zone_span) { .from_s = i.from_s, .until_s = i.until_s,
                                    .offset_s = k->offset_s, .is_dst = k->is_dst };
        memcpy(ret->abbreviation, k->abbreviation, sizeof(ret->abbreviation));
}
