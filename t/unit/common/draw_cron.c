#include "t/unit/common/draw_cron.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/schedule/words.h"

enum { SEC, MIN, HOUR, DOM, MON, DOW };

static const unsigned lows[] = { 0, 0, 0, 1, 1, 0 }, highs[] = { 59, 59, 23, 31, 12, 7 };

/* A multiply and shift generator: good enough to draw cases, and nothing is to be guessed. */
uint64_t draw(uint64_t *seed)
{
        uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
}

unsigned draw_below(uint64_t *seed, unsigned n)
{
        return (unsigned) (draw(seed) % n);
}

static bool one_in(uint64_t *seed, unsigned n)
{
        return draw_below(seed, n) == 0;
}

static void put_value(struct words *w, uint64_t *seed, unsigned field, unsigned value)
{
        static const char *const days[] = { "SUN", "mon", "TUE", "Wed", "THU", "FRI", "sat" };
        static const char *const months[] = { "", "JAN", "feb", "MAR", "APR", "May", "JUN", "JUL", "AUG", "SEP", "oct",
                                              "NOV", "DEC" };

        if (field == MON && one_in(seed, 3))
                words_put(w, "%s", months[value]);
        else if (field == DOW && one_in(seed, 3))
                words_put(w, "%s", days[value % 7]);
        else
                words_put(w, one_in(seed, 12) ? "%02u" : "%u", value);
}

static void put_step(struct words *w, uint64_t *seed, unsigned field)
{
        unsigned values = highs[field] - lows[field] + (field == DOW ? 0 : 1);

        words_put(w, "/%u", 1 + draw_below(seed, one_in(seed, 3) ? values : values / 3));
}

static void put_item(struct words *w, uint64_t *seed, unsigned field)
{
        unsigned a = lows[field] + draw_below(seed, highs[field] - lows[field] + 1), b;

        switch (draw_below(seed, field == DOW ? 6 : 4)) {
        case 0:
                words_put(w, "*");
                if (!one_in(seed, 4))
                        put_step(w, seed, field);
                return;
        case 1:
                put_value(w, seed, field, a);
                return;
        case 2:
        case 3:
                b = a + draw_below(seed, highs[field] - a + 1);
                if (field == DOW && a == 7)
                        a = 0;   /* a range that begins with SUN begins with 0 */
                put_value(w, seed, field, a);
                words_put(w, "-");
                if (field == DOW && b == 0)
                        words_put(w, "0");
                else
                        put_value(w, seed, field, b);
                if (one_in(seed, 3))
                        put_step(w, seed, field);
                return;
        case 4:
                put_value(w, seed, field, a);
                words_put(w, "#%u", 1 + draw_below(seed, 5));
                return;
        default:
                put_value(w, seed, field, a);
                words_put(w, one_in(seed, 4) ? "l" : "L");
        }
}

static void put_list(struct words *w, uint64_t *seed, unsigned field)
{
        unsigned count = one_in(seed, 3) ? 2 + draw_below(seed, 3) : 1;

        for (unsigned i = 0; i < count; i++) {
                words_put(w, "%s", i > 0 ? "," : "");
                put_item(w, seed, field);
        }
}

static void put_day_of_month(struct words *w, uint64_t *seed)
{
        switch (draw_below(seed, 6)) {
        case 0:
                words_put(w, "L");
                return;
        case 1:
                words_put(w, one_in(seed, 2) ? "LW" : "lw");
                return;
        case 2:
                words_put(w, "%uW", 1 + draw_below(seed, 31));
                return;
        default:
                put_list(w, seed, DOM);
        }
}

/* `asked`: a ? stands in the expression already. */
static void put_dates(struct words *w, uint64_t *seed, unsigned field, bool *asked)
{
        if (field != MON && !*asked && one_in(seed, 8)) {
                words_put(w, " ?");
                *asked = true;
        } else if (field == MON ? !one_in(seed, 4) : one_in(seed, 2)) {
                words_put(w, " *");
        } else {
                words_put(w, " ");
                if (field == DOM)
                        put_day_of_month(w, seed);
                else
                        put_list(w, seed, field);
        }
}

/* Days that few months have, in months that may not. */
static void put_rare_days(struct words *w, uint64_t *seed)
{
        static const char *const days[] = { "30", "31", "29-31/2", "31W", "30W", "30,31" };
        static const char *const months[] = { "2", "FEB", "4,6,9,11", "2,4", "1-2", "sep" };

        words_put(w, "* %u %s %s ?", draw_below(seed, 24), days[draw_below(seed, 6)], months[draw_below(seed, 6)]);
}

void draw_cron(uint64_t *seed, char *ret, size_t room)
{
        struct words w;
        bool asked = false;

        words_init(&w, ret, room);
        if (one_in(seed, 50)) {
                put_rare_days(&w, seed);
                return;
        }
        for (unsigned field = one_in(seed, 5) ? SEC : MIN; field <= HOUR; field++) {
                words_put(&w, "%s", w.at == ret ? "" : " ");
                if (one_in(seed, 2))
                        words_put(&w, "*");
                else
                        put_list(&w, seed, field);
        }
        for (unsigned field = DOM; field <= DOW; field++)
                put_dates(&w, seed, field, &asked);
}

void draw_daily_cron(uint64_t *seed, char *ret, size_t room)
{
        struct words w;
        bool asked = false;

        words_init(&w, ret, room);
        words_put(&w, "%u,%u %u", draw_below(seed, 60), draw_below(seed, 60), draw_below(seed, 24));
        for (unsigned field = DOM; field <= DOW; field++)
                put_dates(&w, seed, field, &asked);
}
