/* What a dead owner decided, on Redis: long lists, old entries, and requests that come after the death. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEAD "dead-0a1b2c3d.1.77.9-cccc"

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        world_open(w);
        world_task(w, 1, -1200);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static void claim_gap(struct world *w, int first, int last, struct ledger_call *c)
{
        struct ask a = { .owner = DEAD, .gap_alone = true, .expect = first - 1, .gap_first = first, .gap_last = last };
        struct ask_texts texts;

        ask_claim(w, &a, &texts, c);
        world_call(w, c);
}

static void interrupt(struct world *w, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c->in.interrupt = (struct interrupt_in) { DEAD, true };
        world_call(w, c);
        assert_int_equal(c->error, 0);
}

static void more_than_a_page_is_told_whole(void **state)
{
        struct world w;
        struct ledger_call c;
        bool seen[1100] = { false };
        begin(&w);
        for (int i = 0; i < 1100; i++) {
                claim_gap(&w, i - 1199, i - 1199, &c);
                assert_int_equal(c.out.claim.outcome, OUTCOME_DECIDED);
        }

        interrupt(&w, &c);
        assert_int_equal(c.out.interrupt.told_count, 1100);
        for (size_t i = 0; i < 1100; i++) {
                int64_t at = (c.out.interrupt.told[i].first.ms - world_at(&w, -1199).ms) / 1000;
                assert_in_range(at, 0, 1099);
                assert_false(seen[at]);
                seen[at] = true;
        }
        ledger_call_done(&c);
        end(&w);
        (void) state;
}

static void only_the_newest_seconds_are_told(void **state)
{
        struct world w;
        struct ledger_call c;
        begin(&w);
        claim_gap(&w, -1199, -1190, &c);
        long long old_ms = (long long) stamp_instant(clock_wall()).ms - LEDGER_UNTOLD_MS - 1000;
        const char *length = redis_say(&redis_shared, "LPUSH onced:{test:%s}:g:" DEAD " %015lld[\"\",\"mail\",\"0\"]",
                                       w.config.redis.group, old_ms);
        assert_string_equal(length, "2");

        interrupt(&w, &c);
        assert_int_equal(c.out.interrupt.told_count, 1);
        assert_int_equal(c.out.interrupt.told[0].first.ms, world_at(&w, -1199).ms);
        ledger_call_done(&c);
        end(&w);
        (void) state;
}

/* It lay in a socket while its sender was killed and settled. */
static void request_of_a_settled_owner_does_nothing(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        interrupt(&w, &c);
        ledger_call_done(&c);

        claim_gap(&w, -1199, -1190, &c);
        assert_int_equal(c.error, -EAGAIN);
        ask_claim(&w, &(struct ask) { .owner = DEAD, .at = -1199, .expect = -1200, .catch_up = true }, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        ask_claim(&w, &(struct ask) { .at = -1199, .expect = -1200, .catch_up = true }, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(more_than_a_page_is_told_whole),
                cmocka_unit_test(only_the_newest_seconds_are_told),
                cmocka_unit_test(request_of_a_settled_owner_does_nothing),
        };
        int failed = RUN_CASES(argc, argv, "redis_untold", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
