/* What becomes of instants that wait on a real Redis server: a restart, another definition, a clock that went back,
 * and very many of them. */
#include "t/unit/cases.h"
#include "t/unit/ledger/redis_queue.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger/recover.h"

/* It may have lost the takes of its last seconds. */
static void what_waits_over_a_restart_of_the_server_is_not_run(void **state)
{
        struct redis_server s;
        struct world w;
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_INTERRUPT };
        redis_server_start(&s, NULL);
        alarm(60);
        assert_int_equal(world_begin(&w, &redis_backend), 0);
        w.config.redis.url = s.url;
        redis_store_of_old(&s, w.config.redis.group);
        world_open(&w);
        queue_fill(&w, 1, &texts);
        assert_int_equal(queue_finish(&w, &texts, 0).finished, FINISHED_OK);
        redis_server_kill(&s);
        world_wait_health(&w, LEDGER_DOWN);
        redis_server_again(&s);
        world_wait_health(&w, LEDGER_UP);

        for (int i = 0; i < 2; i++) {
                struct take_out out = queue_take(&w, NULL, 1, "");
                assert_int_equal(out.claim.outcome, OUTCOME_DECIDED);
                assert_int_equal(out.claim.state, STATE_UNKNOWN);
                assert_int_equal(out.claim.cause, CAUSE_BARRIER);
                assert_int_equal(out.claim.replay, i == 1);
                assert_int_equal(out.planned.ms, world_at(&w, -8).ms);
        }
        assert_int_equal(queue_take(&w, NULL, 2, "").claim.outcome, OUTCOME_DONE);
        c.in.interrupt = (struct interrupt_in) { w.owner, true };
        world_call(&w, &c);
        assert_int_equal(c.out.interrupt.told_count, 1);
        assert_int_equal(c.out.interrupt.told[0].cause, CAUSE_BARRIER);
        ledger_call_done(&c);
        world_end(&w);
        redis_server_stop(&s);
        alarm(0);
        (void) state;
}

static void define(struct world *w, const char *when_hash, bool all_scope, bool competes, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_DEFINE };
        ret->in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = when_hash, .def_hash = "d", .shards = 1,
                                              .competes = competes, .all_scope = all_scope, .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &ret->in.define.schedule), 0);
        world_call(w, ret);
        assert_int_equal(ret->error, 0);
}

static void very_many_that_wait_are_given_up_in_steps(void **state)
{
        enum { MANY = 450 };
        struct world w;
        struct ask_texts texts;
        struct ledger_call c;
        queue_begin(&w);
        world_task(&w, 1, -600);
        for (int i = 0; i <= MANY; i++)
                assert_int_equal(queue_claim(&w, -599 + i, &texts), i == 0 ? OUTCOME_GRANTED : OUTCOME_QUEUED);

        define(&w, "off", false, false, &c);
        assert_true(c.out.define.changed);
        assert_int_equal(c.out.define.told_count, MANY);
        for (int i = 0; i < MANY; i++) {
                assert_int_equal(c.out.define.told[i].first.ms, world_at(&w, -598 + i).ms);
                assert_int_equal(c.out.define.told[i].cause, CAUSE_DISABLED);
        }
        assert_int_equal(queue_depth(&w), 0);
        assert_int_equal(c.out.define.revised.first.ms, world_at(&w, -598 + MANY).ms);
        ledger_call_done(&c);
        queue_end(&w);
        (void) state;
}

static void other_scope_gives_up_what_waits_in_the_old_one(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct ledger_call c;
        queue_begin(&w);
        queue_fill(&w, 1, &texts);

        define(&w, "all", true, true, &c);
        assert_int_equal(c.out.define.told_count, 1);
        assert_int_equal(c.out.define.told[0].cause, CAUSE_REVISED);
        assert_string_equal(c.out.define.told[0].scope_key, "");
        assert_string_equal(c.out.define.told[0].owner, w.owner);
        ledger_call_done(&c);
        assert_int_equal(queue_depth(&w), 0);
        queue_end(&w);
        (void) state;
}

static void schedule_that_cannot_be_read_is_not_counted(void **state)
{
        struct world w;
        struct ledger_call c;
        queue_begin(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&redis_shared, "HSET %s schedule @daily/Atlantis", queue_key(&w, "d:0:,4:" WORLD_TASK ","));
        define(&w, "one", false, true, &c);
        assert_true(c.out.define.changed);
        assert_non_null(strstr(c.why, "Atlantis"));
        assert_int_equal(c.out.define.revised.count, 0);
        assert_true(c.out.define.valid_from.ms > world_at(&w, -1).ms);
        (void) redis_say(&redis_shared, "HDEL %s schedule", queue_key(&w, "d:0:,4:" WORLD_TASK ","));
        define(&w, "two", false, true, &c);
        assert_non_null(strstr(c.why, "not known"));
        define(&w, "three", false, true, &c);
        assert_string_equal(c.why, "");
        queue_end(&w);
        (void) state;
}

