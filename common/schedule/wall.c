/* Planned instants of cron, found stretch by stretch of the zone's wall clock: in one stretch local time is UTC and an
 * offset, and the expression is asked in local time. */
#include "common/schedule/wall.h"

#include <errno.h>

#include "common/schedule/schedule.h"
#include "common/schedule/zone.h"

/* No offset is as far from UTC as this, so a wall clock cannot show again what it showed longer ago than twice that. */
#define OFFSET_MAX_S (26 * 3600)
#define FOLD_MAX_S   (2 * OFFSET_MAX_S)

/* Dates, weekdays and rules of zones repeat after 400 years, tables of zone files end before 2100: what is not found
 * within 400 years from there never comes. */
#define TABLES_END_S 4102444800LL
#define REPEATS_S    (146097 * 86400LL)

/* A stretch of UTC seconds [from_s, until_s) with one offset, in which every local time counts. */
struct stretch {
        int64_t from_s, until_s;
        int32_t offset_s;
};

/* The span before `s` that may have shown what `s` shows; false when there is none. */
static bool earlier_span(const struct zone *z, const struct zone_span *s, int64_t of_from_s, struct zone_span *ret)
{
        if (s->from_s == INT64_MIN || s->from_s <= of_from_s - FOLD_MAX_S)
                return false;
        zone_span_at(z, s->from_s - 1, ret);
        return true;
}

/* When `at` shows the local times of `earlier` again, in UTC: [from, until). */
static void shown_again(const struct zone_span *earlier, const struct zone_span *at, int64_t *ret_from,
                        int64_t *ret_until)
{
        int64_t shift = (int64_t) earlier->offset_s - at->offset_s;

        if (__builtin_add_overflow(earlier->from_s, shift, ret_from))
                *ret_from = INT64_MIN;
        *ret_until = earlier->until_s + shift;
}

static int64_t smaller(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

/* Begins the stretch behind what it begins in and an earlier span has shown; ends it before the next such. */
static void cut_from(const struct zone *z, const struct zone_span *span, struct stretch *st)
{
        struct zone_span earlier = *span;
        int64_t from, until;

        while (earlier_span(z, &earlier, span->from_s, &earlier)) {
                shown_again(&earlier, span, &from, &until);
                if (from <= st->from_s && st->from_s < until)
                        st->from_s = smaller(until, span->until_s);
                else if (from > st->from_s)
                        st->until_s = smaller(st->until_s, from);
        }
}

/* The first stretch that counts at or after `utc_s`, from there on. One whose begin was moved is cut anew there. */
static struct stretch stretch_from(const struct schedule *s, int64_t utc_s)
{
        struct zone_span span;
        struct stretch st;

        for (;; utc_s = st.from_s) {
                zone_span_at(s->zone, utc_s, &span);
                st = (struct stretch) { utc_s, span.until_s, span.offset_s };
                if (s->fold_both || span.from_s == INT64_MIN || utc_s - FOLD_MAX_S >= span.from_s)
                        return st;
                cut_from(s->zone, &span, &st);
                if (st.from_s == utc_s)
                        return st;
        }
}

static void cut_upto(const struct zone *z, const struct zone_span *span, struct stretch *st)
{
        struct zone_span earlier = *span;
        int64_t from, until;

        while (earlier_span(z, &earlier, span->from_s, &earlier)) {
                shown_again(&earlier, span, &from, &until);
                if (from < st->until_s && st->until_s <= until)
                        st->until_s = larger(from, span->from_s);
                else if (until < st->until_s)
                        st->from_s = larger(st->from_s, until);
        }
}

/* The last stretch that counts before `utc_s`, up to there. */
static struct stretch stretch_upto(const struct schedule *s, int64_t utc_s)
{
        struct zone_span span;
        struct stretch st;

        for (;; utc_s = st.until_s) {
                zone_span_at(s->zone, utc_s - 1, &span);
                st = (struct stretch) { span.from_s, utc_s, span.offset_s };
                if (s->fold_both || span.from_s == INT64_MIN)
                        return st;
                if (utc_s - FOLD_MAX_S > span.from_s) {
                        st.from_s = span.from_s + FOLD_MAX_S;
                        return st;
                }
                cut_upto(s->zone, &span, &st);
                if (st.until_s == utc_s)
                        return st;
        }
}

/* Whether nothing on the other side of `st` can show what lies on this side: a jump over spans leaves out no fold. */
static bool is_long(const struct stretch *st)
{
        return st->from_s <= st->until_s - FOLD_MAX_S;
}

/* The expression is asked without regard to the end of a stretch: what it finds behind that names the first day that is
 * worth looking at, and a rare one is not looked for twice a year. */
int wall_next(const struct schedule *s, int64_t from_s, int64_t *ret)
{
        int64_t local, at = larger(from_s, CRON_FIRST_S);
        int64_t end = smaller(larger(at, TABLES_END_S) + REPEATS_S, CRON_LAST_S + 1);

        while (at < end) {
                struct stretch st = stretch_from(s, at);
                at = smaller(st.until_s, end);
                if (cron_next(&s->cron, st.from_s + st.offset_s, end + FOLD_MAX_S, &local) < 0)
                        local = end + FOLD_MAX_S;
                if (local - st.offset_s < at) {
                        *ret = local - st.offset_s;
                        return 0;
                }
                if (is_long(&st))
                        at = larger(at, local - OFFSET_MAX_S);
        }
        return -ENOENT;
}

int wall_last(const struct schedule *s, int64_t at_s, int64_t *ret)
{
        int64_t local, until = smaller(at_s, CRON_LAST_S) + 1;

        while (until > CRON_FIRST_S) {
                struct stretch st = stretch_upto(s, until);
                until = larger(st.from_s, CRON_FIRST_S);
                if (cron_last(&s->cron, st.until_s - 1 + st.offset_s, CRON_FROM_S, &local) < 0)
                        local = CRON_FROM_S - OFFSET_MAX_S;
                if (local - st.offset_s >= until) {
                        *ret = local - st.offset_s;
                        return 0;
                }
                if (is_long(&st))
                        until = smaller(until, local + OFFSET_MAX_S);
        }
        return -ENOENT;
}

uint64_t wall_count(const struct schedule *s, int64_t from_s, int64_t until_s)
{
        int64_t at = larger(from_s, CRON_FIRST_S), end = smaller(until_s, CRON_LAST_S + 1);
        uint64_t count = 0;

        while (at < end) {
                struct stretch st = stretch_from(s, at);
                at = smaller(st.until_s, end);
                count += cron_count(&s->cron, st.from_s + st.offset_s, at + st.offset_s);
        }
        return count;
}

bool wall_has(const struct schedule *s, int64_t utc_s)
{
        if (utc_s < CRON_FIRST_S || utc_s > CRON_LAST_S)
                return false;
        struct stretch st = stretch_from(s, utc_s);
        return st.from_s == utc_s && cron_has(&s->cron, utc_s + st.offset_s);
}
