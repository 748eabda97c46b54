/* See oracle.h. Written from the rules in t/vectors/README.md, one rule a function, without regard to speed. */
#include "t/unit/common/oracle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/schedule/zone.h"
#include "t/unit/cases.h"

enum { SEC, MIN, HOUR, DOM, MON, DOW };

static const int lows[] = { 0, 0, 0, 1, 1, 0 }, highs[] = { 59, 59, 23, 31, 12, 6 };

static int number_of(int field, const char *word, const char **ret_end)
{
        static const char *const months[] = { "JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                              "JUL", "AUG", "SEP", "OCT", "NOV", "DEC" };
        static const char *const days[] = { "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT" };

        *ret_end = word + 3;
        for (int i = 0; field == MON && i < 12; i++)
                if (strncmp(word, months[i], 3) == 0)
                        return i + 1;
        for (int i = 0; field == DOW && i < 7; i++)
                if (strncmp(word, days[i], 3) == 0)
                        return i;
        char *end;
        int n = (int) strtol(word, &end, 10);
        *ret_end = end;
        return n;
}

/* Does one item of a list, without L, W or #, hold `value`? A Sunday is asked for as 0 and as 7. */
static bool item_holds(int field, const char *item, int value)
{
        int a = lows[field], b = highs[field], step = 1;
        const char *slash = strchr(item, '/'), *end = item;

        if (slash)
                step = atoi(slash + 1);
        if (*item != '*') {
                a = b = number_of(field, item, &end);
                if (*end == '-') {
                        bool named = isalpha((unsigned char) end[1]);
                        b = number_of(field, end + 1, &end);
                        if (field == DOW && named && b == 0 && a != 0)
                                b = 7;
                }
        }
        return value >= a && value <= b && (value - a) % step == 0;
}

static bool item_plain(const char *item)
{
        size_t len = strlen(item);

        return !strchr(item, '#') && !(len > 1 && item[len - 1] == 'L');
}

static int days_in_month(const struct tm *tm)
{
        struct tm next = { .tm_year = tm->tm_year, .tm_mon = tm->tm_mon + 1, .tm_mday = 0 };
        time_t last = timegm(&next);
        struct tm found;

        (void) gmtime_r(&last, &found);
        return found.tm_mday;
}

/* dL: the same weekday a week later is another month's. d#k: k - 1 of them came before in the month. */
static bool weekday_item_holds(const char *item, const struct tm *tm)
{
        const char *end;

        if (item_plain(item))
                return item_holds(DOW, item, tm->tm_wday) || (tm->tm_wday == 0 && item_holds(DOW, item, 7));
        if (number_of(DOW, item, &end) % 7 != tm->tm_wday)
                return false;
        if (*end == 'L')
                return tm->tm_mday + 7 > days_in_month(tm);
        int before = 0;
        for (int day = tm->tm_mday - 7; day >= 1; day -= 7)
                before++;
        return before == atoi(end + 1) - 1;
}

static bool list_holds(int field, const char *list, int value, const struct tm *tm)
{
        char copy[128], *save = NULL;

        (void) snprintf(copy, sizeof(copy), "%s", list);
        for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save))
                if (field == DOW ? weekday_item_holds(item, tm) : item_holds(field, item, value))
                        return true;
        return false;
}

/* Is `day` of that month a Monday to Friday, and exists? */
static bool is_workday(const struct tm *tm, int day)
{
        return day >= 1 && day <= days_in_month(tm) && (tm->tm_wday + 35 + day - tm->tm_mday) % 7 % 6 != 0;
}

/* Of the days around day `n`, nearest first; as Saturday and Sunday are never farther than two, no tie is left. */
static int nearest_workday(const struct tm *tm, int n)
{
        for (int distance = 0; distance < 3; distance++) {
                if (is_workday(tm, n - distance))
                        return n - distance;
                if (is_workday(tm, n + distance))
                        return n + distance;
        }
        fail_msg("no weekday near %d", n);
        return 0;
}

static bool day_of_month_holds(const char *field, const struct tm *tm)
{
        if (strcmp(field, "L") == 0)
                return tm->tm_mday == days_in_month(tm);
        if (strcmp(field, "LW") == 0)
                return tm->tm_mday == nearest_workday(tm, days_in_month(tm));
        if (strchr(field, 'W'))
                return atoi(field) <= days_in_month(tm) && tm->tm_mday == nearest_workday(tm, atoi(field));
        return list_holds(DOM, field, tm->tm_mday, tm);
}

