/* Questions to a schedule, and the interval grid: anchor + k * every for every whole k. All arithmetic is taken from
 * the grid, never from a clock or a last run, so that lateness and restarts cannot shift it. Cron is wall.c's. */
#include "common/schedule/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/civil.h"
#include "common/schedule/wall.h"
#include "common/schedule/zone.h"

/* Dates and weekdays repeat after 400 years: what does not come in them never does. */
#define CALENDAR_S (146097 * 86400LL)

int schedule_every(int64_t every_ms, int64_t anchor_ms, struct schedule *ret)
{
        if (every_ms < EVERY_MIN_MS || every_ms > EVERY_MAX_MS)
                return -ERANGE;
        *ret = (struct schedule) { .kind = SCHEDULE_EVERY, .every_ms = every_ms, .anchor_ms = anchor_ms };
        return 0;
}

/* Milliseconds from the newest grid point at or before `at` to `at`: 0 on the grid. Both remainders are taken
 * before they are subtracted, so that no anchor and no instant can overflow. */
static int64_t past_grid(const struct schedule *s, struct instant at)
{
        int64_t d = at.ms % s->every_ms - s->anchor_ms % s->every_ms;

        d %= s->every_ms;
        return d < 0 ? d + s->every_ms : d;
}

static int every_next(const struct schedule *s, struct instant after, struct instant *ret)
{
        return __builtin_add_overflow(after.ms, s->every_ms - past_grid(s, after), &ret->ms) ? -ENOENT : 0;
}

static int every_last(const struct schedule *s, struct instant at, struct instant *ret)
{
        return __builtin_sub_overflow(at.ms, past_grid(s, at), &ret->ms) ? -ENOENT : 0;
}

static uint64_t every_count(const struct schedule *s, struct instant after, struct instant upto)
{
        struct instant first;

        if (every_next(s, after, &first) < 0 || first.ms > upto.ms)
                return 0;
        return ((uint64_t) upto.ms - (uint64_t) first.ms) / (uint64_t) s->every_ms + 1;
}

int schedule_cron(const char *expression, const char *tz, bool fold_both, struct schedule *ret,
                  struct cron_error *error)
{
        struct schedule s = { .kind = SCHEDULE_CRON, .fold_both = fold_both };
        char why[ZONE_WHY];
        int64_t some;

        int r = cron_parse(expression, &s.cron, error);
        if (r < 0)
                return r;
        if (cron_next(&s.cron, 0, CALENDAR_S, &some) < 0) {
                *error = (struct cron_error) { .text = "never comes: no month that it names has a day that it names" };
                return -ERANGE;
        }
        r = zone_get(tz, &s.zone, why, sizeof(why));
        if (r < 0) {
                *error = (struct cron_error) { 0 };
                (void) snprintf(error->text, sizeof(error->text), "%.*s", (int) sizeof(error->text) - 1, why);
                return r;
        }
        *ret = s;
        return 0;
}

/* Cron knows whole seconds: the first one later than an instant is the one after the second that it lies in. */
static int64_t second_after(struct instant i)
{
        return floor_div(i.ms, MS_PER_S) + 1;
}

int schedule_next(const struct schedule *s, struct instant after, struct instant *ret)
{
        int64_t found;

        if (s->kind == SCHEDULE_EVERY)
                return every_next(s, after, ret);
        if (s->kind != SCHEDULE_CRON || wall_next(s, second_after(after), &found) < 0)
                return -ENOENT;
        ret->ms = found * MS_PER_S;
        return 0;
}

int schedule_last(const struct schedule *s, struct instant at, struct instant *ret)
{
        int64_t found;

        if (s->kind == SCHEDULE_EVERY)
                return every_last(s, at, ret);
        if (s->kind != SCHEDULE_CRON || wall_last(s, floor_div(at.ms, MS_PER_S), &found) < 0)
                return -ENOENT;
        ret->ms = found * MS_PER_S;
        return 0;
}

uint64_t schedule_count(const struct schedule *s, struct instant after, struct instant upto)
{
        if (upto.ms <= after.ms)
                return 0;
        if (s->kind == SCHEDULE_EVERY)
                return every_count(s, after, upto);
        return s->kind == SCHEDULE_CRON ? wall_count(s, second_after(after), second_after(upto)) : 0;
}

bool schedule_has(const struct schedule *s, struct instant i)
{
        if (s->kind == SCHEDULE_EVERY)
                return past_grid(s, i) == 0;
        return s->kind == SCHEDULE_CRON && i.ms % MS_PER_S == 0 && wall_has(s, i.ms / MS_PER_S);
}

int64_t schedule_interval_ms(const struct schedule *s, struct instant i)
{
        struct instant next;

        return schedule_next(s, i, &next) < 0 ? 0 : next.ms - i.ms;
}

bool schedule_equal(const struct schedule *a, const struct schedule *b)
{
        if (a->kind != b->kind)
                return false;
        if (a->kind == SCHEDULE_EVERY)
                return a->every_ms == b->every_ms && past_grid(a, (struct instant) { b->anchor_ms }) == 0;
        return a->kind == SCHEDULE_NONE ||
               (a->zone == b->zone && a->fold_both == b->fold_both && cron_equal(&a->cron, &b->cron));
}
