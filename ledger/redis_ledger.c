/* The ledger on a Redis server: opened by hello, closed in failure. Calls of one turn of the loop are gathered,
 * finishes first, and claims go out in scripts of many; while the server is away they are refused at once. */
#include "ledger/redis_ledger.h"

#include "common/cleanup.h"
#include "common/scoreboard/scoreboard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS  500
#define COMMAND_MS  1000
/* Six tries fit into a lease: two renewals may fail before it is lost. */
#define LEASE_PARTS 6
/* min-replicas-max-lag of a server by default, 10 s, and two more; sentinels demote an old primary sooner. */
#define CUT_OFF_MS  12000

static void go(struct redis_ledger *l, enum redis_state to, const char *why)
{
        bool same = l->state == to && strcmp(l->why, why) == 0;

        l->state = to;
        (void) snprintf(l->why, sizeof(l->why), "%s", why);
        if (!same && l->health)
                l->health(to == REDIS_UP ? LEDGER_UP : to == REDIS_DOWN ? LEDGER_DOWN : LEDGER_HALTED, l->why,
                          l->health_arg);
}

static void gather_soon(struct redis_ledger *l);

void redis_halt(struct redis_ledger *l, const char *why)
{
        if (l->state == REDIS_CLOSING)
                return;
        go(l, REDIS_HALTED, why);
        redis_link_drop(l->link, why);
}

static void on_open(void *arg)
{
        struct redis_ledger *l = arg;

        l->greeted = false;
        redis_recall(l);
        redis_hello_say(&l->hello, l->link);
}

static void on_lost(const char *why, void *arg)
{
        struct redis_ledger *l = arg;

        l->greeted = false;
        if (l->state == REDIS_CLOSING)
                return;
        /* What halts us is not cured by a lost connection: the next hello decides. */
        if (l->state != REDIS_HALTED)
                go(l, REDIS_DOWN, why);
        gather_soon(l);
}

void redis_go_up(struct redis_ledger *l)
{
        redis_link_settled(l->link);
        if (l->base.place && l->state != REDIS_OPENING)
                place_add(l->base.place, COUNT_REDIS_RECONNECTS, 1);
        go(l, REDIS_UP, l->hello.why);
        gather_soon(l);
}

static void on_hello(enum hello_verdict v, const char *why, void *arg)
{
        struct redis_ledger *l = arg;
        char text[160];

        if (l->state == REDIS_CLOSING)
                return;
        (void) snprintf(text, sizeof(text), "%s", why);
        if (v == HELLO_OK) {
                l->greeted = true;
                redis_keep_identity(l);
        } else if (v == HELLO_HALTED)
                redis_halt(l, text);
        else {
                if (l->state == REDIS_HALTED)
                        go(l, REDIS_DOWN, text);
                redis_link_drop(l->link, text);
        }
}

/* What the operator says of the main node comes by a process that reads beside this. */
static bool is_for_readers(enum ledger_op op)
{
        return op == LEDGER_PEEK || op == LEDGER_QUEUED || op == LEDGER_HISTORY || op == LEDGER_NODES ||
               op == LEDGER_SET_MAIN;
}

/* Instants travel as digits alone. */
static bool negative(const struct ledger_call *c)
{
        switch (c->op) {
        case LEDGER_CLAIM:
                return !instant_is_none(c->in.claim.planned) && c->in.claim.planned.ms < 0;
        case LEDGER_REGISTER:
                return c->in.reg.cursor.ms < 0;
        default:
                return false;
        }
}

static void send_one(struct redis_ledger *l, struct ledger_call *c)
{
        static void (*const senders[])(struct redis_ledger *, struct ledger_call *) = {
                [LEDGER_LEAD] = redis_lead_send,         [LEDGER_DEFINE] = redis_define_send,
                [LEDGER_REGISTER] = redis_register_send, [LEDGER_PEEK] = redis_peek_send,
                [LEDGER_REVOKE] = redis_revoke_send,     [LEDGER_RENEW] = redis_renew_send,
                [LEDGER_FINISH] = redis_finish_send,     [LEDGER_INTERRUPT] = redis_interrupt_send,
                [LEDGER_SAID] = redis_said_send,         [LEDGER_HISTORY] = redis_history_send,
                [LEDGER_TAKE] = redis_take_send,         [LEDGER_QUEUED] = redis_queued_send,
                [LEDGER_BEAT] = redis_beat_send,         [LEDGER_NODES] = redis_nodes_send,
                [LEDGER_SET_MAIN] = redis_set_main_send, [LEDGER_SWEEP] = redis_sweep_send,
                [LEDGER_EFFECT] = redis_effect_send,
        };

        senders[c->op](l, c);
}

