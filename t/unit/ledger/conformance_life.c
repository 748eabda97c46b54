/* The table of cases for what comes after a grant: finish, revoke, the death of owners and of whole lives,
 * changed definitions, and what is remembered. */
#include "t/unit/ledger/conformance_cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ask first = { .at = -9, .expect = -10 };

static enum revoked try_revoke(struct world *w, struct ask a, int64_t void_in_ms)
{
        struct ask_texts texts;
        struct ledger_call claim, c = { .op = LEDGER_REVOKE };

        ask_claim(w, &a, &texts, &claim);
        c.in.revoke = (struct revoke_in) {
                .unit = claim.in.claim.unit, .occ = texts.occ, .token = texts.token,
                .planned = claim.in.claim.planned, .expect = claim.in.claim.expect,
                .not_after = { stamp_instant(clock_wall()).ms + void_in_ms },
                .grace_ms = claim.in.claim.grace_ms };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.revoke.revoked;
}

static void repeated_finish_is_fine(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(peeked(w, 0).running, 0);
}

static void final_record_stands_against_another_finish(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, first, &texts);
        assert_int_equal(try_finish(w, first, &texts, STATE_FAILED), FINISHED_OK);

        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_FENCED);
        assert_int_equal(history_count(w, STATE_FAILED), 1);
        assert_int_equal(history_count(w, STATE_SUCCEEDED), 0);
}

static void finish_under_another_token_is_fenced(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask other = first;
        struct ask_texts texts, others = { .fence = "1" };
        world_task(w, 1, -10);
        granted(w, first, &texts);

        other.owner = "other.1.2.3";
        assert_int_equal(try_finish(w, other, &others, STATE_SUCCEEDED), FINISHED_FENCED);
        assert_int_equal(peeked(w, 0).running, 1);
}

static void finish_of_a_lost_claim_restores_it(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask_texts texts = { .fence = "1764522000000042" };
        world_task(w, 1, -10);

        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_RECOVERED);
        assert_int_equal(history_count(w, STATE_SUCCEEDED), 1);
        struct ask other = first;
        other.owner = "other.1.2.3";
        assert_int_equal(try_claim(w, other, NULL), OUTCOME_DONE);
}

static void revoke_within_grace_waits_then_frees(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);

        assert_int_equal(try_revoke(w, first, 5000), REVOKED_WAIT);
        assert_int_equal(try_revoke(w, first, -5000), REVOKED_FREE);
        /* Nothing was written: a sibling may still claim. */
        assert_int_equal(try_claim(w, first, NULL), OUTCOME_GRANTED);
}

static void revoke_after_grace_is_abandoned(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask late = { .at = -9, .expect = -10, .grace_ms = 1000 };
        world_task(w, 1, -10);

        assert_int_equal(try_revoke(w, late, -5000), REVOKED_ABANDONED);
        assert_int_equal(try_revoke(w, late, -5000), REVOKED_ABANDONED);
        assert_int_equal(history_count(w, STATE_MISSED), 1);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -9).ms);
        struct ask other = first;
        other.owner = "other.1.2.3";
        assert_int_equal(try_claim(w, other, NULL), OUTCOME_DONE);
}

static void revoke_of_an_own_unstarted_grant_frees_the_slot(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        assert_int_equal(try_revoke(w, first, 5000), REVOKED_ABANDONED);
        assert_int_equal(peeked(w, 0).running, 0);
        assert_int_equal(history_count(w, STATE_MISSED), 1);
}

static void revoke_of_what_another_decided_changes_nothing(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask other = first;
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        other.owner = "other.1.2.3";
        assert_int_equal(try_revoke(w, other, -5000), REVOKED_DECIDED);
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_OK);
        assert_int_equal(try_revoke(w, first, -5000), REVOKED_DECIDED);
}

