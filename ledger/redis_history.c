/* History rows: each is a flat list of names and values, so that a row may carry what it has. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

/* Place of the value of `name` in a row, or the row's length. */
static size_t value_at(const struct redisReply *row, const char *name)
{
        size_t i = 0;

        while (i + 1 < reply_count(row) && strcmp(reply_text(row, i), name) != 0)
                i += 2;
        return i + 1 < reply_count(row) ? i + 1 : reply_count(row);
}

static int copy_bytes(const struct redisReply *e, char **ret, size_t *ret_len)
{
        size_t len = e && e->type == REDIS_REPLY_STRING ? (size_t) e->len : 0;
        char *bytes = malloc(len + 1);

        if (!bytes)
                return -ENOMEM;
        if (len)
                memcpy(bytes, e->str, len);
        bytes[len] = '\0';
        *ret = bytes;
        *ret_len = len;
        return 0;
}

static void copy_value(const struct redisReply *row, const char *name, char *ret, size_t room)
{
        reply_copy(row, value_at(row, name), ret, room);
}

static int take_row(const struct redisReply *row, struct history_row *ret)
{
        size_t code = value_at(row, "code"), error_len;

        ret->planned = reply_instant(row, value_at(row, "planned"));
        ret->last = reply_instant(row, value_at(row, "last"));
        ret->range = !instant_is_none(ret->last);
        if (!ret->range)
                ret->last = ret->planned;
        ret->count = ret->range ? (uint64_t) reply_int(row, value_at(row, "count")) : 1;
        ret->shard = (unsigned) reply_int(row, value_at(row, "shard"));
        ret->state = (enum state) reply_name(row, value_at(row, "state"), state_names, STATE_UNKNOWN);
        ret->cause = (enum cause) reply_name(row, value_at(row, "cause"), cause_names, CAUSE_NONE);
        ret->result = (enum result) reply_name(row, value_at(row, "result"), result_names, RESULT_NONE);
        ret->started.ns = reply_int(row, value_at(row, "started"));
        ret->ended.ns = reply_int(row, value_at(row, "ended"));
        ret->code = *reply_text(row, code) ? (int) reply_int(row, code) : -1;
        copy_value(row, "occ", ret->occ, sizeof(ret->occ));
        copy_value(row, "trig", ret->trig, sizeof(ret->trig));
        copy_value(row, "fence", ret->fence, sizeof(ret->fence));
        copy_value(row, "owner", ret->owner, sizeof(ret->owner));
        copy_value(row, "scope", ret->scope_key, sizeof(ret->scope_key));
        copy_value(row, "task", ret->task, sizeof(ret->task));
        int r = copy_bytes(reply_at(row, value_at(row, "text")), &ret->text, &ret->text_len);
        return r < 0 ? r : copy_bytes(reply_at(row, value_at(row, "error")), &ret->error, &error_len);
}

static int newer_first(const void *a, const void *b)
{
        const struct history_row *x = a, *y = b;

        if (x->last.ms != y->last.ms)
                return x->last.ms < y->last.ms ? 1 : -1;
        return strcmp(x->occ, y->occ);
}

static void on_history(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        struct history_out *out = &c->out.history;
        size_t count = reply_count(r) > 3 ? reply_count(r) - 3 : 0;
        int error = 0;

        out->rows = calloc(count + 1, sizeof(*out->rows));
        if (!out->rows)
                error = -ENOMEM;
        for (size_t i = 0; i < count && error == 0; i++) {
                error = take_row(reply_at(r, 3 + i), &out->rows[i]);
                out->count = i + 1;
        }
        if (error == 0)
                qsort(out->rows, out->count, sizeof(*out->rows), newer_first);
        redis_answer(c, error, error < 0 ? "out of memory" : NULL);
}

void redis_history_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct history_in *in = &c->in.history;
        struct redis_args a = { 0 };

        redis_args_text(&a, l->prefix);
        redis_args_text(&a, in->task);
        redis_args_text(&a, in->state >= 0 ? state_names[in->state] : "");
        redis_args_instant(&a, in->since);
        redis_args_int(&a, in->limit);
        redis_request(l, REDIS_HISTORY, &a, &c, 1, on_history);
}
