/* What a configuration would refuse as a schedule ends with the same exit code here (78), and says the same; what is
 * wrong with the command line itself is usage (64). */
#include "cli/timetable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/config/timing.h"
#include "common/exits.h"
#include "common/schedule/zone.h"

#define OPTIONS_MAX 16

/* As given, NULL: not. */
struct given {
        const char *cron, *tz, *fold, *every, *anchor, *file, *task;
};

int option_instant(const char *command, const char *name, const char *text, struct instant *ret)
{
        if (!text || instant_parse(text, ret) == 0)
                return 0;
        return usage_error(command, "%s: \"%s\" is no time as 2026-11-30T17:00:00Z or 2026-11-30T18:00:00+01:00", name,
                           text);
}

int option_span(const char *command, const char *name, const char *text, int64_t max_ms, int64_t *ret)
{
        char longest[32];
        int64_t ms;

        if (!text)
                return 0;
        if (span_parse(text, &ms) == 0 && ms <= max_ms) {
                *ret = ms;
                return 0;
        }
        span_text(max_ms, longest);
        return usage_error(command, "%s: \"%s\" is no duration as 250ms, 30s, 10m, 1h or 2d, up to %s", name, text,
                           longest);
}

int option_count(const char *command, const char *name, const char *text, unsigned max, unsigned *ret)
{
        char *end;

        if (!text)
                return 0;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (errno || *end || text[0] < '0' || text[0] > '9' || n < 1 || n > max)
                return usage_error(command, "%s: \"%s\" is no number from 1 to %u", name, text, max);
        *ret = (unsigned) n;
        return 0;
}

int option_word(const char *command, const char *name, const char *text, const char *const *words, unsigned *ret)
{
        int i = text ? name_index(words, text) : 0;

        if (i < 0)
                return usage_error(command, "%s: \"%s\" is none of %s, %s", name, text, words[0], words[1]);
        if (text)
                *ret = (unsigned) i;
        return 0;
}

static int refused(const struct timetable *t, const char *option, const char *why)
{
        fprintf(stderr, "onced %s: %s: %s\n", t->command, option, why);
        return EXIT_CONFIGURATION;
}

/* The expression, and below it what is meant. A terminal shows it as it was typed, but for what would steer it. */
static void point_at(const char *expression, const struct cron_error *error)
{
        size_t len = strlen(expression), at = error->at < len ? error->at : len;
        size_t marks = error->length ? error->length : 1;

        if (len > CRON_MAX)
                return;
        fputs("  ", stderr);
        for (const char *p = expression; *p; p++)
                fputc(*p == '\t' ? ' ' : cron_shown(*p), stderr);
        fprintf(stderr, "\n  %*s", (int) at, "");
        for (size_t i = 0; i < marks && (i == 0 || at + i < len); i++)
                fputc('^', stderr);
        fputc('\n', stderr);
}

static int read_cron(struct timetable *t, const struct given *g)
{
        const char *tz = g->tz ? g->tz : "UTC";
        const struct zone *zone;
        struct cron_error error;
        char why[ZONE_WHY > NEVER_WHY ? ZONE_WHY : NEVER_WHY];
        unsigned fold = DST_FOLD_FIRST;

        int r = option_word(t->command, "--fold", g->fold, dst_fold_names, &fold);
        if (r)
                return r;
        if (zone_get(tz, &zone, why, sizeof(why)) < 0)
                return refused(t, "--tz", why);
        if (schedule_cron(g->cron, tz, fold == DST_FOLD_BOTH, &t->schedule, &error) == 0)
                return timing_comes(&t->schedule, why, sizeof(why)) ? 0 : refused(t, "--cron", why);
        r = refused(t, "--cron", error.text);
        if (error.length || !*g->cron)
                point_at(g->cron, &error);
        return r;
}

static int read_every(struct timetable *t, const struct given *g)
{
        struct instant anchor = { 0 };
        int64_t every_ms;
        char *end;

        if (span_parse(g->every, &every_ms) < 0)
                return refused(t, "--every", "must be a number and one unit of ms, s, m, h, d, as 30s");
        if (g->anchor) {
                errno = 0;
                anchor.ms = strtoll(g->anchor, &end, 10);   /* milliseconds since 1970, as a configuration takes them */
                if (*end || end == g->anchor || errno) {
                        int r = option_instant(t->command, "--anchor", g->anchor, &anchor);
                        if (r)
                                return r;
                }
        }
        if (schedule_every(every_ms, anchor.ms, &t->schedule) < 0)
                return refused(t, "--every", "is out of range 10ms to 366d");
        return 0;
}

static int no_such_task(const struct timetable *t, const struct given *g)
{
        const char *near = NULL, **names = calloc(t->config->task_count + 1, sizeof(*names));

        for (size_t i = 0; names && i < t->config->task_count; i++)
                names[i] = t->config->tasks[i].name;
        if (names)
                near = nearest_word(g->task, names);
        free(names);
        if (near)
                return usage_error(t->command, "%s has no task %s; did you mean %s?", g->file, g->task, near);
        return usage_error(t->command, "%s has no task %s", g->file, g->task);
}

static int read_task(struct timetable *t, const struct given *g)
{
        struct complaints complaints = COMPLAINTS_NONE;

        int r = config_load(g->file, &t->config, &complaints);
        if (r < 0)
                complaints_print(&complaints, stderr);
        if (r < 0 && !complaints.errors)
                fprintf(stderr, "onced %s: %s: %s\n", t->command, g->file, strerror(-r));
        complaints_done(&complaints);
        if (r < 0)
                return r == -ENOMEM ? EXIT_OS : EXIT_CONFIGURATION;
        t->task = config_task(t->config, g->task);
        if (!t->task)
                return no_such_task(t, g);
        t->schedule = t->task->schedule;
        if (!t->task->enabled)
                fprintf(stderr, "onced %s: task %s is disabled: nothing of this runs\n", t->command, g->task);
        return 0;
}

static int read_given(struct timetable *t, const struct given *g)
{
        if (!!g->cron + !!g->every + !!g->task != 1)
                return usage_error(t->command, "one of --cron EXPR, --every SPAN and TASK is needed");
        if (!g->cron && (g->tz || g->fold))
                return usage_error(t->command, "--tz and --fold belong to --cron");
        if (!g->every && g->anchor)
                return usage_error(t->command, "--anchor belongs to --every");
        if (!!g->task != !!g->file)
                return usage_error(t->command, "TASK and -c FILE belong together");
        return g->cron ? read_cron(t, g) : g->every ? read_every(t, g) : read_task(t, g);
}

int timetable_begin(struct timetable *t, int argc, char **argv, const struct argument *options)
{
        struct given g = { .cron = NULL };
        struct argument all[OPTIONS_MAX + 1] = {
                { "--cron", &g.cron, NULL },   { "--tz", &g.tz, NULL },         { "--fold", &g.fold, NULL },
                { "--every", &g.every, NULL }, { "--anchor", &g.anchor, NULL }, { "-c", &g.file, NULL },
        };
        size_t count = 6;

        *t = (struct timetable) { .command = argv[0] };
        for (; options->name && count < OPTIONS_MAX; options++)
                all[count++] = *options;
        int r = arguments_read(argc, argv, all, &g.task, 1);
        return r ? r : read_given(t, &g);
}

void timetable_done(struct timetable *t)
{
        t->config = config_free(t->config);
}
