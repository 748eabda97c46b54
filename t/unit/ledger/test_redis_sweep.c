/* Leases that ran out, against a real Redis server: who is ended, once, and that it is told even when replies are lost
 * and who asked dies. */
#include "t/unit/cases.h"
#include "t/unit/ledger/redis_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEAD    "dead-0a1b2c3d.1.77.9-cccc"
#define SWEEPER "here-0a1b2c3d.0.100.7-aaaa"   /* the world's owner */
#define OTHER   "there-0a1b2c3d.2.55.3-eeee"

static int begin(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        queue_begin(w);
        world_task(w, 1, -1200);
        assert_string_equal(w->owner, SWEEPER);
        *state = w;
        return 0;
}

static int end(void **state)
{
        queue_end(*state);
        free(*state);
        return 0;
}

/* A run of the dead owner. */
static void run_of_dead(struct world *w, int at, struct ask_texts *texts)
{
        struct ask a = { .owner = DEAD, .at = at, .expect = at - 1, .catch_up = true, .overlap = OVERLAP_CONCURRENT,
                         .max_running = 1000 };
        struct ledger_call c;

        ask_claim(w, &a, texts, &c);
        c.in.claim.node = "dead-0a1b2c3d";
        c.in.claim.life = 99;   /* lives of other nodes are counted by themselves */
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c.out.claim.fence);
}

static void lease_runs_out(struct world *w, const char *occ)
{
        assert_string_equal(redis_say(&redis_shared, "DEL %s", queue_key_of(w, "l", occ)), "1");
        (void) redis_say(&redis_shared, "ZADD %s 1 %s", queue_key(w, "run"), occ);
}

/* `stale`: one occurrence, or NULL. */
static void sweep_as(struct world *w, const char *owner, struct ask_texts *stale, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_SWEEP };
        c->in.sweep = (struct sweep_in) { .node = w->node, .owner = owner, .life = w->life,
                                          .stale = stale ? &stale->occ : NULL, .stale_count = stale ? 1 : 0 };
        world_call(w, c);
        assert_int_equal(c->error, 0);
}

/* How many were ended, and how many are to be watched. */
static void assert_swept(struct world *w, const char *owner, struct ask_texts *stale, size_t ended, size_t expired)
{
        struct ledger_call c;

        sweep_as(w, owner, stale, &c);
        assert_int_equal(c.out.sweep.ended_count, ended);
        assert_int_equal(c.out.sweep.expired_count, expired);
        ledger_call_done(&c);
}

static bool in_slot(struct world *w, const char *occ)
{
        return strcmp(redis_say(&redis_shared, "SISMEMBER %s %s", queue_key(w, "ur:" QUEUE_UNIT), occ), "1") == 0;
}

static const char *run_members(struct world *w)
{
        return redis_say(&redis_shared, "ZCARD %s", queue_key(w, "run"));
}

static void expired_lease_is_told_to_be_watched(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_RENEW };
        run_of_dead(w, -1199, &texts);
        assert_swept(w, SWEEPER, NULL, 0, 0);
        c.in.renew = (struct renew_in) { { "", WORLD_TASK, 0 }, texts.occ, texts.token, texts.fence, 30000,
                                         world_at(w, -1199) };
        world_call(w, &c);
        assert_int_equal(c.out.renew.renewed, RENEWED_OK);
        lease_runs_out(w, texts.occ);

        sweep_as(w, SWEEPER, NULL, &c);

        assert_int_equal(c.out.sweep.ended_count, 0);
        assert_int_equal(c.out.sweep.expired_count, 1);
        assert_string_equal(c.out.sweep.expired[0].occ, texts.occ);
        assert_int_equal(c.out.sweep.expired[0].seq, 1);
        assert_int_equal(c.out.sweep.expired[0].lease_ms, 30000);
        ledger_call_done(&c);
        assert_true(in_slot(w, texts.occ));
}

