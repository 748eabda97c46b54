/* History on Redis is trimmed by what its task keeps, whoever writes it, and when nobody does any more. */
#include "t/unit/cases.h"
#include "t/unit/ledger/redis_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As streams are trimmed by whole pieces. */
#define PIECE 100

static int begin(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        queue_begin(w);
        world_task(w, 1, -1200);
        *state = w;
        return 0;
}

static int end(void **state)
{
        queue_end(*state);
        free(*state);
        return 0;
}

static void run_once(struct world *w, int at, struct history_keep keep)
{
        struct ask a = { .at = at, .expect = at - 1, .catch_up = true };
        struct ask_texts texts;
        struct ledger_call c;

        ask_claim(w, &a, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        (void) snprintf(texts.fence, sizeof(texts.fence), "%s", c.out.claim.fence);
        ask_finish(w, &a, &texts, STATE_SUCCEEDED, &c);
        c.in.finish.keep = keep;
        world_call(w, &c);
        assert_int_equal(c.out.finish.finished, FINISHED_OK);
}

static void give_up(struct world *w, int first, int last)
{
        for (int at = first; at <= last; at++) {
                struct ask a = { .gap_alone = true, .expect = at - 1, .gap_first = at, .gap_last = at };
                struct ask_texts texts;
                struct ledger_call c;
                ask_claim(w, &a, &texts, &c);
                world_call(w, &c);
                assert_int_equal(c.out.claim.outcome, OUTCOME_DECIDED);
        }
}

static long long length(struct world *w)
{
        return atoll(redis_say(&redis_shared, "XLEN %s", queue_key(w, "h:" WORLD_TASK)));
}

static void sweep(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_SWEEP };

        c.in.sweep = (struct sweep_in) { .node = w->node, .owner = w->owner, .life = w->life };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        ledger_call_done(&c);
}

static void skipped_instants_count_for_what_is_kept(void **state)
{
        struct world *w = *state;
        run_once(w, -1199, (struct history_keep) { 10, 0 });

        give_up(w, -1198, -700);

        assert_in_range(length(w), 10, 10 + PIECE);
}

static void skipped_instants_make_room_for_none_that_is_too_old(void **state)
{
        struct world *w = *state;
        run_once(w, -1199, (struct history_keep) { 100000, 3600000 });
        /* Of an hour and more ago: pieces of it, made anew from the oldest id on. */
        (void) redis_say(&redis_shared, "EVAL %s 1 %s", "redis.call('DEL', KEYS[1]) for i = 1, 400 do"
                         " redis.call('XADD', KEYS[1], i .. '-0', 'state', 'succeeded') end",
                         queue_key(w, "h:" WORLD_TASK));

        give_up(w, -1198, -1198);

        assert_in_range(length(w), 1, PIECE);
}

static void idle_history_grows_old(void **state)
{
        struct world *w = *state;
        run_once(w, -1199, (struct history_keep) { 1000, 0 });
        sweep(w);
        assert_int_equal(length(w), 1);

        run_once(w, -1198, (struct history_keep) { 1000, 3600000 });
        sweep(w);
        assert_int_equal(length(w), 2);
        (void) redis_say(&redis_shared, "EVAL %s 1 %s", "redis.call('DEL', KEYS[1])"
                         "redis.call('XADD', KEYS[1], '5-0', 'a', 'b') redis.call('XADD', KEYS[1], '6-0', 'a', 'b')",
                         queue_key(w, "h:" WORLD_TASK));
        sweep(w);

        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", queue_key(w, "h:" WORLD_TASK)), "0");
        assert_string_equal(redis_say(&redis_shared, "HLEN %s", queue_key(w, "hk")), "0");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                CASE(skipped_instants_count_for_what_is_kept),
                CASE(skipped_instants_make_room_for_none_that_is_too_old),
                CASE(idle_history_grows_old),
        };
        int failed = RUN_CASES(argc, argv, "redis_history", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
