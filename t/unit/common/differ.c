#include "t/unit/common/differ.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/schedule.h"
#include "common/schedule/words.h"
#include "common/schedule/zone.h"
#include "t/unit/common/draw_cron.h"
#include "t/unit/common/oracle.h"

#define WINDOW_MINUTES_S (26 * 3600)
#define WINDOW_SECONDS_S 3600
#define WINDOW_YEARS_S   (600 * 86400)
#define FROM_S           CRON_FIRST_S
#define UNTIL_S          4417977600LL      /* 2110 */

/* Summer time of an hour and of others, negative, twice a year and around Ramadan; quarters, seconds, whole days. */
static const char *const zones[] = {
        "UTC", "Europe/Berlin", "Europe/Dublin", "Europe/London", "America/New_York", "America/St_Johns",
        "America/Sao_Paulo", "America/Caracas", "America/Nuuk", "America/Santiago", "Africa/Casablanca", "Africa/Monrovia",
        "Africa/Cairo", "Antarctica/Troll", "Antarctica/Casey", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran",
        "Asia/Gaza", "Asia/Pyongyang", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Chatham",
        "Pacific/Kiritimati", "Europe/Moscow", "Europe/Lisbon", "Asia/Singapore",
};

struct trial {
        char expression[256];
        const char *tz;
        bool both;
        int64_t from_s, until_s;
        struct schedule schedule;
        struct oracle oracle;
        int64_t *want;            /* owned */
        size_t count, room;
};

static struct instant at(int64_t utc_s)
{
        return (struct instant) { utc_s * 1000 };
}

/* Mostly around a change of offset, where mistakes live. */
static int64_t draw_from(uint64_t *seed, const struct zone *zone, int64_t length_s, struct differ_counts *counts)
{
        struct zone_span span, then;
        int64_t some = FROM_S + (int64_t) (draw(seed) % (uint64_t) (UNTIL_S - FROM_S));

        zone_span_at(zone, some, &span);
        if (draw_below(seed, 10) >= 8 || span.until_s > UNTIL_S)
                return some;
        zone_span_at(zone, span.until_s, &then);
        counts->folds += then.offset_s < span.offset_s;
        some = span.until_s - (int64_t) (draw(seed) % (uint64_t) length_s);
        return some < FROM_S ? FROM_S : some;
}

static const char *compare_forward(const struct trial *t)
{
        struct instant i = at(t->from_s - 1);

        for (size_t k = 0; k < t->count; k++)
                if (schedule_next(&t->schedule, i, &i) < 0 || i.ms != t->want[k] * 1000)
                        return "next";
        return schedule_next(&t->schedule, i, &i) == 0 && i.ms < t->until_s * 1000 ? "one more next" : NULL;
}

static const char *compare_backward(const struct trial *t)
{
        struct instant i = { t->until_s * 1000 - 1 };

        for (size_t k = t->count; k > 0; k--, i.ms--)
                if (schedule_last(&t->schedule, i, &i) < 0 || i.ms != t->want[k - 1] * 1000)
                        return "last";
        return schedule_last(&t->schedule, i, &i) == 0 && i.ms >= t->from_s * 1000 ? "one more last" : NULL;
}

static const char *compare_counts(const struct trial *t, uint64_t *seed)
{
        for (int k = 0; k < 4; k++) {
                int64_t from = t->from_s + (int64_t) (draw(seed) % (uint64_t) (t->until_s - t->from_s));
                int64_t until = k == 0 ? t->until_s : from + (int64_t) (draw(seed) % (uint64_t) (t->until_s - from));
                uint64_t want = 0;
                bool has = false;
                if (k == 0)
                        from = t->from_s;
                for (size_t i = 0; i < t->count; i++) {
                        want += t->want[i] >= from && t->want[i] < until;
                        has |= t->want[i] == from;
                }
                if (schedule_count(&t->schedule, at(from - 1), at(until - 1)) != want)
                        return "count";
                if (schedule_has(&t->schedule, at(from)) != has)
                        return "has";
        }
        for (size_t i = 0; i < t->count; i += 1 + t->count / 64)
                if (!schedule_has(&t->schedule, at(t->want[i])))
                        return "has not";
        return NULL;
}

