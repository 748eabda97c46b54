/* Claims and their end before a start: the rules' answers written down. Everything here happens in one
 * transaction under ledger.lock, so what was read is still so when it is written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "ledger/sqlite_rows.h"

static int range_insert(struct sqlite_store *s, const struct claim_in *in, const struct instant_range *g,
                        enum cause cause)
{
        struct new_record n = { .unit = &in->unit, .planned = g->first, .last = g->last, .count = g->count,
                                .trig = in->trig, .owner = in->owner, .node = in->node,
                                .state = rules_gap_state(cause), .cause = cause };

        return record_insert(s, &n);
}

/* What lies at or before the barrier may have run without this ledger knowing it: that part of the gap is
 * unknown, not given up. */
static int write_gap(struct sqlite_store *s, const struct claim_in *in, const struct task_row *task)
{
        struct instant_range after = in->gap, before = in->gap;
        struct schedule schedule;

        if (in->gap.count == 0)
                return 0;
        if (instant_is_none(s->barrier) || in->gap.first.ms > s->barrier.ms)
                return range_insert(s, in, &in->gap, in->gap_cause);
        if (in->gap.last.ms <= s->barrier.ms || task_schedule(task, &schedule) < 0 ||
            schedule_last(&schedule, s->barrier, &before.last) < 0 ||
            schedule_next(&schedule, s->barrier, &after.first) < 0 || before.last.ms < before.first.ms ||
            after.first.ms > after.last.ms)
                return range_insert(s, in, &in->gap, CAUSE_BARRIER);
        before.count = schedule_count(&schedule, (struct instant) { before.first.ms - 1 }, before.last);
        after.count = in->gap.count > before.count ? in->gap.count - before.count : 1;
        int r = range_insert(s, in, &before, CAUSE_BARRIER);
        return r < 0 ? r : range_insert(s, in, &after, in->gap_cause);
}

static int write_decision(struct sqlite_store *s, const struct claim_in *in, const struct claim_verdict *v,
                          struct claim_out *out)
{
        struct new_record n = { .unit = &in->unit, .planned = in->planned, .last = in->planned, .count = 1,
                                .occ = in->occ, .token = in->token, .trig = in->trig, .owner = in->owner,
                                .node = in->node, .state = v->state, .cause = v->cause,
                                .gap = in->gap.count > 0 };

        if (v->outcome == OUTCOME_GRANTED) {
                s->fence = rules_fence(s->fence, s->now);
                n.fence = s->fence;
                n.slot = true;
                n.tree = in->tree;
                fault_point("claim-held");
                fence_text(s->fence, out->fence);
                out->valid_until.ns = INT64_MAX;
        }
        return record_insert(s, &n);
}

static int write_verdict(struct sqlite_store *s, const struct claim_in *in, const struct claim_verdict *v,
                         const struct task_row *task, struct claim_out *out)
{
        bool gap_alone = instant_is_none(in->planned);

        int r = write_gap(s, in, task);
        if (r == 0 && !gap_alone)
                r = write_decision(s, in, v, out);
        if (r == 0) {
                out->cursor = gap_alone ? in->gap.last : in->planned;
                out->gap_written = in->gap.count > 0;
                r = unit_move(s, &in->unit, out->cursor);
        }
        if (r == 0 && v->outcome == OUTCOME_DECIDED && !gap_alone)
                r = record_trim(s, in->unit.task, in->occ, &task->keep);
        return r;
}

/* A gap alone has no occurrence to be known by: its range is, by the attempt that wrote it. */
static int gap_was_mine(struct sqlite_store *s, const struct claim_in *in)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_GAP_OF_TRIG, VALUES(TEXT(in->unit.task), NUMBER(in->gap.last.ms),
                                                           TEXT(in->unit.scope_key), NUMBER(in->unit.shard),
                                                           TEXT(in->trig)), &st);
        return r < 0 ? r : statement_row(s, st);
}

static int answer_moved_gap(struct sqlite_store *s, const struct claim_in *in, struct claim_out *out)
{
        int r = gap_was_mine(s, in);

        if (r <= 0)
                return r;
        out->outcome = OUTCOME_DECIDED;
        out->state = rules_gap_state(in->gap_cause);
        out->cause = in->gap_cause;
        out->gap_written = true;
        out->replay = true;
        return 0;
}

static void answer(const struct claim_verdict *v, const struct record_row *record, const struct unit_facts *u,
                   const struct slot_row *slot, struct claim_out *out)
{
        out->outcome = v->outcome;
        out->state = v->state;
        out->cause = v->cause;
        out->replay = v->replay;
        out->cursor = u->cursor;
        out->rev = u->rev;
        out->shards = u->shards;
        out->term = u->term;
        out->store_time = u->now;
        out->gap_written = v->replay && record->gap;
        if (v->replay && v->outcome == OUTCOME_GRANTED) {
                fence_text(record->fence, out->fence);
                out->valid_until.ns = INT64_MAX;
        }
        if (v->outcome == OUTCOME_DONE)
                (void) snprintf(out->holder, sizeof(out->holder), "%s", record->owner);
        if (v->outcome == OUTCOME_BUSY || v->outcome == OUTCOME_QUEUED) {
                (void) snprintf(out->holder, sizeof(out->holder), "%s", slot->owner);
                (void) snprintf(out->holder_occ, sizeof(out->holder_occ), "%s", slot->occ);
        }
}

