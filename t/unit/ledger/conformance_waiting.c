/* The table of cases for what becomes of waiting instants when something else happens: a death, another definition, a
 * backlog, a history that is cut; and how they are found. */
#include "t/unit/ledger/conformance_cases.h"

#include <stdio.h>
#include <string.h>

static void interrupt(struct world *w, const char *owner, bool trees_gone, size_t expected)
{
        struct ledger_call c = { .op = LEDGER_INTERRUPT };

        c.in.interrupt = (struct interrupt_in) { owner, trees_gone };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.interrupt.ended_count, expected);
        ledger_call_done(&c);
}

static void define(struct world *w, const char *when_hash, unsigned shards, bool competes, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_DEFINE };
        ret->in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = when_hash, .def_hash = "d",
                                              .shards = shards, .competes = competes, .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &ret->in.define.schedule), 0);
        world_call(w, ret);
        assert_int_equal(ret->error, 0);
        assert_true(ret->out.define.changed);
        w->rev = ret->out.define.rev;
        w->shards = shards;
}

static void take_of_an_old_definition_is_stale(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 1u << LEDGER_LEAD, 1, &texts);
        struct ledger_call c, lead = { .op = LEDGER_LEAD };
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        uint64_t old = w->rev;

        define(w, "other", 1, true, &c);
        assert_int_equal(c.out.define.told_count, 0);
        ledger_call_done(&c);
        uint64_t rev = w->rev;
        w->rev = old;
        struct take_out out = try_take(w, NULL, 1);
        assert_int_equal(out.claim.outcome, OUTCOME_STALE);
        assert_int_equal(out.claim.rev, rev);
        w->rev = rev;
        w->shards = 7;
        assert_int_equal(try_take(w, NULL, 2).claim.outcome, OUTCOME_STALE);
        w->shards = 1;

        /* An older leader is as stale; what waits is run under the revision that is in force. */
        lead.in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, &lead);
        ledger_call_done(&lead);
        world_call(w, &lead);
        assert_int_equal(lead.out.lead.term, 2);
        struct ledger_call t = { .op = LEDGER_TAKE };
        struct take_texts words;
        ask_take(w, NULL, 3, &words, &t.in.take);
        t.in.take.term = 1;
        world_call(w, &t);
        assert_int_equal(t.out.take.claim.outcome, OUTCOME_STALE);
        assert_int_equal(t.out.take.claim.term, 2);
        ask_take(w, NULL, 4, &words, &t.in.take);
        t.in.take.term = 2;
        world_call(w, &t);
        assert_taken(w, &t.out.take, -8);
        ledger_call_done(&lead);
}

static void what_waits_outlives_who_queued_it(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS | 1u << LEDGER_INTERRUPT | 1u << LEDGER_LEAD);
        struct ask run = queue_first, wait = { .owner = QUEUE_OTHER, .at = -8, .expect = -9, .overlap = OVERLAP_QUEUE };
        struct ask_texts texts;
        struct ledger_call lead = { .op = LEDGER_LEAD };
        world_task(w, 1, -10);
        granted(w, run, &texts);
        assert_int_equal(try_claim(w, wait, NULL), OUTCOME_QUEUED);

        interrupt(w, QUEUE_OTHER, true, 0);
        assert_int_equal(peeked(w, 0).queued, 1);
        world_close(w);
        w->life++;
        w->owner = "here-0a1b2c3d.0.200.9-bbbb";
        world_open(w);
        lead.in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, &lead);
        assert_int_equal(lead.out.lead.ended_count, 1);   /* the one that ran */
        ledger_call_done(&lead);
        struct take_out out = try_take(w, NULL, 1);
        assert_taken(w, &out, -8);
}

static void death_of_the_taker_loses_only_what_it_ran(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 1u << LEDGER_INTERRUPT | 1u << LEDGER_HISTORY, 2, &texts);
        assert_int_equal(try_finish(w, queue_first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        struct take_out out = try_take(w, QUEUE_OTHER, 1);
        assert_taken(w, &out, -8);

        interrupt(w, QUEUE_OTHER, true, 1);
        assert_int_equal(history_count(w, STATE_INTERRUPTED), 1);
        assert_int_equal(peeked(w, 0).queued, 1);
        struct take_out next = try_take(w, NULL, 1);
        assert_taken(w, &next, -7);
        /* The dead one is not heard any more, whatever it has sent. */
        assert_int_equal(finish_taken(w, QUEUE_OTHER, 1, &out, -8, 2).take.claim.outcome, OUTCOME_BUSY);
        assert_int_equal(peeked(w, 0).running, 1);
}

static void tree_of_a_dead_one_keeps_the_queue_waiting(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS | 1u << LEDGER_INTERRUPT);
        struct ask tree = queue_first;
        struct ask_texts texts;
        world_task(w, 1, -10);
        tree.owner = QUEUE_OTHER;
        tree.tree = true;
        granted(w, tree, &texts);
        assert_int_equal(try_queue(w, -8, NULL), OUTCOME_QUEUED);

        interrupt(w, QUEUE_OTHER, false, 1);
        assert_int_equal(try_queue(w, -7, NULL), OUTCOME_QUEUED);
        assert_int_equal(try_take(w, NULL, 1).claim.outcome, OUTCOME_BUSY);
        interrupt(w, QUEUE_OTHER, true, 1);
        struct take_out out = try_take(w, NULL, 2);
        assert_taken(w, &out, -8);
}

