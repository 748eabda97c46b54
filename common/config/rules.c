/* The rules of one task, and of the target of a run. Each complains at the key that would have to change. */
#include "common/config/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/form.h"
#include "common/config/timing.h"

#define MAX_SHARDS_DEFAULT  16
#define QUEUE_LIMIT_DEFAULT 100

const struct node *origin_given(const struct origin *o, const char *key)
{
        const struct node *n = node_get(o->task, key);

        if (!n)
                n = node_get(o->file_defaults, key);
        return n ? n : node_get(o->main_defaults, key);
}

struct place origin_place(const struct origin *o, const char *key)
{
        const struct node *n = origin_given(o, key);

        return n ? n->place : o->task->place;
}

/* Which of the runner keys are in `n`: the first in `ret`, a complaint for each further one. */
static bool settle_runner(struct reading *rd, const struct node *n, enum runner_type *ret)
{
        const struct node *first = NULL;

        for (const struct node *key = n->first; key; key = key->next) {
                int type = name_index(runner_names, key->key);
                if (type < 0)
                        continue;
                if (first)
                        read_error(rd, key->key_place, key->key,
                                   "second runner beside \"%s\" in line %u; give one of them", first->key,
                                   first->key_place.line);
                else
                        *ret = (enum runner_type) type;
                first = first ? first : key;
        }
        return first != NULL;
}

static void settle_singleton(struct reading *rd, const struct config *c, const struct origin *o,
                             struct task *t)
{
        bool local = t->singleton == PATH_DEDICATED || t->singleton == PATH_FLOCK;

        if ((unsigned) t->singleton == CHOICE_UNSET)
                t->singleton = c->redis.url ? PATH_REDIS : PATH_FLOCK;
        if (t->singleton == PATH_REDIS && !c->redis.url)
                read_error(rd, origin_place(o, "singleton"), "singleton",
                           "redis needs a server: give \"redis: { url: ... }\" at the top");
        if (local && c->redis.url && (t->scope == SCOPE_AUTO || t->scope == SCOPE_MAIN))
                read_warning(rd, origin_place(o, "singleton"), "singleton",
                             "%s is for one machine, so with scope %s this task runs once on every node; "
                             "give \"singleton: redis\", or \"scope: all\" if that is meant",
                             path_names[t->singleton], scope_names[t->scope]);
}

static unsigned queue_limit_default(const struct task *t)
{
        return t->misfire.policy == MISFIRE_CATCH_UP ? t->misfire.limit : QUEUE_LIMIT_DEFAULT;
}

/* Under catch_up the backlog must wait its turn: dropping it at the first run still going would run one of
 * it and lose the rest. */
static void settle_overlap(struct reading *rd, const struct origin *o, struct task *t)
{
        bool catches_up = t->misfire.policy == MISFIRE_CATCH_UP;

        if ((unsigned) t->overlap.policy == CHOICE_UNSET)
                t->overlap.policy = catches_up ? OVERLAP_QUEUE : OVERLAP_DROP;
        else if (catches_up && t->overlap.policy == OVERLAP_DROP)
                read_warning(rd, origin_place(o, "overlap"), "overlap",
                             "drop with misfire catch_up drops what is due while a run goes on, the backlog "
                             "included; "
                             "queue would run it");
        if (t->overlap.queue_limit == 0)
                t->overlap.queue_limit = queue_limit_default(t);
}

/* `map.key` of the task itself. A dump and the example give every default, and mean nothing by it. */
static const struct node *meant(const struct origin *o, const struct task *t, const char *map, const char *key)
{
        const struct field *group = field_find(task_fields, map);
        const struct node *n = node_get(node_get(o->task, map), key);

        return n && !field_is_default(field_find(group->group, key), (const char *) t + group->offset) ? n : NULL;
}

static void warn_of_overlap(struct reading *rd, const struct origin *o, const struct task *t)
{
        const struct node *running = meant(o, t, "overlap", "max_running"), *waiting = meant(o, t, "overlap", "queue_limit");

        if (running && t->overlap.policy != OVERLAP_CONCURRENT)
                read_warning(rd, running->place, "overlap.max_running",
                             "has no effect with policy %s; give \"policy: concurrent\"",
                             overlap_names[t->overlap.policy]);
        if (waiting && t->overlap.policy != OVERLAP_QUEUE && t->overlap.queue_limit != queue_limit_default(t))
                read_warning(rd, waiting->place, "overlap.queue_limit",
                             "has no effect with policy %s; it is for queue", overlap_names[t->overlap.policy]);
}

static void warn_of_misfire(struct reading *rd, const struct origin *o, const struct task *t)
{
        const struct node *grace = meant(o, t, "misfire", "grace"), *limit = meant(o, t, "misfire", "limit"),
                          *lookback = meant(o, t, "misfire", "lookback");
        bool catches_up = t->misfire.policy == MISFIRE_CATCH_UP;

        if (grace && catches_up)
                read_warning(rd, grace->place, "misfire.grace", "has no effect with policy catch_up; it is for skip");
        if (limit && !catches_up)
                read_warning(rd, limit->place, "misfire.limit", "has no effect with policy skip; it is for catch_up");
        if (lookback && !catches_up)
                read_warning(rd, lookback->place, "misfire.lookback",
                             "has no effect with policy skip; it is for catch_up");
}

