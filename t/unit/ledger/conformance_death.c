/* The table of cases for what a dead owner decided without a start: it is told to whoever settles the death, until
 * somebody has it in a log. */
#include "t/unit/ledger/conformance_cases.h"

#include <stdio.h>
#include <string.h>

#define DEAD  "dead-0a1b2c3d.1.77.9-cccc"
#define NEEDS (1u << LEDGER_INTERRUPT | 1u << LEDGER_LEAD | 1u << LEDGER_SAID)

static const struct ask gap_of_dead = { .owner = DEAD, .gap_alone = true, .expect = -10, .gap_first = -9,
                                        .gap_last = -6, .gap_cause = CAUSE_NOBODY };

static void ask_dead(struct world *w, const char *owner, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c->in.interrupt = (struct interrupt_in) { owner, true };
        world_call(w, c);
        assert_int_equal(c->error, 0);
}

/* How many ranges are told of `owner`; the first of them, the newest. */
static size_t told_of(struct world *w, const char *owner, struct told_range *ret)
{
        struct ledger_call c;

        ask_dead(w, owner, &c);
        size_t count = c.out.interrupt.told_count;
        if (count > 0 && ret)
                *ret = c.out.interrupt.told[0];
        ledger_call_done(&c);
        return count;
}

static size_t told_to_leader(struct world *w, struct told_range *ret)
{
        struct ledger_call c = { .op = LEDGER_LEAD };

        c.in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        size_t count = c.out.lead.told_count;
        if (count > 0)
                *ret = c.out.lead.told[0];
        ledger_call_done(&c);
        return count;
}

static void say(struct world *w, const char *owner)
{
        struct ledger_call c = { .op = LEDGER_SAID };

        c.in.said = (struct said_in) { owner, w->node, w->life };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
}

static void assert_range(const struct world *w, const struct told_range *t, int first, int last, enum state state,
                         enum cause cause)
{
        assert_string_equal(t->scope_key, "");
        assert_string_equal(t->task, WORLD_TASK);
        assert_int_equal(t->shard, 0);
        assert_int_equal(t->first.ms, world_at(w, first).ms);
        assert_int_equal(t->last.ms, world_at(w, last).ms);
        assert_int_equal(t->count, last - first + 1);
        assert_int_equal(t->state, state);
        assert_int_equal(t->cause, cause);
}

static void what_the_dead_decided_is_told_beside_what_it_ran(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask run = { .owner = DEAD, .at = -5, .expect = -6 }, dropped = { .owner = DEAD, .at = -4, .expect = -5 };
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, gap_of_dead, NULL), OUTCOME_DECIDED);
        granted(w, run, &texts);
        assert_int_equal(try_claim(w, dropped, NULL), OUTCOME_DECIDED);

        ask_dead(w, DEAD, &c);
        assert_int_equal(c.out.interrupt.ended_count, 1);
        assert_string_equal(c.out.interrupt.ended[0].occ, texts.occ);
        assert_int_equal(c.out.interrupt.told_count, 2);
        const struct told_range *t = c.out.interrupt.told;
        bool newest_first = t[0].cause == CAUSE_OVERLAP;   /* of one millisecond, either may be */
        assert_range(w, &t[newest_first ? 0 : 1], -4, -4, STATE_SKIPPED, CAUSE_OVERLAP);
        assert_range(w, &t[newest_first ? 1 : 0], -9, -6, STATE_MISSED, CAUSE_NOBODY);
        assert_string_equal(t[0].owner, DEAD);
        assert_string_equal(t[1].owner, DEAD);
        ledger_call_done(&c);
        assert_int_equal(told_of(w, w->owner, NULL), 0);
}

/* Who heard it may die as well before it has said so. */
static void it_is_told_until_it_is_said(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, gap_of_dead, NULL), OUTCOME_DECIDED);
        granted(w, (struct ask) { .owner = DEAD, .at = -5, .expect = -6 }, &texts);

        for (int i = 0; i < 3; i++) {
                ask_dead(w, DEAD, &c);
                assert_int_equal(c.out.interrupt.ended_count, 1);
                assert_string_equal(c.out.interrupt.ended[0].occ, texts.occ);
                assert_string_equal(c.out.interrupt.ended[0].trig, texts.trig);
                assert_int_equal(c.out.interrupt.ended[0].state, STATE_INTERRUPTED);
                assert_int_equal(c.out.interrupt.told_count, 1);
                ledger_call_done(&c);
        }
        say(w, DEAD);
        ask_dead(w, DEAD, &c);
        assert_int_equal(c.out.interrupt.ended_count, 0);
        assert_int_equal(c.out.interrupt.told_count, 0);
        ledger_call_done(&c);
}

static void gap_before_a_grant_is_told(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask a = { .owner = DEAD, .at = -5, .expect = -10, .gap_first = -9, .gap_last = -6 };
        struct ask_texts texts;
        struct told_range t;
        world_task(w, 1, -10);
        granted(w, a, &texts);

        assert_int_equal(told_of(w, DEAD, &t), 1);
        assert_range(w, &t, -9, -6, STATE_SKIPPED, CAUSE_MISFIRE);
}

static void missed_instant_is_told(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask late = { .owner = DEAD, .at = -9, .expect = -10, .grace_ms = 1000 };
        struct told_range t;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, late, NULL), OUTCOME_DECIDED);

        assert_int_equal(told_of(w, DEAD, &t), 1);
        assert_range(w, &t, -9, -9, STATE_MISSED, CAUSE_LATE);
}

