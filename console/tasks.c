/* /v1/tasks and /v1/tasks/NAME. */
#include "console/tasks.h"

#include <string.h>

#include "common/buf.h"
#include "common/config/config.h"
#include "common/scoreboard/scoreboard.h"
#include "console/answer.h"

bool task_competes(const struct task *t)
{
        return t->enabled && t->scope != SCOPE_MANUAL && t->schedule.kind != SCHEDULE_NONE;
}

static struct instant next_by_clock(const struct view *v, const struct task *t)
{
        struct instant next = INSTANT_NONE;

        if (task_competes(t) && schedule_next(&t->schedule, stamp_instant(v->wall), &next) < 0)
                return INSTANT_NONE;
        return next;
}

struct instant task_next(const struct view *v, const struct task *t, const struct task_counts *c)
{
        struct instant next = next_by_clock(v, t);

        if (!instant_is_none(next) && c->next_planned_ms > next.ms)
                next.ms = c->next_planned_ms;
        return next;
}

/* By what the workers plan: they go on from the newest decided instant, so that their next one tells where it is. */
static bool stands_ahead(const struct view *v, const struct task *t)
{
        struct task_counts counts;
        struct instant next = next_by_clock(v, t);

        if (instant_is_none(next) || !board_task_totals(v->board, t->name, &counts) || !counts.next_planned_ms)
                return false;
        return counts.next_planned_ms > next.ms && counts.next_planned_ms - next.ms > v->config->max_future_ms;
}

bool tasks_stand_ahead(const struct view *v)
{
        /* Tasks beyond these have no row of their own. */
        for (size_t i = 0; v->board && i < v->config->task_count && i < BOARD_TASKS; i++)
                if (stands_ahead(v, &v->config->tasks[i]))
                        return true;
        return false;
}

json_t *task_counts_json(const struct task_counts *c)
{
        json_t *runs = json_object(), *attempts = json_object();

        for (int s = 0; s < STATE_COUNT_; s++)
                if (state_is_final((enum state) s))
                        (void) json_object_set_new(runs, state_names[s], json_count(c->runs[s]));
        for (int o = 0; o < OUTCOME_COUNT_; o++)
                if (o != OUTCOME_UNREGISTERED)
                        (void) json_object_set_new(attempts, outcome_names[o],
                                                   json_count(c->attempts[o]));
        return json_pack("{s:o, s:o, s:o, s:o, s:o}", "runs", runs, "attempts", attempts, "noop",
                         json_count(c->noop), "running", json_count(c->running), "queued", json_count(c->queued));
}

static json_t *schedule_json(const struct task *t)
{
        char text[SCHEDULE_TEXT];

        schedule_text(&t->schedule, text, sizeof(text));
        return json_text(text);
}

/* What every listing says of a task. */
static json_t *summary_json(const struct view *v, const struct task *t)
{
        struct task_counts counts = { 0 };
        struct instant last = INSTANT_NONE;

        if (v->board)
                (void) board_task_totals(v->board, t->name, &counts);
        if (counts.last_planned_ms)
                last.ms = counts.last_planned_ms;
        return json_pack("{s:o, s:b, s:b, s:s, s:s, s:s, s:o, s:i, s:o, s:o, s:o}",
                         "name", json_text(t->name),
                         "enabled", t->enabled,
                         "competes", task_competes(t),
                         "path", path_names[t->singleton],
                         "scope", scope_names[t->scope],
                         "runner", runner_names[t->runner],
                         "schedule", schedule_json(t),
                         "shards", (int) t->shards,
                         "last_planned", json_instant(last),
                         "next_planned", json_instant(task_next(v, t, &counts)),
                         "counts", v->board ? task_counts_json(&counts) : json_null());
}

static json_t *list_json(const struct text_list *l)
{
        json_t *j = json_array();

        for (size_t i = 0; i < l->count; i++)
                (void) json_array_append_new(j, json_text(l->items[i]));
        return j;
}

/* The names alone, up to `separator`: values of headers and variables may be secrets. */
static json_t *names_json(const struct text_list *l, char separator)
{
        json_t *j = json_array();

        for (size_t i = 0; i < l->count; i++) {
                const char *end = strchr(l->items[i], separator);
                (void) json_array_append_new(
                        j, json_bytes(l->items[i], end ? (size_t) (end - l->items[i]) : strlen(l->items[i])));
        }
        return j;
}

