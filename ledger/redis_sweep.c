/* Leases that ran out: their holders are watched by the caller, and ended when it has seen enough. What was ended is
 * told by the server until our next sweep says that we heard of it. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct redis_heard { char occ[OCC_TEXT]; };

static int rows_read(const struct redisReply *ended, const struct redisReply *expired, struct sweep_out *ret)
{
        size_t ended_count = reply_count(ended), expired_count = reply_count(expired);

        ret->ended = calloc(ended_count + 1, sizeof(*ret->ended));
        ret->expired = calloc(expired_count + 1, sizeof(*ret->expired));
        if (!ret->ended || !ret->expired)
                return -ENOMEM;
        for (; ret->ended_count < ended_count; ret->ended_count++)
                reply_ended(reply_at(ended, ret->ended_count), &ret->ended[ret->ended_count]);
        for (; ret->expired_count < expired_count; ret->expired_count++) {
                const struct redisReply *row = reply_at(expired, ret->expired_count);
                struct sweep_row *to = &ret->expired[ret->expired_count];
                reply_copy(row, 0, to->occ, sizeof(to->occ));
                to->seq = (uint64_t) reply_int(row, 1);
                to->lease_ms = reply_int(row, 2);
        }
        return 0;
}

/* In place of what was heard before, which the server has forgotten by now. */
static int heard_keep(struct redis_ledger *l, const struct sweep_out *out)
{
        struct redis_heard *heard = calloc(out->ended_count + 1, sizeof(*heard));

        if (!heard)
                return -ENOMEM;
        for (size_t i = 0; i < out->ended_count; i++)
                memcpy(heard[i].occ, out->ended[i].occ, sizeof(heard[i].occ));
        free(l->heard);
        l->heard = heard;
        l->heard_count = out->ended_count;
        return 0;
}

static void on_swept(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        struct sweep_out *out = &c->out.sweep;

        /* Without memory for it nothing was heard, and the next sweep is told again. */
        if (rows_read(reply_at(r, 3), reply_at(r, 4), out) < 0 || heard_keep(q->ledger, out) < 0)
                redis_answer(c, -ETIMEDOUT, "out of memory");
        else
                redis_answer(c, 0, NULL);
}

void redis_sweep_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct sweep_in *in = &c->in.sweep;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_args_text(&a, in->owner);
        redis_args_text(&a, in->node);
        redis_args_int(&a, (int64_t) in->life);
        redis_args_int(&a, (int64_t) l->heard_count);
        for (size_t i = 0; i < l->heard_count; i++)
                redis_args_text(&a, l->heard[i].occ);
        for (size_t i = 0; i < in->stale_count && i < SWEEP_STALE_MAX; i++)
                redis_args_text(&a, in->stale[i]);
        redis_request(l, REDIS_SWEEP, &a, &c, 1, on_swept);
}
