/* Processes wait for each other by flock, as the ledger's do: SQLite's own sleep-and-retry would be slower.
 * Checkpoints are SQLite's automatic ones. */
#include "t/bench/bare_sqlite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static const char *const sql[BARE_COUNT_] = {
        [BARE_BEGIN] = "BEGIN IMMEDIATE",
        [BARE_COMMIT] = "COMMIT",
        [BARE_FENCE] = "UPDATE meta SET fence = fence + ?1 RETURNING fence",
        [BARE_CURSOR] = "UPDATE unit SET cursor = ?2 WHERE task = ?1 AND scope = '' AND shard = 0 AND cursor = ?3",
        [BARE_INSERT] =
                "INSERT INTO record (task, scope, shard, planned, last, count, occ, token, trig, owner, node, life, "
                "boot, fence, state, cause, result, slot, tree, gap, started, ended, code, text_cut, error, text) "
                "VALUES (?1, '', 0, ?2, ?2, 1, ?3, ?4, ?5, ?6, '" DUE_NODE "', 1, '" DUE_BOOT "', ?7, 'running', '', "
                "'', 1, 0, 0, NULL, NULL, -1, 0, '', NULL)",
        [BARE_FINISH] = "UPDATE record SET state = 'succeeded', result = 'noop', slot = 0, started = ?2, ended = ?2 "
                        "WHERE occ = ?1 AND slot = 1",
};

int bare_sqlite_open(struct bare_sqlite *b, const char *folder, bool full)
{
        char path[300];

        *b = (struct bare_sqlite) { .lock_fd = -1 };
        (void) snprintf(path, sizeof(path), "%s/bare.lock", folder);
        b->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        (void) snprintf(path, sizeof(path), "%s/ledger.db", folder);
        if (b->lock_fd < 0 || sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
                return -1;
        (void) sqlite3_busy_timeout(b->db, 5000);
        if (sqlite3_exec(b->db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL, NULL))
                return -1;
        for (int i = 0; i < BARE_COUNT_; i++)
                if (sqlite3_prepare_v3(b->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &b->statements[i], NULL))
                        return -1;
        return 0;
}

void bare_sqlite_close(struct bare_sqlite *b)
{
        for (int i = 0; i < BARE_COUNT_; i++)
                (void) sqlite3_finalize(b->statements[i]);
        (void) sqlite3_close(b->db);
        (void) close(b->lock_fd);
}

/* Runs a statement without results that must change one row (-1: any number). */
static int run(struct bare_sqlite *b, enum bare_statement id, int changes)
{
        sqlite3_stmt *st = b->statements[id];

        int r = sqlite3_step(st);
        (void) sqlite3_reset(st);
        return r == SQLITE_DONE && (changes < 0 || sqlite3_changes(b->db) == changes) ? 0 : -1;
}

static void text(struct bare_sqlite *b, enum bare_statement id, int at, const char *value)
{
        (void) sqlite3_bind_text(b->statements[id], at, value, -1, SQLITE_STATIC);
}

static void number(struct bare_sqlite *b, enum bare_statement id, int at, int64_t value)
{
        (void) sqlite3_bind_int64(b->statements[id], at, value);
}

static int fences_take(struct bare_sqlite *b, int count, int64_t *ret_last)
{
        sqlite3_stmt *st = b->statements[BARE_FENCE];

        number(b, BARE_FENCE, 1, count);
        int r = sqlite3_step(st);
        *ret_last = sqlite3_column_int64(st, 0);
        (void) sqlite3_reset(st);
        return r == SQLITE_ROW ? 0 : -1;
}

static int finish_one(struct bare_sqlite *b, const struct due *d)
{
        text(b, BARE_FINISH, 1, d->occ);
        number(b, BARE_FINISH, 2, clock_wall().ns);
        return run(b, BARE_FINISH, 1);
}

static int claim_one(struct bare_sqlite *b, struct due *d, int64_t fence)
{
        text(b, BARE_CURSOR, 1, d->task);
        number(b, BARE_CURSOR, 2, d->planned.ms);
        number(b, BARE_CURSOR, 3, d->expect.ms);
        if (run(b, BARE_CURSOR, 1) < 0)
                return -1;
        text(b, BARE_INSERT, 1, d->task);
        number(b, BARE_INSERT, 2, d->planned.ms);
        text(b, BARE_INSERT, 3, d->occ);
        text(b, BARE_INSERT, 4, d->token);
        text(b, BARE_INSERT, 5, d->trig);
        text(b, BARE_INSERT, 6, d->owner);
        number(b, BARE_INSERT, 7, fence);
        (void) snprintf(d->fence, sizeof(d->fence), "%lld", (long long) fence);
        return run(b, BARE_INSERT, 1);
}

static int transaction(struct bare_sqlite *b, const struct due *ended, int ended_count, struct due *dues, int count)
{
        int64_t fence = 0;

        int r = run(b, BARE_BEGIN, -1);
        for (int i = 0; i < ended_count && r == 0; i++)
                r = finish_one(b, &ended[i]);
        if (r == 0 && count > 0)
                r = fences_take(b, count, &fence);
        for (int i = 0; i < count && r == 0; i++)
                r = claim_one(b, &dues[i], fence - count + 1 + i);
        return r < 0 ? r : run(b, BARE_COMMIT, -1);
}

int bare_sqlite_turn(struct bare_sqlite *b, const struct due *ended, int ended_count, struct due *dues, int count)
{
        if (flock(b->lock_fd, LOCK_EX) < 0)
                return -1;
        int r = transaction(b, ended, ended_count, dues, count);
        if (r < 0)
                (void) fprintf(stderr, "bare: %s\n", sqlite3_errmsg(b->db));
        (void) flock(b->lock_fd, LOCK_UN);
        return r;
}
