/* What waits in queues: the oldest of a unit is started by one process, and whose queues hold something. A queue is
 * nothing but the queued records of a unit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/fault.h"
#include "ledger/sqlite_rows.h"

/* What the token took before: a token is given to one take alone, so that a request which is sent again, or comes
 * again, starts nothing more. */
static int taken_before(struct sqlite_store *s, const struct take_in *in, struct record_row *ret, struct take_out *out)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        *ret = (struct record_row) { 0 };
        int r = statement_begin(s, SQL_TAKEN_BY, VALUES(TEXT(in->token)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r;
        int state = name_index(state_names, (const char *) sqlite3_column_text(st, 3));
        int cause = name_index(cause_names, (const char *) sqlite3_column_text(st, 4));
        if (state < 0 || cause < 0)
                return -EUCLEAN;
        ret->facts = (struct record_facts) { .exists = true, .own = true, .in_slot = sqlite3_column_int(st, 2) == 1,
                                             .state = (enum state) state, .cause = (enum cause) cause };
        ret->fence = sqlite3_column_int64(st, 5);
        column_text(st, 0, out->occ, sizeof(out->occ));
        out->planned.ms = sqlite3_column_int64(st, 1);
        return 0;
}

static int facts_read(struct sqlite_store *s, const struct take_in *in, struct unit_facts *u, struct slot_row *slot,
                      char oldest_occ[OCC_TEXT])
{
        struct task_row task;

        int r = unit_read(s, &in->unit, u, slot);
        if (r == 0)
                r = queue_oldest(s, &in->unit, &u->oldest, oldest_occ);
        if (r == 0)
                r = task_read(s, in->unit.task, &task);
        if (r == 0 && in->term > 0)
                r = term_read(s, in->node, &u->term);
        if (r < 0)
                return r;
        u->rev = task.rev;
        u->shards = task.shards;
        return 0;
}

static void answer(const struct claim_verdict *v, const struct unit_facts *u, const struct slot_row *slot,
                   struct claim_out *out)
{
        *out = (struct claim_out) { .outcome = v->outcome, .state = v->state, .cause = v->cause, .replay = v->replay,
                                    .cursor = u->cursor, .rev = u->rev, .shards = u->shards, .term = u->term,
                                    .store_time = u->now };
        if (v->outcome == OUTCOME_BUSY) {
                memcpy(out->holder, slot->owner, sizeof(out->holder));
                memcpy(out->holder_occ, slot->occ, sizeof(out->holder_occ));
        }
}

static int start_oldest(struct sqlite_store *s, const struct take_in *in, const struct take_out *out)
{
        s->fence = rules_fence(s->fence, s->now);
        fault_point("take-held");
        return statement_run(s, SQL_RECORD_TAKE,
                             VALUES(TEXT(out->occ), TEXT(in->token), TEXT(in->trig), TEXT(in->owner), TEXT(in->node),
                                    NUMBER(s->life), TEXT(s->boot), NUMBER(s->fence), NUMBER(in->tree),
                                    NUMBER(s->now.ns)));
}

int take_oldest(struct sqlite_store *s, const struct take_in *in, struct take_out *out)
{
        struct unit_facts u = { .oldest = INSTANT_NONE };
        char oldest_occ[OCC_TEXT] = "";
        struct slot_row slot = { 0 };
        struct record_row before;
        struct claim_verdict v;

        *out = (struct take_out) { .planned = INSTANT_NONE };
        int r = taken_before(s, in, &before, out);
        if (r == 0)
                r = facts_read(s, in, &u, &slot, oldest_occ);
        if (r < 0)
                return r;
        rules_take(in, &before.facts, &u, &v);
        answer(&v, &u, &slot, &out->claim);
        if (!v.replay && (v.outcome == OUTCOME_GRANTED || v.outcome == OUTCOME_DECIDED)) {
                out->planned = u.oldest;
                memcpy(out->occ, oldest_occ, sizeof(out->occ));
                r = v.outcome == OUTCOME_GRANTED ? start_oldest(s, in, out)
                                                 : queued_end(s, out->occ, in->owner, in->token, v.state, v.cause);
        }
        if (v.outcome == OUTCOME_GRANTED) {
                fence_text(v.replay ? before.fence : s->fence, out->claim.fence);
                out->claim.valid_until.ns = INT64_MAX;
        }
        return r;
}

int op_take(struct sqlite_store *s, struct ledger_call *c)
{
        return take_oldest(s, &c->in.take, &c->out.take);
}

int op_queued(struct sqlite_store *s, struct ledger_call *c)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;
        _cleanup_(buf_done) struct buf units = BUF_EMPTY;

        int r = statement_begin(s, SQL_QUEUES, VALUES(TEXT(c->in.queued.node)), &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                struct queued_unit q = { .shard = (unsigned) sqlite3_column_int(st, 2),
                                         .count = (unsigned) sqlite3_column_int(st, 3),
                                         .running = (unsigned) sqlite3_column_int(st, 5),
                                         .oldest = { sqlite3_column_int64(st, 4) } };

                column_text(st, 0, q.scope_key, sizeof(q.scope_key));
                column_text(st, 1, q.task, sizeof(q.task));
                buf_add(&units, &q, sizeof(q));
                r = 0;
        }
        if (r < 0 || units.failed)
                return r < 0 ? r : -ENOMEM;
        c->out.queued.count = units.len / sizeof(struct queued_unit);
        c->out.queued.units = units.len ? (void *) buf_take(&units) : NULL;
        return 0;
}
