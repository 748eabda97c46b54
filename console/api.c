/* The table of paths. What one knows is a handler of a few lines: the builders of the answers are elsewhere. */
#include "console/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/complaint.h"
#include "common/config/config.h"
#include "console/metrics.h"
#include "console/negotiate.h"
#include "console/status.h"
#include "console/tasks.h"
#include "console/view.h"
#include "console/workers.h"

/* A ledger that is asked by more than these at once is being flooded. */
#define ASKS_MAX          8
#define HISTORY_TIMEOUT_MS 5000

/* One history question under way. */
struct asking {
        struct api *api;
        struct history_ask *ask;     /* NULL: a free place */
        struct answer *answer;       /* borrowed from who waits */
        api_cb done;
        void *arg;
};

struct api {
        struct api_options o;
        uv_loop_t *loop;             /* borrowed */
        struct asking asking[ASKS_MAX];
};

struct handling {
        struct api *api;
        const struct api_request *rq;
        const char *rest;            /* of the path, behind that of the route */
        struct view view;
        struct answer *answer;
        api_cb done;
        void *arg;
};

int api_new(uv_loop_t *loop, const struct api_options *o, struct api **ret)
{
        struct api *a = calloc(1, sizeof(*a));

        if (!a)
                return -ENOMEM;
        a->o = *o;
        a->loop = loop;
        *ret = a;
        return 0;
}

struct api *api_free(struct api *a)
{
        free(a);
        return NULL;
}

static const char *parameter(const struct api_request *rq, const char *name)
{
        for (size_t i = 0; i < rq->parameter_count; i++)
                if (strcmp(rq->parameters[i].name, name) == 0)
                        return rq->parameters[i].value;
        return NULL;
}

static void out_of_memory(struct handling *h)
{
        answer_problem(h->answer, 500, "out of memory");
}

static bool get_status(struct handling *h)
{
        struct workers w;

        if (workers_read(&h->view, false, &w) < 0) {
                out_of_memory(h);
                return true;
        }
        answer_json(h->answer, 200, status_json(&h->view, &w));
        workers_done(&w);
        return true;
}

static bool get_workers(struct handling *h)
{
        struct workers w;

        if (workers_read(&h->view, true, &w) < 0) {
                out_of_memory(h);
                return true;
        }
        answer_json(h->answer, 200, json_pack("{s:o}", "workers", workers_json(&w)));
        workers_done(&w);
        return true;
}

static bool get_tasks(struct handling *h)
{
        const char *after = parameter(h->rq, "after");

        if (after && !config_task(h->api->o.config, after))
                answer_problem(h->answer, 400, "after: no such task");
        else
                answer_json(h->answer, 200, tasks_json(&h->view, after, TASKS_PAGE));
        return true;
}

static bool get_task(struct handling *h)
{
        const struct config *c = h->api->o.config;
        const struct task *t = config_task(c, h->rest);

        if (t) {
                answer_json(h->answer, 200, task_json(&h->view, t));
                return true;
        }
        const char **names = calloc(c->task_count + 1, sizeof(*names));
        for (size_t i = 0; names && i < c->task_count && strlen(h->rest) <= TASK_NAME_MAX; i++)
                names[i] = c->tasks[i].name;
        const char *near = names ? nearest_word(h->rest, names) : NULL;
        answer_problem(h->answer, 404, "the configuration has no task of this name%s%s%s", near ? "; did you mean " : "", near ? near : "",
                       near ? "?" : "");
        free(names);
        return true;
}

static bool get_metrics(struct handling *h)
{
        struct buf text = BUF_EMPTY;
        struct workers w;

        if (workers_read(&h->view, true, &w) < 0) {
                out_of_memory(h);
                return true;
        }
        if (prefers_json(h->rq->accept))
                answer_json(h->answer, 200, metrics_json(&h->view, &w));
        else if (metrics_text(&h->view, &w, &text) < 0)
                out_of_memory(h);
        else
                answer_text(h->answer, 200, OPENMETRICS_TYPE, &text);
        buf_done(&text);
        workers_done(&w);
        return true;
}

static bool get_healthz(struct handling *h)
{
        if (master_lives(&h->view))
                answer_json(h->answer, 200, json_pack("{s:s}", "status", "alive"));
        else
                answer_problem(h->answer, 503, "the master is gone");
        return true;
}

static bool get_readyz(struct handling *h)
{
        struct workers w;

        if (workers_read(&h->view, false, &w) < 0) {
                out_of_memory(h);
                return true;
        }
        const char *why = readiness(&h->view, &w);
        if (why)
                answer_problem(h->answer, 503, "%s", why);
        else
                answer_json(h->answer, 200, json_pack("{s:s}", "status", "ready"));
        workers_done(&w);
        return true;
}

