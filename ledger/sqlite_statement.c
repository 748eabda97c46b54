/* The SQL of the local ledger in one table, and the three ways to run it. */
#include "ledger/sqlite_statement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ledger/sqlite_store.h"

#define RECORD_TAKEN                                                                                       \
        "SELECT occ, owner, life, tree, boot FROM record WHERE slot = 1 AND state = 'running' "

/* In the words of the index record_untold, or it is not used. */
#define RECORD_UNTOLD \
        "FROM record WHERE owner = ?1 AND state IN ('skipped', 'missed', 'unknown', 'interrupted', 'failed') "
#define DECIDED   "AND (state IN ('skipped', 'missed') OR cause = 'barrier') "
#define UNSTARTED "fence IS NOT NULL AND started IS NULL AND state NOT IN ('skipped', 'missed') "

/* In the words of the index record_queued. */
#define UNIT_QUEUE "FROM record WHERE state = 'queued' AND task = ?1 AND scope = ?2 AND shard = ?3 "

#define HISTORY_COLUMNS                                                                                    \
        "SELECT occ, trig, fence, owner, scope, task, shard, planned, last, count, state, cause, result, " \
        "started, ended, code, error, text FROM record "

static const char *const sql[STATEMENT_COUNT_] = {
        [SQL_BEGIN] = "BEGIN IMMEDIATE",
        [SQL_COMMIT] = "COMMIT",
        [SQL_ROLLBACK] = "ROLLBACK",

        [SQL_META] = "SELECT incarnation, life, boot, clean, durability, barrier, fence FROM meta",
        [SQL_META_FENCE] = "UPDATE meta SET fence = ?1",
        [SQL_META_LIFE] = "UPDATE meta SET life = ?1, boot = ?2, clean = 0, durability = ?3, "
                          "barrier = coalesce(?4, barrier)",
        [SQL_META_CLEAN] = "UPDATE meta SET clean = ?1 WHERE clean <> ?1",
        [SQL_META_INSERT] = "INSERT INTO meta (one, incarnation, life, boot, clean, durability, fence) "
                            "VALUES (1, ?1, 0, '', 1, ?2, 0)",

        [SQL_TERM] = "SELECT term FROM node WHERE node = ?1",
        [SQL_TERM_RAISE] = "INSERT INTO node (node, term) VALUES (?1, 1) "
                           "ON CONFLICT (node) DO UPDATE SET term = term + 1",

        [SQL_TASK] = "SELECT when_hash, def_hash, rev, valid_from, shards, competes, schedule, keep_count, "
                     "keep_age_ms FROM task WHERE task = ?1",
        [SQL_TASK_PUT] = "INSERT INTO task (task, when_hash, def_hash, rev, valid_from, shards, competes, schedule) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                         "ON CONFLICT (task) DO UPDATE SET when_hash = ?2, def_hash = ?3, rev = ?4, "
                         "valid_from = ?5, shards = ?6, competes = ?7, schedule = ?8",
        [SQL_TASK_DEF] = "UPDATE task SET def_hash = ?2 WHERE task = ?1",
        [SQL_TASK_KEEP] = "UPDATE task SET keep_count = ?2, keep_age_ms = ?3 "
                          "WHERE task = ?1 AND (keep_count <> ?2 OR keep_age_ms <> ?3)",

        [SQL_UNIT] = "SELECT cursor FROM unit WHERE task = ?1 AND scope = ?2 AND shard = ?3",
        [SQL_UNIT_INSERT] = "INSERT OR IGNORE INTO unit (task, scope, shard, cursor) VALUES (?1, ?2, ?3, ?4)",
        [SQL_UNIT_CURSOR] = "UPDATE unit SET cursor = ?4 "
                            "WHERE task = ?1 AND scope = ?2 AND shard = ?3 AND cursor < ?4",
        [SQL_UNITS_OF_TASK] = "SELECT scope, shard, cursor FROM unit WHERE task = ?1 ORDER BY scope, shard",

        [SQL_RECORD] = "SELECT token = ?2, slot, state, cause, fence, owner, gap FROM record WHERE occ = ?1",
        [SQL_RECORD_INSERT] =
                "INSERT INTO record (task, scope, shard, planned, last, count, occ, token, trig, owner, node, "
                "life, boot, fence, state, cause, result, slot, tree, gap, started, ended, code, text_cut, "
                "error, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
                "?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
        [SQL_RECORD_END] = "UPDATE record SET state = ?2, cause = ?3, slot = ?4, ended = ?5 WHERE occ = ?1",
        [SQL_RECORD_FINISH] = "UPDATE record SET state = ?2, cause = ?3, result = ?4, slot = 0, started = ?5, "
                              "ended = ?6, code = ?7, text_cut = ?8, error = ?9, text = ?10, token = ?11, "
                              "fence = ?12, trig = ?13, owner = ?14 WHERE occ = ?1",
        [SQL_RECORD_FREE] = "UPDATE record SET slot = 0 WHERE occ = ?1",

        [SQL_QUEUE_COUNT] = "SELECT count(*) " UNIT_QUEUE,
        [SQL_QUEUE_OLDEST] = "SELECT planned, occ " UNIT_QUEUE "ORDER BY planned LIMIT 1",
        [SQL_QUEUES] = "SELECT scope, task, shard, count(*), min(planned), (SELECT count(*) FROM record AS r "
                       "WHERE r.slot = 1 AND r.task = q.task AND r.scope = q.scope AND r.shard = q.shard) "
                       "FROM record AS q WHERE state = 'queued' AND scope IN ('', ?1) GROUP BY task, scope, shard",
        [SQL_QUEUED_OF_TASK] = "SELECT occ, scope, shard, planned FROM record WHERE state = 'queued' AND task = ?1 "
                               "AND (?2 OR scope <> ?3 OR shard >= ?4) ORDER BY scope, shard, planned",
        [SQL_QUEUED_END] = "UPDATE record SET state = ?2, cause = ?3, owner = ?4, life = ?5, ended = ?6, "
                           "token = coalesce(?7, token), taken = ?7 IS NOT NULL WHERE occ = ?1",
        [SQL_RECORD_TAKE] = "UPDATE record SET state = 'running', token = ?2, trig = ?3, owner = ?4, node = ?5, "
                            "life = ?6, boot = ?7, fence = ?8, slot = 1, tree = ?9, taken = 1, started = ?10 "
                            "WHERE occ = ?1",
        [SQL_TAKEN_BY] = "SELECT occ, planned, slot, state, cause, fence FROM record WHERE taken = 1 AND token = ?1",

        [SQL_GAP_OF_TRIG] = "SELECT 1 FROM record WHERE task = ?1 AND last = ?2 AND scope = ?3 AND shard = ?4 "
                            "AND occ IS NULL AND trig = ?5",

        /* The other columns come from the row that min() found. */
        [SQL_SLOTS] = "SELECT count(*), total(state <> 'running'), min(occ), owner FROM record "
                      "WHERE slot = 1 AND task = ?1 AND scope = ?2 AND shard = ?3",
        [SQL_TAKEN_OF_OWNER] = RECORD_TAKEN "AND owner = ?1",
        [SQL_TAKEN_OF_OTHER_LIVES] = RECORD_TAKEN "AND (node <> ?1 OR life <> ?2)",
        [SQL_FREE_OF_OWNER] = "UPDATE record SET slot = 0 WHERE slot = 1 AND owner = ?1 AND state <> 'running'",
        [SQL_FREE_OF_OTHER_LIVES] = "UPDATE record SET slot = 0 "
                                    "WHERE slot = 1 AND (node <> ?1 OR life <> ?2) AND state <> 'running'",

        [SQL_UNTOLD_ADD] = "INSERT INTO untold (owner, life) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        [SQL_UNTOLD_OF_OWNER] = "SELECT owner FROM untold WHERE owner = ?1",
        [SQL_UNTOLD_OF_OTHER_LIVES] = "SELECT owner FROM untold WHERE life <> ?1 ORDER BY life DESC, owner",
        [SQL_UNTOLD_ENDED] = "SELECT occ, trig, scope, task, shard, planned, fence, state, cause, slot " RECORD_UNTOLD
                             "AND (cause IN ('worker_died', 'power') OR (" UNSTARTED "AND ended > (SELECT max(ended) "
                             RECORD_UNTOLD "AND " UNSTARTED ") - ?2))",
        [SQL_UNTOLD_DECIDED] =
                "SELECT scope, task, shard, planned, last, count, state, cause " RECORD_UNTOLD DECIDED
                "AND ended > (SELECT max(ended) " RECORD_UNTOLD DECIDED ") - ?2 ORDER BY ended DESC LIMIT ?3",
        [SQL_SAID_OF_OWNER] = "DELETE FROM untold WHERE owner = ?1",
        [SQL_SAID_OF_OTHER_LIVES] = "DELETE FROM untold WHERE life <> ?1",

        /* At most 500 at once: less history at a reload must not hold the lock for a second. */
        [SQL_TRIM_COUNT] = "DELETE FROM record WHERE id IN (SELECT id FROM record WHERE task = ?1 AND slot = 0 "
                           "AND state NOT IN ('queued', 'running') AND (last, id) <= (SELECT last, id FROM record "
                           "WHERE task = ?1 ORDER BY last DESC, id DESC LIMIT 1 OFFSET ?2) "
                           "ORDER BY last, id LIMIT 500)",
        [SQL_TRIM_AGE] = "DELETE FROM record WHERE id IN (SELECT id FROM record WHERE task = ?1 AND slot = 0 "
                         "AND state NOT IN ('queued', 'running') AND last < ?2 ORDER BY last, id LIMIT 500)",

        [SQL_HISTORY] = HISTORY_COLUMNS "WHERE last >= ?1 AND (?2 IS NULL OR state = ?2) "
                                        "ORDER BY last DESC, id DESC LIMIT ?3",
        [SQL_HISTORY_OF_TASK] = HISTORY_COLUMNS "WHERE task = ?4 AND last >= ?1 AND (?2 IS NULL OR state = ?2) "
                                                "ORDER BY last DESC, id DESC LIMIT ?3",
};