static void watched_holder_is_ended_by_one_of_two_sweepers(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c, f;
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);

        sweep_as(w, SWEEPER, &texts, &c);

        assert_int_equal(c.out.sweep.ended_count, 1);
        assert_int_equal(c.out.sweep.expired_count, 0);
        const struct ended_record *e = &c.out.sweep.ended[0];
        assert_string_equal(e->occ, texts.occ);
        assert_string_equal(e->trig, texts.trig);
        assert_string_equal(e->fence, texts.fence);
        assert_string_equal(e->task, WORLD_TASK);
        assert_int_equal(e->planned.ms, world_at(w, -1199).ms);
        assert_int_equal(e->state, STATE_INTERRUPTED);
        assert_int_equal(e->cause, CAUSE_LEASE_LOST);
        assert_false(e->ending);
        ledger_call_done(&c);
        assert_swept(w, OTHER, &texts, 0, 0);
        assert_false(in_slot(w, texts.occ));
        /* Its owner wakes up too late. */
        ask_finish(w, &(struct ask) { .owner = DEAD, .at = -1199 }, &texts, STATE_SUCCEEDED, &f);
        world_call(w, &f);
        assert_int_equal(f.out.finish.finished, FINISHED_FENCED);
}

static void holder_that_came_back_is_not_ended(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        run_of_dead(w, -1199, &texts);

        /* Past by its score, as seen before it renewed. */
        (void) redis_say(&redis_shared, "ZADD %s 1 %s", queue_key(w, "run"), texts.occ);
        assert_swept(w, SWEEPER, &texts, 0, 1);
        assert_true(in_slot(w, texts.occ));
}

/* Opened anew under the same name: what was answered before is not known, as when the reply was lost. */
static void lost_reply_of_a_sweep_is_told_again_until_it_was_heard(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        assert_swept(w, SWEEPER, &texts, 1, 0);
        world_close(w);
        world_open(w);

        sweep_as(w, SWEEPER, &texts, &c);
        assert_int_equal(c.out.sweep.ended_count, 1);
        assert_string_equal(c.out.sweep.ended[0].occ, texts.occ);
        assert_string_equal(c.out.sweep.ended[0].trig, texts.trig);
        assert_int_equal(c.out.sweep.ended[0].state, STATE_INTERRUPTED);
        assert_int_equal(c.out.sweep.ended[0].cause, CAUSE_LEASE_LOST);
        ledger_call_done(&c);

        assert_swept(w, SWEEPER, NULL, 0, 0);
        world_close(w);
        world_open(w);
        assert_swept(w, SWEEPER, NULL, 0, 0);
}

/* How many runs the death of `owner` tells of; the last of them. */
static size_t ended_of(struct world *w, const char *owner, struct ended_record *ret)
{
        struct ledger_call c = { .op = LEDGER_INTERRUPT };

        c.in.interrupt = (struct interrupt_in) { owner, false };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        size_t count = c.out.interrupt.ended_count;
        if (count > 0)
                *ret = c.out.interrupt.ended[count - 1];
        ledger_call_done(&c);
        return count;
}

static void death_of_the_sweeper_tells_what_it_ended(void **state)
{
        struct world *w = *state;
        struct ended_record e = { 0 };
        struct ask_texts texts;
        struct ledger_call said = { .op = LEDGER_SAID };
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        assert_swept(w, SWEEPER, &texts, 1, 0);

        assert_int_equal(ended_of(w, DEAD, &e), 0);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(ended_of(w, SWEEPER, &e), 1);
                assert_string_equal(e.trig, texts.trig);
                assert_int_equal(e.state, STATE_INTERRUPTED);
                assert_int_equal(e.cause, CAUSE_LEASE_LOST);
        }
        said.in.said = (struct said_in) { SWEEPER, w->node, w->life };
        world_call(w, &said);
        assert_int_equal(said.error, 0);
        assert_int_equal(ended_of(w, SWEEPER, &e), 0);
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", queue_key(w, "e:" SWEEPER)), "0");
        assert_string_equal(redis_say(&redis_shared, "EXISTS %s", queue_key(w, "w:" SWEEPER)), "0");
}

static void what_was_heard_is_not_told_by_the_sweepers_death(void **state)
{
        struct world *w = *state;
        struct ended_record e = { 0 };
        struct ask_texts texts;
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        assert_swept(w, SWEEPER, &texts, 1, 0);

        assert_swept(w, SWEEPER, NULL, 0, 0);
        assert_int_equal(ended_of(w, SWEEPER, &e), 0);
}

