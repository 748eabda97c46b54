/* State folders under TMPDIR, removed with their few files. */
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/node_id.h"
#include "t/unit/cases.h"

static int fresh(struct config *config, void **ret_data)
{
        const char *tmp = getenv("TMPDIR");
        struct node_id n = { .node = "here-0a1b2c3d" };
        char folder[256];

        (void) snprintf(folder, sizeof(folder), "%s/onced-ledger-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(folder))
                return -errno;
        config->state_dir = strdup(folder);
        config->run_dir = strdup(folder);
        config->durability = DURABILITY_FULL;
        *ret_data = NULL;
        return config->state_dir && config->run_dir ? node_id_write(folder, &n) : -ENOMEM;
}

static void drop(struct config *config, void *data)
{
        static const char *const files[] = { "ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock",
                                             "node_id", "witness", "copy.db", "moved.db", "grants" };

        (void) data;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_(freep) char *path = path_join(config->state_dir, files[i]);
                (void) unlink(path);
        }
        (void) rmdir(config->state_dir);
        free(config->state_dir);
        free(config->run_dir);
}

const struct conformance_backend sqlite_backend = { .name = "sqlite", .kind = &ledger_sqlite, .fresh = fresh,
                                                    .drop = drop };

const char *state_path(const struct world *w, const char *name)
{
        static char path[300];

        (void) snprintf(path, sizeof(path), "%s/%s", w->config.state_dir, name);
        return path;
}

static sqlite3 *file_open(const struct world *w, const char *file)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open_v2(state_path(w, file), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        (void) sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void) sqlite3_busy_timeout(db, 5000);
        return db;
}

void file_sql(const struct world *w, const char *file, const char *sql)
{
        sqlite3 *db = file_open(w, file);

        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        (void) sqlite3_close(db);
}

int64_t file_number(const struct world *w, const char *file, const char *sql)
{
        sqlite3 *db = file_open(w, file);
        sqlite3_stmt *st;

        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(st), SQLITE_ROW);
        int64_t n = sqlite3_column_int64(st, 0);
        (void) sqlite3_finalize(st);
        (void) sqlite3_close(db);
        return n;
}

int sqlite_case(void **state)
{
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        alarm(60);
        assert_int_equal(world_begin(w, &sqlite_backend), 0);
        *state = w;
        return 0;
}

int sqlite_case_end(void **state)
{
        world_end(*state);
        free(*state);
        alarm(0);
        return 0;
}