static void assert_given_up(struct world *w, const struct told_range *t, unsigned shard, int at, enum cause cause)
{
        assert_string_equal(t->task, WORLD_TASK);
        assert_int_equal(t->shard, shard);
        assert_int_equal(t->first.ms, world_at(w, at).ms);
        assert_int_equal(t->last.ms, world_at(w, at).ms);
        assert_int_equal(t->count, 1);
        assert_int_equal(t->state, STATE_SKIPPED);
        assert_int_equal(t->cause, cause);
        assert_string_equal(t->owner, w->owner);
}

static void disabling_skips_what_waits(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 1u << LEDGER_HISTORY | 1u << LEDGER_INTERRUPT, 2, &texts);
        struct ledger_call c, told = { .op = LEDGER_INTERRUPT };

        define(w, "off", 1, false, &c);
        assert_int_equal(c.out.define.told_count, 2);
        for (int i = 0; i < 2; i++)
                assert_given_up(w, &c.out.define.told[i], 0, -8 + i, CAUSE_DISABLED);
        ledger_call_done(&c);
        assert_int_equal(peeked(w, 0).queued, 0);
        assert_int_equal(history_count(w, STATE_QUEUED), 0);
        assert_int_equal(history_count(w, STATE_SKIPPED), 3);   /* and the range since the cursor */

        define(w, "on", 1, true, &c);
        assert_int_equal(c.out.define.told_count, 0);
        ledger_call_done(&c);
        assert_int_equal(finish_and_take(w, queue_first, &texts, STATE_SUCCEEDED, 1).take.claim.outcome, OUTCOME_DONE);
        struct ask again = { .owner = QUEUE_OTHER, .at = -8, .expect = -9, .overlap = OVERLAP_QUEUE };
        assert_int_equal(try_claim(w, again, NULL), OUTCOME_DONE);

        /* Its line may not have left before the definer died. */
        told.in.interrupt = (struct interrupt_in) { w->owner, true };
        world_call(w, &told);
        size_t found = 0;
        for (size_t i = 0; i < told.out.interrupt.told_count; i++)
                found += told.out.interrupt.told[i].count == 1 &&
                         told.out.interrupt.told[i].cause == CAUSE_DISABLED &&
                         told.out.interrupt.told[i].first.ms <= world_at(w, -7).ms;
        assert_int_equal(found, 2);
        ledger_call_done(&told);
}

static void shard_that_goes_gives_up_its_queue(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS);
        struct ask a = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 2, -10);
        for (a.shard = 0; a.shard < 2; a.shard++) {
                a.at = -9, a.expect = -10;
                granted(w, a, &texts);
                a.at = -8, a.expect = -9;
                assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);
        }

        define(w, "one", 1, true, &c);
        assert_int_equal(c.out.define.told_count, 1);
        assert_given_up(w, c.out.define.told, 1, -8, CAUSE_REVISED);
        ledger_call_done(&c);
        assert_int_equal(peeked(w, 0).queued, 1);
        assert_int_equal(peeked(w, 1).queued, 0);
}

static void revoke_of_what_waits_changes_nothing(void **state)
{
        struct ask_texts texts;
        struct world *w = queue_world(state, 0, 1, &texts);
        struct ledger_call claim, c = { .op = LEDGER_REVOKE };

        ask_claim(w, &(struct ask) { .at = -8, .expect = -9, .grace_ms = 1000 }, &texts, &claim);
        c.in.revoke = (struct revoke_in) { .unit = claim.in.claim.unit, .occ = texts.occ, .token = texts.token,
                                           .planned = world_at(w, -8), .expect = world_at(w, -9),
                                           .not_after = { stamp_instant(clock_wall()).ms - 5000 }, .grace_ms = 1000 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.revoke.revoked, REVOKED_DECIDED);
        assert_int_equal(peeked(w, 0).queued, 1);
}

/* Without a flag of its own: the first that comes is granted, the rest waits, whoever asks. */
static void backlog_is_run_one_by_one(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS);
        struct ask a = { .at = -8, .expect = -9, .overlap = OVERLAP_QUEUE, .catch_up = true, .grace_ms = 1 };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        a.owner = QUEUE_OTHER;   /* a sibling that believes the first was decided */
        assert_int_equal(try_claim(w, a, &c), OUTCOME_MOVED);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -10).ms);
        struct ask run = a;
        run.owner = NULL, run.at = -9, run.expect = -10;
        granted(w, run, &texts);
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);
        a.owner = NULL;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_DONE);
        a.at = -7, a.expect = -8;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);
        struct take_out out = finish_and_take(w, run, &texts, STATE_SUCCEEDED, 1).take;
        assert_taken(w, &out, -8);
}

