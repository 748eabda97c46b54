/* Several nodes on one Redis server: whose name it is, and which of them is main. What takes long is written into the
 * store. */
#include "t/unit/cases.h"
#include "t/unit/ledger/redis_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A "aaaa-00000001"
#define B "bbbb-00000002"
#define C "cccc-00000003"
#define LIFE_1 "00000000000000000000000000000001"
#define LIFE_2 "00000000000000000000000000000002"
#define LIFE_3 "00000000000000000000000000000003"

static int begin(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        queue_begin(w);
        *state = w;
        return 0;
}

static int end(void **state)
{
        queue_end(*state);
        free(*state);
        return 0;
}

/* One command about a key of the group. */
#define SAY(w, verb, key, rest) redis_say(&redis_shared, verb " %s " rest, queue_key(w, key))

/* A beat that is not a clone's; its list is freed. */
static struct beat_out beat_of(struct world *w, const char *node, const char *token, const char *prev, bool leaving)
{
        struct ledger_call c;

        ask_beat(w, node, token, &c);
        c.in.beat.prev = prev;
        c.in.beat.leaving = leaving;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct beat_out out = c.out.beat;
        ledger_call_done(&c);
        return out;
}

static struct beat_out beat(struct world *w, const char *node)
{
        struct beat_out out = beat_of(w, node, LIFE_1, "", false);

        assert_int_equal(out.verdict, BEAT_OK);
        return out;
}

static int set_main(struct world *w, const char *node, bool pinned)
{
        struct ledger_call c = { .op = LEDGER_SET_MAIN };

        c.in.set_main = (struct set_main_in) { node, pinned, "someone" };
        world_call(w, &c);
        return c.error;
}

static struct nodes_out nodes(struct world *w, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_NODES };
        world_call(w, c);
        assert_int_equal(c->error, 0);
        return c->out.nodes;
}

static void lease_of_main_dies(struct world *w)
{
        assert_string_equal(SAY(w, "DEL", "ml", ""), "1");
}

static unsigned long long number(const char *fence)
{
        return strtoull(fence, NULL, 10);
}

static void copied_identity_is_refused_and_changes_nothing(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        struct beat_out first = beat(w, A);

        ask_beat(w, A, LIFE_2, &c);
        c.in.beat.host = "web-2";
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.beat.verdict, BEAT_CLONE);
        assert_false(c.out.beat.is_main);
        assert_string_equal(c.out.beat.other_token, LIFE_1);
        assert_string_equal(c.out.beat.other_host, "web-1");
        assert_int_equal(c.out.beat.other_pid, 4711);
        ledger_call_done(&c);

        struct nodes_out now = nodes(w, &c);
        assert_string_equal(now.nodes[0].token, LIFE_1);
        assert_string_equal(now.nodes[0].host, "web-1");
        assert_string_equal(now.main_fence, first.main_fence);
        assert_true(now.nodes[0].is_main);
        ledger_call_done(&c);
        /* Nor can it give up in the other's name. */
        assert_int_equal(beat_of(w, A, LIFE_2, "", true).verdict, BEAT_CLONE);
        assert_true(beat(w, A).is_main);
}

static void next_life_replaces_the_one_before_at_once(void **state)
{
        struct world *w = *state;
        struct beat_out first = beat(w, A);

        struct beat_out next = beat_of(w, A, LIFE_2, LIFE_1, false);

        assert_int_equal(next.verdict, BEAT_OK);
        assert_true(next.is_main);
        assert_true(number(next.main_fence) > number(first.main_fence));
        /* The one before, should it still run, is told. */
        struct beat_out old = beat_of(w, A, LIFE_1, "", false);
        assert_int_equal(old.verdict, BEAT_CLONE);
        assert_string_equal(old.other_token, LIFE_2);
}

/* It died before it heard that its beat was taken, so that it cannot say which of its lives the store knows. */
static void one_of_several_lives_before_is_enough(void **state)
{
        struct world *w = *state;
        (void) beat(w, A);

        assert_int_equal(beat_of(w, A, LIFE_3, LIFE_2 " " LIFE_1, false).verdict, BEAT_OK);
        assert_int_equal(beat_of(w, A, LIFE_1, LIFE_2, false).verdict, BEAT_CLONE);
}

