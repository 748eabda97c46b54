/* One request on its way: what becomes of its calls when the server refuses, is silent, or is not the store it
 * was; the meaning of a good answer is the sender's. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_refusal.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

/* Where a call's outcome is. */
static struct claim_out *claim_of(struct ledger_call *c)
{
        switch (c->op) {
        case LEDGER_CLAIM:
                return &c->out.claim;
        case LEDGER_TAKE:
                return &c->out.take.claim;
        case LEDGER_FINISH:
                return &c->out.finish.take.claim;
        default:
                return NULL;
        }
}

void redis_answer(struct ledger_call *c, int error, const char *why)
{
        c->error = error;
        (void) snprintf(c->why, sizeof(c->why), "%s", why ? why : "");
        if (error < 0)
                ledger_call_done(c);
        if (error < 0 && claim_of(c))
                claim_of(c)->outcome = error == -EUCLEAN ? OUTCOME_HALTED : OUTCOME_DOWN;
        ledger_answer(c);
}

static void answer_calls(struct redis_request *q, int error, const char *why)
{
        for (size_t i = 0; i < q->count; i++)
                redis_answer(q->calls[i], error, why);
}

/* Errors after which this server is not the one to ask: a demoted primary stays reachable and answers. */
static bool must_leave(const char *text)
{
        return strncmp(text, "READONLY", 8) == 0 || strncmp(text, "LOADING", 7) == 0 ||
               strncmp(text, "MASTERDOWN", 10) == 0;
}

static void refused(struct redis_request *q, const char *text)
{
        bool leave = must_leave(text);
        int error = reply_error(text);
        char why[160];

        redis_refusal(text, q->ledger->prefix, why, sizeof(why));
        answer_calls(q, error, why);
        if (leave)
                redis_link_drop(q->ledger->link, why);
}

static void held(struct redis_request *q)
{
        static const char why[] = REDIS_HELD;

        for (size_t i = 0; i < q->count; i++) {
                if (q->calls[i]->op != LEDGER_CLAIM) {   /* nothing else has an outcome to say it in */
                        redis_answer(q->calls[i], -EAGAIN, why);
                        continue;
                }
                q->calls[i]->out.claim = (struct claim_out) { .outcome = OUTCOME_HALTED, .cursor = INSTANT_NONE };
                redis_answer(q->calls[i], 0, why);
        }
}

void redis_unit_lost(const struct unit_key *k, char *ret, size_t room)
{
        (void) snprintf(ret, room, "the store has lost the cursor of %.64s, shard %u; cure: onced recover TASK "
                        "--cursor now -c FILE", k->task, k->shard);
}

/* Only register says it of a whole request. */
static void unit_lost(struct redis_request *q)
{
        char why[160];

        redis_unit_lost(&q->calls[0]->in.reg.unit, why, sizeof(why));
        answer_calls(q, -EUCLEAN, why);
}

static void judge(struct redis_request *q, const struct redisReply *r)
{
        const char *verdict = reply_text(r, 0);
        struct redis_ledger *l = q->ledger;

        if (r->type == REDIS_REPLY_ERROR)
                refused(q, r->str);
        else if (strcmp(verdict, "OK") == 0)
                q->decided(q, r);
        else if (strcmp(verdict, "HOLD") == 0)
                held(q);
        else if (q->calls[0]->op == LEDGER_REGISTER && strcmp(verdict, "UNIT_LOST") == 0)
                unit_lost(q);
        else if (strcmp(verdict, "STORE_LOST") == 0) {
                redis_halt(l, REDIS_STORE_LOST);
                answer_calls(q, -EUCLEAN, REDIS_STORE_LOST);
        } else {
                answer_calls(q, -EAGAIN, "the server was restarted or replaced");
                redis_link_drop(l->link, "the server was restarted or replaced");
        }
}

static void on_reply(int error, const struct redisReply *r, void *arg)
{
        struct redis_request *q = arg;

        if (error == -ECANCELED)
                answer_calls(q, error, "closed");
        else if (error < 0)
                answer_calls(q, error, "no answer: whether it was executed is unknown");
        else
                judge(q, r);
        free(q);
}

void redis_begin(const struct redis_ledger *l, struct redis_args *a)
{
        char identity[REDIS_EPOCH_TEXT + INCARNATION_TEXT];

        (void) snprintf(identity, sizeof(identity), "%s %s", l->memory.epoch, l->memory.incarnation);
        redis_args_text(a, l->prefix);
        redis_args_text(a, identity);
        redis_args_text(a, l->memory.run_id);
}

void redis_request(struct redis_ledger *l, enum redis_script script, struct redis_args *args,
                   struct ledger_call *const *calls, size_t count,
                   void (*decided)(struct redis_request *q, const struct redisReply *r))
{
        redis_request_text(l, &redis_scripts[script], args, calls, count, decided);
}

void redis_request_text(struct redis_ledger *l, const struct redis_text *script, struct redis_args *args,
                        struct ledger_call *const *calls, size_t count,
                        void (*decided)(struct redis_request *q, const struct redisReply *r))
{
        struct redis_request *q = calloc(1, sizeof(*q));
        int r = -ENOMEM;

        if (q) {
                *q = (struct redis_request) { .ledger = l, .count = count, .decided = decided };
                struct mono sent = clock_mono();
                for (size_t i = 0; i < count; i++) {
                        q->calls[i] = calls[i];
                        calls[i]->sent = sent;
                }
                r = redis_script_send(l->link, script, l->store_key, args, on_reply, q);
        }
        redis_args_done(args);
        if (r == 0)
                return;
        free(q);
        for (size_t i = 0; i < count; i++)
                redis_answer(calls[i], -EAGAIN, r == -ENOMEM ? "out of memory" : "not connected");
}
