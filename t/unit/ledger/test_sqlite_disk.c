/* What the local ledger asks of the disk, and what it says when the disk refuses. */
#include "t/unit/ledger/failing_disk.h"
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/unit/cases.h"

static int begin(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        alarm(60);
        disk_full = disk_write_failures = disk_sync_failures = 0;
        assert_int_equal(world_begin(w, &sqlite_backend), 0);
        world_open(w);
        *state = w;
        return 0;
}

static int end(void **state)
{
        disk_full = disk_write_failures = disk_sync_failures = 0;
        world_end(*state);
        free(*state);
        alarm(0);
        return 0;
}

static const struct ask first = { .at = -9, .expect = -10 };

static int claim(struct world *w, struct ask a, struct ask_texts *texts, struct ledger_call *ret)
{
        ask_claim(w, &a, texts, ret);
        world_call(w, ret);
        (void) snprintf(texts->fence, sizeof(texts->fence), "%s", ret->out.claim.fence);
        return ret->error;
}

static void claims_are_synced_once_a_batch(void **state)
{
        struct world *w = *state;
        struct ledger_call calls[100];
        struct ask_texts texts[100];
        world_task(w, 100, -10);
        for (unsigned i = 0; i < 100; i++)
                ask_claim(w, &(struct ask) { .at = -9, .expect = -10, .shard = i }, &texts[i], &calls[i]);

        disk_syncs = 0;
        world_call_all(w, calls, 100);
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(calls[i].out.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(disk_syncs, 1);
}

static void lost_claims_and_finishes_cost_no_sync(void **state)
{
        struct world *w = *state;
        struct ask other = { .owner = "other.1.2.3", .at = -9, .expect = -10 };
        struct ask_texts texts, others;
        struct ledger_call c;
        world_task(w, 1, -10);
        assert_int_equal(claim(w, first, &texts, &c), 0);

        disk_syncs = 0;
        assert_int_equal(claim(w, other, &others, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DONE);
        ask_finish(w, &first, &texts, STATE_SUCCEEDED, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(disk_syncs, 0);
}

static void full_disk_refuses_and_comes_back(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        disk_full = 1;
        assert_int_equal(claim(w, first, &texts, &c), -EAGAIN);
        assert_int_equal(w->health, LEDGER_DOWN);
        assert_true(*c.why);
        disk_full = 0;
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_false(c.out.claim.replay);
        assert_int_equal(w->health, LEDGER_UP);
}

static void failed_sync_is_unknown_and_the_same_token_settles_it(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        disk_sync_failures = 1;
        assert_int_equal(claim(w, first, &texts, &c), -ETIMEDOUT);
        /* Not the health: the disk works again, and opening it anew may be faster than the loop is told. */
        assert_non_null(strstr(c.why, strerror(EIO)));
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(w->health, LEDGER_UP);

        struct ask other = { .owner = "other.1.2.3", .at = -9, .expect = -10 };
        assert_int_equal(claim(w, other, &texts, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DONE);
}

static void failed_write_of_a_commit_is_unknown_too(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        disk_write_failures = 1;
        assert_int_equal(claim(w, first, &texts, &c), -ETIMEDOUT);
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
}

static void disk_that_fails_again_and_again_refuses_until_it_works(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);

        disk_sync_failures = 1000;
        for (int i = 0; i < 10; i++) {
                int r = claim(w, first, &texts, &c);
                assert_true(r == -ETIMEDOUT || r == -EAGAIN);
                assert_int_equal(w->health, LEDGER_DOWN);
                assert_non_null(strstr(c.why, strerror(EIO)));
        }
        disk_sync_failures = 0;
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_int_equal(w->health, LEDGER_UP);
}

static void reader_sees_what_runs_and_writes_nothing(void **state)
{
        struct world *w = *state, *reader = calloc(1, sizeof(*reader));
        struct ask_texts texts;
        struct ledger_call c, h = { .op = LEDGER_HISTORY };
        world_task(w, 1, -10);
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_non_null(reader);
        *reader = *w;
        reader->ledger = NULL;
        reader->read_only = true;
        assert_int_equal(uv_loop_init(&reader->loop), 0);
        world_open(reader);

        h.in.history = (struct history_in) { NULL, STATE_RUNNING, INSTANT_NONE, 10 };
        world_call(reader, &h);
        assert_int_equal(h.error, 0);
        assert_int_equal(h.out.history.count, 1);
        ledger_call_done(&h);
        assert_int_equal(claim(reader, first, &texts, &c), -EROFS);

        world_close(reader);
        assert_int_equal(uv_loop_close(&reader->loop), 0);
        free(reader);
}

static void reader_waits_for_a_ledger_to_be_there(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_PEEK };
        world_close(w);
        assert_int_equal(unlink(state_path(w, "ledger.db")), 0);
        (void) unlink(state_path(w, "ledger.db-wal"));
        (void) unlink(state_path(w, "ledger.db-shm"));
        w->read_only = true;
        world_open(w);

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(w->health, LEDGER_DOWN);
        assert_int_equal(access(state_path(w, "ledger.db"), F_OK), -1);
}

static void reader_follows_the_name_of_the_file(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_PEEK };
        char into[400];
        world_task(w, 1, -10);
        (void) snprintf(into, sizeof(into), "VACUUM INTO '%s'", state_path(w, "copy.db"));
        file_sql(w, "ledger.db", into);
        file_sql(w, "copy.db", "PRAGMA journal_mode = WAL; UPDATE unit SET cursor = 7; PRAGMA wal_checkpoint");
        world_close(w);
        w->read_only = true;
        world_open(w);
        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.out.peek.cursor.ms, world_at(w, -10).ms);

        char copy[300];
        (void) snprintf(copy, sizeof(copy), "%s", state_path(w, "copy.db"));
        (void) unlink(state_path(w, "copy.db-wal"));
        (void) unlink(state_path(w, "copy.db-shm"));
        (void) unlink(state_path(w, "ledger.db-wal"));
        (void) unlink(state_path(w, "ledger.db-shm"));
        assert_int_equal(rename(copy, state_path(w, "ledger.db")), 0);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.peek.cursor.ms, 7);
}

