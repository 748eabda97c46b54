/* `onced history [TASK]`: what ran, newest first. Without an instance, -c FILE reads the ledgers themselves,
 * and changes nothing in them. */
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/table.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/node_id.h"
#include "console/answer.h"
#include "console/history.h"

#define READ_MS 15000

struct asked {
        const char *task, *state, *since, *limit;   /* NULL: not given */
};

static void when_cell(struct table *t, const json_t *j, const char *name, bool with_ms)
{
        char time[TIME_SHOWN];

        table_cell(t, time_shown(member_text(j, name), with_ms, time));
}

static void what_cell(struct table *t, const json_t *j)
{
        if (*member_text(j, "error"))
                table_cell(t, member_text(j, "error"));
        else
                table_cell(t, member_text(j, "text"));
}

static void row_cells(struct table *t, const json_t *j)
{
        const json_t *run_ms = json_object_get(j, "run_ms"), *code = json_object_get(j, "code");
        const char *why = *member_text(j, "cause") ? member_text(j, "cause") : member_text(j, "result");

        when_cell(t, j, "planned", true);
        table_cell(t, member_text(j, "task"));
        table_format(t, "%" JSON_INTEGER_FORMAT, member_integer(j, "shard"));
        table_cell(t, member_text(j, "state"));
        table_cell(t, why);
        table_format(t, "%" JSON_INTEGER_FORMAT, member_integer(j, "count"));
        when_cell(t, j, "started", true);
        if (json_is_number(run_ms))
                table_format(t, "%.1f", json_number_value(run_ms));
        else
                table_cell(t, NULL);
        if (json_is_integer(code))
                table_format(t, "%" JSON_INTEGER_FORMAT, json_integer_value(code));
        else
                table_cell(t, NULL);
        what_cell(t, j);
}

static int print_history(const json_t *list)
{
        static const char *const heads[] = { "PLANNED", "TASK", ">SHARD", "STATE", "WHY", ">COUNT", "STARTED",
                                             ">RUN ms", ">CODE", "SAID", NULL };
        struct table *t = table_new(heads);
        const json_t *j;
        size_t i;

        if (!t)
                return EXIT_OS;
        json_array_foreach(list, i, j) {
                row_cells(t, j);
        }
        int r = table_print(t, stdout);
        table_free(t);
        return r < 0 ? EXIT_OS : EXIT_FINE;
}

static void parameter_add(struct buf *path, const char *name, const char *value)
{
        if (!value)
                return;
        buf_char(path, strchr(path->data, '?') ? '&' : '?');
        buf_text(path, name);
        buf_char(path, '=');
        url_add(path, value);
}

static int ask_history(struct client *c, const struct asked *asked, bool *ret_absent, json_t **ret)
{
        struct buf path = BUF_EMPTY;

        buf_text(&path, "/v1/occurrences");
        parameter_add(&path, "task", asked->task);
        parameter_add(&path, "state", asked->state);
        parameter_add(&path, "since", asked->since);
        parameter_add(&path, "limit", asked->limit);
        int r = path.failed ? EXIT_OS : client_get_json(c, path.data, ret_absent, ret);
        buf_done(&path);
        return r;
}

/* What the ledgers answered to read_history. */
struct local_answer {
        json_t *occurrences;
        char why[256];
};

static void on_history(json_t *occurrences, const char *why, void *arg)
{
        struct local_answer *a = arg;

        a->occurrences = occurrences;
        (void) snprintf(a->why, sizeof(a->why), "%s", why);
}

static int ask_ledgers(const struct client *c, const struct history_query *q, struct local_answer *ret)
{
        struct node_id node;
        char boot[BOOT_ID_TEXT];
        struct history_ask *ask;
        uv_loop_t loop;

        if (node_id_read(c->config->state_dir, &node) < 0)
                node = (struct node_id) { .node = "" };
        if (clock_boot_id(boot) < 0)
                boot[0] = '\0';
        const struct history_source source = { c->config, node.node, "", boot };
        int r = uv_loop_init(&loop);
        if (r < 0)
                return r;
        r = history_ask(&loop, &source, q, READ_MS, on_history, ret, &ask);
        if (r == 0)
                (void) uv_run(&loop, UV_RUN_DEFAULT);
        (void) uv_loop_close(&loop);
        return r;
}

static int read_history(const struct client *c, const struct history_query *q, json_t **ret)
{
        struct local_answer answer = { NULL, "" };

        fprintf(stderr, "onced history: no instance answers at %s: reading the ledger in %s\n", c->socket,
                c->config->state_dir);
        int r = ask_ledgers(c, q, &answer);
        if (r < 0 || !answer.occurrences) {
                fprintf(stderr, "onced history: reading the ledger: %s\n", r < 0 ? strerror(-r) : answer.why);
                return EXIT_FAILED;
        }
        *ret = json_pack("{s:o, s:o}", "occurrences", answer.occurrences, "incomplete",
                         answer.why[0] ? json_text(answer.why) : json_null());
        return *ret ? 0 : EXIT_OS;
}

/* An empty list may be that of a slip in the name. A task that was taken out may still have a history. */
static int task_known(struct client *c, const char *task, bool absent)
{
        struct buf path = BUF_EMPTY;

        if (absent && config_task(c->config, task))
                return 0;
        if (absent) {
                fprintf(stderr, "onced history: the configuration has no task %s\n", task);
                return EXIT_FAILED;
        }
        buf_text(&path, "/v1/tasks/");
        url_add(&path, task);
        int r = path.failed ? EXIT_OS : client_get(c, path.data, NULL, NULL);
        buf_done(&path);
        return r;
}

static int history_shown(const struct client *c, const json_t *j)
{
        if (c->json)
                return client_print_json(j);
        if (*member_text(j, "incomplete"))
                fprintf(stderr, "onced history: incomplete: %s\n", member_text(j, "incomplete"));
        return print_history(json_object_get(j, "occurrences"));
}

int command_history(int argc, char **argv)
{
        struct asked asked = { NULL, NULL, NULL, NULL };
        const struct argument options[] = { { "--state", &asked.state, NULL },
                                            { "--since", &asked.since, NULL },
                                            { "--limit", &asked.limit, NULL },
                                            { NULL, NULL, NULL } };
        struct history_query q;
        struct client c;
        json_auto_t *j = NULL;
        bool absent = false;
        char why[160];
        int r = client_begin(&c, argc, argv, options, &asked.task, 1);

        if (r == 0 && history_query_parse(asked.task, asked.state, asked.since, asked.limit, &q, why, sizeof(why)) < 0)
                r = usage_error(c.command, "%s", why);
        if (r == 0) {
                r = ask_history(&c, &asked, &absent, &j);
                if (absent && c.config)
                        r = read_history(&c, &q, &j);
                else if (absent)
                        client_say_absent(&c);
        }
        if (r == 0 && asked.task && json_array_size(json_object_get(j, "occurrences")) == 0)
                r = task_known(&c, asked.task, absent);
        if (r == 0)
                r = history_shown(&c, j);
        client_done(&c);
        return r;
}
