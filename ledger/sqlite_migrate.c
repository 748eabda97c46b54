/* A ledger of layout 1 becomes one of layout 2, in one transaction under ledger.lock: schedules are texts, since they
 * are more than intervals, and records may be queued. */
#include <errno.h>

#include "ledger/sqlite_schema.h"
#include "ledger/sqlite_store.h"

/* Below its floor of 10 ms an interval is read back as no schedule at all, as before. */
static const char layout_2[] =
        "BEGIN IMMEDIATE;"
        "ALTER TABLE task ADD COLUMN schedule TEXT NOT NULL DEFAULT 'none';"
        "UPDATE task SET schedule = 'every ' || every_ms || 'ms' ||"
        " CASE anchor_ms WHEN 0 THEN '' ELSE ' anchor ' || anchor_ms END WHERE kind = 'every';"
        "ALTER TABLE task DROP COLUMN kind;"
        "ALTER TABLE task DROP COLUMN every_ms;"
        "ALTER TABLE task DROP COLUMN anchor_ms;"
        "ALTER TABLE record ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;"
        TABLES_QUEUE
        "PRAGMA user_version = 2;"
        "COMMIT;";

_Static_assert(SQLITE_STORE_SCHEMA == 2, "the layout this ends at");

int schema_migrate(struct sqlite_store *s)
{
        /* Who only reads cannot: what a recovery looks at is the same in both, a reader waits for the daemon. */
        if (s->read_only)
                return s->recovering ? 0 : -EPROTONOSUPPORT;
        int r = store_sync_level(s, true);
        if (r < 0)
                return r;
        r = store_errno(s, sqlite3_exec(s->db, layout_2, NULL, NULL, NULL));
        if (!sqlite3_get_autocommit(s->db))
                (void) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return r;
}
