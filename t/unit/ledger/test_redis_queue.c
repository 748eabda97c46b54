/* Takes on a real Redis server under what only it can go through: leases that run out, lost and late messages, no
 * memory, lost keys, a store that forgot a take. */
#include "t/unit/cases.h"
#include "t/unit/ledger/redis_cut.h"
#include "t/unit/ledger/redis_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void only_who_watched_the_holder_takes_over(void **state)
{
        struct world w;
        struct ask_texts texts;
        queue_begin(&w);
        queue_fill(&w, 1, &texts);

        /* Its lease lives, then nobody has watched it end. */
        assert_int_equal(queue_take(&w, "other.1.2.3", 1, texts.occ).claim.outcome, OUTCOME_BUSY);
        (void) redis_say(&redis_shared, "DEL %s", queue_key_of(&w, "l", texts.occ));
        struct take_out out = queue_take(&w, "other.1.2.3", 2, "");
        assert_int_equal(out.claim.outcome, OUTCOME_BUSY);
        assert_string_equal(out.claim.holder_occ, texts.occ);
        assert_int_equal(queue_claim(&w, -7, &(struct ask_texts) { 0 }), OUTCOME_QUEUED);
        for (int i = 0; i < 2; i++) {   /* a lost reply tells again who was ended */
                out = queue_take(&w, "other.1.2.3", 3, texts.occ);
                assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
                assert_int_equal(out.claim.replay, i == 1);
                assert_int_equal(out.planned.ms, world_at(&w, -8).ms);
        }
        assert_true(strtoull(out.claim.fence, NULL, 10) > strtoull(texts.fence, NULL, 10));
        assert_int_equal(queue_finish(&w, &texts, 4).finished, FINISHED_FENCED);
        queue_end(&w);
        (void) state;
}

