/* A cron expression in an English sentence, for people who want to be sure that it says what they mean. */
#include "common/schedule/cron.h"

#include "common/schedule/words.h"

#define TIMES_LISTED 6

static const char *const month_names[] = { "", "January", "February", "March", "April", "May", "June", "July", "August",
                                           "September", "October", "November", "December" };

/* Monday first, so that Friday to Sunday is a range. */
static const char *const weekday_names[] = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
                                             "Sunday" };
static const char *const nth_names[] = { "first", "second", "third", "fourth", "fifth" };

static unsigned how_many(uint64_t set)
{
        return (unsigned) __builtin_popcountll(set);
}

/* The first value of `set` at or after `n`, and the end of the range that it begins: two values are no range. */
static unsigned range_take(uint64_t *set, unsigned *ret_last)
{
        unsigned a = (unsigned) __builtin_ctzll(*set), b = a;

        while (b < 63 && (*set >> (b + 1) & 1))
                b++;
        if (b == a + 1)
                b = a;
        for (unsigned n = a; n <= b; n++)
                *set &= ~(1ULL << n);
        *ret_last = b;
        return a;
}

static unsigned ranges(uint64_t set)
{
        unsigned count = 0, last;

        for (; set; count++)
                (void) range_take(&set, &last);
        return count;
}

/* Items `at` and following of `count` in one list: "1 to 5, 8 and 10", by name if there are names. */
static unsigned put_ranges(struct words *w, uint64_t set, const char *const *names, unsigned at, unsigned count)
{
        while (set) {
                unsigned b, a = range_take(&set, &b);
                words_join(w, at++, count);
                if (names)
                        words_put(w, a == b ? "%s" : "%s to ", names[a]);
                else
                        words_put(w, a == b ? "%u" : "%u to ", a);
                if (a != b && names)
                        words_put(w, "%s", names[b]);
                else if (a != b)
                        words_put(w, "%u", b);
        }
        return at;
}

static void put_list(struct words *w, uint64_t set, const char *const *names)
{
        (void) put_ranges(w, set, names, 0, ranges(set));
}

/* n when the set is 0, n, 2n, ... and n divides `values`: every n of them. 0: it is not. */
static unsigned even_step(uint64_t set, unsigned values)
{
        unsigned count = how_many(set), step = values / count;

        if (values % count != 0)
                return 0;
        for (unsigned n = 0; n < values; n += step)
                if (!(set >> n & 1))
                        return 0;
        return step;
}

static void put_times(struct words *w, const struct cron *c, unsigned count)
{
        unsigned i = 0;

        words_put(w, "at ");
        for (unsigned s = 0; s < 86400; s++) {
                if (!(c->hours >> s / 3600 & 1) || !(c->minutes >> s / 60 % 60 & 1) || !(c->seconds >> s % 60 & 1))
                        continue;
                words_join(w, i++, count);
                words_put(w, "%02u:%02u", s / 3600, s / 60 % 60);
                if (c->seconds != 1)
                        words_put(w, ":%02u", s % 60);
        }
}

/* The smallest unit: "every 10 minutes", "at minutes 5 and 35". True when it goes through whole hours or minutes. */
static bool put_pulse(struct words *w, uint64_t set, const char *unit)
{
        unsigned step = even_step(set, 60);

        if (step == 1)
                words_put(w, "every %s", unit);
        else if (step > 1 && step < 60)
                words_put(w, "every %u %ss", step, unit);
        if (step > 0 && step < 60)
                return true;
        words_put(w, "at %s%s ", unit, how_many(set) > 1 ? "s" : "");
        put_list(w, set, NULL);
        return false;
}

/* What the smaller units lie in: "of every hour", "of the hours 8 to 17"; nothing when that goes without saying. */
static bool put_within(struct words *w, uint64_t set, unsigned values, const char *unit, bool through)
{
        if (how_many(set) == values) {
                if (!through)
                        words_put(w, " of every %s", unit);
                return true;
        }
        words_put(w, " of %s%s ", unit, how_many(set) > 1 ? "s" : "");
        put_list(w, set, NULL);
        return false;
}

static void put_clock(struct words *w, const struct cron *c)
{
        unsigned count = how_many(c->hours) * how_many(c->minutes) * how_many(c->seconds);
        bool through;

        if (count <= TIMES_LISTED) {
                put_times(w, c, count);
                return;
        }
        if (c->seconds == 1) {
                through = put_pulse(w, c->minutes, "minute");
        } else {
                through = put_pulse(w, c->seconds, "second");
                through = put_within(w, c->minutes, 60, "minute", through);
        }
        (void) put_within(w, c->hours, 24, "hour", through);
}

static void put_day_of_month(struct words *w, const struct cron *c)
{
        if (c->last_day) {
                words_put(w, "on the last day of the month");
        } else if (c->last_weekday) {
                words_put(w, "on the last Monday to Friday of the month");
        } else if (c->weekday_nearest) {
                words_put(w, "on the Monday to Friday nearest day %u of the month", c->weekday_nearest);
        } else {
                words_put(w, "on day%s ", how_many(c->days) > 1 ? "s" : "");
                put_list(w, c->days, NULL);
                words_put(w, " of the month");
        }
}

static void put_day_of_week(struct words *w, const struct cron *c)
{
        uint64_t from_monday = (c->weekdays >> 1) | ((c->weekdays & 1U) << 6);
        unsigned of_month = how_many(c->nth_weekdays) + how_many(c->last_weekdays), at;
        unsigned count = ranges(from_monday) + of_month;

        words_put(w, "on ");
        at = put_ranges(w, from_monday, weekday_names, 0, count);
        for (unsigned n = 0; n < 35; n++)
                if (c->nth_weekdays >> n & 1) {
                        words_join(w, at++, count);
                        words_put(w, "the %s %s", nth_names[n / 7], weekday_names[(n + 6) % 7]);
                }
        for (unsigned d = 0; d < 7; d++)
                if (c->last_weekdays >> d & 1) {
                        words_join(w, at++, count);
                        words_put(w, "the last %s", weekday_names[(d + 6) % 7]);
                }
        if (of_month > 0)
                words_put(w, " of the month");
}

void cron_sentence(const struct cron *c, char *ret, size_t room)
{
        struct words w;

        words_init(&w, ret, room);
        put_clock(&w, c);
        if (!c->any_day || !c->any_weekday)
                words_put(&w, " ");
        else if (how_many(c->hours) < 24)
                words_put(&w, " every day");
        if (!c->any_day)
                put_day_of_month(&w, c);
        if (!c->any_day && !c->any_weekday)
                words_put(&w, " or ");
        if (!c->any_weekday)
                put_day_of_week(&w, c);
        if (how_many(c->months) < 12) {
                words_put(&w, " in ");
                put_list(&w, c->months, month_names);
        }
}
