/* The window rules. skip: the newest t with cursor < t <= now and now - t <= grace, or none. catch_up: the
 * newest `limit` of max(cursor, now - lookback) < t <= now, ascending. What lies before is given up, counted. */
#include "common/schedule/misfire.h"

#include <stddef.h>

const char *const misfire_names[] = { "skip", "catch_up", NULL };

int64_t misfire_grace_ms(const struct misfire *m, const struct schedule *s, struct instant planned)
{
        if (m->policy == MISFIRE_CATCH_UP)
                return m->lookback_ms;
        if (m->grace_ms >= 0)
                return m->grace_ms;
        int64_t interval = schedule_interval_ms(s, planned);
        return interval > 0 && interval < GRACE_DEFAULT_MS ? interval : GRACE_DEFAULT_MS;
}

/* The window of skip is closed at both ends, so its cursor lies a millisecond before it. */
static struct instant window_start(const struct misfire *m, const struct schedule *s, struct instant now)
{
        struct instant last;

        if (m->policy == MISFIRE_CATCH_UP)
                return (struct instant) { now.ms - m->lookback_ms };
        if (schedule_last(s, now, &last) < 0)
                return now;
        return (struct instant) { now.ms - misfire_grace_ms(m, s, last) - 1 };
}

/* The oldest of the newest `limit` instants in (after, upto], by halving: no enumeration. */
static struct instant oldest_of_newest(const struct schedule *s, struct instant after, struct instant upto,
                                       uint64_t limit)
{
        struct instant low = after, first;   /* count(low, upto] >= limit holds */
        int64_t high = upto.ms;

        while (low.ms + 1 < high) {
                int64_t mid = low.ms + (high - low.ms) / 2;
                if (schedule_count(s, (struct instant) { mid }, upto) >= limit)
                        low.ms = mid;
                else
                        high = mid;
        }
        return schedule_next(s, low, &first) < 0 ? INSTANT_NONE : first;
}

static void decide_skip(const struct misfire *m, const struct schedule *s, struct instant cursor,
                        struct instant now, struct misfire_plan *p)
{
        struct instant last;

        if (schedule_last(s, now, &last) < 0 || last.ms <= cursor.ms)
                return;
        if (now.ms - last.ms > misfire_grace_ms(m, s, last))
                return;
        p->run = last;
        p->run_count = 1;
}

static void decide_catch_up(const struct misfire *m, const struct schedule *s, struct instant cursor,
                            struct instant now, struct misfire_plan *p)
{
        struct instant from = { now.ms - m->lookback_ms };

        if (cursor.ms > from.ms)
                from = cursor;
        uint64_t count = schedule_count(s, from, now);
        if (count == 0)
                return;
        p->run_count = count < m->limit ? count : m->limit;
        p->run = oldest_of_newest(s, from, now, p->run_count);
}

void misfire_decide(const struct misfire *m, const struct schedule *s, struct instant cursor,
                    struct instant now, struct misfire_plan *ret)
{
        struct misfire_plan p = { .run = INSTANT_NONE };
        struct instant first, last = now;

        if (instant_is_none(cursor))
                cursor = window_start(m, s, now);
        *ret = p;
        if (cursor.ms >= now.ms)
                return;
        if (m->policy == MISFIRE_SKIP)
                decide_skip(m, s, cursor, now, &p);
        else
                decide_catch_up(m, s, cursor, now, &p);
        if (!instant_is_none(p.run))
                last.ms = p.run.ms - 1;
        p.given_up.count = schedule_count(s, cursor, last);
        if (p.given_up.count > 0 && schedule_next(s, cursor, &first) == 0 && schedule_last(s, last, &last) == 0) {
                p.given_up.first = first;
                p.given_up.last = last;
        }
        *ret = p;
}

/* What lies before the first that is run is from before there was the task: nobody gave it up. */
struct instant misfire_first_cursor(const struct misfire *m, const struct schedule *s, struct instant now,
                                    bool next_only)
{
        struct misfire_plan p;

        if (next_only)
                return now;
        misfire_decide(m, s, INSTANT_NONE, now, &p);
        return instant_is_none(p.run) ? window_start(m, s, now) : (struct instant) { p.run.ms - 1 };
}
