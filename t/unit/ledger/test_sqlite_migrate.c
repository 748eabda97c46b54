/* A ledger of layout 1 goes on as one of the present layout, with all it knew; or stays what it was. */
#include "t/unit/cases.h"
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/node_id.h"
#include "ledger/recover.h"

/* As the first onced made it. */
static const char layout_1[] =
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE meta ("
        " one INTEGER PRIMARY KEY CHECK (one = 1), incarnation TEXT NOT NULL, life INTEGER NOT NULL,"
        " boot TEXT NOT NULL, clean INTEGER NOT NULL, durability TEXT NOT NULL, barrier INTEGER,"
        " fence INTEGER NOT NULL) STRICT;"
        "CREATE TABLE node (node TEXT PRIMARY KEY, term INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE TABLE task ("
        " task TEXT PRIMARY KEY, when_hash TEXT NOT NULL, def_hash TEXT NOT NULL, rev INTEGER NOT NULL,"
        " valid_from INTEGER NOT NULL, shards INTEGER NOT NULL, competes INTEGER NOT NULL, kind TEXT NOT NULL,"
        " every_ms INTEGER NOT NULL, anchor_ms INTEGER NOT NULL, keep_count INTEGER NOT NULL DEFAULT 1000,"
        " keep_age_ms INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;"
        "CREATE TABLE unit ("
        " task TEXT NOT NULL, scope TEXT NOT NULL, shard INTEGER NOT NULL, cursor INTEGER NOT NULL,"
        " PRIMARY KEY (task, scope, shard)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE record ("
        " id INTEGER PRIMARY KEY, task TEXT NOT NULL, scope TEXT NOT NULL, shard INTEGER NOT NULL,"
        " planned INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,"
        " occ TEXT UNIQUE, token TEXT, trig TEXT, owner TEXT, node TEXT, life INTEGER, boot TEXT,"
        " fence INTEGER, state TEXT NOT NULL, cause TEXT NOT NULL, result TEXT NOT NULL,"
        " slot INTEGER NOT NULL, tree INTEGER NOT NULL, gap INTEGER NOT NULL,"
        " started INTEGER, ended INTEGER, code INTEGER NOT NULL, text_cut INTEGER NOT NULL,"
        " error TEXT NOT NULL, text BLOB) STRICT;"
        "CREATE INDEX record_task ON record (task, last);"
        "CREATE INDEX record_last ON record (last);"
        "CREATE INDEX record_slot ON record (task, scope, shard) WHERE slot = 1;"
        "CREATE TABLE untold (owner TEXT PRIMARY KEY, life INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX record_untold ON record (owner, ended)"
        " WHERE state IN ('skipped', 'missed', 'unknown', 'interrupted', 'failed');"
        "PRAGMA application_id = 1869505380;"
        "PRAGMA user_version = 1;"
        "INSERT INTO meta VALUES (1, 'abcdef0123456789', 1, 'b007b007b007b007', 0, 'full', NULL, 77);";

static void old_sql(const struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void old_sql(const struct world *w, const char *format, ...)
{
        char sql[1000];
        sqlite3 *db;
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(sql, sizeof(sql), format, ap);
        va_end(ap);
        assert_int_equal(sqlite3_open(state_path(w, "ledger.db"), &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The world's task in its first revision, its cursor 10 s back, and one run of it under way. */
static int begin(void **state)
{
        struct ask_texts texts;
        struct ledger_call c;
        sqlite3 *db;

        (void) sqlite_case(state);
        struct world *w = *state;
        assert_int_equal(sqlite3_open(state_path(w, "ledger.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, layout_1, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        old_sql(w, "INSERT INTO task (task, when_hash, def_hash, rev, valid_from, shards, competes, kind, every_ms, "
                   "anchor_ms, keep_count) VALUES "
                   "('" WORLD_TASK "', '0123456789abcdef', 'fedcba9876543210', 4, 5, 1, 1, 'every', 1000, 250, 17), "
                   "('never', 'h', 'd', 1, 5, 1, 1, 'none', 0, 0, 1000), "
                   "('daily', 'h', 'd', 1, 5, 1, 1, 'every', 86400000, 0, 1000);"
                   "INSERT INTO unit VALUES ('" WORLD_TASK "', '', 0, %lld)", (long long) world_at(w, -10).ms);
        ask_claim(w, &(struct ask) { .at = -10, .expect = -11 }, &texts, &c);
        old_sql(w, "INSERT INTO record (task, scope, shard, planned, last, count, occ, token, trig, owner, node, life, "
                   "boot, fence, state, cause, result, slot, tree, gap, code, text_cut, error) VALUES "
                   "('" WORLD_TASK "', '', 0, %lld, %lld, 1, '%s', '%s', '%s', '%s', '%s', 1, '%s', 77, 'running', '', "
                   "'', 1, 0, 0, -1, 0, '')", (long long) world_at(w, -10).ms, (long long) world_at(w, -10).ms,
                texts.occ, texts.token, texts.trig, w->owner, w->node, w->boot);
        return 0;
}

static int64_t number(const struct world *w, const char *sql)
{
        return file_number(w, "ledger.db", sql);
}

static void old_ledger_goes_on_with_all_it_knew(void **state)
{
        struct world *w = *state;
        struct ask running = { .at = -10, .expect = -11 }, next = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };
        struct ask_texts texts = { .fence = "77" };
        struct ledger_call c;
        world_open(w);
        world_task(w, 1, -3);   /* the definition and the cursor that are there hold */

        assert_int_equal(w->rev, 4);
        assert_int_equal(number(w, "PRAGMA user_version"), 2);
        assert_int_equal(number(w, "SELECT keep_count FROM task WHERE task = '" WORLD_TASK "'"), 17);
        assert_int_equal(number(w, "SELECT count(*) FROM pragma_table_info('task') "
                                   "WHERE name IN ('kind', 'every_ms', 'anchor_ms')"), 0);
        ask_claim(w, &next, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_QUEUED);
        ask_finish(w, &running, &texts, STATE_SUCCEEDED, &c);
        c.in.finish.fence = "77";
        world_call(w, &c);
        assert_int_equal(c.out.finish.finished, FINISHED_OK);
        struct ledger_call t = { .op = LEDGER_TAKE };
        struct take_texts words;
        ask_take(w, NULL, 1, &words, &t.in.take);
        world_call(w, &t);
        assert_int_equal(t.out.take.claim.outcome, OUTCOME_GRANTED);
        assert_true(strtoull(t.out.take.claim.fence, NULL, 10) > 77);
}

static void old_schedules_are_counted_when_they_end(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_DEFINE };
        world_open(w);

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "other", .def_hash = "d", .shards = 1,
                                           .competes = true, .node = w->node };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_string_equal(c.why, "");
        assert_int_equal(c.out.define.rev, 5);
        assert_int_equal(c.out.define.revised.first.ms, world_at(w, -10).ms + 250);
        assert_true(c.out.define.revised.count >= 10);
        c.in.define.task = "never";
        world_call(w, &c);
        assert_string_equal(c.why, "");
        assert_int_equal(c.out.define.revised.count, 0);
        c.in.define.task = "daily";
        world_call(w, &c);
        assert_string_equal(c.why, "");
}

static void migration_that_fails_leaves_the_old_ledger(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_PEEK };
        /* The name is taken: the last step but one fails. */
        old_sql(w, "CREATE INDEX record_taken ON record (token)");

        world_open(w);
        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(w->health, LEDGER_DOWN);
        assert_int_equal(number(w, "PRAGMA user_version"), 1);
        assert_int_equal(number(w, "SELECT every_ms FROM task WHERE task = '" WORLD_TASK "'"), 1000);
}

static void reader_waits_for_the_daemon(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_PEEK };
        w->read_only = true;
        world_open(w);

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(w->health, LEDGER_DOWN);
        assert_non_null(strstr(w->why, "older onced"));
        assert_int_equal(number(w, "PRAGMA user_version"), 1);

        world_close(w);
        w->read_only = false;
        world_open(w);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        world_close(w);
        w->read_only = true;
        world_open(w);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.peek.running, 1);
        w->read_only = false;
}

static void recovery_looks_without_changing_and_then_migrates(void **state)
{
        struct world *w = *state;
        struct recover_look look;
        struct recover_done done;
        char why[RECOVER_TEXT] = "";

        assert_int_equal(recover_local_look(&w->config, &look, why), 0);
        assert_true(look.kept);
        assert_int_equal(number(w, "PRAGMA user_version"), 1);
        assert_int_equal(recover_local(&w->config, &done, why), 0);
        assert_string_equal(done.ledger_aside, "");
        assert_int_equal(number(w, "PRAGMA user_version"), 2);
        assert_int_equal(number(w, "SELECT count(*) FROM record"), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(old_ledger_goes_on_with_all_it_knew),
                CASE(old_schedules_are_counted_when_they_end),
                CASE(migration_that_fails_leaves_the_old_ledger),
                CASE(reader_waits_for_the_daemon),
                CASE(recovery_looks_without_changing_and_then_migrates),
        };

        return RUN_CASES(argc, argv, "sqlite_migrate", tests);
}
