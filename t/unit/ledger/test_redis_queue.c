/* Queues on a real Redis server under what only it can go through: leases that run out, lost replies, no memory, a
 * restart, lost keys, very many that wait. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_cut.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/recover.h"

#define UNIT "0:,4:" WORLD_TASK ",0"

/* A lease of one second makes the deadline of a command 166 ms. */
static struct task short_lease = { .name = (char[]) { WORLD_TASK }, .singleton = PATH_REDIS, .lease_ms = 1000,
                                   .shards = 1 };
static const struct ask first = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        w->config.tasks = &short_lease;
        w->config.task_count = 1;
        world_open(w);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static void wait_health(struct world *w, enum ledger_health h)
{
        while (w->health != h || w->health_changes == 0)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
}

static enum outcome claim(struct world *w, int at, struct ask_texts *texts)
{
        struct ledger_call c;

        struct ask a = { .at = at, .expect = at - 1, .overlap = OVERLAP_QUEUE, .catch_up = true };

        ask_claim(w, &a, texts, &c);
        c.in.claim.queue_limit = 1000;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        if (c.out.claim.outcome == OUTCOME_GRANTED)
                (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c.out.claim.fence);
        return c.out.claim.outcome;
}

/* The first one runs, `waiting` more wait. */
static void fill(struct world *w, int waiting, struct ask_texts *texts)
{
        struct ask_texts more;

        world_task(w, 1, -10);
        assert_int_equal(claim(w, -9, texts), OUTCOME_GRANTED);
        for (int i = 0; i < waiting; i++)
                assert_int_equal(claim(w, -8 + i, &more), OUTCOME_QUEUED);
}

static void prepare_finish(struct world *w, struct ask_texts *texts, int n, struct take_texts *words,
                           struct take_in *take, struct ledger_call *ret)
{
        ask_finish(w, &first, texts, STATE_SUCCEEDED, ret);
        if (n == 0)
                return;
        ask_take(w, NULL, n, words, take);
        ret->in.finish.take = take;
}

static struct finish_out finish(struct world *w, struct ask_texts *texts, int n)
{
        struct take_texts words;
        struct take_in take;
        struct ledger_call c;

        prepare_finish(w, texts, n, &words, &take, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct finish_out out = c.out.finish;
        ledger_call_done(&c);
        return out;
}

static struct take_out take_from(struct world *w, const char *owner, int n, const char *stale_occ)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;

        ask_take(w, owner, n, &words, &c.in.take);
        (void) snprintf(c.in.take.stale_occ, sizeof(c.in.take.stale_occ), "%s", stale_occ);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct take_out out = c.out.take;
        if (out.claim.ended_count > 0) {
                assert_string_equal(out.claim.ended[0].occ, stale_occ);
                assert_int_equal(out.claim.ended[0].cause, CAUSE_LEASE_LOST);
        }
        ledger_call_done(&c);
        return out;
}

static unsigned queued(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.peek.queued;
}

static const char *key(const struct world *w, const char *name)
{
        static char text[200];

        (void) snprintf(text, sizeof(text), "onced:{test:%s}:%s", w->config.redis.group, name);
        return text;
}

static const char *key_of(const struct world *w, const char *kind, const char *occ)
{
        char name[100];

        (void) snprintf(name, sizeof(name), "%s:%s", kind, occ);
        return key(w, name);
}

