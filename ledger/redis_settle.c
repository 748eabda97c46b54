/* lead and interrupt: ending what the dead left running, page by page. What was ended is acknowledged to the
 * server together with the answer; until then it is told again to whoever asks. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 64   /* as in settle.lua: a shorter page is the last */

static struct ended_record **ended_list(struct ledger_call *c, size_t **ret_count)
{
        if (c->op == LEDGER_LEAD) {
                *ret_count = &c->out.lead.ended_count;
                return &c->out.lead.ended;
        }
        *ret_count = &c->out.interrupt.ended_count;
        return &c->out.interrupt.ended;
}

static void on_acknowledged(struct redis_request *q, const struct redisReply *r)
{
        (void) q;
        (void) r;
}

static void on_page(struct redis_request *q, const struct redisReply *r);

static void settle(struct redis_ledger *l, struct ledger_call *c, bool acknowledge)
{
        bool lead = c->op == LEDGER_LEAD;
        struct redis_args a = { 0 };
        size_t *count;
        struct ended_record *const *list = ended_list(c, &count);

        redis_begin(l, &a);
        redis_args_text(&a, lead ? "" : c->in.interrupt.owner);
        redis_args_text(&a, lead ? c->in.lead.node : l->o.node);
        redis_args_int(&a, (int64_t) (lead ? c->in.lead.life : l->o.life));
        redis_args_text(&a, lead ? c->in.lead.boot : l->o.boot);
        redis_args_int(&a, lead || c->in.interrupt.trees_gone);
        redis_args_text(&a, acknowledge ? "ack" : "ask");
        for (size_t i = 0; i < *count; i++)
                redis_args_text(&a, (*list)[i].occ);
        if (acknowledge)
                redis_request(l, REDIS_SETTLE, &a, NULL, 0, on_acknowledged);
        else
                redis_request(l, REDIS_SETTLE, &a, &c, 1, on_page);
}

static int add_page(struct ledger_call *c, const struct redisReply *r, size_t rows)
{
        size_t *count;
        struct ended_record **list = ended_list(c, &count);
        struct ended_record *grown = realloc(*list, (*count + rows) * sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        *list = grown;
        for (size_t i = 0; i < rows; i++)
                reply_ended(reply_at(r, 3 + i), &grown[(*count)++]);
        return 0;
}

static void on_page(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        size_t rows = reply_count(r) > 3 ? reply_count(r) - 3 : 0;

        if (rows > 0 && add_page(c, r, rows) < 0) {
                redis_answer(c, -ENOMEM, "out of memory");
                return;
        }
        if (rows == PAGE) {
                settle(q->ledger, c, false);
                return;
        }
        size_t *count;
        (void) ended_list(c, &count);
        if (*count > 0)
                settle(q->ledger, c, true);
        redis_answer(c, 0, NULL);
}

void redis_interrupt_send(struct redis_ledger *l, struct ledger_call *c)
{
        settle(l, c, false);
}

static void on_led(struct redis_request *q, const struct redisReply *r)
{
        q->calls[0]->out.lead.term = (uint64_t) reply_int(r, 3);
        settle(q->ledger, q->calls[0], false);
}

void redis_lead_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        redis_args_text(&a, c->in.lead.node);
        redis_args_int(&a, (int64_t) c->in.lead.life);
        redis_request(l, REDIS_LEAD, &a, &c, 1, on_led);
}
