/* The claim layer against a ledger played by the test: retries and revoking, leases. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "t/unit/cases.h"
#include "t/unit/worker/claim_rig.h"

/* Retries and revoking. */

static void claim_carries_what_the_worker_believes(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        const struct claim_in *in = &rig_call(r)->in.claim;
        assert_int_equal(in->term, 1);
        assert_int_equal(in->expect.ms, rig_due(r).ms - 1);
        assert_string_equal(in->unit.task, "mail");
        assert_string_equal(in->stale_occ, "");
        assert_true(in->not_after.ms > stamp_instant(clock_wall()).ms);
        grant_call();
        assert_int_equal(done_count, 1);
        assert_string_equal(c->answer.fence, "9");
}

static void ledger_that_is_away_is_down_at_once(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        rig_answer_call(r, -EAGAIN);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
        assert_true(instant_is_none(c->answer.cursor));
}

static void corrupt_ledger_is_halted(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        rig_answer_call(r, -EUCLEAN);
        assert_int_equal(c->answer.outcome, OUTCOME_HALTED);
}

static void lost_reply_asks_again_with_the_same_token(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        assert_int_equal(done_count, 0);
        until_called(1);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        assert_string_equal(rig_call(r)->in.claim.token, "token");
        rig_answer_call(r, -EAGAIN);      /* the first request may still be executed */
        assert_int_equal(done_count, 0);
        until_called(2);
        rig_call(r)->out.claim.replay = true;
        grant_call();
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_GRANTED);
}

static void beyond_grace_the_token_is_revoked(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        c->grace_ms = 0;
        rig_answer_call(r, -ETIMEDOUT);
        until_called(1);
        revoke_call(REVOKED_ABANDONED);
        assert_int_equal(done_count, 0);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        assert_string_equal(rig_call(r)->in.claim.token, "token");
        rig_call(r)->out.claim.state = STATE_MISSED;
        rig_call(r)->out.claim.cause = CAUSE_ABANDONED;
        answer_call(OUTCOME_DECIDED);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.cause, CAUSE_ABANDONED);
        assert_int_equal(c->answer.state, STATE_MISSED);
}

/* A disk that failed for a second would stop a unit with a gap for as long as a request might wait for the lock. */
static void a_local_request_that_was_answered_is_not_waited_for(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        c->grace_ms = 0;
        rig_answer_call(r, -ETIMEDOUT);
        until_called(1);
        assert_int_equal(rig_call(r)->op, LEDGER_REVOKE);
        assert_true(instant_is_none(rig_call(r)->in.revoke.not_after));
        revoke_call(REVOKED_FREE);
        assert_int_equal(done_count, 1);
}

static void a_request_to_redis_may_be_on_its_way_until_it_is_void(void **state)
{
        (void) state;
        begin(&claim_redis);
        c->grace_ms = 0;
        struct instant not_after = rig_call(r)->in.claim.not_after;
        rig_answer_call(r, -ETIMEDOUT);
        until_called(1);
        assert_int_equal(rig_call(r)->op, LEDGER_REVOKE);
        assert_int_equal(rig_call(r)->in.revoke.not_after.ms, not_after.ms);
        revoke_call(REVOKED_FREE);
        assert_int_equal(done_count, 1);
}

static void revoke_is_asked_until_it_is_answered(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        c->grace_ms = 0;
        rig_answer_call(r, -ETIMEDOUT);
        until_called(1);
        rig_answer_call(r, -ETIMEDOUT);
        until_called(2);
        revoke_call(REVOKED_WAIT);
        assert_int_equal(done_count, 0);
        until_called(3);
        revoke_call(REVOKED_FREE);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
}

static void drain_revokes_what_is_unanswered(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, false);
        assert_int_equal(r->call_count, 2);
        revoke_call(REVOKED_DECIDED);
        answer_call(OUTCOME_DONE);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DONE);
}

static void revoke_never_moves_the_cursor_over_a_gap(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        c->gap.count = 2;
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, false);
        assert_true(instant_is_none(rig_call(r)->in.revoke.expect));
        revoke_call(REVOKED_FREE);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
}

