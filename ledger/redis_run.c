/* The life of a unit and of a run beside the claim: register, peek, revoke, renew, finish. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <string.h>

static void add_unit(struct redis_args *a, const struct unit_key *k)
{
        char unit[UNIT_TEXT];

        unit_text(k->scope_key, k->task, k->shard, unit);
        redis_args_text(a, unit);
}

/* unit, scope, task, shard: as most scripts want it. */
static void add_whole_unit(struct redis_args *a, const struct unit_key *k)
{
        add_unit(a, k);
        redis_args_text(a, k->scope_key);
        redis_args_text(a, k->task);
        redis_args_int(a, k->shard);
}

static void on_registered(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];

        c->out.reg = (struct register_out) { .cursor = reply_instant(r, 3), .created = reply_int(r, 4) == 1 };
        redis_answer(c, 0, NULL);
}

void redis_register_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        add_unit(&a, &c->in.reg.unit);
        redis_args_instant(&a, c->in.reg.cursor);
        redis_request(l, REDIS_REGISTER, &a, &c, 1, on_registered);
}

static void on_peeked(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        struct peek_out *out = &c->out.peek;

        *out = (struct peek_out) { .cursor = reply_instant(r, 3), .running = (unsigned) reply_int(r, 4),
                                    .seq = (uint64_t) reply_int(r, 6), .queued = (unsigned) reply_int(r, 7) };
        out->registered = !instant_is_none(out->cursor);
        reply_copy(r, 5, out->slot_occ, sizeof(out->slot_occ));
        redis_answer(c, 0, NULL);
}

void redis_peek_send(struct redis_ledger *l, struct ledger_call *c)
{
        struct redis_args a = { 0 };

        redis_args_text(&a, l->prefix);
        add_unit(&a, &c->in.peek.unit);
        redis_request(l, REDIS_PEEK, &a, &c, 1, on_peeked);
}

static void on_revoked(struct redis_request *q, const struct redisReply *r)
{
        static const char *const words[] = { [REVOKED_FREE] = "free", [REVOKED_WAIT] = "wait",
                                             [REVOKED_ABANDONED] = "abandoned", [REVOKED_DECIDED] = "decided",
                                             NULL };
        struct ledger_call *c = q->calls[0];

        c->out.revoke.revoked = (enum revoked) reply_name(r, 3, words, REVOKED_WAIT);
        c->out.revoke.cursor = reply_instant(r, 4);
        redis_answer(c, 0, NULL);
}

void redis_revoke_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct revoke_in *in = &c->in.revoke;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        add_whole_unit(&a, &in->unit);
        redis_args_text(&a, in->occ);
        redis_args_text(&a, in->token);
        redis_args_instant(&a, in->planned);
        redis_args_instant(&a, in->expect);
        redis_args_instant(&a, in->not_after);
        redis_args_int(&a, in->grace_ms);
        redis_args_text(&a, l->o.owner);
        redis_args_text(&a, l->o.node);
        redis_args_int(&a, (int64_t) l->o.life);
        redis_request(l, REDIS_REVOKE, &a, &c, 1, on_revoked);
}

static void on_renewed(struct redis_request *q, const struct redisReply *r)
{
        static const char *const words[] = { [RENEWED_OK] = "ok", [RENEWED_LATE] = "late",
                                             [RENEWED_REASSERTED] = "reasserted", [RENEWED_LOST] = "lost", NULL };
        struct ledger_call *c = q->calls[0];

        c->out.renew.renewed = (enum renewed) reply_name(r, 3, words, RENEWED_LOST);
        c->out.renew.valid_until = redis_valid_until(c->sent, c->in.renew.lease_ms);
        redis_answer(c, 0, NULL);
}

void redis_renew_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct renew_in *in = &c->in.renew;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        add_whole_unit(&a, &in->unit);
        redis_args_text(&a, in->occ);
        redis_args_text(&a, in->token);
        redis_args_text(&a, in->fence);
        redis_args_instant(&a, in->planned);
        redis_args_int(&a, in->lease_ms);
        redis_args_text(&a, l->o.owner);
        redis_args_text(&a, l->o.node);
        redis_args_int(&a, (int64_t) l->o.life);
        redis_args_text(&a, l->o.boot);
        redis_request(l, REDIS_RENEW, &a, &c, 1, on_renewed);
}

static void on_finished(struct redis_request *q, const struct redisReply *r)
{
        static const char *const words[] = { [FINISHED_OK] = "ok", [FINISHED_FENCED] = "fenced",
                                             [FINISHED_RECOVERED] = "recovered", NULL };
        struct ledger_call *c = q->calls[0];

        c->out.finish.finished = (enum finished) reply_name(r, 3, words, FINISHED_FENCED);
        c->out.finish.lease_gap = reply_int(r, 4) == 1;
        int error = 0;
        char why[160] = "";
        if (c->in.finish.take)
                error = redis_take_read(q->ledger, reply_at(r, 5), c->in.finish.take, c->sent, reply_time(r, 1),
                                        &c->out.finish.take, why, sizeof(why));
        redis_answer(c, error, why);
}

void redis_finish_send(struct redis_ledger *l, struct ledger_call *c)
{
        const struct finish_in *in = &c->in.finish;
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        add_whole_unit(&a, &in->unit);
        redis_args_text(&a, in->occ);
        redis_args_text(&a, in->token);
        redis_args_text(&a, in->fence);
        redis_args_text(&a, in->trig);
        redis_args_text(&a, in->owner);
        redis_args_text(&a, in->node);
        redis_args_instant(&a, in->planned);
        redis_args_text(&a, state_names[in->state]);
        redis_args_text(&a, cause_names[in->cause]);
        redis_args_text(&a, result_names[in->result]);
        redis_args_int(&a, in->started.ns);
        redis_args_int(&a, in->ended.ns);
        redis_args_bytes(&a, in->text ? in->text : "", in->text ? in->text_len : 0);
        redis_args_int(&a, (int64_t) in->text_cut);
        redis_args_text(&a, in->error);
        redis_args_int(&a, in->code);
        redis_args_int(&a, in->keep.count ? in->keep.count : 1);
        redis_args_int(&a, in->keep.age_ms);
        if (in->take)
                redis_take_add(l, &a, in->take);
        redis_request(l, REDIS_FINISH, &a, &c, 1, on_finished);
}
