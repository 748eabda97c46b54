/* Two limits, one after the other: of the task, and of the process. What they hold back is counted, and said along
 * with the next line that they let through. */
#include "worker/shortfall.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

#define AGAIN_MS 60000

struct said {
        struct mono at;          /* the newest line; ns 0: none */
        uint64_t unsaid;         /* runs and instants since then */
};

struct shortfalls {
        const struct config *config;
        struct mono minute;      /* when the first line of this one was said; ns 0: none */
        unsigned lines;          /* of this minute */
        uint64_t held_back;      /* lines of tasks in their turn, because of the others */
        struct said by_task[];   /* in the order of the configuration; the last is of all that it does not know */
};

struct shortfalls *shortfalls_new(const struct config *c)
{
        struct shortfalls *s = calloc(1, sizeof(*s) + (c->task_count + 1) * sizeof(s->by_task[0]));

        if (s)
                s->config = c;
        return s;
}

struct shortfalls *shortfalls_free(struct shortfalls *s)
{
        free(s);
        return NULL;
}

static struct said *said_of(struct shortfalls *s, const char *task)
{
        const struct task *t = config_task(s->config, task);

        return &s->by_task[t ? (size_t) (t - s->config->tasks) : s->config->task_count];
}

static bool is_over(struct mono since, struct mono now)
{
        return since.ns == 0 || mono_since_ms(since, now) >= AGAIN_MS;
}

/* Room for one more line of the process. The last one of a minute says that more may be missing. */
static bool process_may_say(struct shortfalls *s, struct mono now)
{
        if (is_over(s->minute, now)) {
                s->minute = now;
                s->lines = 0;
        }
        if (s->lines >= SHORTFALL_LINES) {
                if (s->held_back++ == 0)
                        (void) log_warning(0, "more tasks have runs that did not succeed or instants that were not "
                                           "run; their lines are left out for a minute, see: onced history");
                return false;
        }
        if (s->held_back)
                (void) log_warning(0, "lines about runs and instants that were left out: %" PRIu64, s->held_back);
        s->held_back = 0;
        s->lines++;
        return true;
}

/* Whether the line of `count` runs or instants may be said, and what it says of those before: "" or "; N more". */
static bool may_say(struct shortfalls *s, const char *task, uint64_t count, char ret_more[64])
{
        struct said *said = said_of(s, task);
        struct mono now = clock_mono();

        if (!is_over(said->at, now) || !process_may_say(s, now)) {
                said->unsaid += count;
                return false;
        }
        ret_more[0] = '\0';
        if (said->unsaid)
                (void) snprintf(ret_more, 64, "; %" PRIu64 " more since the last such line", said->unsaid);
        *said = (struct said) { .at = now };
        return true;
}

void shortfall_run(struct shortfalls *s, const char *task, const char *occ, enum state state, enum cause cause,
                   const char *error)
{
        const char *why = cause_names[cause];
        char more[64];

        if (state == STATE_SUCCEEDED || !may_say(s, task, 1, more))
                return;
        (void) log_warning(0, "task %s: occurrence %.12s %s%s%s%s%s%s%s", task, occ, state_names[state],
                           *why ? " (" : "", why, *why ? ")" : "", *error ? ": " : "", error, more);
}

/* What a word does not say by itself. */
static const char *in_words(const struct task *t, enum cause cause)
{
        bool is_redis = t && t->singleton == PATH_REDIS;

        if (cause == CAUSE_BARRIER)
                return is_redis ? ": may have run before Redis restarted, failed over or lost data; not run again"
                                : ": may have run before the ledger was lost or put back; not run again";
        return t && t->singleton == PATH_NONE ? "; each worker has its own timer" : "";
}

void shortfall_range(struct shortfalls *s, const char *task, const struct instant_range *range, enum state state,
                     enum cause cause)
{
        char first[STAMP_TEXT], last[STAMP_TEXT], more[64];

        if (state == STATE_SKIPPED || range->count == 0 || !may_say(s, task, range->count, more))
                return;
        const char *words = in_words(config_task(s->config, task), cause);
        instant_text(range->first, first);
        instant_text(range->last, last);
        if (range->count == 1)
                (void) log_warning(0, "task %s: the instant %s %s (%s)%s%s", task, first, state_names[state],
                                   cause_names[cause], words, more);
        else
                (void) log_warning(0, "task %s: %" PRIu64 " instants %s (%s), from %s to %s%s%s", task, range->count,
                                   state_names[state], cause_names[cause], first, last, words, more);
}

void shortfalls_age(struct shortfalls *s, int64_t ms)
{
        s->minute.ns -= ms * NS_PER_MS;
        for (size_t i = 0; i <= s->config->task_count; i++)
                s->by_task[i].at.ns -= ms * NS_PER_MS;
}
