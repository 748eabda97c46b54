/* onced next: when a schedule is due. The worker asks the same function. */
#include "cli/cli.h"

#include <stdio.h>

#include "cli/arguments.h"
#include "cli/instants.h"
#include "cli/timetable.h"
#include "common/exits.h"

#define COUNT_DEFAULT 10
#define COUNT_MAX     10000

/* A year is written with four digits. */
static const struct instant last_written = { CRON_LAST_S * MS_PER_S + MS_PER_S - 1 };

struct range {
        struct instant from, until;   /* (from, until] */
        unsigned count;
};

static int read_range(const char *from, const char *until, const char *count, struct range *ret)
{
        *ret = (struct range) {
                .from = stamp_instant(clock_wall()), .until = last_written, .count = until ? COUNT_MAX : COUNT_DEFAULT,
        };
        int r = option_instant("next", "--from", from, &ret->from);
        if (r == 0)
                r = option_instant("next", "--until", until, &ret->until);
        return r ? r : option_count("next", "--count", count, COUNT_MAX, &ret->count);
}

static bool following(const struct schedule *s, const struct range *range, struct instant after, struct instant *ret)
{
        return schedule_next(s, after, ret) == 0 && ret->ms <= range->until.ms;
}

static void print_json(const struct schedule *s, const struct range *range)
{
        struct instant i = range->from;

        putchar('[');
        for (unsigned n = 0; n < range->count && following(s, range, i, &i); n++)
                instant_print_json(i, s->kind == SCHEDULE_EVERY, n == 0);
        puts("]");
}

static void print_lines(const struct schedule *s, const struct range *range)
{
        struct instant before = range->from, i;
        unsigned n = 0;

        for (; n < range->count && following(s, range, before, &i); n++, before = i) {
                if (n == 0)
                        instants_print_heads(s, "");
                changes_print(s, before, i, "");
                instant_print(s, i, "");
        }
        if (n == 0)
                fprintf(stderr, "onced next: nothing is planned in that time\n");
        else if (n < range->count && range->until.ms == last_written.ms && s->kind == SCHEDULE_EVERY)
                fprintf(stderr, "onced next: this is the end of the year 9999, and of what can be written\n");
        else if (range->count == COUNT_MAX && n == COUNT_MAX && following(s, range, before, &i))
                fprintf(stderr, "onced next: there are more than these %u\n", n);
}

int command_next(int argc, char **argv)
{
        const char *from = NULL, *until = NULL, *count = NULL;
        bool json = false;
        const struct argument options[] = {
                { "--from", &from, NULL },   { "--until", &until, NULL }, { "--count", &count, NULL },
                { "--json", NULL, &json },   { NULL, NULL, NULL },
        };
        struct timetable t;
        struct range range;

        int r = timetable_begin(&t, argc, argv, options);
        if (r == 0)
                r = read_range(from, until, count, &range);
        if (r == 0 && json)
                print_json(&t.schedule, &range);
        else if (r == 0)
                print_lines(&t.schedule, &range);
        timetable_done(&t);
        return r;
}
