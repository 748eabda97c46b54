/* The redis runner: a stream entry or a script, made by the group's ledger in the step that checks the fence. It may
 * be asked for again without harm, so a lost answer is no end of the run: it is asked for until the deadline. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/ledger.h"
#include "worker/runner/closing.h"
#include "worker/runner/outcome.h"
#include "worker/runner/runner.h"

#define RETRY_FIRST_MS 50
#define RETRY_LAST_MS  1000

struct runner {
        uv_loop_t *loop;             /* borrowed, outlives us: it runs our callbacks */
        struct ledger *group;        /* borrowed: closed when no run is left */
        struct closing closing;
};

/* What entries and scripts are told, names and values in turn. */
#define CONTEXT_COUNT 16

struct redis_run {
        struct run *run;             /* borrowed until done */
        struct runner *runner;       /* borrowed: closed after its runs */
        uv_timer_t timer;            /* the begin, then the next try */
        struct ledger_call call;
        struct mono deadline;
        int64_t wait_ms;             /* before the next try */
        bool in_flight;              /* `call` is the ledger's; its answer goes on from there */
        bool unsure;                 /* it was sent, and the answer was lost: it may have been made */
        bool is_stopped, is_over;
        enum run_stop why;           /* with is_stopped */
        char planned[24], shard[12], shards[12];
        const char *context[CONTEXT_COUNT];
        const char **fields;         /* owned, with every second text of it: the configured names, and their values */
        size_t field_count;
};

static void redis_run_free(struct redis_run *e)
{
        for (size_t i = 0; i < e->field_count; i += 2)
                free((char *) (uintptr_t) e->fields[i]);
        free(e->fields);
        free(e);
}

static void on_closed(uv_handle_t *h)
{
        struct redis_run *e = container_of(h, struct redis_run, timer);
        struct run *r = e->run;

        redis_run_free(e);
        r->state = NULL;
        r->done(r);
}

/* The outcome is in place; `done` follows from the close callback. */
static void end(struct redis_run *e)
{
        e->is_over = true;
        uv_close((uv_handle_t *) &e->timer, on_closed);
}

static struct run_outcome *outcome_of(struct redis_run *e)
{
        return &e->run->outcome;
}

static void settle_made(struct redis_run *e, const struct effect_out *out)
{
        bool noop = strcmp(out->text, "noop") == 0 && e->run->task->redis.script;

        (void) outcome_text_add(outcome_of(e), out->text, out->text_len);
        outcome_set(outcome_of(e), STATE_SUCCEEDED, CAUSE_NONE, noop ? RESULT_NOOP : RESULT_DONE, NULL);
}

static void settle(struct redis_run *e, const struct effect_out *out)
{
        switch (out->effected) {
        case EFFECT_DONE:
        case EFFECT_BEFORE:
                settle_made(e, out);
                break;
        case EFFECT_FENCED:
                outcome_set(outcome_of(e), STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE,
                            "fenced: the run was not this one's any more; nothing was written");
                break;
        case EFFECT_FAILED:
                outcome_set(outcome_of(e), STATE_FAILED, CAUSE_STATUS, RESULT_NONE, "%.*s", (int) out->text_len, out->text);
                break;
        }
        end(e);
}

/* No further try. */
static void settle_unmade(struct redis_run *e, enum cause sent, enum cause not_sent, const char *why)
{
        if (e->unsure)
                outcome_set(outcome_of(e), STATE_UNKNOWN, sent, RESULT_NONE, "sent, no answer: %.160s", why);
        else
                outcome_set(outcome_of(e), STATE_FAILED, not_sent, RESULT_NONE, "not executed: %.160s", why);
        end(e);
}

static void settle_stopped(struct redis_run *e, enum run_stop why)
{
        outcome_stopped(outcome_of(e), why);
        end(e);
}

static void on_timer(uv_timer_t *timer);

static void try_later(struct redis_run *e)
{
        int64_t left_ms = mono_since_ms(clock_mono(), e->deadline);

        if (left_ms <= 0) {
                settle_unmade(e, CAUSE_TIMEOUT, CAUSE_TIMEOUT, ledger_call_text(&e->call));
                return;
        }
        e->wait_ms = e->wait_ms == 0 ? RETRY_FIRST_MS : e->wait_ms * 2 < RETRY_LAST_MS ? e->wait_ms * 2 : RETRY_LAST_MS;
        (void) uv_timer_start(&e->timer, on_timer, (uint64_t) (e->wait_ms < left_ms ? e->wait_ms : left_ms), 0);
}

static void go_on(struct redis_run *e, int error)
{
        e->unsure |= error == -ETIMEDOUT;
        if (e->is_stopped)
                settle_stopped(e, e->why);
        else if (error == -ECANCELED)
                settle_stopped(e, RUN_STOP_DRAIN);
        else if (error == -EAGAIN || error == -ETIMEDOUT)
                try_later(e);
        else
                settle_unmade(e, CAUSE_NO_ANSWER, CAUSE_NOT_SENT, ledger_call_text(&e->call));
}

static void on_effected(struct ledger_call *call)
{
        struct redis_run *e = call->arg;

        e->in_flight = false;
        if (call->error == 0)
                settle(e, &call->out.effect);
        else
                go_on(e, call->error);
        ledger_call_done(call);
}