static void name_is_free_when_it_was_silent_or_left(void **state)
{
        struct world *w = *state;
        (void) beat(w, A);
        (void) SAY(w, "HSET", "n:" A, "beat 000000000001000");

        assert_int_equal(beat_of(w, A, LIFE_2, "", false).verdict, BEAT_OK);
        assert_int_equal(beat_of(w, A, LIFE_3, "", false).verdict, BEAT_CLONE);
        assert_int_equal(beat_of(w, A, LIFE_2, "", true).verdict, BEAT_OK);
        assert_int_equal(beat_of(w, A, LIFE_3, "", false).verdict, BEAT_OK);
}

static void life_begins_with_its_first_beat(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, A);
        (void) SAY(w, "HSET", "n:" A, "started 000000000001000");

        (void) beat(w, A);
        assert_int_equal(nodes(w, &c).nodes[0].started.ns, NS_PER_S);
        ledger_call_done(&c);
        (void) beat_of(w, A, LIFE_2, LIFE_1, false);
        assert_true(nodes(w, &c).nodes[0].started.ns > NS_PER_S);
        ledger_call_done(&c);
}

static void main_node_is_replaced_when_its_lease_is_gone(void **state)
{
        struct world *w = *state;
        struct beat_out first = beat(w, A);
        struct beat_out second = beat(w, B);
        assert_false(second.is_main);
        assert_string_equal(second.main, A);
        assert_string_equal(second.main_fence, first.main_fence);

        lease_of_main_dies(w);
        second = beat(w, B);

        assert_true(second.is_main);
        assert_string_equal(second.main, B);
        assert_true(number(second.main_fence) > number(first.main_fence));
        assert_false(beat(w, A).is_main);
}

static void main_fence_increases_after_the_store_forgot_it(void **state)
{
        struct world *w = *state;
        struct beat_out first = beat(w, A);
        lease_of_main_dies(w);
        assert_string_equal(SAY(w, "DEL", "main", ""), "1");

        assert_true(number(beat(w, B).main_fence) > number(first.main_fence));
}

static enum outcome claim_as(struct world *w, const char *node, int at, struct ledger_call *c)
{
        struct ask_texts texts;

        ask_claim(w, &(struct ask) { .at = at, .expect = at - 1 }, &texts, c);
        c->in.claim.node = node;
        c->in.claim.main_token = LIFE_1;
        world_call(w, c);
        assert_int_equal(c->error, 0);
        return c->out.claim.outcome;
}

static void only_the_main_node_is_granted(void **state)
{
        struct world *w = *state;
        struct ledger_call c, h = { .op = LEDGER_HISTORY };
        world_task(w, 1, -10);
        (void) beat(w, A);
        (void) beat(w, B);

        assert_int_equal(claim_as(w, B, -9, &c), OUTCOME_NOT_OWNER);
        assert_int_equal(c.out.claim.cursor.ms, world_at(w, -10).ms);
        c.in.claim.planned = INSTANT_NONE;
        c.in.claim.gap = (struct instant_range) { world_at(w, -9), world_at(w, -8), 2 };
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_NOT_OWNER);
        h.in.history = (struct history_in) { WORLD_TASK, -1, INSTANT_NONE, 10 };
        world_call(w, &h);
        assert_int_equal(h.out.history.count, 0);
        ledger_call_done(&h);

        assert_int_equal(claim_as(w, A, -9, &c), OUTCOME_GRANTED);
        /* Without the lease it is nobody's. */
        lease_of_main_dies(w);
        assert_int_equal(claim_as(w, A, -8, &c), OUTCOME_NOT_OWNER);
}

static enum outcome take_as(struct world *w, const char *node, int n)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts texts;

        ask_take(w, NULL, n, &texts, &c.in.take);
        c.in.take.node = node;
        c.in.take.main_token = LIFE_1;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        ledger_call_done(&c);
        return c.out.take.claim.outcome;
}

static void what_waits_is_taken_by_the_main_node(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        (void) beat(w, A);
        (void) beat(w, B);
        queue_fill(w, 2, &texts);
        (void) queue_finish(w, &texts, 0);

        assert_int_equal(take_as(w, B, 1), OUTCOME_NOT_OWNER);
        assert_int_equal(queue_depth(w), 2);
        assert_int_equal(take_as(w, A, 2), OUTCOME_GRANTED);
}

