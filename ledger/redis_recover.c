/* `onced recover` on the group's store: a short talk with the server on a loop of its own. Nodes of the group may
 * be running: they learn of the new identity by their next hello. */
#include "ledger/recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/file.h"
#include "common/node_id.h"
#include "ledger/redis_args.h"
#include "ledger/redis_hello.h"
#include "ledger/redis_refusal.h"
#include "ledger/redis_reply.h"
#include "ledger/redis_script.h"

#define CONNECT_MS 2000
#define COMMAND_MS 5000

/* A claim may have been granted this much before its instant. */
#define MARGIN_MS 50

struct talk {
        const struct config *config;
        uv_loop_t loop;
        struct redis_link *link;
        struct redis_hello hello;
        struct redis_memory memory;
        struct redis_url url;
        char *prefix, *store_key, *memory_path;   /* owned */
        char was[INCARNATION_TEXT], was_epoch[REDIS_EPOCH_TEXT];   /* as this node remembers */
        enum redis_script script;
        struct redis_args args;
        void (*fill)(struct talk *t);    /* the arguments, once the server is known */
        int (*answered)(struct talk *t, const struct redisReply *r);
        void *arg;
        const char *refusal;             /* why `answered` gave less than 0 */
        int result;
        bool over;
        char *why;                       /* RECOVER_TEXT; borrowed */
};

