/* Run locks: the gate of claims by flock, and what stands in its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/unit/cases.h"
#include "t/unit/worker/claim_rig.h"
#include "worker/claim/runlock.h"

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

static void write_note(struct instant decided, struct process_id master)
{
        int fd = other_lock();

        runlock_write(fd, &(struct runlock_note) { decided, master });
        (void) close(fd);
}

static void what_a_sibling_saw_decided_is_not_asked_again(void **state)
{
        (void) state;
        write_note(rig_due(r), r->claims.master);
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

static void a_note_of_another_instant_or_another_master_is_none(void **state)
{
        (void) state;
        write_note((struct instant) { rig_due(r).ms - 1 }, r->claims.master);
        begin(&claim_flock);
        assert_int_equal(rig_call(r)->op, LEDGER_CLAIM);
        answer_call(OUTCOME_MOVED);
        claimer->kind->close(claimer);
        write_note(rig_due(r), (struct process_id) { r->claims.master.pid, "8-ab12" });
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
        assert_int_equal(note.master.pid, 0);
        grant_call();
        runlock_read(run_dir, r->unit, &note);
        assert_int_equal(note.decided.ms, c->planned.ms);
        assert_int_equal(note.master.pid, r->claims.master.pid);
}

static void a_loser_reads_the_note_before_it_asks(void **state)
{
        (void) state;
        int other = other_lock();
        begin(&claim_flock);
        assert_int_equal(lost_local, 1);
        runlock_write(other, &(struct runlock_note) { c->planned, r->claims.master });
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, claim_rig_up, claim_rig_down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(lock_is_held_from_the_claim_to_the_release),
                CASE(lock_of_concurrent_is_free_after_the_claim),
                CASE(lock_of_a_refused_claim_is_free),
                CASE(what_a_sibling_saw_decided_is_not_asked_again),
                CASE(a_note_of_another_instant_or_another_master_is_none),
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
        };

        return RUN_CASES(argc, argv, "runlock", tests);
}
