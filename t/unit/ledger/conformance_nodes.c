/* The table of cases for nodes: one that is alone with its ledger is the main node, says so, and sweeps nothing. */
#include "t/unit/ledger/conformance_cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "00000000000000000000000000000001"

static void beat(struct world *w, bool leaving, struct ledger_call *c)
{
        ask_beat(w, NULL, TOKEN, c);
        c->in.beat.leaving = leaving;
        world_call(w, c);
        assert_int_equal(c->error, 0);
        assert_int_equal(c->out.beat.verdict, BEAT_OK);
}

static void first_node_to_beat_is_main(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;

        beat(w, false, &c);

        assert_true(c.out.beat.is_main);
        assert_false(c.out.beat.pinned);
        assert_string_equal(c.out.beat.main, w->node);
        assert_true(strtoull(c.out.beat.main_fence, NULL, 10) > 0);
        assert_true(c.out.beat.main_until.ns > clock_mono().ns);
        assert_true(c.out.beat.store_time.ns > 0);
        ledger_call_done(&c);
}

static void node_is_listed_as_it_said(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;

        beat(w, false, &c);

        assert_int_equal(c.out.beat.count, 1);
        assert_int_equal(c.out.beat.unlisted, 0);
        const struct node_row *row = &c.out.beat.nodes[0];
        assert_string_equal(row->node, w->node);
        assert_string_equal(row->token, TOKEN);
        assert_string_equal(row->host, "web-1");
        assert_string_equal(row->boot, w->boot);
        assert_string_equal(row->version, "1.2.3");
        assert_string_equal(row->tzdata, "2024a");
        assert_string_equal(row->config, "00112233aabbccdd");
        assert_int_equal(row->pid, 4711);
        assert_true(row->beat.ns > 0);
        assert_true(row->is_main);
        assert_false(row->offline);
        ledger_call_done(&c);
}

static void node_that_leaves_is_main_no_more(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        beat(w, false, &c);
        ledger_call_done(&c);

        beat(w, true, &c);

        assert_false(c.out.beat.is_main);
        assert_string_equal(c.out.beat.main, "");
        assert_true(c.out.beat.nodes[0].offline);
        assert_false(c.out.beat.nodes[0].is_main);
        ledger_call_done(&c);
}

static void read_on(struct world *w)
{
        world_close(w);
        w->read_only = true;
        world_open(w);
}

static void nodes_are_shown_to_a_reader(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        beat(w, false, &c);
        ledger_call_done(&c);
        read_on(w);

        c = (struct ledger_call) { .op = LEDGER_NODES };
        world_call(w, &c);

        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.nodes.count, 1);
        assert_string_equal(c.out.nodes.nodes[0].node, w->node);
        assert_true(c.out.nodes.nodes[0].is_main);
        assert_string_equal(c.out.nodes.main, w->node);
        assert_true(strtoull(c.out.nodes.main_fence, NULL, 10) > 0);
        assert_true(c.out.nodes.store_time.ns > 0);
        ledger_call_done(&c);
}

static void main_node_is_set_by_a_reader(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c, set = { .op = LEDGER_SET_MAIN };
        beat(w, false, &c);
        ledger_call_done(&c);
        read_on(w);

        set.in.set_main = (struct set_main_in) { w->node, false, "someone" };
        world_call(w, &set);
        assert_int_equal(set.error, 0);
        assert_string_equal(set.out.set_main.before, w->node);

        set.in.set_main.node = "nobody-00000000";
        world_call(w, &set);
        assert_int_equal(set.error, -ENOENT);
        assert_non_null(strstr(set.why, "no such node"));
}

static void main_node_is_granted_what_only_it_may_run(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        struct ask_texts texts;
        world_task(w, 1, -10);
        beat(w, false, &c);
        ledger_call_done(&c);

        ask_claim(w, &(struct ask) { .at = -9, .expect = -10 }, &texts, &c);
        c.in.claim.main_token = TOKEN;
        world_call(w, &c);

        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
}

static void sweep_leaves_a_lease_that_lives(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask a = { .at = -9, .expect = -10 };
        struct ledger_call c = { .op = LEDGER_SWEEP };
        struct ask_texts texts;
        world_task(w, 1, -10);
        granted(w, a, &texts);

        c.in.sweep = (struct sweep_in) { .node = w->node, .owner = w->owner, .life = w->life,
                                         .stale = &texts.occ, .stale_count = 1 };
        world_call(w, &c);

        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.sweep.ended_count, 0);
        assert_int_equal(c.out.sweep.expired_count, 0);
        ledger_call_done(&c);
        assert_int_equal(peeked(w, 0).running, 1);
        assert_int_equal(try_finish(w, a, &texts, STATE_SUCCEEDED), FINISHED_OK);
}

const struct CMUnitTest node_cases[] = {
        CONFORMANCE_CASE(first_node_to_beat_is_main),
        CONFORMANCE_CASE(node_is_listed_as_it_said),
        CONFORMANCE_CASE(node_that_leaves_is_main_no_more),
        CONFORMANCE_CASE(nodes_are_shown_to_a_reader),
        CONFORMANCE_CASE(main_node_is_set_by_a_reader),
        CONFORMANCE_CASE(main_node_is_granted_what_only_it_may_run),
        CONFORMANCE_CASE(sweep_leaves_a_lease_that_lives),
};
const size_t node_case_count = sizeof(node_cases) / sizeof(node_cases[0]);
