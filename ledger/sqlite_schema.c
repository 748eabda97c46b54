/* The tables of the local ledger. Words instead of numbers for states and causes: the file is read with
 * sqlite3 -readonly by people, and enums may grow. One table holds occurrences and ranges (occ is NULL, first
 * in `planned`), so that history is one ordered read. */
#include <errno.h>
#include <stdio.h>

#include "common/config/config.h"
#include "common/file.h"
#include "common/node_id.h"
#include "ledger/sqlite_schema.h"
#include "ledger/sqlite_store.h"

/* "oncd": tells our file from any other SQLite database. */
#define APPLICATION_ID 0x6f6e6364

static const char tables[] =
        "CREATE TABLE meta ("
        " one INTEGER PRIMARY KEY CHECK (one = 1), incarnation TEXT NOT NULL, life INTEGER NOT NULL,"
        " boot TEXT NOT NULL, clean INTEGER NOT NULL, durability TEXT NOT NULL, barrier INTEGER,"
        " fence INTEGER NOT NULL) STRICT;"
        "CREATE TABLE node (node TEXT PRIMARY KEY, term INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE TABLE task ("
        " task TEXT PRIMARY KEY, when_hash TEXT NOT NULL, def_hash TEXT NOT NULL, rev INTEGER NOT NULL,"
        " valid_from INTEGER NOT NULL, shards INTEGER NOT NULL, competes INTEGER NOT NULL,"
        " schedule TEXT NOT NULL, keep_count INTEGER NOT NULL DEFAULT 1000,"
        " keep_age_ms INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;"
        "CREATE TABLE unit ("
        " task TEXT NOT NULL, scope TEXT NOT NULL, shard INTEGER NOT NULL, cursor INTEGER NOT NULL,"
        " PRIMARY KEY (task, scope, shard)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE record ("
        " id INTEGER PRIMARY KEY, task TEXT NOT NULL, scope TEXT NOT NULL, shard INTEGER NOT NULL,"
        " planned INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,"
        " occ TEXT UNIQUE, token TEXT, trig TEXT, owner TEXT, node TEXT, life INTEGER, boot TEXT,"
        " fence INTEGER, state TEXT NOT NULL, cause TEXT NOT NULL, result TEXT NOT NULL,"
        " slot INTEGER NOT NULL, tree INTEGER NOT NULL, gap INTEGER NOT NULL, taken INTEGER NOT NULL DEFAULT 0,"
        " started INTEGER, ended INTEGER, code INTEGER NOT NULL, text_cut INTEGER NOT NULL,"
        " error TEXT NOT NULL, text BLOB) STRICT;"
        "CREATE INDEX record_task ON record (task, last);"
        "CREATE INDEX record_last ON record (last);"
        "CREATE INDEX record_slot ON record (task, scope, shard) WHERE slot = 1;"
        TABLES_QUEUE
        /* Owners of whose records LEAD and INTERRUPT have to tell, and where those are found. */
        "CREATE TABLE untold (owner TEXT PRIMARY KEY, life INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX record_untold ON record (owner, ended)"
        " WHERE state IN ('skipped', 'missed', 'unknown', 'interrupted', 'failed');"
        "PRAGMA application_id = 1869505380;"
        "PRAGMA user_version = 2;";

_Static_assert(APPLICATION_ID == 1869505380, "as written in the pragma");
_Static_assert(SQLITE_STORE_SCHEMA == 2, "as written in the pragma");

static int pragma_number(struct sqlite_store *s, const char *pragma, int64_t *ret)
{
        sqlite3_stmt *st;

        int r = sqlite3_prepare_v2(s->db, pragma, -1, &st, NULL);
        if (r != SQLITE_OK)
                return store_errno(s, r);
        r = statement_row(s, st);
        if (r > 0)
                *ret = sqlite3_column_int64(st, 0);
        (void) sqlite3_finalize(st);
        return r > 0 ? 0 : r < 0 ? r : -EUCLEAN;
}

static int create_tables(struct sqlite_store *s)
{
        char incarnation[INCARNATION_TEXT];

        int r = random_hex(incarnation, (sizeof(incarnation) - 1) / 2);
        if (r < 0)
                return r;
        r = store_sync_level(s, true);
        if (r < 0)
                return r;
        r = statement_run(s, SQL_BEGIN, NO_VALUES);
        if (r < 0)
                return r;
        r = store_errno(s, sqlite3_exec(s->db, tables, NULL, NULL, NULL));
        if (r == 0)
                r = statement_run(s, SQL_META_INSERT,
                                  VALUES(TEXT(incarnation), TEXT(durability_names[s->config->durability])));
        if (r == 0)
                r = statement_run(s, SQL_COMMIT, NO_VALUES);
        if (!sqlite3_get_autocommit(s->db))
                (void) statement_run(s, SQL_ROLLBACK, NO_VALUES);
        return r;
}

/* Finds our tables, or makes them in an empty file. A newer layout is refused: its rules are not known. */
int schema_settle(struct sqlite_store *s)
{
        int64_t version = 0, application = 0, objects = 0;

        int r = pragma_number(s, "SELECT count(*) FROM sqlite_schema", &objects);
        if (r < 0)
                return r;
        r = pragma_number(s, "PRAGMA user_version", &version);
        if (r < 0)
                return r;
        r = pragma_number(s, "PRAGMA application_id", &application);
        if (r < 0)
                return r;
        if (objects == 0 && version == 0 && !s->read_only)
                return create_tables(s);
        if (objects == 0 && version == 0)
                return -ENOENT;
        if (application != APPLICATION_ID) {
                store_halt(s, "%s is an SQLite database, but no ledger of onced; it is kept", s->path);
                return -EUCLEAN;
        }
        if (version == 1)
                return schema_migrate(s);
        if (version != SQLITE_STORE_SCHEMA) {
                store_halt(s, "%s has layout %lld, this onced knows %d; it is kept", s->path, (long long) version,
                           SQLITE_STORE_SCHEMA);
                return -EUCLEAN;
        }
        return 0;
}