static void stop_gives_up_what_is_unanswered(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, true);
        assert_int_equal(done_count, 1);
        assert_int_equal(r->call_count, 1);
}

static void stop_waits_for_a_request_on_its_way(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        claim_hurry(claimer, c, true);
        assert_int_equal(done_count, 0);
        rig_answer_call(r, -ETIMEDOUT);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
}

static void gap_alone_is_asked_until_it_is_answered(void **state)
{
        (void) state;
        begin(&claim_dedicated);
        answer_call(OUTCOME_DONE);
        c->planned = INSTANT_NONE;
        done_count = 0;
        claim_ask(claimer, c);
        rig_answer_call(r, -ETIMEDOUT);
        until_called(2);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        rig_answer_call(r, -ETIMEDOUT);
        claim_hurry(claimer, c, false);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DOWN);
        assert_int_equal(r->call_count, 3);
}

/* Leases. */

static void grant_lease(int64_t lease_ms, int64_t valid_ms)
{
        r->task.lease_ms = lease_ms;
        begin(&claim_redis);
        struct claim_out *out = &rig_call(r)->out.claim;
        out->outcome = OUTCOME_GRANTED;
        (void) snprintf(out->fence, sizeof(out->fence), "9");
        out->valid_until = mono_plus_ms(clock_mono(), valid_ms);
        rig_answer_call(r, 0);
        assert_int_equal(done_count, 1);
}

static void lease_is_renewed_at_a_third(void **state)
{
        (void) state;
        grant_lease(150, 140);
        assert_true(claim_is_held(c));
        struct mono began = clock_mono();
        until_called(1);
        int64_t waited = mono_since_ms(began, clock_mono());
        assert_true(waited >= 40);
        assert_int_equal(rig_call(r)->op, LEDGER_RENEW);
        assert_string_equal(rig_call(r)->in.renew.fence, "9");
        rig_call(r)->out.renew.renewed = RENEWED_LATE;
        rig_call(r)->out.renew.valid_until = mono_plus_ms(clock_mono(), 1000);
        rig_answer_call(r, 0);
        assert_int_equal(lease_late, 1);
        until_called(2);
        claim_release(claimer, c);        /* the answer comes to nobody */
        rig_answer_call(r, 0);
        assert_int_equal(lease_lost, 0);
}

static void store_that_says_lost_is_believed(void **state)
{
        (void) state;
        grant_lease(60, 1000);
        until_called(1);
        rig_call(r)->out.renew.renewed = RENEWED_LOST;
        rig_answer_call(r, 0);
        assert_int_equal(lease_lost, 1);
        rig_pass(r, 60);
        assert_int_equal(r->call_count, 2);
}

static void silent_store_is_lost_at_the_limit(void **state)
{
        unsigned answered = 1;   /* calls; the claim is one */
        (void) state;

        grant_lease(120, 100);
        for (int i = 0; i < 100 && lease_lost == 0; i++) {
                rig_pass(r, 5);
                for (; answered < r->call_count; answered++)
                        rig_answer_call(r, -ETIMEDOUT);
        }
        assert_int_equal(lease_lost, 1);
        assert_false(claim_is_held(c));
        assert_true(r->call_count > 2);
        claim_release(claimer, c);
        for (; answered < r->call_count; answered++)
                rig_answer_call(r, -ECANCELED);
}

static void watched_holder_is_named_when_ripe(void **state)
{
        (void) state;
        r->task.lease_ms = 20;
        begin(&claim_redis);
        for (unsigned i = 0; i < 4; i++) {
                rig_call(r)->out.claim.seq = 5;
                (void) snprintf(rig_call(r)->out.claim.holder_occ, OCC_TEXT, "dead");
                answer_call(OUTCOME_BUSY);
                rig_pass(r, 15);
                claim_ask(claimer, c);
        }
        assert_string_equal(rig_call(r)->in.claim.stale_occ, "dead");
        grant_call();
        claim_release(claimer, c);
        assert_null(r->unit->watch);
}