/* True when the call was answered here: it cannot be sent. */
static bool turned_away(struct redis_ledger *l, struct ledger_call *c)
{
        if (l->state == REDIS_CLOSING)
                redis_answer(c, -ECANCELED, "closed");
        else if (l->hello.reader && !is_for_readers(c->op))
                redis_answer(c, -EROFS, "opened for reading");
        else if (negative(c))
                redis_answer(c, -ERANGE, "instants before 1970 are not supported on redis");
        else if (l->state == REDIS_HALTED)
                redis_answer(c, -EUCLEAN, l->why);
        else if (l->state != REDIS_UP)
                redis_answer(c, -EAGAIN, l->why);
        else
                return false;
        return true;
}

static struct ledger_call *take_all(struct redis_ledger *l)
{
        struct ledger_call *first = l->first;

        l->first = NULL;
        l->last = &l->first;
        return first;
}

/* Sends the finishes of `list`, or all but the claims; returns the others in order. */
static struct ledger_call *send_part(struct redis_ledger *l, struct ledger_call *list, bool finishes)
{
        struct ledger_call *rest = NULL, **last = &rest;

        while (list) {
                struct ledger_call *c = list;
                list = c->next;
                c->next = NULL;
                if (turned_away(l, c))
                        continue;
                if (finishes ? c->op == LEDGER_FINISH : c->op != LEDGER_CLAIM)
                        send_one(l, c);
                else {
                        *last = c;
                        last = &c->next;
                }
        }
        return rest;
}

static void send_claims(struct redis_ledger *l, struct ledger_call *list)
{
        while (list) {
                struct ledger_call *batch[REDIS_BATCH];
                size_t n = 0;
                while (list && n < REDIS_BATCH) {
                        batch[n++] = list;
                        list = list->next;
                }
                redis_claim_send(l, batch, n);
        }
}

static void on_gather(uv_check_t *h)
{
        struct redis_ledger *l = h->data;

        (void) uv_check_stop(h);
        (void) uv_idle_stop(&l->awake);
        if (l->state == REDIS_OPENING)
                return;
        struct ledger_call *list = take_all(l);
        list = send_part(l, list, true);
        list = send_part(l, list, false);
        send_claims(l, list);
}

static void on_awake(uv_idle_t *h)
{
        (void) h;
}

static void gather_soon(struct redis_ledger *l)
{
        if (!l->first)
                return;
        (void) uv_check_start(&l->gather, on_gather);
        (void) uv_idle_start(&l->awake, on_awake);
}

static void redis_send(struct ledger *base, struct ledger_call *c)
{
        struct redis_ledger *l = container_of(base, struct redis_ledger, base);

        memset(&c->out, 0, sizeof(c->out));
        c->next = NULL;
        c->error = 0;
        *l->last = c;
        l->last = &c->next;
        gather_soon(l);
}

static struct redis_ledger *ledger_release(struct redis_ledger *l)
{
        redis_effects_free(l);
        free(l->heard);
        free(l->prefix);
        free(l->store_key);
        free(l->memory_path);
        free(l);
        return NULL;
}

static unsigned command_ms(const struct config *c)
{
        int64_t ms = COMMAND_MS;

        for (size_t i = 0; i < c->task_count; i++) {
                const struct task *t = &c->tasks[i];
                if (t->singleton == PATH_REDIS && t->lease_ms > 0 && t->lease_ms / LEASE_PARTS < ms)
                        ms = t->lease_ms / LEASE_PARTS;
        }
        return (unsigned) (ms > 0 ? ms : 1);
}

static bool is_reader(const struct ledger_options *o)
{
        return o->read_only || o->life == 0;
}

static int keys_make(struct redis_ledger *l, const struct config *c)
{
        const char *app = c->redis.app ? c->redis.app : "onced", *group = c->redis.group ? c->redis.group : "default";

        /* The braces keep all keys of a group in one slot of a cluster. */
        if (asprintf(&l->prefix, "onced:{%s:%s}:", app, group) < 0) {
                l->prefix = NULL;
                return -ENOMEM;
        }
        if (asprintf(&l->store_key, "%sstore", l->prefix) < 0) {
                l->store_key = NULL;
                return -ENOMEM;
        }
        if (is_reader(&l->o) || !c->state_dir)
                return 0;
        l->memory_path = redis_memory_path(c->state_dir, l->prefix);
        return l->memory_path ? 0 : -ENOMEM;
}