static const char *compare_text(const struct trial *t)
{
        struct schedule again;
        char text[SCHEDULE_TEXT];

        schedule_text(&t->schedule, text, sizeof(text));
        if (schedule_parse(text, &again) < 0 || !schedule_equal(&t->schedule, &again))
                return "text";
        return NULL;
}

static const char *compare(struct trial *t, uint64_t *seed)
{
        t->room = (size_t) (t->until_s - t->from_s < WINDOW_YEARS_S ? t->until_s - t->from_s : WINDOW_YEARS_S / 3600);
        t->want = calloc(t->room, sizeof(*t->want));
        if (!t->want)
                return "memory";
        t->count = oracle_walk(&t->oracle, t->from_s, t->until_s, t->want, t->room);
        const char *wrong = compare_text(t);
        if (!wrong)
                wrong = compare_forward(t);
        if (!wrong)
                wrong = compare_backward(t);
        return wrong ? wrong : compare_counts(t, seed);
}

/* Reads the expression for both sides. NULL: go on; a text: they disagree already. */
static const char *read_both(struct trial *t, uint64_t *seed, struct differ_counts *counts, bool *ret_never)
{
        struct cron_error error;

        t->both = draw_below(seed, 3) == 0;
        int r = schedule_cron(t->expression, t->tz, t->both, &t->schedule, &error);
        if (r < 0 && r != -ERANGE)
                return "refused";
        oracle_init(&t->oracle, t->expression, r == 0 ? t->schedule.zone : NULL, t->both);
        *ret_never = r == -ERANGE;
        counts->never += *ret_never;
        return *ret_never && oracle_comes(&t->oracle) ? "comes, it is said never" : NULL;
}

static const char *trial_run(struct trial *t, uint64_t *seed, struct differ_counts *counts)
{
        bool daily = draw_below(seed, 12) == 0, never;

        t->tz = zones[draw_below(seed, ARRAY_SIZE(zones))];
        if (daily)
                draw_daily_cron(seed, t->expression, sizeof(t->expression));
        else
                draw_cron(seed, t->expression, sizeof(t->expression));
        const char *wrong = read_both(t, seed, counts, &never);
        if (wrong || never)
                return wrong;
        bool seconds = strcmp(t->oracle.fields[0], "0") != 0;
        int64_t length = daily ? WINDOW_YEARS_S : seconds ? WINDOW_SECONDS_S : WINDOW_MINUTES_S;
        t->from_s = draw_from(seed, t->schedule.zone, length, counts);
        t->until_s = t->from_s + length;
        return compare(t, seed);
}

static bool judge(struct trial *t, const char *wrong, uint64_t seed, struct differ_counts *counts, char *why, size_t room)
{
        struct words w;

        counts->cases++;
        counts->instants += t->count;
        words_init(&w, why, room);
        if (wrong)
                words_put(&w, "%" PRIu64 ": %s: \"%s\" in %s, fold %s, from %" PRId64 " until %" PRId64, seed, wrong,
                          t->expression, t->tz, t->both ? "both" : "first", t->from_s, t->until_s);
        free(t->want);
        return !wrong;
}

bool differ_case(uint64_t seed, struct differ_counts *counts, char *why, size_t room)
{
        struct trial t = { 0 };
        uint64_t series = seed;

        const char *wrong = trial_run(&t, &series, counts);
        return judge(&t, wrong, seed, counts, why, room);
}

bool differ_in_zone(uint64_t seed, const char *tz, int64_t from_s, int64_t until_s, struct differ_counts *counts, char *why,
                    size_t room)
{
        struct trial t = { .tz = tz, .from_s = from_s, .until_s = until_s };
        uint64_t series = seed;
        bool never;

        draw_cron(&series, t.expression, sizeof(t.expression));
        const char *wrong = read_both(&t, &series, counts, &never);
        if (!wrong && !never)
                wrong = compare(&t, &series);
        return judge(&t, wrong, seed, counts, why, room);
}