static void units_beyond_a_page_are_listed(void **state)
{
        enum { SHARDS = 40 };
        struct world w;
        struct ledger_call c, calls[SHARDS];
        struct ask_texts texts[SHARDS];
        bool seen[SHARDS] = { 0 };
        queue_begin(&w);
        (void) redis_say(&redis_shared, "CONFIG SET hash-max-listpack-entries 4");
        world_task(&w, SHARDS, -10);
        for (int at = -9; at <= -8; at++) {
                for (unsigned i = 0; i < SHARDS; i++)
                        ask_claim(&w, &(struct ask) { .at = at, .expect = at - 1, .shard = i,
                                                      .overlap = OVERLAP_QUEUE }, &texts[i], &calls[i]);
                world_call_all(&w, calls, SHARDS);
        }
        /* More of them than a page holds, of another node. */
        for (int i = 0; i < 400; i++)
                (void) redis_say(&redis_shared, "HSET %s elsewhere%d [\"there\",\"mail\",\"%d\"]",
                                 queue_key(&w, "qs"), i, i);

        c = (struct ledger_call) { .op = LEDGER_QUEUED };
        c.in.queued.node = w.node;
        world_call(&w, &c);
        assert_int_equal(c.error, 0);
        assert_true(c.out.queued.count >= SHARDS);
        for (size_t i = 0; i < c.out.queued.count; i++) {
                assert_in_range(c.out.queued.units[i].shard, 0, SHARDS - 1);
                seen[c.out.queued.units[i].shard] = true;
                assert_int_equal(c.out.queued.units[i].count, 1);
                assert_int_equal(c.out.queued.units[i].running, 1);
                assert_int_equal(c.out.queued.units[i].oldest.ms, world_at(&w, -8).ms);
        }
        for (unsigned i = 0; i < SHARDS; i++)
                assert_true(seen[i]);
        ledger_call_done(&c);
        (void) redis_say(&redis_shared, "CONFIG SET hash-max-listpack-entries 512");
        queue_end(&w);
        (void) state;
}

static void cursor_set_back_opens_what_waits_as_well(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct recover_ahead ahead;
        char occ[OCC_TEXT], why[RECOVER_TEXT] = "";
        queue_begin(&w);
        queue_fill(&w, 2, &texts);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -7), occ);
        (void) redis_say(&redis_shared, "ZADD %s %lld %s", queue_key(&w, "q:" QUEUE_UNIT),
                         (long long) world_at(&w, 3600).ms, occ);
        (void) redis_say(&redis_shared, "HSET %s cursor %015lld", queue_key(&w, "u:" QUEUE_UNIT),
                         (long long) world_at(&w, 3600).ms);
        const struct task *by_name[] = { &queue_task };
        assert_int_equal(schedule_every(1000, 0, &queue_task.schedule), 0);
        w.config.by_name = by_name;

        assert_int_equal(recover_cursor_store(&w.config, WORLD_TASK, true, &ahead, why), 0);
        assert_int_equal(ahead.units, 1);
        assert_int_equal(queue_depth(&w), 1);
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", queue_key_of(&w, "o", occ)), "0");
        queue_end(&w);
        (void) state;
}

static void what_was_queued_before_the_clock_went_back_waits_for_its_time(void **state)
{
        struct world w;
        struct ask_texts texts;
        char occ[OCC_TEXT];
        queue_begin(&w);
        queue_fill(&w, 1, &texts);
        assert_int_equal(queue_finish(&w, &texts, 0).finished, FINISHED_OK);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -8), occ);
        (void) redis_say(&redis_shared, "HSET %s planned %015lld", queue_key_of(&w, "o", occ),
                         (long long) world_at(&w, 3600).ms);

        assert_int_equal(queue_take(&w, NULL, 1, "").claim.outcome, OUTCOME_EARLY);
        assert_int_equal(queue_depth(&w), 1);
        queue_end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(what_waits_over_a_restart_of_the_server_is_not_run),
                cmocka_unit_test(very_many_that_wait_are_given_up_in_steps),
                cmocka_unit_test(other_scope_gives_up_what_waits_in_the_old_one),
                cmocka_unit_test(schedule_that_cannot_be_read_is_not_counted),
                cmocka_unit_test(units_beyond_a_page_are_listed),
                cmocka_unit_test(cursor_set_back_opens_what_waits_as_well),
                cmocka_unit_test(what_was_queued_before_the_clock_went_back_waits_for_its_time),
        };
        int failed = RUN_CASES(argc, argv, "redis_waiting", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