static void renew_of_a_running_claim_is_fine(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c = { .op = LEDGER_RENEW };
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        c.in.renew = (struct renew_in) { { "", WORLD_TASK, 0 }, texts.occ, texts.token, texts.fence, 30000,
                                         world_at(w, -9) };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.renew.renewed, RENEWED_OK);
        assert_true(c.out.renew.valid_until.ns > clock_mono().ns);
}

/* Ends what `owner` runs, and has it said. */
static size_t interrupt(struct world *w, const char *owner, bool trees_gone, bool *ret_ending)
{
        struct ledger_call said = { .op = LEDGER_SAID };
        struct ledger_call c = { .op = LEDGER_INTERRUPT };

        c.in.interrupt = (struct interrupt_in) { owner, trees_gone };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        size_t count = c.out.interrupt.ended_count;
        for (size_t i = 0; i < count; i++) {
                assert_int_equal(c.out.interrupt.ended[i].state, STATE_INTERRUPTED);
                assert_int_equal(c.out.interrupt.ended[i].cause, CAUSE_WORKER_DIED);
                assert_string_equal(c.out.interrupt.ended[i].task, WORLD_TASK);
                *ret_ending = c.out.interrupt.ended[i].ending;
        }
        ledger_call_done(&c);
        said.in.said = (struct said_in) { owner, w->node, w->life };
        world_call(w, &said);
        assert_int_equal(said.error, 0);
        return count;
}

static void dead_owners_run_without_a_tree_ends_at_once(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_INTERRUPT);
        struct ask_texts texts;
        bool ending = true;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        assert_int_equal(interrupt(w, "other.1.2.3", false, &ending), 0);
        assert_int_equal(interrupt(w, w->owner, false, &ending), 1);
        assert_false(ending);
        assert_int_equal(peeked(w, 0).running, 0);
        assert_int_equal(interrupt(w, w->owner, false, &ending), 0);
        assert_int_equal(try_finish(w, first, &texts, STATE_SUCCEEDED), FINISHED_FENCED);
}

static void dead_owners_tree_keeps_the_slot_busy(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_INTERRUPT);
        struct ask tree = first, next = { .owner = "other.1.2.3", .at = -8, .expect = -9 };
        struct ask_texts texts;
        struct ledger_call c;
        bool ending = false;
        world_task(w, 1, -10);
        tree.tree = true;
        granted(w, tree, &texts);

        assert_int_equal(interrupt(w, w->owner, false, &ending), 1);
        assert_true(ending);
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(try_claim(w, next, &c), OUTCOME_BUSY);
        assert_string_equal(c.out.claim.holder_occ, texts.occ);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -9).ms);

        assert_int_equal(interrupt(w, w->owner, true, &ending), 0);
        assert_int_equal(try_claim(w, next, NULL), OUTCOME_GRANTED);
}

static void lead(struct world *w, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_LEAD };
        c->in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, c);
        assert_int_equal(c->error, 0);
}

static void each_lead_raises_the_term(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_LEAD);
        struct ask dedicated = first;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        lead(w, &c);
        uint64_t old = c.out.lead.term;
        ledger_call_done(&c);
        assert_true(old > 0);
        lead(w, &c);
        uint64_t term = c.out.lead.term;
        ledger_call_done(&c);
        assert_true(term > old);

        dedicated.term = old;
        assert_int_equal(try_claim(w, dedicated, &c), OUTCOME_STALE);
        assert_int_equal(c.out.claim.term, term);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
        dedicated.term = term;
        granted(w, dedicated, &texts);
}

static void lead_of_the_same_life_ends_nothing(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_LEAD);
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        granted(w, first, &texts);

        lead(w, &c);
        assert_int_equal(c.out.lead.ended_count, 0);
        ledger_call_done(&c);
        assert_int_equal(peeked(w, 0).running, 1);
}