static void on_history(json_t *occurrences, const char *why, void *arg)
{
        struct asking *k = arg;

        if (occurrences) {
                answer_json(k->answer, 200, json_pack("{s:o, s:o}", "occurrences", occurrences, "incomplete",
                                                      *why ? json_text(why) : json_null()));
        } else {
                answer_problem(k->answer, 503, "%s", why);
                k->answer->retry_after_s = 5;
        }
        k->ask = NULL;
        k->done(k->arg);
}

static bool get_occurrences(struct handling *h)
{
        const struct api_options *o = &h->api->o;
        const struct history_source source = { o->config, o->node, o->owner, o->boot };
        struct history_query q;
        struct asking *k = h->api->asking;
        char why[160];

        if (history_query_parse(parameter(h->rq, "task"), parameter(h->rq, "state"), parameter(h->rq, "since"),
                                parameter(h->rq, "limit"), &q, why, sizeof(why)) < 0) {
                answer_problem(h->answer, 400, "%s", why);
                return true;
        }
        while (k < h->api->asking + ASKS_MAX && k->ask)
                k++;
        if (k == h->api->asking + ASKS_MAX) {
                answer_problem(h->answer, 503, "too many questions to the ledger at once");
                h->answer->retry_after_s = 1;
                return true;
        }
        *k = (struct asking) { h->api, NULL, h->answer, h->done, h->arg };
        int r = history_ask(h->api->loop, &source, &q, HISTORY_TIMEOUT_MS, on_history, k, &k->ask);
        if (r < 0)
                answer_problem(h->answer, 500, "asking the ledger: %s", strerror(-r));
        return r < 0;
}

void api_cancel(struct api *a)
{
        for (size_t i = 0; i < ASKS_MAX; i++)
                if (a->asking[i].ask)
                        history_cancel(a->asking[i].ask);
}

#define NAMES(...) ((const char *const[]) { __VA_ARGS__, NULL })
#define NONE       ((const char *const[]) { NULL })

static const struct route {
        const char *path;                  /* one that ends in `/` takes what is below it */
        const char *const *parameters;
        bool (*get)(struct handling *h);
} routes[] = {
        { "/v1/status", NONE, get_status },
        { "/v1/workers", NONE, get_workers },
        { "/v1/tasks", NAMES("after"), get_tasks },
        { "/v1/tasks/", NONE, get_task },
        { "/v1/occurrences", NAMES("task", "state", "since", "limit"), get_occurrences },
        { "/metrics", NONE, get_metrics },
        { "/healthz", NONE, get_healthz },
        { "/readyz", NONE, get_readyz },
};

static const struct route *route_find(const char *path, const char **ret_rest)
{
        for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
                size_t len = strlen(routes[i].path);
                bool below = routes[i].path[len - 1] == '/';
                if (below ? strncmp(path, routes[i].path, len) == 0 && path[len] && !strchr(path + len, '/')
                          : strcmp(path, routes[i].path) == 0) {
                        *ret_rest = path + len;
                        return &routes[i];
                }
        }
        return NULL;
}

/* A misspelt filter that is ignored would answer another question than the one asked. */
static bool parameters_known(const struct route *r, const struct api_request *rq, struct answer *ret)
{
        if (rq->parameter_count > API_PARAMETERS_MAX) {
                answer_problem(ret, 400, "too many parameters");
                return false;
        }
        for (size_t i = 0; i < rq->parameter_count; i++) {
                const char *name = rq->parameters[i].name;
                bool twice = false;
                for (size_t k = 0; k < i; k++)
                        twice |= strcmp(rq->parameters[k].name, name) == 0;
                if (twice || name_index(r->parameters, name) < 0) {
                        const char *near = twice ? NULL : nearest_word(name, r->parameters);
                        answer_problem(ret, 400, "parameter \"%.60s\" is %s%s%s%s", name,
                                       twice ? "given twice" : "not known here", near ? "; did you mean " : "",
                                       near ? near : "", near ? "?" : "");
                        return false;
                }
        }
        return true;
}

bool api_answer(struct api *a, const struct api_request *rq, struct answer *ret, api_cb done, void *arg)
{
        struct handling h = { .api = a, .rq = rq, .answer = ret, .done = done, .arg = arg };
        const struct route *r = route_find(rq->path, &h.rest);

        if (!r) {
                answer_problem(ret, 404, "no such path");
                return true;
        }
        if (strcmp(rq->method, "GET") != 0 && strcmp(rq->method, "HEAD") != 0) {
                answer_problem(ret, 405, "this path can only be read");
                ret->allow = "GET, HEAD";
                return true;
        }
        if (!parameters_known(r, rq, ret))
                return true;
        h.view = (struct view) { a->o.config, a->o.board, a->o.node, clock_wall(), clock_mono() };
        return r->get(&h);
}