static void leader_keeps_the_wal_small(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_LEAD };
        static char text[60000];
        struct stat st;
        world_task(w, 1, -400);
        c.in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, &c);
        ledger_call_done(&c);
        memset(text, 't', sizeof(text));

        for (int at = -399; at < -199; at++) {
                struct ask a = { .at = at, .expect = at - 1, .catch_up = true };
                struct ask_texts texts;
                assert_int_equal(claim(w, a, &texts, &c), 0);
                assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
                ask_finish(w, &a, &texts, STATE_SUCCEEDED, &c);
                c.in.finish.text = text;
                c.in.finish.text_len = sizeof(text);
                world_call(w, &c);
                assert_int_equal(c.error, 0);
        }
        assert_int_equal(stat(state_path(w, "ledger.db-wal"), &st), 0);
        assert_true(st.st_size < 8 << 20);
        assert_int_equal(stat(state_path(w, "ledger.db"), &st), 0);
        assert_true(st.st_size > 8 << 20);
}

static void history_is_kept_as_the_task_says(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        world_task(w, 1, -400);

        for (int at = -399; at < -99; at++) {
                struct ask a = { .at = at, .expect = at - 1, .catch_up = true };
                struct ask_texts texts;
                assert_int_equal(claim(w, a, &texts, &c), 0);
                ask_finish(w, &a, &texts, STATE_SUCCEEDED, &c);
                c.in.finish.keep.count = 10;
                world_call(w, &c);
                assert_int_equal(c.error, 0);
        }
        int64_t kept = file_number(w, "ledger.db", "SELECT count(*) FROM record");
        assert_true(kept >= 10);
        assert_true(kept < 150);
        /* The newest stay. */
        assert_int_equal(file_number(w, "ledger.db", "SELECT max(last) FROM record"), world_at(w, -100).ms);
}

static void calls_beyond_the_limits_are_turned_away(void **state)
{
        struct world *w = *state;
        struct ask_texts texts = { .fence = "1" };
        struct ledger_call c;
        world_task(w, 1, -10);

        ask_claim(w, &(struct ask) { .at = -5, .expect = -10, .gap_first = -9, .gap_last = -5 }, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, -EINVAL);
        ask_finish(w, &first, &texts, STATE_SUCCEEDED, &c);
        c.in.finish.text_len = 1u << 20;
        world_call(w, &c);
        assert_int_equal(c.error, -EINVAL);
}

static void strangers_lock_is_said_and_passes(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_task(w, 1, -10);
        sqlite3 *stranger;
        assert_int_equal(sqlite3_open_v2(state_path(w, "ledger.db"), &stranger, SQLITE_OPEN_READWRITE, NULL), 0);
        assert_int_equal(sqlite3_exec(stranger, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);

        assert_int_equal(claim(w, first, &texts, &c), -EAGAIN);
        assert_non_null(strstr(c.why, "another program"));
        assert_int_equal(sqlite3_exec(stranger, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(claim(w, first, &texts, &c), 0);
        assert_int_equal(sqlite3_close(stranger), SQLITE_OK);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(claims_are_synced_once_a_batch),
                CASE(lost_claims_and_finishes_cost_no_sync),
                CASE(full_disk_refuses_and_comes_back),
                CASE(failed_sync_is_unknown_and_the_same_token_settles_it),
                CASE(failed_write_of_a_commit_is_unknown_too),
                CASE(disk_that_fails_again_and_again_refuses_until_it_works),
                CASE(reader_sees_what_runs_and_writes_nothing),
                CASE(reader_waits_for_a_ledger_to_be_there),
                CASE(reader_follows_the_name_of_the_file),
                CASE(leader_keeps_the_wal_small),
                CASE(history_is_kept_as_the_task_says),
                CASE(calls_beyond_the_limits_are_turned_away),
                CASE(strangers_lock_is_said_and_passes),
        };

        failing_disk_install();
        return RUN_CASES(argc, argv, "sqlite_disk", tests);
}
