/* One count over all tasks instead of a line a task: a machine that starts without a clock has all of them ahead. */
#include "worker/ahead.h"

#include "common/log.h"

/* The unit that is furthest decided speaks for its task. */
static struct instant newest_cursor(const struct job *j)
{
        struct instant newest = INSTANT_NONE;

        for (unsigned k = 0; k < j->unit_count; k++)
                if (j->units[k].registered && j->units[k].cursor.ms > newest.ms)
                        newest = j->units[k].cursor;
        return newest;
}

static void add(struct ahead *a, const struct job *j, int64_t by_ms, struct instant next, int64_t max_future_ms)
{
        a->tasks++;
        if (!a->soonest || next.ms < a->first.ms) {
                a->first = next;
                a->soonest = j;
        }
        if (instant_is_none(a->last) || next.ms > a->last.ms)
                a->last = next;
        if (by_ms <= max_future_ms)
                return;
        a->refused++;
        if (by_ms > a->furthest_ms) {
                a->furthest_ms = by_ms;
                a->furthest = j;
        }
}

void ahead_find(const struct job *jobs, size_t count, struct instant now, int64_t max_future_ms, struct ahead *ret)
{
        struct ahead a = { .first = INSTANT_NONE, .last = INSTANT_NONE };

        for (size_t i = 0; i < count; i++) {
                const struct job *j = &jobs[i];
                struct instant newest = newest_cursor(j), next;

                if (j->competes && !j->split && !instant_is_none(newest) && newest.ms > now.ms + AHEAD_MIN_MS &&
                    schedule_next(&j->task->schedule, newest, &next) == 0)
                        add(&a, j, newest.ms - now.ms, next, max_future_ms);
        }
        *ret = a;
}

void ahead_say(const struct ahead *a, int64_t max_future_ms)
{
        char first[STAMP_TEXT], last[STAMP_TEXT];

        if (a->tasks == 0)
                return;
        instant_text(a->first, first);
        instant_text(a->last, last);
        if (a->tasks == 1)
                (void) log_warning(0, "task %s waits until %s: what was decided before does not run again",
                                   a->soonest->task->name, first);
        else
                (void) log_warning(0, "%u tasks wait, from task %s until %s to the last until %s: what was decided "
                                   "before does not run again", a->tasks, a->soonest->task->name, first, last);
        if (a->refused == 0)
                return;
        const char *name = a->furthest->task->name;
        (void) log_error(0, "task %s: its newest decided instant lies %lld s ahead of the clock, more than max_future "
                         "(%lld s)%s; if the clock is right, the cure is: onced recover %s --cursor now -c FILE", name,
                         (long long) (a->furthest_ms / MS_PER_S), (long long) (max_future_ms / MS_PER_S),
                         a->refused > 1 ? ", and others are as well" : "", name);
}
