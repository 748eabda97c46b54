/* The claim layer against a ledger played by the test: retries and revoking, run locks, leases. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"
#include "worker/claim/runlock.h"

static struct rig rig, *r = &rig;
static struct claimer *claimer;
static struct claim claim, *c = &claim;
static unsigned done_count, lost_local, lease_late, lease_lost;
static char run_dir[64];

static void on_done(struct claim *done)
{
        assert_ptr_equal(done, c);
        done_count++;
}

static void on_notice(struct claim *noticed, enum claim_notice n)
{
        (void) noticed;
        lost_local += n == CLAIM_LOST_LOCAL;
        lease_late += n == CLAIM_LEASE_LATE;
        lease_lost += n == CLAIM_LEASE_LOST;
}

static void begin(const struct claim_kind *kind)
{
        r->task.singleton = kind->path;
        r->config.run_dir = run_dir;
        assert_int_equal(kind->open(&r->claims, &r->ledger, &claimer), 0);
        r->job.claimer = claimer;
        claim = (struct claim) {
                .unit = r->unit, .planned = rig_due(r), .expect = r->unit->cursor, .grace_ms = 59000,
                .done = on_done, .notice = on_notice,
        };
        (void) snprintf(c->occ, sizeof(c->occ), "occ");
        (void) snprintf(c->token, sizeof(c->token), "token");
        done_count = lost_local = lease_late = lease_lost = 0;
        claim_ask(claimer, c);
        assert_int_equal(done_count, 0);
}

static int up(void **state)
{
        (void) state;
        rig_up(r);
        r->claims.term = 1;
        r->claims.life = 7;
        (void) snprintf(run_dir, sizeof(run_dir), "/tmp/onced-test-XXXXXX");
        assert_non_null(mkdtemp(run_dir));
        return 0;
}

static int down(void **state)
{
        char command[128];
        (void) state;

        claim_release(claimer, c);
        claim_answer_free(c);
        claimer->kind->close(claimer);
        rig_down(r);
        (void) snprintf(command, sizeof(command), "rm -r %s", run_dir);
        return system(command);
}

static void grant_call(void)
{
        struct claim_out *out = &rig_call(r)->out.claim;

        out->outcome = OUTCOME_GRANTED;
        out->valid_until.ns = INT64_MAX;
        (void) snprintf(out->fence, sizeof(out->fence), "9");
        rig_answer_call(r, 0);
}

static void answer_call(enum outcome outcome)
{
        rig_call(r)->out.claim.outcome = outcome;
        rig_answer_call(r, 0);
}

static void revoke_call(enum revoked revoked)
{
        assert_int_equal(rig_call(r)->op, LEDGER_REVOKE);
        assert_string_equal(rig_call(r)->in.revoke.token, "token");
        rig_call(r)->out.revoke.revoked = revoked;
        rig_answer_call(r, 0);
}

/* Lets the loop run until another call was sent; fails after two seconds. */
static void until_called(unsigned before)
{
        for (int i = 0; i < 400 && r->call_count == before; i++)
                rig_pass(r, 5);
        assert_int_equal(r->call_count, before + 1);
}

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

/* Run locks. */

static int other_lock(void)
{
        assert_int_equal(runlock_folder(run_dir), 0);
        int fd = runlock_take(run_dir, r->unit, NULL);
        assert_true(fd >= 0);
        return fd;
}

static bool lock_is_free(void)
{
        int fd = runlock_take(run_dir, r->unit, NULL);
        if (fd < 0)
                return false;
        (void) close(fd);
        return true;
}

static void lock_is_held_from_the_claim_to_the_release(void **state)
{
        (void) state;
        begin(&claim_flock);
        assert_false(lock_is_free());
        grant_call();
        assert_false(lock_is_free());
        claim_release(claimer, c);
        assert_true(lock_is_free());
}

static void lock_of_concurrent_is_free_after_the_claim(void **state)
{
        (void) state;
        r->task.overlap.policy = OVERLAP_CONCURRENT;
        begin(&claim_flock);
        assert_false(lock_is_free());
        grant_call();
        assert_true(lock_is_free());
}

static void lock_of_a_refused_claim_is_free(void **state)
{
        (void) state;
        begin(&claim_flock);
        answer_call(OUTCOME_MOVED);
        assert_true(lock_is_free());
}

static void write_note(struct instant decided, uint64_t life)
{
        int fd = other_lock();

        runlock_write(fd, &(struct runlock_note) { decided, life });
        (void) close(fd);
}

static void what_a_sibling_saw_decided_is_not_asked_again(void **state)
{
        (void) state;
        write_note(rig_due(r), r->claims.life);
        begin(&claim_flock);
        for (int i = 0; i < 400 && done_count == 0; i++)
                rig_pass(r, 5);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_DONE);
        assert_int_equal(c->answer.cursor.ms, c->planned.ms);
        assert_int_equal(r->call_count, 0);
        assert_int_equal(lost_local, 0);
        assert_true(lock_is_free());
}

static void a_note_of_another_instant_or_another_life_is_none(void **state)
{
        (void) state;
        write_note((struct instant) { rig_due(r).ms - 1 }, r->claims.life);
        begin(&claim_flock);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        answer_call(OUTCOME_MOVED);
        claimer->kind->close(claimer);
        write_note(rig_due(r), r->claims.life + 1);
        begin(&claim_flock);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        answer_call(OUTCOME_MOVED);
}

static void a_winner_notes_what_it_decided(void **state)
{
        struct runlock_note note;

        (void) state;
        begin(&claim_flock);
        runlock_read(run_dir, r->unit, &note);
        assert_int_equal(note.life, 0);
        grant_call();
        runlock_read(run_dir, r->unit, &note);
        assert_int_equal(note.decided.ms, c->planned.ms);
        assert_int_equal(note.life, r->claims.life);
}

