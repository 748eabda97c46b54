/* lead and interrupt: ending what the dead left running, page by page, then hearing what they decided without a
 * start. All of it is told again to whoever asks, until said. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE      64    /* as in settle.lua: a shorter page is the last */
#define TOLD_PAGE 500   /* as in untold.lua */

/* The two lists of an answer. */
struct lists {
        struct ended_record **ended;
        struct told_range **told;
        size_t *ended_count, *told_count;
};

static struct lists lists_of(struct ledger_call *c)
{
        struct lead_out *lead = &c->out.lead;
        struct interrupt_out *dead = &c->out.interrupt;

        if (c->op == LEDGER_LEAD)
                return (struct lists) { &lead->ended, &lead->told, &lead->ended_count, &lead->told_count };
        return (struct lists) { &dead->ended, &dead->told, &dead->ended_count, &dead->told_count };
}

static void on_page(struct redis_request *q, const struct redisReply *r);
static void on_told(struct redis_request *q, const struct redisReply *r);

/* owner or '', node, life: whose deaths these are. */
static void begin(struct redis_ledger *l, const struct ledger_call *c, struct redis_args *a)
{
        bool lead = c->op == LEDGER_LEAD;

        redis_begin(l, a);
        redis_args_text(a, lead ? "" : c->in.interrupt.owner);
        redis_args_text(a, lead ? c->in.lead.node : l->o.node);
        redis_args_int(a, (int64_t) (lead ? c->in.lead.life : l->o.life));
}

static void settle(struct redis_ledger *l, struct ledger_call *c)
{
        bool lead = c->op == LEDGER_LEAD;
        struct lists to = lists_of(c);
        struct redis_args a = { 0 };

        begin(l, c, &a);
        redis_args_text(&a, lead ? c->in.lead.boot : l->o.boot);
        redis_args_int(&a, lead || c->in.interrupt.trees_gone);
        for (size_t i = 0; i < *to.ended_count; i++)
                redis_args_text(&a, (*to.ended)[i].occ);
        redis_request(l, REDIS_SETTLE, &a, &c, 1, on_page);
}

static void hear(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        begin(l, c, &a);
        redis_args_int(&a, (int64_t) *lists_of(c).told_count);
        redis_request(l, REDIS_UNTOLD, &a, &c, 1, on_told);
}

static size_t row_count(const struct redisReply *r)
{
        return reply_count(r) > 3 ? reply_count(r) - 3 : 0;
}

static void on_page(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        struct lists to = lists_of(c);
        size_t rows = row_count(r);
        struct ended_record *grown = reallocarray(*to.ended, *to.ended_count + rows + 1, sizeof(*grown));

        if (!grown) {
                redis_answer(c, -ENOMEM, "out of memory");
                return;
        }
        *to.ended = grown;
        for (size_t i = 0; i < rows; i++)
                reply_ended(reply_at(r, 3 + i), &grown[(*to.ended_count)++]);
        if (rows == PAGE)
                settle(q->ledger, c);
        else
                hear(q->ledger, c);
}

static void on_told(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        struct lists to = lists_of(c);
        size_t rows = row_count(r);
        struct told_range *grown = reallocarray(*to.told, *to.told_count + rows + 1, sizeof(*grown));

        if (!grown) {
                redis_answer(c, -ENOMEM, "out of memory");
                return;
        }
        *to.told = grown;
        for (size_t i = 0; i < rows && *to.told_count < LEDGER_UNTOLD_MAX; i++)
                reply_told(reply_at(r, 3 + i), &grown[(*to.told_count)++]);
        if (rows == TOLD_PAGE && *to.told_count < LEDGER_UNTOLD_MAX)
                hear(q->ledger, c);
        else
                redis_answer(c, 0, NULL);
}

void redis_interrupt_send(struct redis_ledger *l, struct ledger_call *c)
{
        settle(l, c);
}

static void on_led(struct redis_request *q, const struct redisReply *r)
{
        q->calls[0]->out.lead.term = (uint64_t) reply_int(r, 3);
        settle(q->ledger, q->calls[0]);
}

void redis_lead_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_args_text(&a, c->in.lead.node);
        redis_args_int(&a, (int64_t) c->in.lead.life);
        redis_request(l, REDIS_LEAD, &a, &c, 1, on_led);
}

static void on_said(struct redis_request *q, const struct redisReply *r)
{
        (void) r;
        redis_answer(q->calls[0], 0, NULL);
}

void redis_said_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct said_in *in = &c->in.said;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_args_text(&a, in->owner);
        redis_args_text(&a, in->node);
        redis_args_int(&a, (int64_t) in->life);
        redis_request(l, REDIS_SAID, &a, &c, 1, on_said);
}