static bool lookback_given(const struct origin *o)
{
        const struct node *levels[] = { o->task, o->file_defaults, o->main_defaults };

        for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
                if (node_get(node_get(levels[i], "misfire"), "lookback"))
                        return true;
        return false;
}

/* Spans beside the time between two instants. */
static void warn_of_spans(struct reading *rd, const struct origin *o, const struct task *t)
{
        const struct node *grace = meant(o, t, "misfire", "grace"), *window = node_get(o->task, "window");
        bool catches_up = t->misfire.policy == MISFIRE_CATCH_UP;
        char lookback[32];

        if (grace && !catches_up && timing_all_shorter(&t->schedule, t->misfire.grace_ms))
                read_warning(rd, grace->place, "misfire.grace",
                             "is longer than the interval, after which the next instant takes the place of this one");
        if (window && timing_all_shorter(&t->schedule, t->window_ms))
                read_warning(rd, window->place, "window",
                             "is longer than the interval: a run that takes so long is not over when the next is due");
        if (catches_up && !lookback_given(o) && timing_all_longer(&t->schedule, t->misfire.lookback_ms)) {
                span_text(t->misfire.lookback_ms, lookback);
                read_warning(rd, origin_place(o, "misfire"), "misfire",
                             "catch_up looks back %s, which is shorter than the interval: what was missed for longer is "
                             "not caught up; give a \"lookback\"", lookback);
        }
}

/* What the task itself gives, and what cannot do what its writer may have thought. Defaults are for many tasks:
 * there a value that does not fit one of them is no slip. */
static void warn_of_no_effect(struct reading *rd, const struct origin *o, const struct task *t)
{
        warn_of_overlap(rd, o, t);
        warn_of_misfire(rd, o, t);
        warn_of_spans(rd, o, t);
}

static void settle_shards(struct reading *rd, const struct origin *o, struct task *t)
{
        if (t->max_shards == 0)
                t->max_shards = t->shards > MAX_SHARDS_DEFAULT ? t->shards : MAX_SHARDS_DEFAULT;
        else if (t->shards > t->max_shards)
                read_error(rd, origin_place(o, "shards"), "shards", "%u is more than max_shards, %u", t->shards,
                           t->max_shards);
}

static int url_join(const char *base, char **url)
{
        size_t len = strlen(base);
        char *joined = NULL;

        while (len > 0 && base[len - 1] == '/')
                len--;
        if (asprintf(&joined, "%.*s%s", (int) len, base, *url) < 0)
                return -ENOMEM;
        free(*url);
        *url = joined;
        return 0;
}

static void settle_http(struct reading *rd, const struct config *c, const struct node *n,
                        struct http_target *h)
{
        const struct node *url = node_get(n, "url");

        if (!h->method)
                h->method = strdup(h->body ? "POST" : "GET");
        if (!h->method)
                rd->error = -ENOMEM;
        if (!h->url || h->url[0] != '/')
                return;
        if (!c->http_base)
                read_error(rd, url ? url->place : n->place, "http.url",
                           "a path needs \"http_base\" at the top, as http://127.0.0.1:8000");
        else if (url_join(c->http_base, &h->url) < 0)
                rd->error = -ENOMEM;
}

static void settle_exec(struct reading *rd, const struct node *n, struct exec_target *e)
{
        const struct node *argv = n->kind == NODE_LIST ? n : node_get(n, "argv"), *user = node_get(n, "user");
        char q[QUOTE_TEXT];

        if (argv && argv->kind == NODE_LIST && argv->count == 0)
                read_error(rd, argv->place, "exec.argv", "must name a command");
        const char *wrong = e->argv.count ? form_command(e->argv.items[0]) : NULL;
        if (wrong)
                read_error(rd, argv ? argv->place : n->place, "exec.argv", "command %s %s",
                           quote(e->argv.items[0], q), wrong);
        if (user && e->user && geteuid() != 0)
                read_error(rd, user->place, "exec.user", "only root can run commands as another user");
        if (!wrong)
                exec_look(rd, n, e);
}

static void settle_target(struct reading *rd, const struct config *c, const struct node *map,
                          enum runner_type type, struct http_target *h, struct exec_target *e)
{
        const struct node *n = node_get(map, runner_names[type]);

        if (n && type == RUNNER_HTTP)
                settle_http(rd, c, n, h);
        else if (n && type == RUNNER_EXEC)
                settle_exec(rd, n, e);
}

void task_settle(struct reading *rd, const struct config *c, const struct origin *o, struct task *t)
{
        timing_settle(rd, o, t);
        if (!settle_runner(rd, o->task, &t->runner))
                read_error(rd, o->task->place, NULL, "no runner: give one of noop, http, exec");
        if (!origin_given(o, "timeout"))
                read_error(rd, o->task->place, NULL,
                           "missing key \"timeout\", the longest run time; \"defaults:\" may give it");
        settle_singleton(rd, c, o, t);
        settle_overlap(rd, o, t);
        warn_of_no_effect(rd, o, t);
        settle_shards(rd, o, t);
        settle_target(rd, c, o->task, t->runner, &t->http, &t->exec);
        redis_target_settle(rd, o, t);
}

void alert_settle(struct reading *rd, const struct config *c, const struct node *n, struct alert *a)
{
        if (!settle_runner(rd, n, &a->runner))
                read_error(rd, n->place, "alerts", "no target: give http or exec");
        settle_target(rd, c, n, a->runner, &a->http, &a->exec);
}