static void move_is_in_force_at_once(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        world_task(w, 1, -10);
        struct beat_out first = beat(w, A);
        (void) beat(w, B);
        (void) beat(w, C);

        assert_int_equal(set_main(w, B, false), 0);

        assert_int_equal(claim_as(w, A, -9, &c), OUTCOME_NOT_OWNER);
        struct nodes_out now = nodes(w, &c);
        assert_string_equal(now.main, B);
        for (size_t i = 0; i < now.count; i++)
                assert_false(now.nodes[i].is_main);   /* it has not come yet */
        ledger_call_done(&c);
        assert_false(beat(w, A).is_main);
        assert_false(beat(w, C).is_main);
        struct beat_out moved = beat(w, B);
        assert_true(moved.is_main);
        assert_true(number(moved.main_fence) > number(first.main_fence));
        assert_int_equal(claim_as(w, B, -9, &c), OUTCOME_GRANTED);
        /* To where it is, nothing changes. */
        assert_int_equal(set_main(w, B, false), 0);
        assert_string_equal(beat(w, B).main_fence, moved.main_fence);
}

static void chosen_node_that_does_not_come_is_not_waited_for_for_ever(void **state)
{
        struct world *w = *state;
        (void) beat(w, A);
        (void) beat(w, B);
        assert_int_equal(set_main(w, B, false), 0);
        assert_true(atoll(SAY(w, "PTTL", "ml", "")) <= OFFLINE_MS);

        lease_of_main_dies(w);
        assert_true(beat(w, A).is_main);
}

static void pinned_node_is_never_replaced(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, A);
        (void) beat(w, B);
        assert_int_equal(set_main(w, B, true), 0);
        assert_true(beat(w, B).pinned);

        lease_of_main_dies(w);
        struct beat_out other = beat(w, A);
        assert_false(other.is_main);
        assert_true(other.pinned);
        assert_string_equal(other.main, B);
        struct nodes_out now = nodes(w, &c);
        assert_true(now.pinned);
        assert_string_equal(now.main, B);
        assert_false(now.nodes[1].is_main);
        ledger_call_done(&c);

        assert_true(beat(w, B).is_main);
        /* Nor when it stops, since it comes back as what it was. */
        assert_string_equal(beat_of(w, B, LIFE_1, "", true).main, B);
        assert_false(beat(w, A).is_main);
        assert_true(beat_of(w, B, LIFE_2, LIFE_1, false).is_main);
}

static void main_node_that_leaves_gives_up(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, A);
        (void) beat(w, B);

        assert_string_equal(beat_of(w, A, LIFE_1, "", true).main, "");

        assert_string_equal(nodes(w, &c).main, "");
        assert_true(c.out.nodes.nodes[0].offline);
        assert_false(c.out.nodes.nodes[1].offline);
        ledger_call_done(&c);
        assert_true(beat(w, B).is_main);
}

static void choice_is_given_up_for_whoever_comes_first(void **state)
{
        struct world *w = *state;
        (void) beat(w, A);
        (void) beat(w, B);
        assert_int_equal(set_main(w, A, true), 0);

        assert_int_equal(set_main(w, "", true), 0);

        struct beat_out first = beat(w, B);
        assert_true(first.is_main);
        assert_false(first.pinned);
}

static void unknown_node_cannot_be_main(void **state)
{
        struct world *w = *state;
        struct beat_out first = beat(w, A);

        assert_int_equal(set_main(w, C, true), -ENOENT);
        struct beat_out after = beat(w, A);
        assert_false(after.pinned);
        assert_string_equal(after.main_fence, first.main_fence);
}

static void clock_that_went_back_holds_no_name_and_no_lease(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        char later[24];
        int64_t ahead = stamp_instant(clock_wall()).ms + 36000000;
        (void) beat(w, A);
        (void) snprintf(later, sizeof(later), "%015lld", (long long) ahead);
        (void) redis_say(&redis_shared, "HSET %s beat %s", queue_key(w, "n:" A), later);
        (void) redis_say(&redis_shared, "ZADD %s %s " A, queue_key(w, "nodes"), later);
        (void) SAY(w, "PEXPIRE", "ml", "36000000");

        (void) beat(w, B);

        assert_true(atoll(SAY(w, "PTTL", "ml", "")) <= MAIN_MS);
        struct nodes_out now = nodes(w, &c);
        assert_int_equal(now.count, 2);
        for (size_t i = 0; i < now.count; i++)
                assert_true(now.nodes[i].beat.ns <= now.store_time.ns);
        ledger_call_done(&c);
        (void) SAY(w, "DEL", "ml", "");
        (void) SAY(w, "HSET", "n:" A, "beat 000000000001000");
        assert_true(beat(w, B).is_main);
}

