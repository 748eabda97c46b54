/* Taking what waits, path by path: what is asked of the ledger, under which lock, with which lease; and the queue of a
 * process that asks nobody. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"
#include "worker/claim/runlock.h"
#include "worker/claim/watch.h"

#define CLAIMS 2

static struct rig rig, *r = &rig;
static struct claimer *claimer;
static struct claim claims[CLAIMS], *c = &claims[0], *next = &claims[1];
static unsigned done_count, notices;
static char run_dir[64];

static void on_done(struct claim *done)
{
        (void) done;
        done_count++;
}

static void on_notice(struct claim *noticed, enum claim_notice n)
{
        (void) noticed, (void) n;
        notices++;
}

static struct instant at(unsigned i)
{
        return (struct instant) { rig_due(r).ms + i };
}

static void fill(struct claim *one, bool take)
{
        *one = (struct claim) {
                .unit = r->unit, .take = take, .planned = INSTANT_NONE, .grace_ms = 59000,
                .done = on_done, .notice = on_notice,
        };
        (void) snprintf(one->token, sizeof(one->token), "token-%u", (unsigned) (one - claims));
        (void) snprintf(one->trig, sizeof(one->trig), "trig-%u", (unsigned) (one - claims));
}

static void open_path(const struct claim_kind *kind)
{
        r->task.singleton = kind->path;
        r->task.overlap = (struct overlap) { .policy = OVERLAP_QUEUE, .queue_limit = 100, .max_running = 1 };
        r->config.run_dir = run_dir;
        assert_int_equal(kind->open(&r->claims, &r->ledger, &claimer), 0);
        r->job.claimer = claimer;
}

static void take(const struct claim_kind *kind)
{
        open_path(kind);
        fill(c, true);
        claim_ask(claimer, c);
        assert_int_equal(done_count, 0);
}

static int up(void **state)
{
        (void) state;
        rig_up(r);
        r->claims.term = 3;
        r->job.rev = 5;
        done_count = notices = 0;
        memset(claims, 0, sizeof(claims));
        for (unsigned i = 0; i < CLAIMS; i++)
                claims[i].lock_fd = -1;
        (void) snprintf(run_dir, sizeof(run_dir), "/tmp/onced-test-XXXXXX");
        assert_non_null(mkdtemp(run_dir));
        return 0;
}

static int down(void **state)
{
        char command[128];
        (void) state;

        for (unsigned i = 0; i < 2; i++) {
                claim_release(claimer, &claims[i]);
                claim_answer_free(&claims[i]);
        }
        claimer->kind->close(claimer);
        rig_down(r);
        (void) snprintf(command, sizeof(command), "rm -r %s", run_dir);
        return system(command);
}

static void fill_answer(struct take_out *out, enum outcome outcome)
{
        out->claim.outcome = outcome;
        out->claim.valid_until.ns = INT64_MAX;
        out->planned = at(7);
        (void) snprintf(out->occ, sizeof(out->occ), "waited");
        (void) snprintf(out->claim.fence, sizeof(out->claim.fence), "9");
}

static void answer(enum outcome outcome)
{
        assert_int_equal(rig_call(r)->op, LEDGER_TAKE);
        fill_answer(&rig_call(r)->out.take, outcome);
        rig_answer_call(r, 0);
}

static void until_called(unsigned before)
{
        for (int i = 0; i < 400 && r->call_count == before; i++)
                rig_pass(r, 5);
        assert_int_equal(r->call_count, before + 1);
}

static bool lock_is_free(void)
{
        int fd = runlock_take(run_dir, r->unit, NULL);

        if (fd >= 0)
                (void) close(fd);
        return fd >= 0;
}

static void a_take_names_its_taker_and_learns_its_instant(void **state)
{
        (void) state;
        take(&claim_dedicated);
        const struct take_in *in = &rig_call(r)->in.take;
        assert_string_equal(in->token, "token-0");
        assert_string_equal(in->trig, "trig-0");
        assert_string_equal(in->owner, "n.0.1.s");
        assert_string_equal(in->unit.task, "mail");
        assert_int_equal(in->term, 3);
        assert_int_equal(in->rev, 5);
        assert_int_equal(in->shards, 1);
        assert_int_equal(in->life, 1);
        assert_int_equal(in->lease_ms, 30000);
        assert_true(in->not_after.ms > stamp_instant(clock_wall()).ms);
        answer(OUTCOME_GRANTED);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->planned.ms, at(7).ms);
        assert_string_equal(c->occ, "waited");
        assert_string_equal(c->answer.fence, "9");
}

static void a_take_in_vain_learns_none(void **state)
{
        (void) state;
        take(&claim_dedicated);
        answer(OUTCOME_DONE);
        assert_int_equal(done_count, 1);
        assert_true(instant_is_none(c->planned));
        assert_string_equal(c->occ, "");
}

static void lost_reply_asks_again_with_the_same_token(void **state)
{
        (void) state;
        take(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        assert_int_equal(done_count, 0);
        until_called(1);
        assert_int_equal(rig_call(r)->op, LEDGER_TAKE);
        assert_string_equal(rig_call(r)->in.take.token, "token-0");
        answer(OUTCOME_GRANTED);
        assert_int_equal(c->answer.outcome, OUTCOME_GRANTED);
}

static void in_a_hurry_it_is_asked_at_once_and_never_revoked(void **state)
{
        (void) state;
        take(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, false);
        assert_int_equal(r->call_count, 2);
        rig_answer_call(r, -ETIMEDOUT);
        until_called(2);
        assert_int_equal(rig_call(r)->op, LEDGER_TAKE);
        answer(OUTCOME_DONE);
        assert_int_equal(done_count, 1);
}

static void given_up_it_ends_without_an_answer(void **state)
{
        (void) state;
        take(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, true);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
}

static void surely_not_asked_is_down(void **state)
{
        (void) state;
        take(&claim_dedicated);
        rig_answer_call(r, -EAGAIN);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
}

/* flock */