static void end(struct talk *t, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void end(struct talk *t, int result, const char *format, ...)
{
        va_list ap;

        if (t->over)
                return;
        t->over = true;
        t->result = result;
        va_start(ap, format);
        if (result < 0)
                (void) vsnprintf(t->why, RECOVER_TEXT, format, ap);
        va_end(ap);
        uv_stop(&t->loop);
}

static void on_reply(int error, const struct redisReply *r, void *arg)
{
        struct talk *t = arg;
        const char *verdict = error < 0 ? "" : reply_text(r, 0);

        if (error < 0)
                end(t, error, "redis: no answer; whether anything was changed is unknown");
        else if (r->type == REDIS_REPLY_ERROR) {
                char text[200];
                redis_refusal(r->str, t->prefix, text, sizeof(text));
                end(t, -EPROTO, "redis: %s", text);
        } else if (strcmp(verdict, "OK") == 0)
                end(t, t->answered(t, r), "%s", t->refusal);
        else if (strcmp(verdict, "STORE_LOST") == 0)
                end(t, -EUCLEAN, "the store has lost its identity; first: onced recover --store -c FILE");
        else if (strcmp(verdict, "SCHEMA") == 0)
                end(t, -EUCLEAN, "the store has schema %s; this version knows 1", reply_text(r, 3));
        else
                end(t, -EAGAIN, "redis: the connection was moved to another server; try again");
}

static void on_hello(enum hello_verdict v, const char *why, void *arg)
{
        struct talk *t = arg;

        if (v != HELLO_OK) {
                end(t, -EPROTO, "redis: %.200s", why);
                return;
        }
        t->fill(t);
        if (redis_script_send(t->link, &redis_scripts[t->script], t->store_key, &t->args, on_reply, t) < 0)
                end(t, -ENOMEM, "out of memory");
}

static void on_open(void *arg)
{
        struct talk *t = arg;

        redis_hello_say(&t->hello, t->link);
}

static void on_lost(const char *why, void *arg)
{
        end(arg, -EIO, "redis: %.200s", why);
}

static void on_closed(void *arg)
{
        (void) arg;
}

static const char *given(const char *configured, const char *in_url)
{
        return configured && *configured ? configured : in_url;
}

/* What this node remembers is said to be replaced by the new identity: its processes go on by themselves then. A
 * damaged memory remembers nothing. */
static int recall(struct talk *t)
{
        struct redis_memory m = { .planned = INSTANT_NONE };

        t->memory_path = redis_memory_path(t->config->state_dir, t->prefix);
        if (!t->memory_path)
                return -ENOMEM;
        int r = redis_memory_load(t->memory_path, &m);
        (void) snprintf(t->was, sizeof(t->was), "%s", m.incarnation);
        (void) snprintf(t->was_epoch, sizeof(t->was_epoch), "%s", m.epoch);
        return r == -EINVAL ? 0 : r;
}

static int talk_open(struct talk *t)
{
        const struct config *c = t->config;
        struct redis_link_options o = { .on_open = on_open, .on_lost = on_lost, .arg = t,
                                        .connect_ms = CONNECT_MS, .command_ms = COMMAND_MS };

        int r = redis_url_parse(c->redis.url, &t->url);
        if (r < 0)
                return r;
        if (asprintf(&t->prefix, "onced:{%s:%s}:", given(c->redis.app, "onced"),
                     given(c->redis.group, "default")) < 0) {
                t->prefix = NULL;
                return -ENOMEM;
        }
        if (asprintf(&t->store_key, "%sstore", t->prefix) < 0) {
                t->store_key = NULL;
                return -ENOMEM;
        }
        r = recall(t);
        if (r < 0) {
                end(t, r, "%.180s: %s", t->memory_path ? t->memory_path : "", strerror(-r));
                return r;
        }
        t->hello = (struct redis_hello) { .user = given(c->redis.user, t->url.user),
                                          .password = given(c->redis.password, t->url.password),
                                          .store_key = t->store_key, .prefix = t->prefix, .db = t->url.db,
                                          .reader = true, .memory = &t->memory, .done = on_hello, .arg = t };
        t->memory.planned = INSTANT_NONE;
        o.url = t->url;
        if (c->redis.sentinels.count > 0) {
                o.sentinels = &c->redis.sentinels;
                o.master = c->redis.master;
        }
        return redis_link_open(&t->loop, &o, &t->link);
}

/* Connects, asks the one script, and hangs up. */
static int talk(struct talk *t)
{
        int r = uv_loop_init(&t->loop);

        if (r < 0) {
                (void) snprintf(t->why, RECOVER_TEXT, "a loop: %s", uv_strerror(r));
                return r;
        }
        r = talk_open(t);
        if (r < 0)
                end(t, r, "redis: %s", strerror(-r));
        else
                (void) uv_run(&t->loop, UV_RUN_DEFAULT);
        t->over = true;
        if (t->link)
                redis_link_close(t->link, on_closed, t);
        (void) uv_run(&t->loop, UV_RUN_DEFAULT);
        (void) uv_loop_close(&t->loop);
        redis_args_done(&t->args);
        free(t->prefix);
        free(t->store_key);
        free(t->memory_path);
        return t->result;
}

/* Identity. */

static void fill_look(struct talk *t)
{
        redis_args_text(&t->args, t->prefix);
        redis_args_text(&t->args, t->memory.run_id);
        redis_args_text(&t->args, "");
        redis_args_int(&t->args, MARGIN_MS);
        redis_args_text(&t->args, t->was);
}

static int on_look(struct talk *t, const struct redisReply *r)
{
        struct recover_look *look = t->arg;
        bool identity = *reply_text(r, 3), fence = reply_int(r, 4) == 1;
        int64_t units = reply_int(r, 5);
        const char *what = "has its identity";
        bool other = identity && reply_int(r, 6) == 0;

        look->kept = units > 0;
        look->sound = identity && fence && !other;
        if (!identity)
                what = units > 0 ? "has lost its identity" : "is empty";
        else if (!fence)
                what = "has lost its fence counter";
        else if (other)
                what = "is not the one this node remembers";
        (void) snprintf(look->ledger, sizeof(look->ledger), "the store %.100s on %.100s %s", t->prefix,
                        t->config->redis.url, what);
        return 0;
}

int recover_store_look(const struct config *c, struct recover_look *ret, char *why)
{
        struct talk t = { .config = c, .script = REDIS_RECOVER, .fill = fill_look, .answered = on_look, .arg = ret,
                          .why = why };

        *ret = (struct recover_look) { .node_id_kept = true };
        return talk(&t);
}

static void fill_store(struct talk *t)
{
        const struct recover_done *done = t->arg;

        redis_args_text(&t->args, t->prefix);
        redis_args_text(&t->args, t->memory.run_id);
        redis_args_text(&t->args, done->incarnation);
        redis_args_int(&t->args, MARGIN_MS);
        redis_args_text(&t->args, t->was);
        redis_args_text(&t->args, t->was_epoch);
}

static int on_store(struct talk *t, const struct redisReply *r)
{
        struct recover_done *done = t->arg;

        done->barrier = reply_instant(r, 4);
        t->refusal = "redis: the answer is not understood";
        return instant_is_none(done->barrier) ? -EPROTO : 0;
}

int recover_store(const struct config *c, struct recover_done *ret, char *why)
{
        struct talk t = { .config = c, .script = REDIS_RECOVER, .fill = fill_store, .answered = on_store, .arg = ret,
                          .why = why };

        *ret = (struct recover_done) { 0 };
        int r = random_hex(ret->incarnation, (sizeof(ret->incarnation) - 1) / 2);
        if (r < 0) {
                (void) snprintf(why, RECOVER_TEXT, "random numbers: %s", strerror(-r));
                return r;
        }
        return talk(&t);
}

/* Cursors. */

struct cursors {
        const struct task *task;
        const char *scope_key;
        char (*found)[24];               /* owned; one a shard, as the store said */
        struct recover_ahead *ret;
};

static bool is_lost(const struct cursors *k, unsigned shard)
{
        return strcmp(k->found[shard], "lost") == 0;
}

static struct instant cursor_of(const struct cursors *k, unsigned shard)
{
        char *end;
        long long ms = strtoll(k->found[shard], &end, 10);

        return end == k->found[shard] ? INSTANT_NONE : (struct instant) { ms };
}

static bool is_ahead(const struct cursors *k, unsigned shard)
{
        struct instant c = cursor_of(k, shard);

        return !instant_is_none(c) && c.ms > k->ret->now.ms;
}

static void fill_cursors(struct talk *t)
{
        const struct cursors *k = t->arg;
        char unit[UNIT_TEXT];

        redis_args_text(&t->args, t->prefix);
        redis_args_text(&t->args, t->memory.run_id);
        redis_args_text(&t->args, "look");
        for (unsigned i = 0; i < k->task->shards; i++) {
                unit_text(k->scope_key, k->task->name, i, unit);
                redis_args_text(&t->args, unit);
        }
}

static int on_cursors(struct talk *t, const struct redisReply *r)
{
        struct cursors *k = t->arg;

        k->ret->now = k->ret->furthest = stamp_instant(reply_time(r, 1));
        for (unsigned i = 0; i < k->task->shards; i++) {
                reply_copy(r, 3 + i, k->found[i], sizeof(k->found[i]));
                k->ret->lost += is_lost(k, i);
                if (!is_ahead(k, i))
                        continue;
                k->ret->units++;
                if (cursor_of(k, i).ms > k->ret->furthest.ms)
                        k->ret->furthest = cursor_of(k, i);
        }
        return 0;
}

static void add_unit(struct talk *t, const struct cursors *k, unsigned shard)
{
        struct instant now = k->ret->now, cursor = cursor_of(k, shard), first = INSTANT_NONE;
        uint64_t count = 0;
        char unit[UNIT_TEXT];

        if (is_ahead(k, shard)) {
                count = schedule_count(&k->task->schedule, now, cursor);
                (void) schedule_next(&k->task->schedule, now, &first);
        }
        unit_text(k->scope_key, k->task->name, shard, unit);
        redis_args_text(&t->args, unit);
        redis_args_int(&t->args, shard);
        redis_args_text(&t->args, k->found[shard]);
        redis_args_instant(&t->args, first);
        redis_args_instant(&t->args, count > 0 ? cursor : INSTANT_NONE);
        redis_args_int(&t->args, (int64_t) count);
}

static void fill_set(struct talk *t)
{
        const struct cursors *k = t->arg;
        char who[100];

        (void) snprintf(who, sizeof(who), "the cursor was set back to now by onced recover, uid %u",
                        (unsigned) getuid());
        redis_args_text(&t->args, t->prefix);
        redis_args_text(&t->args, t->memory.run_id);
        redis_args_text(&t->args, "set");
        redis_args_text(&t->args, k->scope_key);
        redis_args_text(&t->args, k->task->name);
        redis_args_text(&t->args, who);
        redis_args_text(&t->args, state_names[STATE_SKIPPED]);
        redis_args_text(&t->args, cause_names[CAUSE_REVISED]);
        for (unsigned i = 0; i < k->task->shards; i++)
                if (is_ahead(k, i) || is_lost(k, i))
                        add_unit(t, k, i);
}

static int on_set(struct talk *t, const struct redisReply *r)
{
        const struct cursors *k = t->arg;

        t->refusal = "not all cursors were set: some have moved meanwhile; look again";
        return reply_int(r, 3) == k->ret->units + k->ret->lost ? 0 : -EAGAIN;
}

static int ask_cursors(const struct config *c, struct cursors *k, bool set, char *why)
{
        struct talk look = { .config = c, .script = REDIS_CURSOR, .fill = fill_cursors, .answered = on_cursors,
                             .arg = k, .why = why };
        struct talk put = { .config = c, .script = REDIS_CURSOR, .fill = fill_set, .answered = on_set, .arg = k,
                            .why = why };

        int r = talk(&look);
        return r == 0 && set && k->ret->units + k->ret->lost > 0 ? talk(&put) : r;
}

int recover_cursor_store(const struct config *c, const char *task, bool set, struct recover_ahead *ret, char *why)
{
        struct node_id node = { 0 };
        struct cursors k = { .task = config_task(c, task), .scope_key = "", .ret = ret };

        *ret = (struct recover_ahead) { 0 };
        int r = k.task->scope == SCOPE_ALL ? node_id_read(c->state_dir, &node) : 0;
        if (r < 0) {
                (void) snprintf(why, RECOVER_TEXT, "%.200s/node_id: %s", c->state_dir, strerror(-r));
                return r;
        }
        if (k.task->scope == SCOPE_ALL)
                k.scope_key = node.node;
        k.found = calloc(k.task->shards, sizeof(*k.found));
        if (!k.found) {
                (void) snprintf(why, RECOVER_TEXT, "out of memory");
                return -ENOMEM;
        }
        r = ask_cursors(c, &k, set, why);
        free(k.found);
        return r;
}
