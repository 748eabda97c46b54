/* What waits in queues: starting the oldest of a unit, alone or with a finish, and whose queues hold something. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of TAKE_NAMES in prelude_slots.lua. */
void redis_take_add(const struct redis_ledger *l, struct redis_args *a, const struct take_in *in)
{
        redis_unit_add(a, &in->unit);
        redis_args_text(a, in->token);
        redis_args_text(a, in->trig);
        redis_args_text(a, in->owner);
        redis_args_text(a, in->node);
        redis_args_int(a, in->lease_ms);
        redis_args_int(a, (int64_t) in->rev);
        redis_args_int(a, in->shards);
        redis_args_int(a, (int64_t) in->term);
        redis_args_int(a, in->tree);
        redis_args_int(a, (int64_t) in->life);
        redis_args_text(a, l->o.boot);
        redis_args_instant(a, in->not_after);
        redis_args_text(a, in->stale_occ);
        redis_args_text(a, in->main_token);
}

/* outcome() of the scripts, then which instant, and its occurrence. */
enum { PLANNED_AT = 14, OCC_AT };

int redis_take_read(struct redis_ledger *l, const struct redisReply *r, const struct take_in *in, struct mono sent,
                    struct stamp store_time, struct take_out *ret, char *ret_why, size_t room)
{
        const char *word = reply_text(r, 0);

        *ret = (struct take_out) { .planned = reply_instant(r, PLANNED_AT) };
        if (redis_claim_read(r, in->lease_ms, sent, &ret->claim) < 0 ||
            !redis_claim_is_understood(word, &ret->claim) ||
            (ret->claim.outcome == OUTCOME_GRANTED && instant_is_none(ret->planned))) {
                (void) snprintf(ret_why, room, "the server's answer is not understood");
                return -ETIMEDOUT;
        }
        reply_copy(r, OCC_AT, ret->occ, sizeof(ret->occ));
        ret->claim.store_time = store_time;
        redis_keep_in_mind(l, ret->planned, &ret->claim);
        if (strcmp(word, "unit_lost") == 0)
                redis_unit_lost(&in->unit, ret_why, room);
        else if (ret->claim.outcome == OUTCOME_HALTED)
                (void) snprintf(ret_why, room, REDIS_HELD);
        return 0;
}

static void on_taken(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        char why[160] = "";

        int error = redis_take_read(q->ledger, reply_at(r, 3), &c->in.take, c->sent, reply_time(r, 1), &c->out.take,
                                    why, sizeof(why));
        redis_answer(c, error, why);
}

void redis_take_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_take_add(l, &a, &c->in.take);
        redis_request(l, REDIS_TAKE, &a, &c, 1, on_taken);
}

/* A server that goes on without end is not followed. */
#define UNITS_MAX 100000

static void ask_page(struct redis_ledger *l, struct ledger_call *c, const char *from);

static int add_units(struct queued_out *out, const struct redisReply *r)
{
        enum { UNITS_AT = 4 };
        size_t count = reply_count(r) > UNITS_AT ? reply_count(r) - UNITS_AT : 0;

        if (count == 0)
                return 0;
        struct queued_unit *grown = reallocarray(out->units, out->count + count, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        out->units = grown;
        for (size_t i = 0; i < count; i++) {
                const struct redisReply *row = reply_at(r, UNITS_AT + i);
                struct queued_unit *u = &grown[out->count++];
                *u = (struct queued_unit) { .shard = (unsigned) reply_int(row, 2),
                                            .count = (unsigned) reply_int(row, 3),
                                            .running = (unsigned) reply_int(row, 4), .oldest = reply_instant(row, 5) };
                reply_copy(row, 0, u->scope_key, sizeof(u->scope_key));
                reply_copy(row, 1, u->task, sizeof(u->task));
        }
        return 0;
}

static void on_page(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        const char *next = reply_text(r, 3);

        if (add_units(&c->out.queued, r) < 0)
                redis_answer(c, -ENOMEM, "out of memory");
        else if (*next && strcmp(next, "0") != 0 && c->out.queued.count < UNITS_MAX)
                ask_page(q->ledger, c, next);
        else
                redis_answer(c, 0, NULL);
}

static void ask_page(struct redis_ledger *l, struct ledger_call *c, const char *from)
{
        struct redis_args a = { 0 };

        redis_args_text(&a, l->prefix);
        redis_args_text(&a, c->in.queued.node);
        redis_args_text(&a, from);
        redis_request(l, REDIS_QUEUED, &a, &c, 1, on_page);
}

void redis_queued_send(struct redis_ledger *l, struct ledger_call *c)
{
        ask_page(l, c, "0");
}