static void node_not_heard_of_for_a_week_is_forgotten(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, A);
        (void) beat(w, C);
        (void) SAY(w, "ZADD", "nodes", "1000 " A);
        (void) SAY(w, "HSET", "n:" A, "beat 000000000001000");

        /* Not while it is to be the main node. */
        assert_int_equal(set_main(w, A, true), 0);
        (void) beat(w, B);
        struct nodes_out now = nodes(w, &c);
        assert_int_equal(now.count, 3);
        assert_true(now.nodes[0].offline);
        ledger_call_done(&c);

        assert_int_equal(set_main(w, B, true), 0);
        (void) beat(w, B);
        now = nodes(w, &c);
        assert_int_equal(now.count, 2);
        assert_string_equal(now.nodes[0].node, B);
        assert_string_equal(now.nodes[1].node, C);
        ledger_call_done(&c);
        assert_string_equal(SAY(w, "EXISTS", "n:" A, ""), "0");
}

static void nodes_beyond_the_list_are_counted(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) redis_say(&redis_shared, "EVAL %s 1 %s",
                         "local t = redis.call('TIME') for i = 1, 1002 do"
                         " redis.call('ZADD', KEYS[1], t[1] * 1000 - i, 'n' .. i) end", queue_key(w, "nodes"));

        ask_beat(w, A, LIFE_1, &c);
        world_call(w, &c);

        assert_int_equal(c.out.beat.count, GROUP_NODES_MAX);
        assert_int_equal(c.out.beat.unlisted, 3);
        assert_string_equal(c.out.beat.nodes[0].node, A);   /* the newest are listed */
        ledger_call_done(&c);
}

static void beat_reaches_no_store_but_the_one_greeted(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, B);

        (void) SAY(w, "HSET", "store", "epoch 7");
        ask_beat(w, A, LIFE_1, &c);
        world_call(w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_string_equal(SAY(w, "EXISTS", "n:" A, ""), "0");
}

static void beat_of_a_lost_store_halts(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        (void) beat(w, B);

        (void) SAY(w, "DEL", "store", "");
        ask_beat(w, A, LIFE_1, &c);
        world_call(w, &c);
        assert_int_equal(c.error, -EUCLEAN);
        assert_int_equal(w->health, LEDGER_HALTED);
}

static void full_server_takes_no_beat_and_no_choice(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        struct beat_out first = beat(w, A);

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        ask_beat(w, B, LIFE_1, &c);
        world_call(w, &c);
        int chosen = set_main(w, "", false);
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(chosen, -EAGAIN);

        assert_string_equal(SAY(w, "EXISTS", "n:" B, ""), "0");
        assert_string_equal(beat(w, A).main_fence, first.main_fence);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                CASE(copied_identity_is_refused_and_changes_nothing),
                CASE(next_life_replaces_the_one_before_at_once),
                CASE(one_of_several_lives_before_is_enough),
                CASE(name_is_free_when_it_was_silent_or_left),
                CASE(life_begins_with_its_first_beat),
                CASE(main_node_is_replaced_when_its_lease_is_gone),
                CASE(main_fence_increases_after_the_store_forgot_it),
                CASE(only_the_main_node_is_granted),
                CASE(what_waits_is_taken_by_the_main_node),
                CASE(move_is_in_force_at_once),
                CASE(chosen_node_that_does_not_come_is_not_waited_for_for_ever),
                CASE(pinned_node_is_never_replaced),
                CASE(main_node_that_leaves_gives_up),
                CASE(choice_is_given_up_for_whoever_comes_first),
                CASE(unknown_node_cannot_be_main),
                CASE(clock_that_went_back_holds_no_name_and_no_lease),
                CASE(node_not_heard_of_for_a_week_is_forgotten),
                CASE(nodes_beyond_the_list_are_counted),
                CASE(beat_reaches_no_store_but_the_one_greeted),
                CASE(beat_of_a_lost_store_halts),
                CASE(full_server_takes_no_beat_and_no_choice),
        };
        int failed = RUN_CASES(argc, argv, "redis_nodes", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
