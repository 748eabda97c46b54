/* onced prove: reads the trigger logs of all processes and shows for every planned instant whether it ran
 * once. It asks no live daemon and keeps nothing: what it says, anybody can find from the same files. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/merge.h"
#include "cli/prove/report.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/exits.h"

DEFINE_CLEANUP(struct evidence *, evidence_freep, evidence_free)
DEFINE_CLEANUP(struct judge *, judge_freep, judge_free)

struct prove_options {
        struct judge_options judge;
        bool json, verbose;
};

static int failed(int error)
{
        (void) fprintf(stderr, "onced prove: %s\n", error == -E2BIG ? "too many occurrences without an end"
                                                                    : strerror(-error));
        return EXIT_OS;
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

#define TASKS_NAMED 20

static void tasks_print(const struct evidence *e, FILE *out)
{
        char **names = calloc(e->plans_count + 1, sizeof(*names));
        size_t count = 0, shown = 0;

        for (size_t i = 0; names && i < e->plans_count; i++)
                names[count++] = e->plans[i]->task;
        if (count)
                qsort(names, count, sizeof(*names), by_text);
        for (size_t i = 0; i < count; i++) {
                if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
                        continue;
                if (shown++ < TASKS_NAMED)
                        (void) fprintf(out, "%s%s", shown > 1 ? ", " : "", names[i]);
        }
        if (shown > TASKS_NAMED)
                (void) fprintf(out, " and %zu more", shown - TASKS_NAMED);
        if (count == 0)
                (void) fputs("none at all", out);
        free(names);
}

/* A slip in a name must not look like a task of which nothing is known. Logs without any plan have their report. */
static int tasks_check(const struct prove_options *o, const struct evidence *e, const struct judge *j)
{
        for (size_t i = 0; i < o->judge.task_count; i++) {
                const char *task = o->judge.tasks[i];
                bool found = e->plans_count == 0;

                for (size_t k = 0; k < e->plans_count && !found; k++)
                        found = strcmp(e->plans[k]->task, task) == 0;
                for (size_t k = 0; k < j->row_count && !found; k++)
                        found = strcmp(j->rows[k]->task, task) == 0;
                if (found)
                        continue;
                (void) fprintf(stderr, "onced prove: these logs have no task %s; they have ", task);
                tasks_print(e, stderr);
                (void) fputc('\n', stderr);
                return EXIT_USAGE;
        }
        return 0;
}

static int prove(const struct prove_options *o, char **paths, size_t count)
{
        _cleanup_(evidence_freep) struct evidence *e = evidence_new();
        if (!e)
                return failed(-ENOMEM);
        int r = evidence_collect(e, paths, count);
        if (r == 0)
                r = evidence_read(e);
        if (r < 0)
                return failed(r);
        _cleanup_(judge_freep) struct judge *j = judge_new(e, &o->judge);
        if (!j)
                return failed(-ENOMEM);
        r = merge_logs(e, j);
        if (r == 0)
                r = judge_end(j);
        if (r < 0)
                return failed(r);
        r = tasks_check(o, e, j);
        if (r)
                return r;
        if (o->json) {
                struct buf b = BUF_EMPTY;
                report_json(&b, e, j);
                bool fine = !b.failed && fwrite(b.data, 1, b.len, stdout) == b.len;
                buf_done(&b);
                if (!fine)
                        return failed(-EIO);
        } else {
                report_table(stdout, e, j, o->verbose);
        }
        return fflush(stdout) == 0 ? report_exit(e, j) : failed(-errno);
}

static const struct option long_options[] = {
        { "since", required_argument, NULL, 's' }, { "until", required_argument, NULL, 'u' },
        { "task", required_argument, NULL, 't' },  { "json", no_argument, NULL, 'j' },
        { "verbose", no_argument, NULL, 'v' },     { NULL, 0, NULL, 0 },
};

static int time_option(const char *text, int64_t *ret_ms)
{
        struct instant i;

        if (instant_parse(text, &i) < 0)
                return usage_error("prove", "%s is no time; write it as 2026-11-30T17:00:00Z", text);
        *ret_ms = i.ms;
        return 0;
}

static int options_read(int argc, char **argv, struct prove_options *o)
{
        int c, r = 0;

        optind = 0;              /* all of getopt's state anew, whatever was parsed before */
        opterr = 0;
        while (r == 0 && (c = getopt_long(argc, argv, ":s:u:t:jv", long_options, NULL)) != -1) {
                switch (c) {
                case 's':
                        r = time_option(optarg, &o->judge.since_ms);
                        break;
                case 'u':
                        r = time_option(optarg, &o->judge.until_ms);
                        break;
                case 't':
                        o->judge.tasks[o->judge.task_count++] = optarg;
                        break;
                case 'j':
                        o->json = true;
                        break;
                case 'v':
                        o->verbose = true;
                        break;
                case ':':
                        return usage_error("prove", "%s needs a value", argv[optind - 1]);
                default:
                        return usage_error("prove", "there is no option %s", argv[optind - 1]);
                }
        }
        if (r == 0 && o->judge.since_ms >= o->judge.until_ms)
                return usage_error("prove", "--since is not before --until: nothing lies between");
        if (r == 0 && optind == argc)
                return usage_error("prove", "which logs? Give trigger files or their folder");
        return r;
}

int command_prove(int argc, char **argv)
{
        struct prove_options o = { .judge = { .since_ms = INT64_MIN, .until_ms = INT64_MAX } };

        o.judge.tasks = calloc((size_t) argc + 1, sizeof(*o.judge.tasks));
        if (!o.judge.tasks)
                return failed(-ENOMEM);
        int r = options_read(argc, argv, &o);
        if (r == 0)
                r = prove(&o, argv + optind, (size_t) (argc - optind));
        free(o.judge.tasks);
        return r;
}