static const char *given(const char *configured, const char *in_url)
{
        return configured && *configured ? configured : in_url;
}

/* After a failover owners of runs report what the new primary does not know before anything is granted; and one that
 * was cut off and still grants has been demoted, or refuses for want of replicas, by then. */
static int64_t quarantine_ms(const struct config *c)
{
        int64_t ms = CUT_OFF_MS;

        for (size_t i = 0; i < c->task_count; i++)
                if (c->tasks[i].singleton == PATH_REDIS && c->tasks[i].lease_ms > ms)
                        ms = c->tasks[i].lease_ms;
        return ms;
}

static void hello_prepare(struct redis_ledger *l)
{
        const struct config *c = l->o.config;
        bool one_server = c->redis.sentinels.count == 0;

        l->memory.planned = INSTANT_NONE;
        l->hello = (struct redis_hello) {
                .user = given(c->redis.user, l->url.user), .password = given(c->redis.password, l->url.password),
                .store_key = l->store_key, .prefix = l->prefix, .db = l->url.db,
                .margin_ms = one_server ? 0 : c->redis.max_skew_ms,
                .quarantine_ms = one_server ? 0 : quarantine_ms(c),
                .reader = is_reader(&l->o), .memory = &l->memory, .done = on_hello, .arg = l,
        };
}

static int redis_open(uv_loop_t *loop, const struct ledger_options *o, ledger_health_cb health, void *arg,
                      struct ledger **ret)
{
        struct redis_link_options link = { .place = o->place, .on_open = on_open, .on_lost = on_lost,
                                           .connect_ms = CONNECT_MS, .command_ms = command_ms(o->config) };
        struct redis_ledger *l = calloc(1, sizeof(*l));
        int r = l ? 0 : -ENOMEM;

        if (r == 0)
                r = redis_url_parse(o->config->redis.url ? o->config->redis.url : "", &l->url);
        if (r == 0) {
                l->o = *o;
                r = keys_make(l, o->config);
        }
        if (r == 0) {
                link.arg = l;
                link.url = l->url;
                if (o->config->redis.sentinels.count > 0) {
                        link.sentinels = &o->config->redis.sentinels;
                        link.master = o->config->redis.master;
                }
                hello_prepare(l);
                r = redis_link_open(loop, &link, &l->link);
        }
        if (r < 0) {
                if (l)
                        (void) ledger_release(l);
                return r;
        }
        l->base = (struct ledger) { .kind = &ledger_redis, .place = o->place };
        l->loop = loop;
        l->health = health;
        l->health_arg = arg;
        l->last = &l->first;
        (void) uv_check_init(loop, &l->gather);
        (void) uv_idle_init(loop, &l->awake);
        l->gather.data = l->awake.data = l;
        *ret = &l->base;
        return 0;
}

void redis_closed_one(void *arg)
{
        struct redis_ledger *l = arg;

        if (--l->closing > 0)
                return;
        void (*closed)(void *) = l->closed;
        void *closed_arg = l->closed_arg;
        (void) ledger_release(l);
        closed(closed_arg);
}

static void on_handle_closed(uv_handle_t *h)
{
        redis_closed_one(h->data);
}

static void redis_close(struct ledger *base, void (*closed)(void *arg), void *arg)
{
        struct redis_ledger *l = container_of(base, struct redis_ledger, base);

        l->state = REDIS_CLOSING;
        l->closed = closed;
        l->closed_arg = arg;
        l->closing = 3 + l->keeping;   /* what is being written ends by itself */
        redis_link_close(l->link, redis_closed_one, l);
        for (struct ledger_call *c = take_all(l), *next; c; c = next) {
                next = c->next;
                redis_answer(c, -ECANCELED, "closed");
        }
        uv_close((uv_handle_t *) &l->gather, on_handle_closed);
        uv_close((uv_handle_t *) &l->awake, on_handle_closed);
}

const struct ledger_kind ledger_redis = {
        .name = "redis", .open = redis_open, .send = redis_send, .close = redis_close,
};