/* A URL without the user and password that may stand before its host. */
static json_t *url_json(const char *url)
{
        const char *host = url ? strstr(url, "://") : NULL;
        const char *at = host ? memchr(host + 3, '@', strcspn(host + 3, "/?#")) : NULL;
        struct buf shown = BUF_EMPTY;

        if (!url)
                return json_null();
        if (at) {
                buf_add(&shown, url, (size_t) (host + 3 - url));
                url = at + 1;
        }
        buf_text(&shown, url);
        json_t *j = shown.failed ? NULL : json_bytes(shown.data, shown.len);
        buf_done(&shown);
        return j;
}

static json_t *target_json(const struct task *t)
{
        switch (t->runner) {
        case RUNNER_HTTP:
                return json_pack("{s:o, s:o, s:o, s:i, s:I}", "url", url_json(t->http.url), "method",
                                 json_text(t->http.method ? t->http.method : "GET"), "headers",
                                 names_json(&t->http.headers, ':'), "follow", (int) t->http.follow,
                                 "connect_timeout_ms", (json_int_t) t->http.connect_timeout_ms);
        case RUNNER_EXEC:
                return json_pack("{s:o, s:o, s:o, s:o, s:I}", "argv", list_json(&t->exec.argv), "cwd",
                                 json_text(t->exec.cwd ? t->exec.cwd : "/"), "env", names_json(&t->exec.env, '='),
                                 "noop_exit", list_json(&t->exec.noop_exit), "kill_after_ms",
                                 (json_int_t) t->exec.kill_after_ms);
        case RUNNER_REDIS:
                return t->redis.stream
                               ? json_pack("{s:o, s:o, s:i}", "stream", json_text(t->redis.stream), "fields",
                                           names_json(&t->redis.fields, '='), "maxlen", (int) t->redis.maxlen)
                               : json_pack("{s:o, s:o, s:o}", "script", json_text(t->redis.script), "keys",
                                           list_json(&t->redis.keys), "args", list_json(&t->redis.args));
        default:
                return json_null();
        }
}

static json_t *misfire_json(const struct task *t)
{
        const struct misfire *m = &t->misfire;

        if (m->policy == MISFIRE_CATCH_UP)
                return json_pack("{s:s, s:i, s:I}", "policy", misfire_names[m->policy], "limit", (int) m->limit,
                                 "lookback_ms", (json_int_t) m->lookback_ms);
        return json_pack("{s:s, s:o}", "policy", misfire_names[m->policy], "grace_ms",
                         m->grace_ms < 0 ? json_null() : json_integer(m->grace_ms));
}

static json_t *overlap_json(const struct task *t)
{
        const struct overlap *o = &t->overlap;
        json_t *j = json_pack("{s:s}", "policy", overlap_names[o->policy]);

        if (o->policy == OVERLAP_QUEUE)
                (void) json_object_set_new(j, "queue_limit", json_integer(o->queue_limit));
        if (o->policy == OVERLAP_CONCURRENT)
                (void) json_object_set_new(j, "max_running", json_integer(o->max_running));
        return j;
}

static json_t *definition_json(const struct task *t)
{
        return json_pack("{s:o, s:o, s:s, s:I, s:I, s:s, s:i, s:{s:i, s:I}, s:s, s:s, s:o}",
                         "misfire", misfire_json(t),
                         "overlap", overlap_json(t),
                         "first", first_names[t->first],
                         "timeout_ms", (json_int_t) t->timeout_ms,
                         "lease_ms", (json_int_t) t->lease_ms,
                         "on_lease_lost", lease_lost_names[t->on_lease_lost],
                         "max_shards", (int) t->max_shards,
                         "history", "count", (int) t->history.count, "age_ms", (json_int_t) t->history.age_ms,
                         "when_hash", t->when_hash,
                         "def_hash", t->def_hash,
                         "target", target_json(t));
}

json_t *task_json(const struct view *v, const struct task *t)
{
        json_t *j = summary_json(v, t), *definition = definition_json(t);

        if (!j || !definition || json_object_set_new(j, "definition", definition) < 0) {
                json_decref(j);
                return NULL;
        }
        return j;
}

json_t *tasks_json(const struct view *v, const char *after, size_t limit)
{
        const struct config *c = v->config;
        size_t first = 0;

        if (after) {
                const struct task *t = config_task(c, after);
                if (!t)
                        return NULL;
                first = (size_t) (t - c->tasks) + 1;
        }
        size_t end = c->task_count - first > limit ? first + limit : c->task_count;
        json_t *list = json_array();
        for (size_t i = first; i < end; i++)
                (void) json_array_append_new(list, summary_json(v, &c->tasks[i]));
        return json_pack("{s:o, s:o}", "tasks", list, "next",
                         end < c->task_count && end > first ? json_text(c->tasks[end - 1].name) : json_null());
}