/* Its owner recorded the end, and died before it said so: without a run line nothing else would. */
static void end_without_a_start_is_told(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask refused = { .owner = DEAD, .at = -9, .expect = -10 };
        struct ask ran = { .owner = DEAD, .at = -8, .expect = -9 };
        struct ask_texts texts, others;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, refused, &texts);
        ask_finish(w, &refused, &texts, STATE_FAILED, &c);
        c.in.finish.cause = CAUSE_NOT_SENT;
        c.in.finish.started.ns = 0;
        world_call(w, &c);
        assert_int_equal(c.out.finish.finished, FINISHED_OK);
        granted(w, ran, &others);
        assert_int_equal(try_finish(w, ran, &others, STATE_FAILED), FINISHED_OK);

        for (int i = 0; i < 2; i++) {
                ask_dead(w, DEAD, &c);
                assert_int_equal(c.out.interrupt.told_count, 0);
                assert_int_equal(c.out.interrupt.ended_count, 1);
                const struct ended_record *e = c.out.interrupt.ended;
                assert_string_equal(e->occ, texts.occ);
                assert_string_equal(e->trig, texts.trig);
                assert_int_equal(e->state, STATE_FAILED);
                assert_int_equal(e->cause, CAUSE_NOT_SENT);
                assert_false(e->ending);
                ledger_call_done(&c);
        }
        say(w, DEAD);
        ask_dead(w, DEAD, &c);
        assert_int_equal(c.out.interrupt.ended_count, 0);
        ledger_call_done(&c);
        assert_int_equal(history_count(w, STATE_FAILED), 2);
}

static void abandon(struct world *w, const struct ask *a)
{
        struct ask_texts texts;
        struct ledger_call claim, c = { .op = LEDGER_REVOKE };

        ask_claim(w, a, &texts, &claim);
        c.in.revoke = (struct revoke_in) {
                .unit = claim.in.claim.unit, .occ = texts.occ, .token = texts.token,
                .planned = claim.in.claim.planned, .expect = claim.in.claim.expect,
                .not_after = { stamp_instant(clock_wall()).ms - 5000 }, .grace_ms = 1000 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.revoke.revoked, REVOKED_ABANDONED);
}

static void abandoned_instants_are_told(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ask granted_one = { .at = -9, .expect = -10 }, other = { .at = -8, .expect = -9 };
        struct ask_texts texts;
        struct told_range t;
        world_task(w, 1, -10);
        granted(w, granted_one, &texts);
        abandon(w, &granted_one);

        assert_int_equal(told_of(w, w->owner, &t), 1);
        assert_range(w, &t, -9, -9, STATE_MISSED, CAUSE_ABANDONED);
        say(w, w->owner);

        /* Of another owner, since this one is buried. */
        world_close(w);
        w->owner = "here-0a1b2c3d.0.101.8-aaaa";
        world_open(w);
        abandon(w, &other);
        assert_int_equal(told_of(w, w->owner, &t), 1);
        assert_range(w, &t, -8, -8, STATE_MISSED, CAUSE_ABANDONED);
}

static void what_a_changed_definition_gave_up_is_told(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct ledger_call c = { .op = LEDGER_DEFINE };
        struct told_range t;
        world_task(w, 1, -10);

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "other", .def_hash = "d", .shards = 1,
                                           .competes = true, .node = w->node };
        assert_int_equal(schedule_every(5000, 0, &c.in.define.schedule), 0);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(told_of(w, w->owner, &t), 1);
        assert_int_equal(t.first.ms, c.out.define.revised.first.ms);
        assert_int_equal(t.last.ms, c.out.define.revised.last.ms);
        assert_int_equal(t.count, c.out.define.revised.count);
        assert_int_equal(t.state, STATE_SKIPPED);
        assert_int_equal(t.cause, CAUSE_REVISED);
}

static void next_life_hears_what_the_last_one_decided(void **state)
{
        struct world *w = conformance_world(state, NEEDS);
        struct told_range t;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, gap_of_dead, NULL), OUTCOME_DECIDED);
        assert_int_equal(told_to_leader(w, &t), 0);
        world_close(w);
        w->life++;
        w->owner = "here-0a1b2c3d.0.200.9-bbbb";
        world_open(w);

        for (int i = 0; i < 2; i++) {
                assert_int_equal(told_to_leader(w, &t), 1);
                assert_range(w, &t, -9, -6, STATE_MISSED, CAUSE_NOBODY);
                assert_string_equal(t.owner, DEAD);
        }
        say(w, NULL);
        assert_int_equal(told_to_leader(w, &t), 0);
}

static void lost_reply_of_a_gap_alone_is_said_again(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        world_task(w, 1, -10);
        assert_int_equal(try_claim(w, gap_of_dead, NULL), OUTCOME_DECIDED);

        assert_int_equal(try_claim(w, gap_of_dead, &c), OUTCOME_DECIDED);
        assert_true(c.out.claim.gap_written);
        assert_true(c.out.claim.replay);
        assert_int_equal(c.out.claim.cause, CAUSE_NOBODY);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -6).ms);
}

const struct CMUnitTest death_cases[] = {
        CONFORMANCE_CASE(what_the_dead_decided_is_told_beside_what_it_ran),
        CONFORMANCE_CASE(it_is_told_until_it_is_said),
        CONFORMANCE_CASE(gap_before_a_grant_is_told),
        CONFORMANCE_CASE(missed_instant_is_told),
        CONFORMANCE_CASE(end_without_a_start_is_told),
        CONFORMANCE_CASE(abandoned_instants_are_told),
        CONFORMANCE_CASE(what_a_changed_definition_gave_up_is_told),
        CONFORMANCE_CASE(next_life_hears_what_the_last_one_decided),
        CONFORMANCE_CASE(lost_reply_of_a_gap_alone_is_said_again),
};
const size_t death_case_count = sizeof(death_cases) / sizeof(death_cases[0]);