static void next_life(struct world *w, const char *boot, enum state *ret_state, enum cause *ret_cause)
{
        struct ask tree = first;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        tree.tree = true;
        granted(w, tree, &texts);
        world_close(w);
        w->life++;
        w->boot = boot;
        w->owner = "here-0a1b2c3d.0.200.9-bbbb";
        world_open(w);

        lead(w, &c);
        assert_int_equal(c.out.lead.ended_count, 1);
        assert_string_equal(c.out.lead.ended[0].occ, texts.occ);
        assert_string_equal(c.out.lead.ended[0].fence, texts.fence);
        assert_int_equal(c.out.lead.ended[0].planned.ms, world_at(w, -9).ms);
        *ret_state = c.out.lead.ended[0].state;
        *ret_cause = c.out.lead.ended[0].cause;
        ledger_call_done(&c);
        assert_int_equal(peeked(w, 0).running, 0);
}

static void lead_of_a_new_life_interrupts_the_old_ones_runs(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_LEAD);
        enum state ended;
        enum cause cause;

        next_life(w, w->boot, &ended, &cause);
        assert_int_equal(ended, STATE_INTERRUPTED);
        assert_int_equal(cause, CAUSE_WORKER_DIED);
}

static void run_of_another_boot_is_unknown(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_LEAD);
        enum state ended;
        enum cause cause;

        /* Its finish may have been lost with the power. */
        next_life(w, "b117b117b117b117", &ended, &cause);
        assert_int_equal(ended, STATE_UNKNOWN);
        assert_int_equal(cause, CAUSE_POWER);
}

static struct define_out define(struct world *w, const char *when_hash, int64_t every_ms, bool competes)
{
        struct ledger_call c = { .op = LEDGER_DEFINE };

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = when_hash, .def_hash = "d",
                                           .shards = 1, .competes = competes, .node = w->node };
        assert_int_equal(schedule_every(every_ms, 0, &c.in.define.schedule), 0);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.define;
}

static void same_definition_changes_nothing(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);

        struct define_out d = define(w, "0123456789abcdef", 1000, true);
        assert_false(d.changed);
        assert_int_equal(d.rev, w->rev);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
}

static void changed_definition_gives_up_the_old_instants_once(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        world_task(w, 1, -10);

        struct define_out d = define(w, "other", 5000, true);
        assert_true(d.changed);
        assert_int_equal(d.rev, w->rev + 1);
        assert_int_equal(d.cause, CAUSE_REVISED);
        assert_int_equal(d.revised.first.ms, world_at(w, -9).ms);
        assert_true(d.revised.count >= 10);
        assert_true(peeked(w, 0).cursor.ms >= world_at(w, 0).ms);
        assert_int_equal(peeked(w, 0).cursor.ms, d.valid_from.ms);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);

        assert_false(define(w, "other", 5000, true).changed);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);
        assert_int_equal(try_claim(w, (struct ask) { .at = -9, .expect = -10 }, NULL), OUTCOME_DONE);
        struct ask old = { .at = 3600, .expect = -10, .rev = w->rev };
        assert_int_equal(try_claim(w, old, NULL), OUTCOME_STALE);
}

static void disabling_and_enabling_say_disabled(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);

        struct define_out off = define(w, "off", 1000, false);
        assert_int_equal(off.cause, CAUSE_DISABLED);
        assert_true(off.revised.count >= 10);
        struct define_out on = define(w, "on", 1000, true);
        assert_int_equal(on.rev, off.rev + 1);
        /* The disabled time is not run afterwards. */
        assert_true(peeked(w, 0).cursor.ms >= off.valid_from.ms);
}