static void only_who_watched_the_holder_takes_over(void **state)
{
        struct world w;
        struct ask_texts texts;
        begin(&w);
        fill(&w, 1, &texts);

        /* Its lease lives, then nobody has watched it end. */
        assert_int_equal(take_from(&w, "other.1.2.3", 1, texts.occ).claim.outcome, OUTCOME_BUSY);
        (void) redis_say(&redis_shared, "DEL %s", key_of(&w, "l", texts.occ));
        struct take_out out = take_from(&w, "other.1.2.3", 2, "");
        assert_int_equal(out.claim.outcome, OUTCOME_BUSY);
        assert_string_equal(out.claim.holder_occ, texts.occ);
        assert_int_equal(claim(&w, -7, &(struct ask_texts) { 0 }), OUTCOME_QUEUED);
        for (int i = 0; i < 2; i++) {   /* a lost reply tells again who was ended */
                out = take_from(&w, "other.1.2.3", 3, texts.occ);
                assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
                assert_int_equal(out.claim.replay, i == 1);
                assert_int_equal(out.planned.ms, world_at(&w, -8).ms);
        }
        assert_true(strtoull(out.claim.fence, NULL, 10) > strtoull(texts.fence, NULL, 10));
        assert_int_equal(finish(&w, &texts, 4).finished, FINISHED_FENCED);
        end(&w);
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
        begin(&w);
        fill(&w, 2, &texts);
        world_close(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        assert_int_equal(queued(&w), 2);

        cut.lose_replies = true;
        prepare_finish(&w, &texts, 1, &words, &take, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_int_equal(c.out.finish.take.claim.outcome, OUTCOME_DOWN);
        cut.lose_replies = false;
        wait_health(&w, LEDGER_UP);
        struct finish_out out = finish(&w, &texts, 1);
        assert_int_equal(out.finished, FINISHED_OK);
        assert_int_equal(out.take.claim.outcome, OUTCOME_GRANTED);
        assert_true(out.take.claim.replay);
        assert_int_equal(out.take.planned.ms, world_at(&w, -8).ms);
        assert_int_equal(queued(&w), 1);

        cut.lose_replies = true;
        c = (struct ledger_call) { .op = LEDGER_TAKE };
        ask_take(&w, NULL, 2, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_DOWN);
        cut.lose_replies = false;
        wait_health(&w, LEDGER_UP);
        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        end(&w);
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
        begin(&w);
        fill(&w, 1, &texts);
        world_close(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        assert_int_equal(queued(&w), 1);

        cut.hold_requests = true;
        ask_take(&w, NULL, 1, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        cut.hold_requests = false;
        wait_health(&w, LEDGER_UP);
        assert_int_equal(take_from(&w, NULL, 1, "").claim.outcome, OUTCOME_BUSY);
        assert_int_equal(finish(&w, &texts, 0).finished, FINISHED_OK);
        redis_cut_release(&cut);
        assert_int_equal(take_from(&w, NULL, 1, "").claim.outcome, OUTCOME_BUSY);
        assert_int_equal(queued(&w), 1);
        assert_int_equal(take_from(&w, NULL, 2, "").claim.outcome, OUTCOME_GRANTED);
        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        end(&w);
        (void) state;
}

static void full_server_hands_over_with_results_and_queues_nothing(void **state)
{
        struct world w;
        struct ask_texts texts, more;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        begin(&w);
        fill(&w, 2, &texts);

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        ask_claim(&w, &(struct ask) { .at = -6, .expect = -7, .overlap = OVERLAP_QUEUE }, &more, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        /* Also when it is sent again. */
        struct finish_out one = finish(&w, &texts, 1), two = finish(&w, &texts, 1);
        assert_int_equal(one.take.claim.outcome, OUTCOME_GRANTED);
        assert_string_equal(one.take.claim.fence, two.take.claim.fence);
        (void) redis_say(&redis_shared, "DEL %s", key_of(&w, "l", one.take.occ));
        c = (struct ledger_call) { .op = LEDGER_TAKE };
        ask_take(&w, "other.1.2.3", 2, &words, &c.in.take);
        (void) snprintf(c.in.take.stale_occ, sizeof(c.in.take.stale_occ), "%s", one.take.occ);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_non_null(strstr(c.why, "OOM"));
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");

        assert_int_equal(queued(&w), 1);
        struct take_out out = take_from(&w, "other.1.2.3", 2, one.take.occ);
        assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
        assert_false(out.claim.replay);
        end(&w);
        (void) state;
}

/* Its request may have lain in a socket. */
static void buried_owner_takes_nothing(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_INTERRUPT };
        begin(&w);
        fill(&w, 1, &texts);
        assert_int_equal(finish(&w, &texts, 0).finished, FINISHED_OK);

        c.in.interrupt = (struct interrupt_in) { "other.1.2.3", true };
        world_call(&w, &c);
        ledger_call_done(&c);
        assert_int_equal(take_from(&w, "other.1.2.3", 1, "").claim.outcome, OUTCOME_EARLY);
        assert_int_equal(queued(&w), 1);
        end(&w);
        (void) state;
}

static void store_that_waits_for_owners_hands_over_nothing(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        begin(&w);
        fill(&w, 1, &texts);

        (void) redis_say(&redis_shared, "HSET %s hold 999999999999999", key(&w, "store"));
        struct finish_out out = finish(&w, &texts, 1);
        assert_int_equal(out.finished, FINISHED_OK);
        assert_int_equal(out.take.claim.outcome, OUTCOME_HALTED);
        ask_take(&w, NULL, 2, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_HALTED);
        assert_non_null(strstr(c.why, "owners"));
        (void) redis_say(&redis_shared, "HSET %s hold 000000000000000", key(&w, "store"));
        assert_int_equal(take_from(&w, NULL, 3, "").claim.outcome, OUTCOME_GRANTED);
        end(&w);
        (void) state;
}

static void unit_without_its_cursor_is_named(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct take_texts words;
        struct ledger_call c = { .op = LEDGER_TAKE };
        begin(&w);
        fill(&w, 1, &texts);
        (void) redis_say(&redis_shared, "DEL %s", key(&w, "u:" UNIT));

        ask_take(&w, NULL, 1, &words, &c.in.take);
        world_call(&w, &c);
        assert_int_equal(c.out.take.claim.outcome, OUTCOME_HALTED);
        assert_non_null(strstr(c.why, "lost the cursor"));
        (void) redis_say(&redis_shared, "HDEL %s " UNIT, key(&w, "units"));
        assert_int_equal(take_from(&w, NULL, 2, "").claim.outcome, OUTCOME_UNREGISTERED);
        end(&w);
        (void) state;
}

static void lost_record_does_not_hold_up_the_queue(void **state)
{
        struct world w;
        struct ask_texts texts;
        char occ[OCC_TEXT];
        begin(&w);
        fill(&w, 2, &texts);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -8), occ);
        (void) redis_say(&redis_shared, "DEL %s", key_of(&w, "o", occ));

        struct finish_out out = finish(&w, &texts, 1);
        assert_int_equal(out.take.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(out.take.planned.ms, world_at(&w, -7).ms);
        assert_int_equal(queued(&w), 0);
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", key(&w, "qs")), "0");
        end(&w);
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
        begin(&w);
        for (int finished = 0; finished < 2; finished++) {
                struct ask_texts lost;
                if (finished == 0)
                        fill(&w, 2, &texts);
                struct take_out out = finished == 0 ? finish(&w, &texts, 1).take : take_from(&w, NULL, 2, "");
                assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
                (void) redis_say(&redis_shared, "HSET %s state queued tok before", key_of(&w, "o", out.occ));
                (void) redis_say(&redis_shared, "ZADD %s %lld %s", key(&w, "q:" UNIT), (long long) out.planned.ms,
                                 out.occ);
                (void) redis_say(&redis_shared, "DEL %s", key(&w, "ur:" UNIT));
                ask_take(&w, NULL, finished + 1, &words, &take);
                if (finished == 0) {
                        c.in.renew = (struct renew_in) { { "", WORLD_TASK, 0 }, out.occ, words.token, out.claim.fence,
                                                         30000, out.planned };
                        world_call(&w, &c);
                        assert_int_equal(c.out.renew.renewed, RENEWED_REASSERTED);
                        assert_int_equal(queued(&w), 1);
                        assert_int_equal(take_from(&w, "other.1.2.3", 9, "").claim.outcome, OUTCOME_BUSY);
                }
                ask_finish(&w, &(struct ask) { .at = -8 + finished }, &lost, STATE_SUCCEEDED, &c);
                c.in.finish.token = words.token;
                c.in.finish.fence = out.claim.fence;
                world_call(&w, &c);
                assert_int_equal(c.error, 0);
                assert_int_equal(c.out.finish.finished, finished == 0 ? FINISHED_OK : FINISHED_RECOVERED);
                c = (struct ledger_call) { .op = LEDGER_RENEW };
        }
        assert_int_equal(queued(&w), 0);
        assert_int_equal(take_from(&w, NULL, 10, "").claim.outcome, OUTCOME_DONE);
        end(&w);
        (void) state;
}

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
        fill(&w, 1, &texts);
        assert_int_equal(finish(&w, &texts, 0).finished, FINISHED_OK);
        redis_server_kill(&s);
        wait_health(&w, LEDGER_DOWN);
        redis_server_again(&s);
        wait_health(&w, LEDGER_UP);

        for (int i = 0; i < 2; i++) {
                struct take_out out = take_from(&w, NULL, 1, "");
                assert_int_equal(out.claim.outcome, OUTCOME_DECIDED);
                assert_int_equal(out.claim.state, STATE_UNKNOWN);
                assert_int_equal(out.claim.cause, CAUSE_BARRIER);
                assert_int_equal(out.claim.replay, i == 1);
                assert_int_equal(out.planned.ms, world_at(&w, -8).ms);
        }
        assert_int_equal(take_from(&w, NULL, 2, "").claim.outcome, OUTCOME_DONE);
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
        begin(&w);
        world_task(&w, 1, -600);
        for (int i = 0; i <= MANY; i++)
                assert_int_equal(claim(&w, -599 + i, &texts), i == 0 ? OUTCOME_GRANTED : OUTCOME_QUEUED);

        define(&w, "off", false, false, &c);
        assert_true(c.out.define.changed);
        assert_int_equal(c.out.define.told_count, MANY);
        for (int i = 0; i < MANY; i++) {
                assert_int_equal(c.out.define.told[i].first.ms, world_at(&w, -598 + i).ms);
                assert_int_equal(c.out.define.told[i].cause, CAUSE_DISABLED);
        }
        assert_int_equal(queued(&w), 0);
        assert_int_equal(c.out.define.revised.first.ms, world_at(&w, -598 + MANY).ms);
        ledger_call_done(&c);
        end(&w);
        (void) state;
}

static void other_scope_gives_up_what_waits_in_the_old_one(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct ledger_call c;
        begin(&w);
        fill(&w, 1, &texts);

        define(&w, "all", true, true, &c);
        assert_int_equal(c.out.define.told_count, 1);
        assert_int_equal(c.out.define.told[0].cause, CAUSE_REVISED);
        assert_string_equal(c.out.define.told[0].scope_key, "");
        assert_string_equal(c.out.define.told[0].owner, w.owner);
        ledger_call_done(&c);
        assert_int_equal(queued(&w), 0);
        end(&w);
        (void) state;
}

static void schedule_that_cannot_be_read_is_not_counted(void **state)
{
        struct world w;
        struct ledger_call c;
        begin(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&redis_shared, "HSET %s schedule @daily/Atlantis", key(&w, "d:0:,4:" WORLD_TASK ","));
        define(&w, "one", false, true, &c);
        assert_true(c.out.define.changed);
        assert_non_null(strstr(c.why, "Atlantis"));
        assert_int_equal(c.out.define.revised.count, 0);
        assert_true(c.out.define.valid_from.ms > world_at(&w, -1).ms);
        (void) redis_say(&redis_shared, "HDEL %s schedule", key(&w, "d:0:,4:" WORLD_TASK ","));
        define(&w, "two", false, true, &c);
        assert_non_null(strstr(c.why, "not known"));
        define(&w, "three", false, true, &c);
        assert_string_equal(c.why, "");
        end(&w);
        (void) state;
}

static void units_beyond_a_page_are_listed(void **state)
{
        enum { SHARDS = 40 };
        struct world w;
        struct ledger_call c, calls[SHARDS];
        struct ask_texts texts[SHARDS];
        bool seen[SHARDS] = { 0 };
        begin(&w);
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
                (void) redis_say(&redis_shared, "HSET %s elsewhere%d [\"there\",\"mail\",\"%d\"]", key(&w, "qs"), i, i);

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
        end(&w);
        (void) state;
}

static void cursor_set_back_opens_what_waits_as_well(void **state)
{
        struct world w;
        struct ask_texts texts;
        struct recover_ahead ahead;
        char occ[OCC_TEXT], why[RECOVER_TEXT] = "";
        begin(&w);
        fill(&w, 2, &texts);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -7), occ);
        (void) redis_say(&redis_shared, "ZADD %s %lld %s", key(&w, "q:" UNIT), (long long) world_at(&w, 3600).ms, occ);
        (void) redis_say(&redis_shared, "HSET %s cursor %015lld", key(&w, "u:" UNIT),
                         (long long) world_at(&w, 3600).ms);
        const struct task *by_name[] = { &short_lease };
        assert_int_equal(schedule_every(1000, 0, &short_lease.schedule), 0);
        w.config.by_name = by_name;

        assert_int_equal(recover_cursor_store(&w.config, WORLD_TASK, true, &ahead, why), 0);
        assert_int_equal(ahead.units, 1);
        assert_int_equal(queued(&w), 1);
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", key_of(&w, "o", occ)), "0");
        end(&w);
        (void) state;
}

