/* What nodes say of themselves and hear of each other; and whom the operator wants as the main node. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOT_UNDERSTOOD "the server's answer is not understood"

static struct stamp stamp_of(const struct redisReply *r, size_t i)
{
        int64_t ns;

        return __builtin_mul_overflow(reply_int(r, i), NS_PER_MS, &ns) ? (struct stamp) { 0 } : (struct stamp) { ns };
}

/* A row of node_row() in the scripts. */
static void row_read(const struct redisReply *row, struct node_row *ret)
{
        *ret = (struct node_row) { .pid = (int) reply_int(row, 7),
                                   .started = stamp_of(row, 8), .beat = stamp_of(row, 9),
                                   .offline = reply_int(row, 10) == 1, .is_main = reply_int(row, 11) == 1 };
        reply_copy(row, 0, ret->node, sizeof(ret->node));
        reply_copy(row, 1, ret->token, sizeof(ret->token));
        reply_copy(row, 2, ret->host, sizeof(ret->host));
        reply_copy(row, 3, ret->boot, sizeof(ret->boot));
        reply_copy(row, 4, ret->version, sizeof(ret->version));
        reply_copy(row, 5, ret->tzdata, sizeof(ret->tzdata));
        reply_copy(row, 6, ret->config, sizeof(ret->config));
}

static int by_name(const void *a, const void *b)
{
        const struct node_row *x = a, *y = b;

        return strcmp(x->node, y->node);
}

/* An answer of group() in the scripts. 0 or -ENOMEM. */
static int group_read(const struct redisReply *r, struct nodes_out *ret)
{
        const struct redisReply *rows = reply_at(r, 4);
        size_t count = reply_count(rows) < GROUP_NODES_MAX ? reply_count(rows) : GROUP_NODES_MAX;
        struct node_row *nodes = calloc(count + 1, sizeof(*nodes));

        if (!nodes)
                return -ENOMEM;
        for (size_t i = 0; i < count; i++)
                row_read(reply_at(rows, i), &nodes[i]);
        qsort(nodes, count, sizeof(*nodes), by_name);
        *ret = (struct nodes_out) { .pinned = reply_int(r, 2) == 1, .unlisted = (uint64_t) reply_int(r, 3),
                                    .nodes = nodes, .count = count };
        reply_copy(r, 0, ret->main, sizeof(ret->main));
        reply_copy(r, 1, ret->main_fence, sizeof(ret->main_fence));
        return 0;
}

/* 0 or -errno with a reason. */
static int beat_read(const struct ledger_call *c, const struct redisReply *r, struct beat_out *ret,
                     const char **ret_why)
{
        const char *word = reply_text(r, 3);
        struct nodes_out group = { 0 };

        *ret = (struct beat_out) { .store_time = reply_time(r, 1) };
        if (strcmp(word, "clone") == 0) {
                ret->verdict = BEAT_CLONE;
                ret->other_pid = (int) reply_int(r, 6);
                reply_copy(r, 4, ret->other_token, sizeof(ret->other_token));
                reply_copy(r, 5, ret->other_host, sizeof(ret->other_host));
                return 0;
        }
        *ret_why = NOT_UNDERSTOOD;
        if (strcmp(word, "ok") != 0)
                return -ETIMEDOUT;
        *ret_why = "out of memory";
        if (group_read(reply_at(r, 5), &group) < 0)
                return -ETIMEDOUT;
        ret->is_main = reply_int(r, 4) == 1;
        if (ret->is_main)
                ret->main_until = redis_valid_until(c->sent, c->in.beat.main_ms);
        ret->pinned = group.pinned;
        ret->nodes = group.nodes;
        ret->count = group.count;
        ret->unlisted = group.unlisted;
        memcpy(ret->main, group.main, sizeof(ret->main));
        memcpy(ret->main_fence, group.main_fence, sizeof(ret->main_fence));
        return 0;
}

static void on_beat(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        const char *why = NULL;
        int error = beat_read(c, r, &c->out.beat, &why);

        redis_answer(c, error, error < 0 ? why : NULL);
}

void redis_beat_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct beat_in *in = &c->in.beat;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_args_text(&a, in->node);
        redis_args_text(&a, in->token);
        redis_args_text(&a, in->prev);
        redis_args_text(&a, in->host);
        redis_args_text(&a, in->boot);
        redis_args_text(&a, in->version);
        redis_args_text(&a, in->tzdata);
        redis_args_text(&a, in->config);
        redis_args_int(&a, in->pid);
        redis_args_int(&a, in->offline_ms);
        redis_args_int(&a, in->main_ms);
        redis_args_int(&a, in->leaving);
        redis_request(l, REDIS_BEAT, &a, &c, 1, on_beat);
}

static void on_nodes(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        int error = group_read(reply_at(r, 3), &c->out.nodes);

        c->out.nodes.store_time = reply_time(r, 1);
        redis_answer(c, error, error < 0 ? "out of memory" : NULL);
}

void redis_nodes_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_args_text(&a, l->prefix);
        redis_request(l, REDIS_NODES, &a, &c, 1, on_nodes);
}

static void on_main_set(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        const char *word = reply_text(r, 3);

        reply_copy(r, 4, c->out.set_main.before, sizeof(c->out.set_main.before));
        if (strcmp(word, "ok") == 0)
                redis_answer(c, 0, NULL);
        else if (strcmp(word, "unknown") == 0)
                redis_answer(c, -ENOENT, "no such node is known");
        else
                redis_answer(c, -ETIMEDOUT, NOT_UNDERSTOOD);
}

void redis_set_main_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct set_main_in *in = &c->in.set_main;
        struct redis_args a = { 0 };

        redis_args_text(&a, l->prefix);
        redis_args_text(&a, l->memory.run_id);
        redis_args_text(&a, in->node);
        redis_args_int(&a, in->pinned);
        redis_args_text(&a, in->by);
        redis_request(l, REDIS_SET_MAIN, &a, &c, 1, on_main_set);
}