int store_errno(struct sqlite_store *s, int code)
{
        int os = s->db ? sqlite3_system_errno(s->db) : 0;

        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_ROW:
        case SQLITE_DONE:
                return 0;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
                return -EAGAIN;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_IOERR:
                /* After a failed fsync nothing is sure, whatever its reason. */
                if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
                        return -EIO;
                return os == ENOSPC || os == EDQUOT ? -ENOSPC : -EIO;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return -EUCLEAN;
        case SQLITE_CANTOPEN:
                return os > 0 ? -os : -EIO;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_PERM:
        case SQLITE_AUTH:
                return -EACCES;
        case SQLITE_NOMEM:
                return -ENOMEM;
        default:
                return -EPROTO;
        }
}

static int bind_value(sqlite3_stmt *st, int at, const struct value *v)
{
        switch (v->kind) {
        case VALUE_TEXT:
                return v->text ? sqlite3_bind_text(st, at, v->text, -1, SQLITE_STATIC) : sqlite3_bind_null(st, at);
        case VALUE_NUMBER:
                return sqlite3_bind_int64(st, at, v->number);
        case VALUE_BYTES:
                return sqlite3_bind_blob(st, at, v->len ? v->text : "", (int) v->len, SQLITE_STATIC);
        default:
                return sqlite3_bind_null(st, at);
        }
}