static void ask(struct redis_run *e)
{
        e->in_flight = true;
        ledger_send(e->runner->group, &e->call);
}

/* The next try, unless the run may not go on or its time is over. */
static void on_timer(uv_timer_t *timer)
{
        struct redis_run *e = container_of(timer, struct redis_run, timer);
        struct mono now = clock_mono(), valid_until = e->run->valid_until;

        if (e->is_stopped)
                settle_stopped(e, e->why);
        else if (valid_until.ns && now.ns >= valid_until.ns)
                settle_stopped(e, RUN_STOP_LEASE_LOST);
        else if (now.ns >= e->deadline.ns)
                settle_unmade(e, CAUSE_TIMEOUT, CAUSE_TIMEOUT, ledger_call_text(&e->call));
        else
                ask(e);
}

static void on_begin(uv_timer_t *timer)
{
        struct redis_run *e = container_of(timer, struct redis_run, timer);

        if (e->is_stopped) {
                settle_stopped(e, e->why);
                return;
        }
        if (e->run->starting(e->run) < 0) {
                outcome_set(outcome_of(e), STATE_FAILED, CAUSE_LOG, RESULT_NONE, "the run line could not be written");
                end(e);
                return;
        }
        e->deadline = e->run->timeout_ms > 0 ? mono_plus_ms(clock_mono(), e->run->timeout_ms) : (struct mono) { INT64_MAX };
        ask(e);
}

static void fill_context(struct redis_run *e)
{
        const struct run_context *c = e->run->context;

        (void) snprintf(e->planned, sizeof(e->planned), "%" PRId64, c->planned.ms);
        (void) snprintf(e->shard, sizeof(e->shard), "%u", c->shard);
        (void) snprintf(e->shards, sizeof(e->shards), "%u", c->shards);
        const char *const context[CONTEXT_COUNT] = {
                "occurrence", c->occ,   "trigger", c->trig, "task",  c->task,  "planned", e->planned,
                "fence",      c->fence, "node",    c->node, "shard", e->shard, "shards",  e->shards,
        };
        memcpy(e->context, context, sizeof(context));
}

/* "name=value" of the configuration, cut in two. */
static int fill_fields(struct redis_run *e, const struct text_list *l)
{
        e->fields = calloc(2 * l->count + 1, sizeof(*e->fields));
        if (!e->fields)
                return -ENOMEM;
        for (size_t i = 0; i < l->count; i++) {
                size_t name = strcspn(l->items[i], "=");
                char *copy = strdup(l->items[i]);
                if (!copy)
                        return -ENOMEM;
                copy[name] = '\0';
                e->fields[e->field_count++] = copy;
                e->fields[e->field_count++] = copy + name + 1;
        }
        return 0;
}

static void fill_call(struct redis_run *e)
{
        const struct redis_target *t = &e->run->task->redis;
        const struct run_context *c = e->run->context;

        e->call = (struct ledger_call) { .op = LEDGER_EFFECT, .done = on_effected, .arg = e };
        e->call.in.effect = (struct effect_in) {
                .occ = c->occ, .token = e->run->token, .fence = c->fence,
                .kind = t->stream ? EFFECT_STREAM : EFFECT_SCRIPT,
                .key = t->stream, .maxlen = t->maxlen, .script = t->text,
                .keys = (const char *const *) t->keys.items, .key_count = t->keys.count,
                .fields = t->stream ? e->fields : (const char *const *) t->args.items,
                .field_count = t->stream ? e->field_count : t->args.count,
                .context = e->context, .context_count = CONTEXT_COUNT,
        };
}

static int redis_start(struct runner *rn, struct run *r)
{
        struct redis_run *e = calloc(1, sizeof(*e));

        if (!e)
                return -ENOMEM;
        e->run = r;
        e->runner = rn;
        if (fill_fields(e, &r->task->redis.fields) < 0) {
                redis_run_free(e);
                return -ENOMEM;
        }
        fill_context(e);
        fill_call(e);
        outcome_init(&r->outcome);
        r->state = e;
        r->runner = rn;
        (void) uv_timer_init(rn->loop, &e->timer);
        (void) uv_timer_start(&e->timer, on_begin, 0, 0);
        return 0;
}

/* What is on its way is waited for, a moment at most: its answer is the truth about the run. */
static void redis_stop(struct runner *rn, struct run *r, enum run_stop why)
{
        struct redis_run *e = r->state;

        (void) rn;
        if (!e || e->is_stopped || e->is_over)
                return;
        e->is_stopped = true;
        e->why = why;
        if (!e->in_flight)
                (void) uv_timer_start(&e->timer, on_timer, 0, 0);
}

static int redis_open(const struct runner_options *o, struct runner **ret)
{
        if (!o->group)
                return -EINVAL;
        struct runner *rn = calloc(1, sizeof(*rn));
        if (!rn)
                return -ENOMEM;
        rn->loop = o->loop;
        rn->group = o->group;
        *ret = rn;
        return 0;
}

static void redis_close(struct runner *rn, void (*closed)(void *arg), void *arg)
{
        closing_begin(&rn->closing, rn->loop, rn, closed, arg);
}

const struct runner_kind runner_redis = {
        .name = "redis",
        .open = redis_open,
        .start = redis_start,
        .stop = redis_stop,
        .close = redis_close,
        .tree = false,
};