static void the_run_lock_is_taken_first_and_kept(void **state)
{
        (void) state;
        take(&claim_flock);
        assert_false(lock_is_free());
        assert_int_equal(rig_call(r)->in.take.term, 0);
        answer(OUTCOME_GRANTED);
        assert_false(lock_is_free());
        claim_release(claimer, c);
        assert_true(lock_is_free());
}

static void in_vain_the_run_lock_is_let_go(void **state)
{
        (void) state;
        take(&claim_flock);
        answer(OUTCOME_BUSY);
        assert_true(lock_is_free());
}

static void a_sibling_with_the_lock_is_left_to_it(void **state)
{
        (void) state;
        open_path(&claim_flock);
        int fd = runlock_take(run_dir, r->unit, NULL);
        assert_true(fd >= 0);
        fill(c, true);
        claim_ask(claimer, c);
        rig_pass(r, 5);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_LOST_LOCAL);
        assert_int_equal(notices, 0);    /* it was no attempt at an instant */
        assert_int_equal(r->call_count, 0);
        (void) close(fd);
}

/* Grants `c` by a take, ends it, and hands over to `next`. */
static void hand_over(const struct claim_kind *kind)
{
        struct take_in in;
        struct take_out out = { 0 };

        take(kind);
        answer(OUTCOME_GRANTED);
        fill(next, true);
        claim_take_in(claimer, next, &in);
        assert_string_equal(in.token, "token-1");
        assert_int_equal(in.term, kind->path == PATH_DEDICATED ? 3 : 0);
        fill_answer(&out, OUTCOME_GRANTED);
        claim_took(next, &out);
        claim_hand_over(claimer, c, next);
        claim_release(claimer, c);
        assert_true(claim_is_held(next));
}

static void the_run_lock_is_handed_on(void **state)
{
        (void) state;
        hand_over(&claim_flock);
        assert_int_equal(c->lock_fd, -1);
        assert_false(lock_is_free());
        claim_release(claimer, next);
        assert_true(lock_is_free());
}

static void a_lock_that_was_not_held_is_taken_with_the_slot(void **state)
{
        (void) state;
        take(&claim_flock);
        answer(OUTCOME_GRANTED);
        claim_release(claimer, c);
        fill(next, true);
        claim_hand_over(claimer, c, next);
        assert_false(lock_is_free());
}

static void no_lock_and_no_lease_is_fine_as_well(void **state)
{
        (void) state;
        hand_over(&claim_dedicated);
        assert_int_equal(next->lock_fd, -1);
}

/* redis */

static void a_lease_of_its_own_keeps_the_next(void **state)
{
        (void) state;
        r->task.lease_ms = 60;
        hand_over(&claim_redis);
        assert_null(c->lease);
        unsigned before = r->call_count;
        until_called(before);
        assert_int_equal(rig_call(r)->op, LEDGER_RENEW);
        assert_string_equal(rig_call(r)->in.renew.token, "token-1");
        assert_string_equal(rig_call(r)->in.renew.occ, "waited");
        rig_call(r)->out.renew.valid_until.ns = INT64_MAX;
        rig_answer_call(r, 0);
}

static void a_holder_seen_dead_is_named(void **state)
{
        (void) state;
        struct mono now = clock_mono();

        open_path(&claim_redis);
        for (int i = 0; i < 3; i++)
                watch_note(&r->unit->watch, "dead", 4, 30000, (struct mono) { now.ns + i * 40 * NS_PER_S });
        fill(c, true);
        claim_ask(claimer, c);
        assert_string_equal(rig_call(r)->in.take.stale_occ, "dead");
        struct take_in in;
        claim_take_in(claimer, c, &in);
        assert_string_equal(in.stale_occ, "dead");
        (void) snprintf(rig_call(r)->out.take.claim.holder_occ, OCC_TEXT, "alive");
        answer(OUTCOME_BUSY);
        assert_string_equal(watch_occ(r->unit->watch), "alive");   /* from now on this one is watched */
}