static void a_loser_reads_the_note_before_it_asks(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        assert_int_equal(lost_local, 1);
        runlock_write(other, &(struct runlock_note) { c->planned, r->claims.life });
        for (int i = 0; i < 400 && done_count == 0; i++)
                rig_pass(r, 5);
        assert_int_equal(c->answer.outcome, OUTCOME_DONE);
        assert_int_equal(r->call_count, 0);
        (void) close(other);
}

static void loser_looks_and_finds_it_decided(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        assert_int_equal(lost_local, 1);
        assert_int_equal(r->call_count, 0);
        until_called(0);
        assert_int_equal(rig_call(r)->op, LEDGER_PEEK);
        rig_call(r)->out.peek.registered = true;
        rig_call(r)->out.peek.cursor = rig_due(r);
        rig_answer_call(r, 0);
        assert_int_equal(c->answer.outcome, OUTCOME_DONE);
        assert_int_equal(c->answer.cursor.ms, rig_due(r).ms);
        (void) close(other);
}

static void loser_never_judges_while_the_winner_commits(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        for (unsigned i = 0; i < 3; i++) {
                until_called(i);
                assert_int_equal(rig_call(r)->op, LEDGER_PEEK);
                rig_call(r)->out.peek.registered = true;
                rig_call(r)->out.peek.cursor.ms = rig_due(r).ms - 1;
                rig_answer_call(r, 0);
                assert_int_equal(done_count, 0);
        }
        assert_int_equal(lost_local, 1);
        (void) close(other);              /* the winner died before it committed */
        until_called(3);
        rig_call(r)->out.peek.cursor.ms = rig_due(r).ms - 1;
        rig_answer_call(r, 0);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        grant_call();
        assert_int_equal(c->answer.outcome, OUTCOME_GRANTED);
}

static void loser_leaves_overlap_to_the_ledger(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        until_called(0);
        rig_call(r)->out.peek.registered = true;
        rig_call(r)->out.peek.cursor.ms = rig_due(r).ms - 1;
        rig_call(r)->out.peek.running = 1;
        rig_answer_call(r, 0);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        rig_call(r)->out.claim.state = STATE_SKIPPED;
        rig_call(r)->out.claim.cause = CAUSE_OVERLAP;
        answer_call(OUTCOME_DECIDED);
        assert_int_equal(c->answer.cause, CAUSE_OVERLAP);
        (void) close(other);
}

static void loser_gives_up_after_grace(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        c->grace_ms = 0;
        until_called(0);
        rig_answer_call(r, -EAGAIN);
        rig_pass(r, 5);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_LOST_LOCAL);
        (void) close(other);
}

static void loser_that_drains_goes_home(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        claim_hurry(claimer, c, false);
        assert_int_equal(done_count, 1);
        assert_int_equal(c->answer.outcome, OUTCOME_LOST_LOCAL);
        (void) close(other);
}

static void own_run_is_no_sibling(void **state)
{
        (void) state;
        int other = other_lock();
        r->unit->running = 1;
        begin(&claim_flock);
        assert_int_equal(lost_local, 0);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        answer_call(OUTCOME_DONE);
        (void) close(other);
}

static void replaced_lock_is_noticed(void **state)
{
        char path[256], name[DIGEST_TEXT], text[UNIT_TEXT];
        (void) state;

        unit_text("", "mail", 0, text);
        digest_hex(text, strlen(text), name);
        (void) snprintf(path, sizeof(path), "%s/locks/%s", run_dir, name);
        int other = other_lock();
        assert_int_equal(unlink(path), 0);
        begin(&claim_flock);              /* another file under the same name: its lock is free */
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        answer_call(OUTCOME_BUSY);        /* and decides nothing */
        assert_int_equal(c->answer.outcome, OUTCOME_BUSY);

        char second[300];
        (void) snprintf(second, sizeof(second), "%s.link", path);
        assert_int_equal(link(path, second), 0);
        assert_int_equal(runlock_take(run_dir, r->unit, NULL), -ESTALE);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(second, path), 0);
        assert_int_equal(runlock_take(run_dir, r->unit, NULL), -ELOOP);
        (void) close(other);
}

static void lock_file_is_private(void **state)
{
        char command[200];
        (void) state;
        begin(&claim_flock);
        int flags = fcntl(c->lock_fd, F_GETFD);
        assert_true(flags & FD_CLOEXEC);
        struct stat st;
        assert_int_equal(fstat(c->lock_fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        answer_call(OUTCOME_DONE);
        (void) snprintf(command, sizeof(command), "test -d %s/locks", run_dir);
        assert_int_equal(system(command), 0);
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

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
                CASE(lock_is_held_from_the_claim_to_the_release),
                CASE(lock_of_concurrent_is_free_after_the_claim),
                CASE(lock_of_a_refused_claim_is_free),
                CASE(what_a_sibling_saw_decided_is_not_asked_again),
                CASE(a_note_of_another_instant_or_another_life_is_none),
                CASE(a_winner_notes_what_it_decided),
                CASE(a_loser_reads_the_note_before_it_asks),
                CASE(loser_looks_and_finds_it_decided),
                CASE(loser_never_judges_while_the_winner_commits),
                CASE(loser_leaves_overlap_to_the_ledger),
                CASE(loser_gives_up_after_grace),
                CASE(loser_that_drains_goes_home),
                CASE(own_run_is_no_sibling),
                CASE(replaced_lock_is_noticed),
                CASE(lock_file_is_private),
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
