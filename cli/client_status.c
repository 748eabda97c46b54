/* `onced status`: the node on one screen. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/table.h"
#include "common/clock.h"
#include "common/exits.h"

static const char *state_of(const json_t *j)
{
        if (member_true(j, "draining"))
                return "draining";
        if (member_true(j, "degraded"))
                return "degraded";
        return member_true(j, "ready") ? "ready" : "not ready";
}

static json_int_t uptime_ms(const json_t *j)
{
        struct instant started, now;

        if (instant_parse(member_text(j, "started"), &started) < 0 || instant_parse(member_text(j, "now"), &now) < 0)
                return 0;
        return now.ms > started.ms ? now.ms - started.ms : 0;
}

#define N "%" JSON_INTEGER_FORMAT

static void workers_row(struct table *t, const json_t *workers, const json_t *timer)
{
        static const char *const kinds[] = { "starting", "draining", "stale", NULL };
        char more[80] = "";
        int len = 0;

        for (size_t i = 0; kinds[i]; i++)
                if (member_integer(workers, kinds[i]))
                        len += snprintf(more + len, sizeof(more) - (size_t) len, ", %d %s",
                                        (int) member_integer(workers, kinds[i]), kinds[i]);
        table_cell(t, "workers");
        table_format(t, N " of " N " ready%s", member_integer(workers, "ready"), member_integer(workers, "wanted"),
                     more);
        table_cell(t, "timer worker");
        if (json_is_integer(timer))
                table_format(t, N, json_integer_value(timer));
        else
                table_cell(t, "none");
}

static void state_row(struct table *t, const json_t *j)
{
        const char *reason = member_text(j, "reason");

        table_cell(t, "state");
        table_format(t, "%s%s%s%s", state_of(j), *reason ? " (" : "", reason, *reason ? ")" : "");
}

static void master_rows(struct table *t, const json_t *j)
{
        char started[TIME_SHOWN], uptime[SPAN_SHOWN];

        table_cell(t, "version");
        table_format(t, "%s, pid " N ", generation " N, member_text(j, "version"), member_integer(j, "pid"),
                     member_integer(j, "generation"));
        table_cell(t, "started");
        table_format(t, "%s, %s ago", time_shown(member_text(j, "started"), false, started),
                     span_shown(uptime_ms(j), uptime));
        table_cell(t, "configuration");
        table_cell(t, member_text(j, "configuration"));
}

static void count_rows(struct table *t, const json_t *j)
{
        const json_t *counters = json_object_get(j, "counters"), *restarts = json_object_get(j, "restarts");
        const json_t *tasks = json_object_get(j, "tasks");

        table_cell(t, "tasks");
        table_format(t, N ", " N " enabled", member_integer(tasks, "configured"), member_integer(tasks, "enabled"));
        table_cell(t, "runs");
        table_format(t, N " started, " N " failed, " N " interrupted, since the master began",
                     member_integer(counters, "triggered"), member_integer(counters, "failed"), member_integer(counters, "interrupted"));
        table_cell(t, "restarts");
        table_format(t, N " (" N " crashes, " N " hangs)", member_integer(restarts, "total"),
                     member_integer(restarts, "crashes"), member_integer(restarts, "hangs"));
}

static int print_status(const json_t *j)
{
        static const char *const no_heads[] = { "", "", NULL };
        struct table *t = table_new(no_heads);

        if (!t)
                return EXIT_OS;
        table_cell(t, "node");
        table_cell(t, member_text(j, "node"));
        state_row(t, j);
        master_rows(t, j);
        workers_row(t, json_object_get(j, "workers"), json_object_get(j, "timer_worker"));
        count_rows(t, j);
        int r = table_print(t, stdout);
        table_free(t);
        return r < 0 ? EXIT_OS : EXIT_FINE;
}

int command_status(int argc, char **argv)
{
        struct client c;
        json_auto_t *j = NULL;
        int r = client_begin(&c, argc, argv, NULL, NULL, 0);

        if (r == 0)
                r = client_get_json(&c, "/v1/status", NULL, &j);
        if (r == 0)
                r = c.json ? client_print_json(j) : print_status(j);
        client_done(&c);
        return r;
}