static void next_life_of_the_sweepers_node_tells_what_it_ended(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c = { .op = LEDGER_LEAD };
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        assert_swept(w, SWEEPER, &texts, 1, 0);

        c.in.lead = (struct lead_in) { w->node, OTHER, w->boot, w->life + 1 };
        world_call(w, &c);
        assert_int_equal(c.out.lead.ended_count, 1);
        assert_string_equal(c.out.lead.ended[0].trig, texts.trig);
        assert_int_equal(c.out.lead.ended[0].cause, CAUSE_LEASE_LOST);
        ledger_call_done(&c);
}

static void death_of_who_took_over_tells_whom_it_ended(void **state)
{
        struct world *w = *state;
        struct ask_texts texts, next;
        struct ledger_call c;
        bool told = false;
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        ask_claim(w, &(struct ask) { .owner = OTHER, .at = -1198, .expect = -1199, .catch_up = true }, &next, &c);
        (void) snprintf(c.in.claim.stale_occ, sizeof(c.in.claim.stale_occ), "%s", texts.occ);
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(c.out.claim.ended_count, 1);
        ledger_call_done(&c);

        c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c.in.interrupt = (struct interrupt_in) { OTHER, true };
        world_call(w, &c);
        assert_int_equal(c.out.interrupt.ended_count, 2);
        for (size_t i = 0; i < 2; i++)
                told |= strcmp(c.out.interrupt.ended[i].trig, texts.trig) == 0 &&
                        c.out.interrupt.ended[i].cause == CAUSE_LEASE_LOST;
        assert_true(told);
        ledger_call_done(&c);
}

static void sweep_of_a_settled_sweeper_does_nothing(void **state)
{
        struct world *w = *state;
        struct ended_record e = { 0 };
        struct ask_texts texts;
        run_of_dead(w, -1199, &texts);
        lease_runs_out(w, texts.occ);
        assert_int_equal(ended_of(w, SWEEPER, &e), 0);

        assert_swept(w, SWEEPER, &texts, 0, 0);
        assert_true(in_slot(w, texts.occ));
        assert_swept(w, OTHER, &texts, 1, 0);
}

static void leftovers_of_lost_records_are_cleaned(void **state)
{
        struct world *w = *state;
        struct ask_texts texts, final;
        run_of_dead(w, -1199, &texts);
        run_of_dead(w, -1198, &final);
        lease_runs_out(w, texts.occ);
        lease_runs_out(w, final.occ);
        (void) redis_say(&redis_shared, "DEL %s", queue_key_of(w, "o", texts.occ));
        (void) redis_say(&redis_shared, "HSET %s state succeeded", queue_key_of(w, "o", final.occ));

        assert_swept(w, SWEEPER, NULL, 0, 0);

        assert_string_equal(run_members(w), "0");
        assert_false(in_slot(w, final.occ));
}

/* Its master ended it, and died before it could say that its task tree is gone. */
static void slot_of_a_tree_that_nobody_frees_is_freed(void **state)
{
        struct world *w = *state;
        struct ask a = { .owner = DEAD, .at = -1199, .expect = -1200, .catch_up = true, .tree = true };
        struct ask_texts texts;
        struct ended_record e = { 0 };
        struct ledger_call c = { .op = LEDGER_INTERRUPT }, claim;
        ask_claim(w, &a, &texts, &claim);
        world_call(w, &claim);
        c.in.interrupt = (struct interrupt_in) { DEAD, false };
        world_call(w, &c);
        assert_true(c.out.interrupt.ended[0].ending);
        ledger_call_done(&c);
        lease_runs_out(w, texts.occ);

        assert_swept(w, SWEEPER, NULL, 0, 1);
        assert_swept(w, SWEEPER, &texts, 0, 0);

        assert_false(in_slot(w, texts.occ));
        assert_int_equal(ended_of(w, DEAD, &e), 1);   /* its own death still tells of it */
        assert_int_equal(e.cause, CAUSE_WORKER_DIED);
        assert_false(e.ending);
        assert_true(atoll(redis_say(&redis_shared, "PTTL %s", queue_key_of(w, "o", texts.occ))) > 0);
}