static void lost_reply_of_a_finish_hands_over_once(void **state)
{
        struct world w;
        struct redis_cut cut;
        struct ask_texts texts;
        struct take_texts words;
        struct take_in take;
        struct ledger_call c;
        queue_begin(&w);
        queue_fill(&w, 2, &texts);
        world_close(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        assert_int_equal(queue_depth(&w), 2);

        cut.lose_replies = true;
        queue_prepare_finish(&w, &texts, 1, &words, &take, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_int_equal(c.out.finish.take.claim.outcome, OUTCOME_DOWN);
        cut.lose_replies = false;
        world_wait_health(&w, LEDGER_UP);
        struct finish_out out = queue_finish(&w, &texts, 1);
        assert_int_equal(out.finished, FINISHED_OK);
        assert_int_equal(out.take.claim.outcome, OUTCOME_GRANTED);
        assert_true(out.take.claim.replay);
        assert_int_equal(out.take.planned.ms, world_at(&w, -8).ms);
        assert_int_equal(queue_depth(&w), 1);

        cut.lose_replies = true;
        c = (struct ledger_call) { .op = LEDGER_TAKE };
        ask_take(&w, NULL, 2, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_DOWN);
        cut.lose_replies = false;
        world_wait_health(&w, LEDGER_UP);
        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        queue_end(&w);
        (void) state;
}

/* The server stood still: the request comes when its repetition was answered long ago. */
static void late_copy_of_a_take_starts_nothing(void **state)
{
        struct world w;
        struct redis_cut cut;
        struct ask_texts texts;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        queue_begin(&w);
        queue_fill(&w, 1, &texts);
        world_close(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        assert_int_equal(queue_depth(&w), 1);

        cut.hold_requests = true;
        ask_take(&w, NULL, 1, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        cut.hold_requests = false;
        world_wait_health(&w, LEDGER_UP);
        assert_int_equal(queue_take(&w, NULL, 1, "").claim.outcome, OUTCOME_BUSY);
        assert_int_equal(queue_finish(&w, &texts, 0).finished, FINISHED_OK);
        redis_cut_release(&cut);
        assert_int_equal(queue_take(&w, NULL, 1, "").claim.outcome, OUTCOME_BUSY);
        assert_int_equal(queue_depth(&w), 1);
        assert_int_equal(queue_take(&w, NULL, 2, "").claim.outcome, OUTCOME_GRANTED);
        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        queue_end(&w);
        (void) state;
}

static void full_server_hands_over_with_results_and_queues_nothing(void **state)
{
        struct world w;
        struct ask_texts texts, more;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        queue_begin(&w);
        queue_fill(&w, 2, &texts);

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        ask_claim(&w, &(struct ask) { .at = -6, .expect = -7, .overlap = OVERLAP_QUEUE }, &more, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        /* Also when it is sent again. */
        struct finish_out one = queue_finish(&w, &texts, 1), two = queue_finish(&w, &texts, 1);
        assert_int_equal(one.take.claim.outcome, OUTCOME_GRANTED);
        assert_string_equal(one.take.claim.fence, two.take.claim.fence);
        (void) redis_say(&redis_shared, "DEL %s", queue_key_of(&w, "l", one.take.occ));
        c = (struct ledger_call) { .op = LEDGER_TAKE };
        ask_take(&w, "other.1.2.3", 2, &words, &c.in.take);
        (void) snprintf(c.in.take.stale_occ, sizeof(c.in.take.stale_occ), "%s", one.take.occ);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_non_null(strstr(c.why, "OOM"));
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");

        assert_int_equal(queue_depth(&w), 1);
        struct take_out out = queue_take(&w, "other.1.2.3", 2, one.take.occ);
        assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
        assert_false(out.claim.replay);
        queue_end(&w);
        (void) state;
}

/* Its request may have lain in a socket. */
static void buried_owner_takes_nothing(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_INTERRUPT };
        queue_begin(&w);
        queue_fill(&w, 1, &texts);
        assert_int_equal(queue_finish(&w, &texts, 0).finished, FINISHED_OK);

        c.in.interrupt = (struct interrupt_in) { "other.1.2.3", true };
        world_call(&w, &c);
        ledger_call_done(&c);
        assert_int_equal(queue_take(&w, "other.1.2.3", 1, "").claim.outcome, OUTCOME_EARLY);
        assert_int_equal(queue_depth(&w), 1);
        queue_end(&w);
        (void) state;
}

static void store_that_waits_for_owners_hands_over_nothing(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        queue_begin(&w);
        queue_fill(&w, 1, &texts);

        (void) redis_say(&redis_shared, "HSET %s hold 999999999999999", queue_key(&w, "store"));
        struct finish_out out = queue_finish(&w, &texts, 1);
        assert_int_equal(out.finished, FINISHED_OK);
        assert_int_equal(out.take.claim.outcome, OUTCOME_HALTED);
        ask_take(&w, NULL, 2, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_HALTED);
        assert_non_null(strstr(c.why, "owners"));
        (void) redis_say(&redis_shared, "HSET %s hold 000000000000000", queue_key(&w, "store"));
        assert_int_equal(queue_take(&w, NULL, 3, "").claim.outcome, OUTCOME_GRANTED);
        queue_end(&w);
        (void) state;
}

static void unit_without_its_cursor_is_named(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        queue_begin(&w);
        queue_fill(&w, 1, &texts);
        (void) redis_say(&redis_shared, "DEL %s", queue_key(&w, "u:" QUEUE_UNIT));

        ask_take(&w, NULL, 1, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_HALTED);
        assert_non_null(strstr(c.why, "lost the cursor"));
        (void) redis_say(&redis_shared, "HDEL %s " QUEUE_UNIT, queue_key(&w, "units"));
        assert_int_equal(queue_take(&w, NULL, 2, "").claim.outcome, OUTCOME_UNREGISTERED);
        queue_end(&w);
        (void) state;
}

static void lost_record_does_not_hold_up_the_queue(void **state)
{
        struct world w;
        struct ask_texts texts;
        char occ[OCC_TEXT];
        queue_begin(&w);
        queue_fill(&w, 2, &texts);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -8), occ);
        (void) redis_say(&redis_shared, "DEL %s", queue_key_of(&w, "o", occ));

        struct finish_out out = queue_finish(&w, &texts, 1);
        assert_int_equal(out.take.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(out.take.planned.ms, world_at(&w, -7).ms);
        assert_int_equal(queue_depth(&w), 0);
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", queue_key(&w, "qs")), "0");
        queue_end(&w);
        (void) state;
}

/* The store went back to before the take: its owner knows better than the queue. */
static void owner_puts_back_a_take_that_the_store_lost(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct take_texts words;
        struct take_in take;
        struct ledger_call c = { .op = LEDGER_RENEW };
        queue_begin(&w);
        for (int finished = 0; finished < 2; finished++) {
                struct ask_texts lost;
                if (finished == 0)
                        queue_fill(&w, 2, &texts);
                struct take_out out = finished == 0 ? queue_finish(&w, &texts, 1).take : queue_take(&w, NULL, 2, "");
                assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
                (void) redis_say(&redis_shared, "HSET %s state queued tok before", queue_key_of(&w, "o", out.occ));
                (void) redis_say(&redis_shared, "ZADD %s %lld %s", queue_key(&w, "q:" QUEUE_UNIT),
                                 (long long) out.planned.ms, out.occ);
                (void) redis_say(&redis_shared, "DEL %s", queue_key(&w, "ur:" QUEUE_UNIT));
                ask_take(&w, NULL, finished + 1, &words, &take);
                if (finished == 0) {
                        c.in.renew = (struct renew_in) { { "", WORLD_TASK, 0 }, out.occ, words.token, out.claim.fence,
                                                         30000, out.planned };
                        world_call(&w, &c);
                        assert_int_equal(c.out.renew.renewed, RENEWED_REASSERTED);
                        assert_int_equal(queue_depth(&w), 1);
                        assert_int_equal(queue_take(&w, "other.1.2.3", 9, "").claim.outcome, OUTCOME_BUSY);
                }
                ask_finish(&w, &(struct ask) { .at = -8 + finished }, &lost, STATE_SUCCEEDED, &c);
                c.in.finish.token = words.token;
                c.in.finish.fence = out.claim.fence;
                world_call(&w, &c);
                assert_int_equal(c.error, 0);
                assert_int_equal(c.out.finish.finished, finished == 0 ? FINISHED_OK : FINISHED_RECOVERED);
                c = (struct ledger_call) { .op = LEDGER_RENEW };
        }
        assert_int_equal(queue_depth(&w), 0);
        assert_int_equal(queue_take(&w, NULL, 10, "").claim.outcome, OUTCOME_DONE);
        queue_end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(only_who_watched_the_holder_takes_over),
                cmocka_unit_test(lost_reply_of_a_finish_hands_over_once),
                cmocka_unit_test(late_copy_of_a_take_starts_nothing),
                cmocka_unit_test(full_server_hands_over_with_results_and_queues_nothing),
                cmocka_unit_test(buried_owner_takes_nothing),
                cmocka_unit_test(store_that_waits_for_owners_hands_over_nothing),
                cmocka_unit_test(unit_without_its_cursor_is_named),
                cmocka_unit_test(lost_record_does_not_hold_up_the_queue),
                cmocka_unit_test(owner_puts_back_a_take_that_the_store_lost),
        };
        int failed = RUN_CASES(argc, argv, "redis_queue", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