static void queues_are_listed(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS);
        struct ask a = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_QUEUED };
        c.in.queued.node = w->node;
        world_task(w, 2, -10);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.queued.count, 0);

        a.shard = 1;
        granted(w, a, &texts);
        for (a.at = -8; a.at <= -6; a.at++) {
                a.expect = a.at - 1;
                assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);
        }
        world_call(w, &c);
        assert_int_equal(c.out.queued.count, 1);
        const struct queued_unit *q = c.out.queued.units;
        assert_string_equal(q->scope_key, "");
        assert_string_equal(q->task, WORLD_TASK);
        assert_int_equal(q->shard, 1);
        assert_int_equal(q->count, 3);
        assert_int_equal(q->running, 1);
        assert_int_equal(q->oldest.ms, world_at(w, -8).ms);
        ledger_call_done(&c);
        assert_null(c.out.queued.units);
}

/* Of scope all a node cares for its own alone. */
static void queues_of_other_nodes_are_not_listed(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS);
        struct ledger_call def = { .op = LEDGER_DEFINE }, reg = { .op = LEDGER_REGISTER }, q = { .op = LEDGER_QUEUED };
        struct ledger_call c;
        struct ask_texts texts;
        char occ[OCC_TEXT];
        def.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "all", .def_hash = "d", .shards = 1,
                                             .competes = true, .all_scope = true, .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &def.in.define.schedule), 0);
        world_call(w, &def);
        reg.in.reg = (struct register_in) { { w->node, WORLD_TASK, 0 }, world_at(w, -10) };
        world_call(w, &reg);
        w->rev = def.out.define.rev;
        w->shards = 1;
        int cursor = (int) ((reg.out.reg.cursor.ms - w->base.ms) / 1000);
        for (int at = -9; at <= -8; at++) {
                ask_claim(w, &(struct ask) { .at = at, .expect = at - 1, .overlap = OVERLAP_QUEUE }, &texts, &c);
                occurrence_id(w->node, WORLD_TASK, 0, world_at(w, at), occ);
                c.in.claim.unit.scope_key = w->node;
                c.in.claim.occ = occ;
                world_call(w, &c);
                assert_int_equal(c.error, 0);
                assert_int_equal(c.out.claim.outcome, at == -9 ? OUTCOME_GRANTED : OUTCOME_QUEUED);
        }
        assert_int_equal(cursor, -10);

        q.in.queued.node = "elsewhere-00000000";
        world_call(w, &q);
        assert_int_equal(q.out.queued.count, 0);
        q.in.queued.node = w->node;
        world_call(w, &q);
        assert_int_equal(q.out.queued.count, 1);
        assert_string_equal(q.out.queued.units[0].scope_key, w->node);
        ledger_call_done(&q);
}

static void history_that_goes_leaves_what_waits(void **state)
{
        struct world *w = conformance_world(state, QUEUE_NEEDS | 1u << LEDGER_HISTORY);
        struct ask a = { .at = -999, .expect = -1000, .overlap = OVERLAP_QUEUE, .catch_up = true };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 2, -1000);
        granted(w, a, &texts);
        a.at = -998, a.expect = -999;
        assert_int_equal(try_claim(w, a, NULL), OUTCOME_QUEUED);

        /* A trim comes with the finishes of about one occurrence in sixteen: of each whose id begins with 0. */
        unsigned trims = 0;
        a.shard = 1;
        for (a.at = -999; a.at < -900; a.at++) {
                a.expect = a.at - 1;
                granted(w, a, &texts);
                ask_finish(w, &a, &texts, STATE_SUCCEEDED, &c);
                c.in.finish.keep = (struct history_keep) { 1, 1 };
                world_call(w, &c);
                assert_int_equal(c.out.finish.finished, FINISHED_OK);
                trims += texts.occ[0] == '0';
        }
        if (trims == 0)
                skip();
        assert_int_equal(history_count(w, STATE_QUEUED), 1);
        assert_int_equal(history_count(w, STATE_RUNNING), 1);
        assert_int_equal(peeked(w, 0).queued, 1);
}

const struct CMUnitTest waiting_cases[] = {
        CONFORMANCE_CASE(take_of_an_old_definition_is_stale),
        CONFORMANCE_CASE(what_waits_outlives_who_queued_it),
        CONFORMANCE_CASE(death_of_the_taker_loses_only_what_it_ran),
        CONFORMANCE_CASE(tree_of_a_dead_one_keeps_the_queue_waiting),
        CONFORMANCE_CASE(disabling_skips_what_waits),
        CONFORMANCE_CASE(shard_that_goes_gives_up_its_queue),
        CONFORMANCE_CASE(revoke_of_what_waits_changes_nothing),
        CONFORMANCE_CASE(backlog_is_run_one_by_one),
        CONFORMANCE_CASE(queues_are_listed),
        CONFORMANCE_CASE(queues_of_other_nodes_are_not_listed),
        CONFORMANCE_CASE(history_that_goes_leaves_what_waits),
};
const size_t waiting_case_count = sizeof(waiting_cases) / sizeof(waiting_cases[0]);
