/* onced due: what a worker that finds this cursor at this time would run, and what it would give up: the misfire
 * policy, to be tried by hand. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/instants.h"
#include "cli/timetable.h"
#include "common/config/config.h"
#include "common/exits.h"

#define LIMIT_MAX 1000
#define SPAN_MAX  (366 * MS_PER_DAY)

struct due {
        const char *cursor, *now, *policy, *grace, *limit, *lookback;   /* as given, NULL: not */
        bool json;
};

/* The policy of the task, or the defaults of a configuration; and what was given instead. */
static int read_misfire(const struct due *d, const struct task *task, struct misfire *ret)
{
        unsigned policy = task ? (unsigned) task->misfire.policy : MISFIRE_SKIP;

        *ret = task ? task->misfire : (struct misfire) { .grace_ms = -1, .limit = 1, .lookback_ms = 3600 * MS_PER_S };
        int r = option_word("due", "--misfire", d->policy, misfire_names, &policy);
        if (r)
                return r;
        ret->policy = (enum misfire_policy) policy;
        if (ret->policy == MISFIRE_CATCH_UP && d->grace)
                return usage_error("due", "--grace is for --misfire skip");
        if (ret->policy == MISFIRE_SKIP && (d->limit || d->lookback))
                return usage_error("due", "--limit and --lookback are for --misfire catch_up");
        r = option_span("due", "--grace", d->grace, SPAN_MAX, &ret->grace_ms);
        if (r == 0)
                r = option_count("due", "--limit", d->limit, LIMIT_MAX, &ret->limit);
        return r ? r : option_span("due", "--lookback", d->lookback, SPAN_MAX, &ret->lookback_ms);
}

static int read_cursor(const struct due *d, const struct task *task, struct instant now, struct instant *ret)
{
        if (!d->cursor)
                return usage_error("due", "--cursor TIME is missing: the newest instant that was decided, or none");
        *ret = INSTANT_NONE;
        if (strcmp(d->cursor, "none") != 0)
                return option_instant("due", "--cursor", d->cursor, ret);
        if (task && task->first == FIRST_NEXT)
                *ret = now;
        return 0;
}

static void print_json(const struct schedule *s, const struct misfire_plan *plan)
{
        struct instant i = plan->run;

        printf("{\"run\": [");
        for (uint64_t n = 0; n < plan->run_count; n++) {
                instant_print_json(i, i.ms % MS_PER_S != 0, n == 0);
                if (schedule_next(s, i, &i) < 0)
                        break;
        }
        printf("], \"skipped\": %" PRIu64 "}\n", plan->given_up.count);
}

static void print_plan(const struct schedule *s, const struct misfire_plan *plan)
{
        const struct instant_range *skipped = &plan->given_up;
        char first[STAMP_TEXT], last[STAMP_TEXT];
        struct instant i = plan->run;

        puts(plan->run_count ? "run now" : "run now: nothing");
        for (uint64_t n = 0; n < plan->run_count; n++) {
                instant_print(s, i, "  ");
                if (schedule_next(s, i, &i) < 0)
                        break;
        }
        if (skipped->count == 0)
                puts("skipped: nothing");
        else
                printf("skipped: %" PRIu64 ", %s to %s\n", skipped->count,
                       instant_plain(skipped->first, skipped->first.ms % MS_PER_S != 0, first),
                       instant_plain(skipped->last, skipped->last.ms % MS_PER_S != 0, last));
}

static int decide(const struct timetable *t, const struct due *d)
{
        struct instant now = stamp_instant(clock_wall()), cursor;
        struct misfire_plan plan;
        struct misfire misfire;

        int r = option_instant("due", "--now", d->now, &now);
        if (r == 0)
                r = read_cursor(d, t->task, now, &cursor);
        if (r == 0)
                r = read_misfire(d, t->task, &misfire);
        if (r)
                return r;
        misfire_decide(&misfire, &t->schedule, cursor, now, &plan);
        if (d->json)
                print_json(&t->schedule, &plan);
        else
                print_plan(&t->schedule, &plan);
        return EXIT_FINE;
}

int command_due(int argc, char **argv)
{
        struct due d = { .cursor = NULL };
        const struct argument options[] = {
                { "--cursor", &d.cursor, NULL }, { "--now", &d.now, NULL },
                { "--misfire", &d.policy, NULL }, { "--grace", &d.grace, NULL },
                { "--limit", &d.limit, NULL },   { "--lookback", &d.lookback, NULL },
                { "--json", NULL, &d.json },     { NULL, NULL, NULL },
        };
        struct timetable t;

        int r = timetable_begin(&t, argc, argv, options);
        if (r == 0)
                r = decide(&t, &d);
        timetable_done(&t);
        return r;
}
