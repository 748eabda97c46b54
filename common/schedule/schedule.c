/* The interval grid: anchor + k * every for every whole k. All arithmetic is taken from the grid, never
 * from a clock or a last run, so that lateness and restarts cannot shift it. */
#include "common/schedule/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

int schedule_next(const struct schedule *s, struct instant after, struct instant *ret)
{
        if (s->kind != SCHEDULE_EVERY)
                return -ENOENT;
        return __builtin_add_overflow(after.ms, s->every_ms - past_grid(s, after), &ret->ms) ? -ENOENT : 0;
}

int schedule_last(const struct schedule *s, struct instant at, struct instant *ret)
{
        if (s->kind != SCHEDULE_EVERY)
                return -ENOENT;
        return __builtin_sub_overflow(at.ms, past_grid(s, at), &ret->ms) ? -ENOENT : 0;
}

uint64_t schedule_count(const struct schedule *s, struct instant after, struct instant upto)
{
        struct instant first;

        if (upto.ms <= after.ms || schedule_next(s, after, &first) < 0 || first.ms > upto.ms)
                return 0;
        return ((uint64_t) upto.ms - (uint64_t) first.ms) / (uint64_t) s->every_ms + 1;
}

bool schedule_has(const struct schedule *s, struct instant i)
{
        return s->kind == SCHEDULE_EVERY && past_grid(s, i) == 0;
}

int64_t schedule_interval_ms(const struct schedule *s, struct instant i)
{
        struct instant next;

        return schedule_next(s, i, &next) < 0 ? 0 : next.ms - i.ms;
}

static void span_words(int64_t ms, char *ret, size_t room)
{
        static const struct { int64_t ms; const char *unit; } units[] = {
                { MS_PER_DAY, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" },
        };
        size_t i = 0;

        while (ms % units[i].ms != 0)
                i++;
        (void) snprintf(ret, room, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
}

void schedule_text(const struct schedule *s, char *ret, size_t room)
{
        char span[32];

        if (s->kind != SCHEDULE_EVERY) {
                (void) snprintf(ret, room, "none");
                return;
        }
        span_words(s->every_ms, span, sizeof(span));
        if (s->anchor_ms == 0)
                (void) snprintf(ret, room, "every %s", span);
        else
                (void) snprintf(ret, room, "every %s anchor %" PRId64, span, s->anchor_ms);
}

/* Bytes of the number and unit that span_words wrote; 0: they are none. */
static int span_read(const char *text, int64_t *ret_ms)
{
        static const struct { const char *unit; int64_t ms; } units[] = {
                { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", MS_PER_DAY },
        };
        int64_t n;
        char unit[3];
        int len = 0;

        if (sscanf(text, "%" SCNd64 "%2[a-z]%n", &n, unit, &len) < 2)
                return 0;
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
                if (strcmp(unit, units[i].unit) == 0)
                        return __builtin_mul_overflow(n, units[i].ms, ret_ms) ? 0 : len;
        return 0;
}

int schedule_parse(const char *text, struct schedule *ret)
{
        int64_t every_ms, anchor_ms = 0;
        int len = 0, end = 0;

        if (strcmp(text, "none") == 0) {
                *ret = (struct schedule) { .kind = SCHEDULE_NONE };
                return 0;
        }
        if (strncmp(text, "every ", 6) == 0)
                len = span_read(text + 6, &every_ms);
        if (len == 0)
                return -EINVAL;
        text += 6 + len;
        if (*text && (sscanf(text, " anchor %" SCNd64 "%n", &anchor_ms, &end) < 1 || text[end]))
                return -EINVAL;
        return schedule_every(every_ms, anchor_ms, ret) < 0 ? -EINVAL : 0;
}