int statement_begin(struct sqlite_store *s, enum statement id, const struct value *values, size_t count,
                    sqlite3_stmt **ret)
{
        sqlite3_stmt *st = s->statements[id];

        if (!st) {
                int r = sqlite3_prepare_v3(s->db, sql[id], -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
                if (r != SQLITE_OK)
                        return store_errno(s, r);
                s->statements[id] = st;
        }
        for (size_t i = 0; i < count; i++) {
                int r = bind_value(st, (int) i + 1, &values[i]);
                if (r != SQLITE_OK)
                        return store_errno(s, r);
        }
        *ret = st;
        return 0;
}

int statement_row(struct sqlite_store *s, sqlite3_stmt *st)
{
        int r = sqlite3_step(st);

        return r == SQLITE_ROW ? 1 : store_errno(s, r);
}

void statement_resetp(sqlite3_stmt **st)
{
        if (!*st)
                return;
        (void) sqlite3_reset(*st);
        (void) sqlite3_clear_bindings(*st);
}

int statement_run(struct sqlite_store *s, enum statement id, const struct value *values, size_t count)
{
        sqlite3_stmt *st;

        int r = statement_begin(s, id, values, count, &st);
        if (r < 0)
                return r;
        r = statement_row(s, st);
        statement_resetp(&st);
        return r < 0 ? r : 0;
}

void statements_done(struct sqlite_store *s)
{
        for (size_t i = 0; i < STATEMENT_COUNT_; i++) {
                (void) sqlite3_finalize(s->statements[i]);
                s->statements[i] = NULL;
        }
}

void column_text(sqlite3_stmt *st, int column, char *ret, size_t room)
{
        const char *text = (const char *) sqlite3_column_text(st, column);

        (void) snprintf(ret, room, "%s", text ? text : "");
}