/* none: a queue in this process. */

static enum outcome ask_own(struct claim *one, bool taking, unsigned i)
{
        unsigned before = done_count;

        fill(one, taking);
        if (!taking)
                one->planned = at(i);
        claim_ask(claimer, one);
        assert_int_equal(done_count, before);
        rig_pass(r, 2);
        assert_int_equal(done_count, before + 1);
        return one->answer.outcome;
}

static uint64_t shown(void)
{
        struct task_counts t;

        return board_task_totals(r->board, r->task.name, &t) ? t.queued : 0;
}

static void own_queue_gives_back_the_oldest_first(void **state)
{
        (void) state;
        char occ[OCC_TEXT];

        open_path(&claim_none);
        assert_int_equal(ask_own(c, false, 0), OUTCOME_GRANTED);
        r->unit->running = 1;
        for (unsigned i = 1; i <= 40; i++)
                assert_int_equal(ask_own(c, false, i), OUTCOME_QUEUED);
        assert_int_equal(shown(), 40);
        assert_int_equal(ask_own(c, true, 0), OUTCOME_BUSY);
        r->unit->running = 0;
        for (unsigned i = 1; i <= 40; i++) {
                /* What is due now stands behind those that wait, though nothing runs. */
                assert_int_equal(ask_own(c, false, 40 + i), OUTCOME_QUEUED);
                assert_int_equal(ask_own(c, true, 0), OUTCOME_GRANTED);
                assert_int_equal(c->planned.ms, at(i).ms);
                occurrence_id("", "mail", 0, at(i), occ);
                assert_string_equal(c->occ, occ);
                assert_string_equal(c->answer.fence, "0");
        }
        assert_int_equal(shown(), 40);
        for (unsigned i = 41; i <= 80; i++) {
                assert_int_equal(ask_own(c, true, 0), OUTCOME_GRANTED);
                assert_int_equal(c->planned.ms, at(i).ms);
        }
        assert_int_equal(ask_own(c, true, 0), OUTCOME_DONE);
        assert_int_equal(shown(), 0);
        assert_int_equal(ask_own(c, false, 99), OUTCOME_GRANTED);
}

static void own_queue_has_a_limit(void **state)
{
        (void) state;
        open_path(&claim_none);
        r->task.overlap.queue_limit = 2;
        r->unit->running = 1;
        for (unsigned i = 1; i <= 2; i++)
                assert_int_equal(ask_own(c, false, i), OUTCOME_QUEUED);
        assert_int_equal(ask_own(c, false, 3), OUTCOME_DECIDED);
        assert_int_equal(c->answer.state, STATE_SKIPPED);
        assert_int_equal(c->answer.cause, CAUSE_QUEUE_FULL);
        assert_int_equal(c->answer.cursor.ms, at(3).ms);
        assert_int_equal(shown(), 2);
}

static void other_policies_of_a_process_queue_nothing(void **state)
{
        (void) state;
        open_path(&claim_none);
        r->unit->running = 1;
        r->task.overlap.policy = OVERLAP_DROP;
        assert_int_equal(ask_own(c, false, 1), OUTCOME_DECIDED);
        assert_int_equal(c->answer.cause, CAUSE_OVERLAP);
        r->task.overlap = (struct overlap) { .policy = OVERLAP_CONCURRENT, .max_running = 2 };
        assert_int_equal(ask_own(c, false, 2), OUTCOME_GRANTED);
        r->unit->running = 2;
        assert_int_equal(ask_own(c, false, 3), OUTCOME_DECIDED);
        assert_int_equal(c->answer.cause, CAUSE_OVERLAP);
        r->unit->running = 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(a_take_names_its_taker_and_learns_its_instant),
                CASE(a_take_in_vain_learns_none),
                CASE(lost_reply_asks_again_with_the_same_token),
                CASE(in_a_hurry_it_is_asked_at_once_and_never_revoked),
                CASE(given_up_it_ends_without_an_answer),
                CASE(surely_not_asked_is_down),
                CASE(the_run_lock_is_taken_first_and_kept),
                CASE(in_vain_the_run_lock_is_let_go),
                CASE(a_sibling_with_the_lock_is_left_to_it),
                CASE(the_run_lock_is_handed_on),
                CASE(a_lock_that_was_not_held_is_taken_with_the_slot),
                CASE(no_lock_and_no_lease_is_fine_as_well),
                CASE(a_lease_of_its_own_keeps_the_next),
                CASE(a_holder_seen_dead_is_named),
                CASE(own_queue_gives_back_the_oldest_first),
                CASE(own_queue_has_a_limit),
                CASE(other_policies_of_a_process_queue_nothing),
        };

        return RUN_CASES(argc, argv, "take", tests);
}