static void history_tells_what_happened(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        struct ask second = { .at = -8, .expect = -9 };
        struct ask_texts texts;
        struct ledger_call fin, h = { .op = LEDGER_HISTORY };
        world_task(w, 1, -10);
        granted(w, first, &texts);
        ask_finish(w, &first, &texts, STATE_FAILED, &fin);
        fin.in.finish.cause = CAUSE_STATUS;
        fin.in.finish.code = 503;
        fin.in.finish.text = "busy";
        fin.in.finish.text_len = 4;
        fin.in.finish.error = "status 503";
        world_call(w, &fin);
        granted(w, second, &texts);

        h.in.history = (struct history_in) { NULL, -1, INSTANT_NONE, 100 };
        world_call(w, &h);
        assert_int_equal(h.error, 0);
        assert_int_equal(h.out.history.count, 2);
        const struct history_row *newest = &h.out.history.rows[0], *older = &h.out.history.rows[1];
        assert_int_equal(newest->state, STATE_RUNNING);
        assert_string_equal(newest->occ, texts.occ);
        assert_string_equal(newest->fence, texts.fence);
        assert_string_equal(newest->trig, texts.trig);
        assert_string_equal(newest->owner, w->owner);
        assert_int_equal(older->state, STATE_FAILED);
        assert_int_equal(older->cause, CAUSE_STATUS);
        assert_int_equal(older->code, 503);
        assert_int_equal(older->text_len, 4);
        assert_memory_equal(older->text, "busy", 4);
        assert_string_equal(older->error, "status 503");
        assert_int_equal(older->started.ns, fin.in.finish.started.ns);
        assert_int_equal(older->ended.ns, fin.in.finish.ended.ns);
        ledger_call_done(&h);

        h.in.history = (struct history_in) { WORLD_TASK, -1, world_at(w, -8), 100 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 1);
        ledger_call_done(&h);
        h.in.history = (struct history_in) { "nothing", -1, INSTANT_NONE, 100 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 0);
        ledger_call_done(&h);
        h.in.history = (struct history_in) { NULL, -1, INSTANT_NONE, 1 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 1);
        ledger_call_done(&h);
}

static void reopened_ledger_remembers(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, -10);
        struct ask_texts texts;
        struct ledger_call c;
        granted(w, first, &texts);

        world_close(w);
        world_open(w);
        /* The next connection of the same life finds all of it. */
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(try_claim(w, first, &c), OUTCOME_GRANTED);
        assert_true(c.out.claim.replay);
}

const struct CMUnitTest life_cases[] = {
        CONFORMANCE_CASE(repeated_finish_is_fine),
        CONFORMANCE_CASE(final_record_stands_against_another_finish),
        CONFORMANCE_CASE(finish_under_another_token_is_fenced),
        CONFORMANCE_CASE(finish_of_a_lost_claim_restores_it),
        CONFORMANCE_CASE(revoke_within_grace_waits_then_frees),
        CONFORMANCE_CASE(revoke_after_grace_is_abandoned),
        CONFORMANCE_CASE(revoke_of_an_own_unstarted_grant_frees_the_slot),
        CONFORMANCE_CASE(revoke_of_what_another_decided_changes_nothing),
        CONFORMANCE_CASE(renew_of_a_running_claim_is_fine),
        CONFORMANCE_CASE(dead_owners_run_without_a_tree_ends_at_once),
        CONFORMANCE_CASE(dead_owners_tree_keeps_the_slot_busy),
        CONFORMANCE_CASE(each_lead_raises_the_term),
        CONFORMANCE_CASE(lead_of_the_same_life_ends_nothing),
        CONFORMANCE_CASE(lead_of_a_new_life_interrupts_the_old_ones_runs),
        CONFORMANCE_CASE(run_of_another_boot_is_unknown),
        CONFORMANCE_CASE(same_definition_changes_nothing),
        CONFORMANCE_CASE(changed_definition_gives_up_the_old_instants_once),
        CONFORMANCE_CASE(disabling_and_enabling_say_disabled),
        CONFORMANCE_CASE(history_tells_what_happened),
        CONFORMANCE_CASE(reopened_ledger_remembers),
};
const size_t life_case_count = sizeof(life_cases) / sizeof(life_cases[0]);
