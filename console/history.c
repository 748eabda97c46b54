/* One question to one or two ledgers, under a deadline. The asker is answered once; what is still open then,
 * calls and connections, ends by itself and frees the question last. */
#include "console/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "console/answer.h"
#include "ledger/ledger.h"

#define LEDGERS 2

struct reader {
        struct history_ask *ask;
        struct ledger *ledger;        /* owned; NULL: not asked */
        struct ledger_call call;
        bool waits, has_rows;         /* for its answer; answered, and well */
};

struct history_ask {
        struct history_query query;
        struct ledger_options options;
        history_cb done;              /* NULL: answered */
        void *arg;
        struct reader readers[LEDGERS];
        unsigned waiting;             /* calls without an answer */
        unsigned open;                /* ledgers and handles that are not closed */
        uv_timer_t deadline;
        char why[256];
};

static void ask_put(struct history_ask *a)
{
        if (--a->open > 0)
                return;
        for (size_t i = 0; i < LEDGERS; i++)
                ledger_call_done(&a->readers[i].call);
        free(a);
}

static void on_closed(void *arg)
{
        ask_put(arg);
}

static void on_deadline_closed(uv_handle_t *h)
{
        ask_put(h->data);
}

static void add_why(struct history_ask *a, const char *which, const char *why)
{
        size_t len = strlen(a->why);

        (void) snprintf(a->why + len, sizeof(a->why) - len, "%s%s: %s", len ? "; " : "", which, why);
}

/* Newest first; of equal instants the one that ended last. */
static int newest_first(const void *left, const void *right)
{
        const struct history_row *a = *(const struct history_row *const *) left;
        const struct history_row *b = *(const struct history_row *const *) right;
        int64_t at = a->range ? a->last.ms : a->planned.ms, bt = b->range ? b->last.ms : b->planned.ms;

        if (at != bt)
                return at < bt ? 1 : -1;
        if (a->ended.ns != b->ended.ns)
                return a->ended.ns < b->ended.ns ? 1 : -1;
        return strcmp(a->task, b->task);
}

static const struct history_row **rows_merge(struct history_ask *a, size_t *ret_count)
{
        size_t count = 0;

        for (size_t i = 0; i < LEDGERS; i++)
                if (a->readers[i].has_rows)
                        count += a->readers[i].call.out.history.count;
        const struct history_row **rows = calloc(count + 1, sizeof(*rows));
        if (!rows)
                return NULL;
        size_t n = 0;
        for (size_t i = 0; i < LEDGERS; i++)
                if (a->readers[i].has_rows)
                        for (size_t k = 0; k < a->readers[i].call.out.history.count; k++)
                                rows[n++] = &a->readers[i].call.out.history.rows[k];
        qsort(rows, n, sizeof(*rows), newest_first);
        *ret_count = n < a->query.limit ? n : a->query.limit;
        return rows;
}

/* What the ledgers that answered have, NULL when none has. */
static json_t *rows_json(struct history_ask *a)
{
        size_t count;

        if (!a->readers[0].has_rows && !a->readers[1].has_rows)
                return NULL;
        const struct history_row **rows = rows_merge(a, &count);
        json_t *list = rows ? json_array() : NULL;

        for (size_t i = 0; list && i < count; i++)
                (void) json_array_append_new(list, history_row_json(rows[i]));
        free(rows);
        return list;
}

/* Answers, if nobody has, and lets go of all that is open. */
static void ask_end(struct history_ask *a, json_t *occurrences)
{
        history_cb done = a->done;

        if (!done)
                return;
        a->done = NULL;
        uv_close((uv_handle_t *) &a->deadline, on_deadline_closed);
        for (size_t i = 0; i < LEDGERS; i++)
                if (a->readers[i].ledger)
                        ledger_close(TAKE(a->readers[i].ledger), on_closed, a);
        done(occurrences, a->why, a->arg);
}

static void on_deadline(uv_timer_t *timer)
{
        struct history_ask *a = timer->data;

        for (size_t i = 0; i < LEDGERS; i++)
                if (a->readers[i].waits)
                        add_why(a, a->readers[i].ledger->kind->name, "no answer in time");
        ask_end(a, rows_json(a));
}

static void on_rows(struct ledger_call *call)
{
        struct reader *r = call->arg;
        struct history_ask *a = r->ask;

        a->waiting--;
        r->waits = false;
        if (!a->done)
                return;   /* too late: closing */
        r->has_rows = call->error == 0;
        if (call->error < 0)
                add_why(a, r->ledger->kind->name, ledger_call_text(call));
        if (a->waiting == 0)
                ask_end(a, rows_json(a));
}

static void on_health(enum ledger_health h, const char *why, void *arg)
{
        (void) h;   /* the answer of the call says the same */
        (void) why;
        (void) arg;
}

static void reader_send(struct history_ask *a, struct reader *r)
{
        r->call = (struct ledger_call) {
                .op = LEDGER_HISTORY,
                .in.history = { a->query.task[0] ? a->query.task : NULL, a->query.state, a->query.since,
                                a->query.limit },
                .done = on_rows,
                .arg = r,
        };
        a->waiting++;
        r->waits = true;
        ledger_send(r->ledger, &r->call);
}

static void reader_open(struct history_ask *a, uv_loop_t *loop, const struct ledger_kind *kind)
{
        struct reader *r = &a->readers[kind == &ledger_redis];

        r->ask = a;
        int e = kind->open(loop, &a->options, on_health, NULL, &r->ledger);
        if (e < 0) {
                r->ledger = NULL;
                add_why(a, kind->name, strerror(-e));
                return;
        }
        a->open++;
        reader_send(a, r);
}

/* Which ledgers can hold records of the question: those of the paths of the tasks it asks for. A task the
 * configuration does not know (any more) may have been on either. */
static void paths_asked(const struct config *c, const char *task, bool *ret_local, bool *ret_group)
{
        const struct task *t = task[0] ? config_task(c, task) : NULL;

        *ret_local = !t || t->singleton != PATH_REDIS || !c->redis.url;
        *ret_group = c->redis.url && (!t || t->singleton == PATH_REDIS);
}

int history_ask(uv_loop_t *loop, const struct history_source *source, const struct history_query *q,
                int64_t timeout_ms, history_cb done, void *arg, struct history_ask **ret)
{
        struct history_ask *a = calloc(1, sizeof(*a));
        bool local, group;

        if (!a)
                return -ENOMEM;
        a->query = *q;
        a->done = done;
        a->arg = arg;
        a->options = (struct ledger_options) { .config = source->config, .node = source->node,
                                               .owner = source->owner, .boot = source->boot, .read_only = true };
        int r = uv_timer_init(loop, &a->deadline);
        if (r < 0) {
                free(a);
                return r;
        }
        a->deadline.data = a;
        a->open = 1;

        paths_asked(source->config, q->task, &local, &group);
        if (local)
                reader_open(a, loop, &ledger_sqlite);
        if (group)
                reader_open(a, loop, &ledger_redis);
        /* Nothing could even be opened: the deadline, at once, gives the answer from the loop. */
        (void) uv_timer_start(&a->deadline, on_deadline, a->waiting ? (uint64_t) timeout_ms : 0, 0);
        *ret = a;
        return 0;
}

void history_cancel(struct history_ask *a)
{
        add_why(a, "console", "the instance ends");
        ask_end(a, NULL);
}