static void leases_end_in_time_though_the_clock_went_back(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        long long ahead = (long long) stamp_instant(clock_wall()).ms + 36000000;
        run_of_dead(w, -1199, &texts);
        (void) redis_say(&redis_shared, "PEXPIRE %s 36000000", queue_key_of(w, "l", texts.occ));
        (void) redis_say(&redis_shared, "ZADD %s %lld %s", queue_key(w, "run"), ahead, texts.occ);
        (void) redis_say(&redis_shared, "SET %s %015lld", queue_key(w, "swept"), ahead);

        assert_swept(w, SWEEPER, NULL, 0, 0);

        assert_true(atoll(redis_say(&redis_shared, "PTTL %s", queue_key_of(w, "l", texts.occ))) <= 30000);
        assert_true(atoll(redis_say(&redis_shared, "ZSCORE %s %s", queue_key(w, "run"), texts.occ)) < ahead - 30000000);
}

static void more_than_a_page_is_watched_page_by_page(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        struct ask_texts texts;
        char (*stale)[OCC_TEXT] = calloc(300, sizeof(*stale));
        assert_non_null(stale);
        for (int i = 0; i < 300; i++) {
                run_of_dead(w, -1199 + i, &texts);
                lease_runs_out(w, texts.occ);
                memcpy(stale[i], texts.occ, sizeof(texts.occ));
        }

        sweep_as(w, SWEEPER, NULL, &c);
        assert_int_equal(c.out.sweep.expired_count, SWEEP_STALE_MAX);
        for (size_t i = 0; i < SWEEP_STALE_MAX; i++)
                memcpy(stale[i], c.out.sweep.expired[i].occ, sizeof(*stale));
        ledger_call_done(&c);
        c = (struct ledger_call) { .op = LEDGER_SWEEP };
        c.in.sweep = (struct sweep_in) { .node = w->node, .owner = SWEEPER, .life = w->life, .stale = stale,
                                         .stale_count = SWEEP_STALE_MAX };
        world_call(w, &c);
        assert_int_equal(c.out.sweep.ended_count, SWEEP_STALE_MAX);
        ledger_call_done(&c);
        assert_swept(w, SWEEPER, NULL, 0, 300 - SWEEP_STALE_MAX);
        free(stale);
}

static void nobody_is_swept_while_the_store_waits_for_owners(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_SWEEP };
        (void) redis_say(&redis_shared, "HSET %s hold 999999999999999", queue_key(w, "store"));

        c.in.sweep = (struct sweep_in) { .node = w->node, .owner = SWEEPER, .life = w->life };
        world_call(w, &c);

        assert_int_equal(c.error, -EAGAIN);
}

static void full_server_can_be_swept(void **state)
{
        struct world *w = *state;
        struct ask_texts texts, other;
        run_of_dead(w, -1199, &texts);
        run_of_dead(w, -1198, &other);
        lease_runs_out(w, texts.occ);
        lease_runs_out(w, other.occ);

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        struct ledger_call watched, ended = { .op = LEDGER_SWEEP };
        sweep_as(w, SWEEPER, NULL, &watched);
        ended.in.sweep = (struct sweep_in) { .node = w->node, .owner = SWEEPER, .life = w->life, .stale = &texts.occ,
                                             .stale_count = 1 };
        world_call(w, &ended);
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");

        assert_int_equal(watched.out.sweep.expired_count, 2);
        assert_int_equal(ended.error, 0);
        assert_int_equal(ended.out.sweep.ended_count, 1);
        ledger_call_done(&watched);
        ledger_call_done(&ended);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                CASE(expired_lease_is_told_to_be_watched),
                CASE(watched_holder_is_ended_by_one_of_two_sweepers),
                CASE(holder_that_came_back_is_not_ended),
                CASE(lost_reply_of_a_sweep_is_told_again_until_it_was_heard),
                CASE(death_of_the_sweeper_tells_what_it_ended),
                CASE(what_was_heard_is_not_told_by_the_sweepers_death),
                CASE(next_life_of_the_sweepers_node_tells_what_it_ended),
                CASE(death_of_who_took_over_tells_whom_it_ended),
                CASE(sweep_of_a_settled_sweeper_does_nothing),
                CASE(leftovers_of_lost_records_are_cleaned),
                CASE(slot_of_a_tree_that_nobody_frees_is_freed),
                CASE(leases_end_in_time_though_the_clock_went_back),
                CASE(more_than_a_page_is_watched_page_by_page),
                CASE(nobody_is_swept_while_the_store_waits_for_owners),
                CASE(full_server_can_be_swept),
        };
        int failed = RUN_CASES(argc, argv, "redis_sweep", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
