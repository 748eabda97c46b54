/* Claims in the words of claim.lua, and its answers. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"
#include "ledger/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void redis_definition_key(const char *scope_key, const char *task, char ret[UNIT_TEXT])
{
        unit_text(scope_key, task, 0, ret);
        ret[strlen(ret) - 1] = '\0';
}

struct mono redis_valid_until(struct mono sent, int64_t lease_ms)
{
        int64_t reserve = lease_ms / 50 > 100 ? lease_ms / 50 : 100;

        return mono_plus_ms(sent, lease_ms - reserve);
}

static const char *text(const char *s)
{
        return s ? s : "";
}

void redis_unit_add(struct redis_args *a, const struct unit_key *u)
{
        char unit[UNIT_TEXT], definition[UNIT_TEXT];

        unit_text(u->scope_key, u->task, u->shard, unit);
        redis_definition_key(u->scope_key, u->task, definition);
        redis_args_text(a, unit);
        redis_args_text(a, definition);
        redis_args_text(a, u->scope_key);
        redis_args_text(a, u->task);
        redis_args_int(a, u->shard);
}

/* In the order of `names` in claim.lua. */
static void add_item(const struct redis_ledger *l, struct redis_args *a, const struct claim_in *in)
{
        static const char *const overlaps[] = { [OVERLAP_DROP] = "drop", [OVERLAP_QUEUE] = "queue",
                                                [OVERLAP_CONCURRENT] = "concurrent" };
        bool gap = in->gap.count > 0;

        redis_unit_add(a, &in->unit);
        redis_args_instant(a, in->planned);
        redis_args_text(a, text(in->occ));
        redis_args_text(a, text(in->token));
        redis_args_text(a, text(in->trig));
        redis_args_text(a, text(in->owner));
        redis_args_text(a, text(in->node));
        redis_args_instant(a, in->expect);
        redis_args_instant(a, gap ? in->gap.first : INSTANT_NONE);
        redis_args_instant(a, gap ? in->gap.last : INSTANT_NONE);
        redis_args_int(a, (int64_t) in->gap.count);
        redis_args_text(a, state_names[rules_gap_state(in->gap_cause)]);
        redis_args_text(a, cause_names[in->gap_cause]);
        redis_args_int(a, in->grace_ms);
        redis_args_int(a, in->catch_up);
        redis_args_text(a, overlaps[in->overlap]);
        redis_args_int(a, in->max_running);
        redis_args_int(a, in->queue_limit);
        redis_args_int(a, in->lease_ms);
        redis_args_int(a, (int64_t) in->rev);
        redis_args_int(a, in->shards);
        redis_args_int(a, (int64_t) in->term);
        redis_args_int(a, in->tree);
        redis_args_int(a, (int64_t) in->life);
        redis_args_text(a, text(l->o.boot));
        redis_args_instant(a, in->not_after);
        redis_args_text(a, in->stale_occ);
        redis_args_text(a, in->main_token);
}

static int take_ended(const struct redisReply *row, struct claim_out *out)
{
        if (reply_count(row) == 0)
                return 0;
        out->ended = calloc(1, sizeof(*out->ended));
        if (!out->ended)
                return -ENOMEM;
        out->ended_count = 1;
        reply_ended(row, out->ended);
        return 0;
}

int redis_claim_read(const struct redisReply *r, int64_t lease_ms, struct mono sent, struct claim_out *out)
{
        *out = (struct claim_out) {
                .outcome = (enum outcome) reply_name(r, 0, outcome_names, OUTCOME_HALTED),
                .cursor = reply_instant(r, 1),
                .state = (enum state) reply_name(r, 3, state_names, STATE_RUNNING),
                .cause = (enum cause) reply_name(r, 4, cause_names, CAUSE_NONE),
                .gap_written = reply_int(r, 5) == 1,
                .replay = reply_int(r, 6) == 1,
                .rev = (uint64_t) reply_int(r, 7),
                .term = (uint64_t) reply_int(r, 8),
                .shards = (unsigned) reply_int(r, 9),
                .seq = (uint64_t) reply_int(r, 10),
                .valid_until = redis_valid_until(sent, lease_ms),
        };
        reply_copy(r, 2, out->fence, sizeof(out->fence));
        reply_copy(r, 11, out->holder, sizeof(out->holder));
        reply_copy(r, 12, out->holder_occ, sizeof(out->holder_occ));
        return take_ended(reply_at(r, 13), out);
}

/* What a hello after a loss must know: nothing that was granted may be granted again. */
void redis_keep_in_mind(struct redis_ledger *l, struct instant planned, const struct claim_out *out)
{
        struct redis_memory *m = &l->memory;

        if (out->outcome != OUTCOME_GRANTED)
                return;
        if (instant_is_none(m->planned) || m->planned.ms < planned.ms)
                m->planned = planned;
        if (strtoull(out->fence, NULL, 10) > strtoull(m->fence, NULL, 10))
                (void) snprintf(m->fence, sizeof(m->fence), "%s", out->fence);
        redis_keep_floors(l);
}

/* A word that is none of ours, or a grant without a number to run under, may stand for a grant or not: the same
 * token asks again, or is revoked. */
bool redis_claim_is_understood(const char *word, const struct claim_out *out)
{
        if (name_index(outcome_names, word) < 0 && strcmp(word, "unit_lost") != 0)
                return false;
        return out->outcome != OUTCOME_GRANTED || (*out->fence && !out->fence[strspn(out->fence, "0123456789")]);
}

static void answer_claim(struct redis_ledger *l, struct ledger_call *c, const struct redisReply *r,
                         struct stamp store_time)
{
        struct claim_out *out = &c->out.claim;
        const char *word = reply_text(r, 0);

        if (strcmp(word, "expired") == 0) {
                redis_answer(c, -EAGAIN, "the request came too late to be executed");
                return;
        }
        if (redis_claim_read(r, c->in.claim.lease_ms, c->sent, out) < 0) {
                redis_answer(c, -ETIMEDOUT, "out of memory");
                return;
        }
        if (!redis_claim_is_understood(word, out)) {
                redis_answer(c, -ETIMEDOUT, "the server's answer is not understood");
                return;
        }
        out->store_time = store_time;
        redis_keep_in_mind(l, c->in.claim.planned, out);
        char why[160] = "";
        if (strcmp(word, "unit_lost") == 0)
                redis_unit_lost(&c->in.claim.unit, why, sizeof(why));
        redis_answer(c, 0, why);
}

static void on_claims(struct redis_request *q, const struct redisReply *r)
{
        struct stamp store_time = reply_time(r, 1);

        for (size_t i = 0; i < q->count; i++)
                answer_claim(q->ledger, q->calls[i], reply_at(r, 3 + i), store_time);
}

void redis_claim_send(struct redis_ledger *l, struct ledger_call *const *calls, size_t count)
{
        struct redis_args a = { 0 };

        redis_begin(l, &a);
        for (size_t i = 0; i < count; i++)
                add_item(l, &a, &calls[i]->in.claim);
        redis_request(l, REDIS_CLAIM, &a, calls, count, on_claims);
}
