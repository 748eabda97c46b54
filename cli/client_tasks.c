/* `onced tasks`: one line a task. Without an instance, -c FILE still shows what would run, and when. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/table.h"
#include "common/buf.h"
#include "common/exits.h"
#include "console/tasks.h"

static void count_cell(struct table *t, const json_t *counts, const char *group, const char *name)
{
        const json_t *n = json_object_get(group ? json_object_get(counts, group) : counts, name);

        if (json_is_integer(n))
                table_format(t, "%" JSON_INTEGER_FORMAT, json_integer_value(n));
        else
                table_cell(t, NULL);
}

static void task_row(struct table *t, const json_t *j)
{
        const json_t *counts = json_object_get(j, "counts");
        char time[TIME_SHOWN];

        table_cell(t, member_text(j, "name"));
        table_cell(t, member_true(j, "enabled") ? member_text(j, "scope") : "disabled");
        table_cell(t, member_text(j, "path"));
        table_cell(t, member_text(j, "runner"));
        table_cell(t, member_text(j, "schedule"));
        table_cell(t, time_shown(member_text(j, "last_planned"), true, time));
        table_cell(t, time_shown(member_text(j, "next_planned"), true, time));
        count_cell(t, counts, "runs", "succeeded");
        count_cell(t, counts, "runs", "failed");
        count_cell(t, counts, "runs", "interrupted");
        count_cell(t, counts, "runs", "unknown");
        count_cell(t, counts, "runs", "skipped");
        count_cell(t, counts, "runs", "missed");
        count_cell(t, counts, NULL, "running");
        count_cell(t, counts, NULL, "queued");
}

static int print_tasks(const json_t *list)
{
        static const char *const heads[] = { "TASK", "SCOPE", "PATH", "RUNNER", "SCHEDULE", "LAST", "NEXT", ">OK",
                                             ">FAILED", ">INTERRUPTED", ">UNKNOWN", ">SKIPPED", ">MISSED", ">RUNNING",
                                             ">QUEUED", NULL };
        struct table *t = table_new(heads);
        const json_t *j;
        size_t i;

        if (!t)
                return EXIT_OS;
        json_array_foreach(list, i, j) {
                task_row(t, j);
        }
        int r = table_print(t, stdout);
        table_free(t);
        return r < 0 ? EXIT_OS : EXIT_FINE;
}

/* Moves one page into `all`; its "next" goes to `ret_after`, "" after the last page. */
static int take_page(json_t *all, const json_t *page, struct buf *ret_after)
{
        buf_clear(ret_after);
        buf_text(ret_after, member_text(page, "next"));
        return json_array_extend(all, json_object_get(page, "tasks")) < 0 || ret_after->failed ? EXIT_OS : 0;
}

/* All tasks of the instance, page by page: a table may have a hundred thousand. */
static int ask_tasks(struct client *c, json_t *all, bool *ret_absent)
{
        struct buf path = BUF_EMPTY, after = BUF_EMPTY;
        int r;

        do {
                json_auto_t *page = NULL;
                buf_clear(&path);
                buf_text(&path, "/v1/tasks");
                if (after.len) {
                        buf_text(&path, "?after=");
                        url_add(&path, after.data);
                }
                r = path.failed ? EXIT_OS : client_get_json(c, path.data, ret_absent, &page);
                if (r == 0)
                        r = take_page(all, page, &after);
        } while (r == 0 && after.len);
        buf_done(&path);
        buf_done(&after);
        return r;
}

/* The same from the configuration alone. */
static int read_tasks(const struct client *c, json_t *all)
{
        const struct view v = { .config = c->config, .node = "", .wall = clock_wall(), .mono = clock_mono() };
        struct buf after = BUF_EMPTY;
        int r;

        fprintf(stderr, "onced tasks: no instance answers at %s: this is what -c names\n", c->socket);
        do {
                json_auto_t *page = tasks_json(&v, after.len ? after.data : NULL, TASKS_PAGE);
                r = page ? take_page(all, page, &after) : EXIT_OS;
        } while (r == 0 && after.len);
        buf_done(&after);
        return r;
}

int command_tasks(int argc, char **argv)
{
        struct client c;
        json_auto_t *all = json_array();
        bool absent = false;
        int r = client_begin(&c, argc, argv, NULL, NULL, 0);

        if (r == 0) {
                r = ask_tasks(&c, all, &absent);
                if (absent && c.config)
                        r = read_tasks(&c, all);
                else if (absent)
                        client_say_absent(&c);
        }
        if (r == 0 && c.json) {
                json_auto_t *j = json_pack("{s:O}", "tasks", all);
                r = client_print_json(j);
        } else if (r == 0) {
                r = print_tasks(all);
        }
        client_done(&c);
        return r;
}