static bool unrestricted(const char *field)
{
        return strcmp(field, "*") == 0 || strcmp(field, "?") == 0;
}

static bool date_holds(const struct oracle *o, const struct tm *tm)
{
        bool dom = !unrestricted(o->fields[DOM]), dow = !unrestricted(o->fields[DOW]);

        if (!o->month[tm->tm_mon + 1])
                return false;
        if (!dom && !dow)
                return true;
        return (dom && day_of_month_holds(o->fields[DOM], tm)) || (dow && list_holds(DOW, o->fields[DOW], 0, tm));
}

void oracle_init(struct oracle *o, const char *expression, const struct zone *zone, bool both)
{
        char copy[512], *save = NULL, *words[7];
        size_t count = 0;

        *o = (struct oracle) { .zone = zone, .both = both };
        (void) snprintf(copy, sizeof(copy), "%s", expression);
        for (char *w = strtok_r(copy, " \t", &save); w && count < 7; w = strtok_r(NULL, " \t", &save))
                words[count++] = w;
        assert_true(count == 5 || count == 6);
        (void) strcpy(o->fields[SEC], "0");
        for (size_t i = 0; i < count; i++) {
                char *to = o->fields[i + 6 - count];
                for (size_t k = 0; words[i][k] && k < sizeof(o->fields[0]) - 1; k++)
                        to[k] = (char) toupper((unsigned char) words[i][k]);
        }
        for (int v = 0; v < 60; v++) {
                o->second[v] = list_holds(SEC, o->fields[SEC], v, NULL);
                o->minute[v] = list_holds(MIN, o->fields[MIN], v, NULL);
        }
        for (int v = 0; v < 24; v++)
                o->hour[v] = list_holds(HOUR, o->fields[HOUR], v, NULL);
        for (int v = 1; v < 13; v++)
                o->month[v] = list_holds(MON, o->fields[MON], v, NULL);
}

/* Was this local time shown before? Asked of every offset of the days before: where would it have been? */
static bool shown_before(const struct oracle *o, int64_t utc_s, int32_t offset_s)
{
        struct zone_span then;
        int64_t at = utc_s;

        for (int i = 0; i < 64 && at > utc_s - 3 * 86400; i++) {
                zone_span_at(o->zone, at, &then);
                int64_t other = utc_s + offset_s - then.offset_s;
                if (other < utc_s && other >= then.from_s && other < then.until_s)
                        return true;
                if (then.from_s == INT64_MIN)
                        return false;
                at = then.from_s - 1;
        }
        return false;
}

/* Seconds from `local_s` to the next time of the wall clock that is worth asking; 0: this one is. */
static int64_t not_before(const struct oracle *o, int64_t local_s, bool seconds)
{
        int64_t of_day = (local_s % 86400 + 86400) % 86400;

        if (!o->hour[of_day / 3600])
                return 3600 - of_day % 3600;
        return seconds ? 0 : (60 - of_day % 60) % 60;
}

size_t oracle_walk(const struct oracle *o, int64_t from_s, int64_t until_s, int64_t *ret, size_t room)
{
        bool seconds = strcmp(o->fields[SEC], "0") != 0;
        struct zone_span span = { .until_s = INT64_MIN };
        size_t count = 0;
        struct tm tm;

        for (int64_t utc = from_s; utc < until_s; utc++) {
                if (utc >= span.until_s || utc < span.from_s)
                        zone_span_at(o->zone, utc, &span);
                time_t local = utc + span.offset_s;
                int64_t rest = not_before(o, local, seconds);
                if (rest > 0) {
                        utc = (utc + rest > span.until_s ? span.until_s : utc + rest) - 1;
                        continue;
                }
                (void) gmtime_r(&local, &tm);
                if (!o->second[tm.tm_sec] || !o->minute[tm.tm_min] || !o->hour[tm.tm_hour] || !date_holds(o, &tm))
                        continue;
                if (!o->both && shown_before(o, utc, span.offset_s))
                        continue;
                assert_true(count < room);
                ret[count++] = utc;
        }
        return count;
}

bool oracle_comes(const struct oracle *o)
{
        struct tm tm;

        for (time_t day = 0; day < 146097; day++) {
                time_t noon = day * 86400 + 43200;
                (void) gmtime_r(&noon, &tm);
                if (date_holds(o, &tm))
                        return true;
        }
        return false;
}