static void what_was_queued_before_the_clock_went_back_waits_for_its_time(void **state)
{
        struct world w;
        struct ask_texts texts;
        char occ[OCC_TEXT];
        begin(&w);
        fill(&w, 1, &texts);
        assert_int_equal(finish(&w, &texts, 0).finished, FINISHED_OK);
        occurrence_id("", WORLD_TASK, 0, world_at(&w, -8), occ);
        (void) redis_say(&redis_shared, "HSET %s planned %015lld", key_of(&w, "o", occ),
                         (long long) world_at(&w, 3600).ms);

        assert_int_equal(take_from(&w, NULL, 1, "").claim.outcome, OUTCOME_EARLY);
        assert_int_equal(queued(&w), 1);
        end(&w);
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
                cmocka_unit_test(what_waits_over_a_restart_of_the_server_is_not_run),
                cmocka_unit_test(very_many_that_wait_are_given_up_in_steps),
                cmocka_unit_test(other_scope_gives_up_what_waits_in_the_old_one),
                cmocka_unit_test(schedule_that_cannot_be_read_is_not_counted),
                cmocka_unit_test(units_beyond_a_page_are_listed),
                cmocka_unit_test(cursor_set_back_opens_what_waits_as_well),
                cmocka_unit_test(what_was_queued_before_the_clock_went_back_waits_for_its_time),
        };
        int failed = RUN_CASES(argc, argv, "redis_queue", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