int op_claim(struct sqlite_store *s, struct ledger_call *c)
{
        const struct claim_in *in = &c->in.claim;
        struct claim_out *out = &c->out.claim;
        bool gap_alone = instant_is_none(in->planned);
        struct record_row record;
        struct task_row task;
        struct unit_facts u = { 0 };
        struct slot_row slot = { 0 };
        struct claim_verdict v;

        /* Waiting for the lock may have taken longer than the caller was willing to stand by its request. */
        if (!instant_is_none(in->not_after) && stamp_instant(s->now).ms > in->not_after.ms) {
                c->error = -EAGAIN;
                (void) snprintf(c->why, sizeof(c->why), "the request was void before its turn came");
                return 0;
        }
        int r = record_read(s, gap_alone ? "" : in->occ, in->token, &record);
        if (r == 0)
                r = unit_read(s, &in->unit, &u, &slot);
        if (r == 0)
                r = task_read(s, in->unit.task, &task);
        if (r == 0 && in->term > 0)
                r = term_read(s, in->node, &u.term);
        if (r == 0 && in->overlap == OVERLAP_QUEUE)
                r = queue_count(s, &in->unit, &u.queued);
        if (r < 0)
                return r;
        u.rev = task.rev;
        u.shards = task.shards;
        rules_claim(in, &record.facts, &u, &v);
        answer(&v, &record, &u, &slot, out);
        if (v.outcome == OUTCOME_MOVED && gap_alone)
                return answer_moved_gap(s, in, out);
        if (v.replay || (v.outcome != OUTCOME_GRANTED && v.outcome != OUTCOME_QUEUED && v.outcome != OUTCOME_DECIDED))
                return 0;
        return write_verdict(s, in, &v, &task, out);
}

/* The instants between the cursor and the abandoned one are given up with it: its claim carried them. */
static int abandon_before(struct sqlite_store *s, const struct revoke_in *in, struct instant cursor)
{
        struct instant before = { in->planned.ms - 1 };
        struct task_row task;
        struct schedule schedule;
        struct instant_range g;

        int r = task_read(s, in->unit.task, &task);
        if (r < 0)
                return r;
        if (task_schedule(&task, &schedule) < 0)
                return 0;
        g.count = schedule_count(&schedule, cursor, before);
        if (g.count == 0 || schedule_next(&schedule, cursor, &g.first) < 0 ||
            schedule_last(&schedule, before, &g.last) < 0)
                return 0;
        return record_insert(s, &(struct new_record) { .unit = &in->unit, .planned = g.first, .last = g.last,
                                                       .count = g.count, .owner = s->owner, .node = s->node,
                                                       .state = STATE_MISSED, .cause = CAUSE_ABANDONED });
}

static int abandon(struct sqlite_store *s, const struct revoke_in *in, const struct record_facts *record,
                   struct instant cursor)
{
        int r;

        if (record->exists) {
                r = statement_run(s, SQL_RECORD_END,
                                  VALUES(TEXT(in->occ), TEXT(state_names[STATE_MISSED]),
                                         TEXT(cause_names[CAUSE_ABANDONED]), NUMBER(0), NUMBER(s->now.ns)));
                return r < 0 ? r : untold_add(s, s->owner, s->life);
        }
        r = abandon_before(s, in, cursor);
        if (r == 0)
                r = record_insert(s, &(struct new_record) { .unit = &in->unit, .planned = in->planned,
                                                            .last = in->planned, .count = 1, .occ = in->occ,
                                                            .token = in->token, .owner = s->owner,
                                                            .node = s->node, .state = STATE_MISSED,
                                                            .cause = CAUSE_ABANDONED });
        return r < 0 ? r : unit_move(s, &in->unit, in->planned);
}

int op_revoke(struct sqlite_store *s, struct ledger_call *c)
{
        const struct revoke_in *in = &c->in.revoke;
        struct record_row record;
        struct unit_facts u = { 0 };
        struct slot_row slot = { 0 };

        int r = record_read(s, in->occ, in->token, &record);
        if (r == 0)
                r = unit_read(s, &in->unit, &u, &slot);
        if (r < 0)
                return r;
        c->out.revoke.revoked = rules_revoke(in, &record.facts, &u);
        c->out.revoke.cursor = u.cursor;
        if (c->out.revoke.revoked != REVOKED_ABANDONED || record.facts.state == STATE_MISSED)
                return 0;
        if (!record.facts.exists)
                c->out.revoke.cursor = in->planned;
        return abandon(s, in, &record.facts, u.cursor);
}