/* An answer to the look that is on its way. */
static void seen(const char *occ, uint64_t seq)
{
        assert_int_equal(rig_call(r)->op, LEDGER_PEEK);
        (void) snprintf(rig_call(r)->out.peek.slot_occ, OCC_TEXT, "%s", occ);
        rig_call(r)->out.peek.seq = seq;
        rig_answer_call(r, 0);
}

static void answer_busy(const char *occ, uint64_t seq)
{
        rig_call(r)->out.claim.seq = seq;
        (void) snprintf(rig_call(r)->out.claim.holder_occ, OCC_TEXT, "%s", occ);
        answer_call(OUTCOME_BUSY);
}

static void watched_holder_is_looked_at_between_claims(void **state)
{
        (void) state;
        r->task.lease_ms = 60;
        begin(&claim_redis);
        struct mono began = clock_mono();
        answer_busy("dead", 5);
        for (unsigned calls = 1; mono_since_ms(began, clock_mono()) < 90; calls++) {
                until_called(calls);
                seen("dead", 5);
        }
        claim_ask(claimer, c);
        assert_string_equal(rig_call(r)->in.claim.stale_occ, "dead");
}

static void holder_that_renews_is_never_ripe(void **state)
{
        (void) state;
        r->task.lease_ms = 60;
        begin(&claim_redis);
        struct mono began = clock_mono();
        answer_busy("alive", 5);
        for (unsigned calls = 1; mono_since_ms(began, clock_mono()) < 90; calls++) {
                until_called(calls);
                seen("alive", 5 + calls);
        }
        claim_ask(claimer, c);
        assert_string_equal(rig_call(r)->in.claim.stale_occ, "");
}

static void looking_ends_when_the_unit_is_free_or_has_another_holder(void **state)
{
        static const char *const next[] = { "", "other" };
        (void) state;
        r->task.lease_ms = 30;
        begin(&claim_redis);
        for (unsigned i = 0; i < 2; i++) {
                answer_busy("first", 5);
                until_called(r->call_count);
                unsigned calls = r->call_count;
                seen(next[i], 5);
                rig_pass(r, 40);
                assert_int_equal(r->call_count, calls);
                claim_ask(claimer, c);
        }
}

static void none_is_granted_later_and_counts_here(void **state)
{
        (void) state;
        begin(&claim_none);
        assert_int_equal(done_count, 0);
        rig_pass(r, 5);
        assert_int_equal(c->answer.outcome, OUTCOME_GRANTED);
        assert_string_equal(c->answer.fence, "0");
        assert_int_equal(r->call_count, 0);
        r->unit->running = 1;
        claim_ask(claimer, c);
        rig_pass(r, 5);
        assert_int_equal(c->answer.outcome, OUTCOME_DECIDED);
        assert_int_equal(c->answer.cause, CAUSE_OVERLAP);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, claim_rig_up, claim_rig_down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(claim_carries_what_the_worker_believes),
                CASE(ledger_that_is_away_is_down_at_once),
                CASE(corrupt_ledger_is_halted),
                CASE(lost_reply_asks_again_with_the_same_token),
                CASE(beyond_grace_the_token_is_revoked),
                CASE(a_local_request_that_was_answered_is_not_waited_for),
                CASE(a_request_to_redis_may_be_on_its_way_until_it_is_void),
                CASE(revoke_is_asked_until_it_is_answered),
                CASE(drain_revokes_what_is_unanswered),
                CASE(stop_gives_up_what_is_unanswered),
                CASE(stop_waits_for_a_request_on_its_way),
                CASE(gap_alone_is_asked_until_it_is_answered),
                CASE(revoke_never_moves_the_cursor_over_a_gap),
                CASE(lease_is_renewed_at_a_third),
                CASE(store_that_says_lost_is_believed),
                CASE(silent_store_is_lost_at_the_limit),
                CASE(watched_holder_is_named_when_ripe),
                CASE(watched_holder_is_looked_at_between_claims),
                CASE(holder_that_renews_is_never_ripe),
                CASE(looking_ends_when_the_unit_is_free_or_has_another_holder),
                CASE(none_is_granted_later_and_counts_here),
        };

        return RUN_CASES(argc, argv, "claim", tests);
}
