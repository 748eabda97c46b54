/* Definitions on Redis: written in two steps, and what a changed number of shards does. */
#include "ledger/rules.h"
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <unistd.h>

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        world_open(w);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static void prepare(struct world *w, const char *when_hash, unsigned shards, bool all_scope, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_DEFINE };
        ret->in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = when_hash, .def_hash = "d",
                                              .shards = shards, .competes = true, .all_scope = all_scope,
                                              .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &ret->in.define.schedule), 0);
}

static struct define_out define(struct world *w, const char *when_hash, unsigned shards, bool all_scope)
{
        struct ledger_call c;

        prepare(w, when_hash, shards, all_scope, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.define;
}

static struct peek_out peek(struct world *w, const char *scope_key, unsigned shard)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { scope_key, WORLD_TASK, shard };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.peek;
}

static void claim_between_the_two_steps_is_not_given_up(void **state)
{
        struct world w;
        struct ledger_call calls[2];
        struct ask_texts texts;
        begin(&w);
        world_task(&w, 1, -10);

        /* In one turn: the definition is read, the claim moves the cursor, the write must not trust the read. */
        prepare(&w, "other", 1, false, &calls[0]);
        ask_claim(&w, &(struct ask) { .at = -9, .expect = -10 }, &texts, &calls[1]);
        world_call_all(&w, calls, 2);

        assert_int_equal(calls[1].error, 0);
        assert_int_equal(calls[1].out.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(calls[0].error, 0);
        assert_int_equal(calls[0].tries, 1);
        assert_int_equal(calls[0].out.define.revised.first.ms, world_at(&w, -8).ms);
        assert_int_equal(peek(&w, "", 0).cursor.ms, calls[0].out.define.valid_from.ms);
        end(&w);
        (void) state;
}

static void added_shard_begins_with_its_definition(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        world_task(&w, 1, -10);

        struct define_out d = define(&w, "two", 2, false);
        assert_true(d.changed);
        assert_int_equal(peek(&w, "", 1).cursor.ms, d.valid_from.ms);

        /* Whoever still counts one shard is told. */
        ask_claim(&w, &(struct ask) { .at = 3600, .expect = 0, .rev = d.rev, .shards = 1 }, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_STALE);
        assert_int_equal(c.out.claim.shards, 2);
        end(&w);
        (void) state;
}

static void shard_that_comes_back_skips_its_absence(void **state)
{
        struct world w;
        begin(&w);
        world_task(&w, 2, -10);

        struct define_out one = define(&w, "one", 1, false);
        assert_int_equal(peek(&w, "", 1).cursor.ms, one.valid_from.ms);
        struct define_out two = define(&w, "two", 2, false);
        assert_int_equal(peek(&w, "", 1).cursor.ms, two.valid_from.ms);
        end(&w);
        (void) state;
}

static void each_node_of_scope_all_has_its_own_definition(void **state)
{
        struct world w;
        begin(&w);
        world_task(&w, 1, -10);

        struct define_out all = define(&w, "all", 1, true);
        assert_true(all.changed);
        assert_int_equal(all.rev, 1);
        assert_false(define(&w, "all", 1, true).changed);

        /* Back in the group's scope the time in between must not be caught up. */
        struct define_out back = define(&w, "0123456789abcdef", 1, false);
        assert_true(back.changed);
        assert_int_equal(peek(&w, "", 0).cursor.ms, back.valid_from.ms);
        end(&w);
        (void) state;
}

/* A task of the group that leaves it is asked for in both scopes, and is in one of them. */
static void departure_from_one_scope_leaves_the_other_alone(void **state)
{
        struct world w;
        struct ledger_call c;
        begin(&w);
        world_task(&w, 1, -10);
        (void) define(&w, "all", 1, true);

        prepare(&w, rules_place(PATH_FLOCK), 1, false, &c);
        c.in.define.away = true;
        c.in.define.competes = false;
        world_call(&w, &c);
        assert_true(c.out.define.ended);
        assert_false(define(&w, "all", 1, true).changed);
        /* Said again, as at each start, nothing changes. */
        uint64_t rev = c.out.define.rev;
        world_call(&w, &c);
        assert_false(c.out.define.changed);
        assert_int_equal(c.out.define.rev, rev);
        end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(claim_between_the_two_steps_is_not_given_up),
                cmocka_unit_test(added_shard_begins_with_its_definition),
                cmocka_unit_test(shard_that_comes_back_skips_its_absence),
                cmocka_unit_test(each_node_of_scope_all_has_its_own_definition),
                cmocka_unit_test(departure_from_one_scope_leaves_the_other_alone),
        };
        int failed = RUN_CASES(argc, argv, "redis_define", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
