/* A cron expression written back from its sets. Schedules that mean the same have the same text, so that it can stand
 * for the schedule in a ledger or a hash. */
#include "common/schedule/cron.h"

#include "common/schedule/words.h"

#define ALL(min, max) ((~0ULL << (min)) & (~0ULL >> (63 - (max))))

/* A list that is being written; a comma stands before every item but the first. */
struct list {
        struct words *words;
        bool begun;
};

static struct words *item(struct list *l)
{
        if (l->begun)
                words_put(l->words, ",");
        l->begun = true;
        return l->words;
}

static bool has(uint64_t set, unsigned n)
{
        return n < 64 && (set >> n & 1);
}

/* The last of the values a, a + step, ... that are all in the set. */
static unsigned reach(uint64_t set, unsigned a, unsigned step)
{
        while (has(set, a + step))
                a += step;
        return a;
}

/* From the lowest value on: a range of three or more, an even series of three or more, or the value alone. */
static void put_values(struct list *l, uint64_t set)
{
        while (set) {
                unsigned a = (unsigned) __builtin_ctzll(set), step = 1, b = reach(set, a, 1);
                uint64_t rest = set & (set - 1);
                if (b == a && rest) {
                        step = (unsigned) __builtin_ctzll(rest) - a;
                        b = reach(set, a, step);
                }
                if (b - a < 2 * step)
                        b = a;
                if (b == a)
                        words_put(item(l), "%u", a);
                else if (step == 1)
                        words_put(item(l), "%u-%u", a, b);
                else
                        words_put(item(l), "%u-%u/%u", a, b, step);
                for (; a <= b; a += step)
                        set &= ~(1ULL << a);
        }
}

/* A field of time: * for all of it, and with a step where that gives the very set. */
static void put_field(struct words *w, uint64_t set, unsigned min, unsigned max, const char *behind)
{
        struct list l = { .words = w };
        uint64_t rest = set & (set - 1);
        unsigned step = rest ? (unsigned) __builtin_ctzll(rest) - min : 0;
        bool even = has(set, min) && step > 1 && step < (max - min) / 2;

        for (unsigned n = min; even && n <= max; n++)
                even = has(set, n) == ((n - min) % step == 0);
        if (set == ALL(min, max))
                words_put(w, "*");
        else if (even)
                words_put(w, "*/%u", step);
        else
                put_values(&l, set);
        words_put(w, "%s", behind);
}

/* Without a * unless it means all: in these two fields it is read in different ways. */
static void put_days(struct words *w, const struct cron *c)
{
        struct list l = { .words = w };

        if (c->any_day)
                words_put(w, "*");
        else if (c->last_day)
                words_put(w, "L");
        else if (c->last_weekday)
                words_put(w, "LW");
        else if (c->weekday_nearest)
                words_put(w, "%uW", c->weekday_nearest);
        else
                put_values(&l, c->days);
}

static void put_weekdays(struct words *w, const struct cron *c)
{
        struct list l = { .words = w };

        if (c->any_weekday) {
                words_put(w, "*");
                return;
        }
        put_values(&l, c->weekdays);
        for (unsigned n = 0; n < 35; n++)
                if (has(c->nth_weekdays, n))
                        words_put(item(&l), "%u#%u", n % 7, n / 7 + 1);
        for (unsigned d = 0; d < 7; d++)
                if (has(c->last_weekdays, d))
                        words_put(item(&l), "%uL", d);
}

void cron_text(const struct cron *c, char ret[CRON_TEXT])
{
        struct words w;

        words_init(&w, ret, CRON_TEXT);
        if (c->seconds != 1)
                put_field(&w, c->seconds, 0, 59, " ");
        put_field(&w, c->minutes, 0, 59, " ");
        put_field(&w, c->hours, 0, 23, " ");
        put_days(&w, c);
        words_put(&w, " ");
        put_field(&w, c->months, 1, 12, " ");
        put_weekdays(&w, c);
}

bool cron_equal(const struct cron *a, const struct cron *b)
{
        return a->seconds == b->seconds && a->minutes == b->minutes && a->hours == b->hours && a->days == b->days &&
               a->months == b->months && a->weekdays == b->weekdays && a->nth_weekdays == b->nth_weekdays &&
               a->last_weekdays == b->last_weekdays && a->weekday_nearest == b->weekday_nearest &&
               a->last_day == b->last_day && a->last_weekday == b->last_weekday && a->any_day == b->any_day &&
               a->any_weekday == b->any_weekday;
}

const char *cron_doubt(const struct cron *c)
{
        return c->starred ? "both the day of month and the day of week restrict, and one of them has a * in it: here a "
                            "day that matches either counts, where other cron daemons want both"
                          : NULL;
}
