/* `onced workers`: one line a process. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/table.h"
#include "common/exits.h"

static void number_cell(struct table *t, const json_t *j)
{
        if (json_is_integer(j))
                table_format(t, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
        else
                table_cell(t, NULL);
}

static void span_cell(struct table *t, const json_t *j)
{
        char span[SPAN_SHOWN];

        table_cell(t, json_is_integer(j) ? span_shown(json_integer_value(j), span) : NULL);
}

static void memory_cell(struct table *t, const json_t *j)
{
        if (json_is_integer(j))
                table_format(t, "%.1f MiB", (double) json_integer_value(j) / (1 << 20));
        else
                table_cell(t, NULL);
}

static void worker_row(struct table *t, const json_t *w)
{
        const json_t *counters = json_object_get(w, "counters");
        char started[TIME_SHOWN];

        if (json_is_integer(json_object_get(w, "slot")))
                number_cell(t, json_object_get(w, "slot"));
        else
                table_cell(t, member_text(w, "role"));
        number_cell(t, json_object_get(w, "pid"));
        table_format(t, "%s%s%s", member_text(w, "state"), member_true(w, "timer") ? ", timer" : "",
                     member_true(w, "stale") ? ", STALE" : "");
        number_cell(t, json_object_get(w, "generation"));
        table_cell(t, time_shown(member_text(w, "started"), false, started));
        span_cell(t, json_object_get(w, "beat_age_ms"));
        number_cell(t, json_object_get(w, "loop_lag_us"));
        number_cell(t, json_object_get(counters, "triggered"));
        number_cell(t, json_object_get(counters, "failed"));
        memory_cell(t, json_object_get(w, "rss_bytes"));
        span_cell(t, json_object_get(w, "cpu_ms"));
        number_cell(t, json_object_get(w, "fds"));
        table_cell(t, member_text(w, "last_exit"));
        table_cell(t, member_text(w, "task"));
}

static int print_workers(const json_t *list)
{
        static const char *const heads[] = { "SLOT", ">PID", "STATE", ">GEN", "STARTED", ">BEAT", ">LAG us", ">RUNS",
                                             ">FAILED", ">RSS", ">CPU", ">FDS", "LAST EXIT", "TASK", NULL };
        struct table *t = table_new(heads);
        const json_t *w;
        size_t i;

        if (!t)
                return EXIT_OS;
        json_array_foreach(list, i, w) {
                worker_row(t, w);
        }
        int r = table_print(t, stdout);
        table_free(t);
        return r < 0 ? EXIT_OS : EXIT_FINE;
}

int command_workers(int argc, char **argv)
{
        struct client c;
        json_auto_t *j = NULL;
        int r = client_begin(&c, argc, argv, NULL, NULL, 0);

        if (r == 0)
                r = client_get_json(&c, "/v1/workers", NULL, &j);
        if (r == 0)
                r = c.json ? client_print_json(j) : print_workers(json_object_get(j, "workers"));
        client_done(&c);
        return r;
}
