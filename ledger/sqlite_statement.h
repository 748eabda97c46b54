/* Every SQL statement of the local ledger, prepared once a connection, bound by typed values. */
#ifndef ONCED_SQLITE_STATEMENT_H
#define ONCED_SQLITE_STATEMENT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite_store;

enum statement {
        SQL_BEGIN, SQL_COMMIT, SQL_ROLLBACK,
        SQL_META, SQL_META_FENCE, SQL_META_LIFE, SQL_META_CLEAN, SQL_META_INSERT,
        SQL_TERM, SQL_TERM_RAISE,
        SQL_TASK, SQL_TASK_PUT, SQL_TASK_DEF, SQL_TASK_KEEP,
        SQL_UNIT, SQL_UNIT_INSERT, SQL_UNIT_CURSOR, SQL_UNITS_OF_TASK,
        SQL_RECORD, SQL_RECORD_INSERT, SQL_RECORD_END, SQL_RECORD_FINISH, SQL_RECORD_FREE,
        SQL_QUEUE_COUNT, SQL_QUEUE_OLDEST, SQL_QUEUES, SQL_QUEUED_OF_TASK, SQL_QUEUED_END,
        SQL_RECORD_TAKE, SQL_TAKEN_BY,
        SQL_GAP_OF_TRIG, SQL_SLOTS, SQL_TAKEN_OF_OWNER, SQL_TAKEN_OF_OTHER_LIVES, SQL_FREE_OF_OWNER,
        SQL_FREE_OF_OTHER_LIVES,
        SQL_UNTOLD_ADD, SQL_UNTOLD_OF_OWNER, SQL_UNTOLD_OF_OTHER_LIVES, SQL_UNTOLD_ENDED, SQL_UNTOLD_DECIDED,
        SQL_SAID_OF_OWNER, SQL_SAID_OF_OTHER_LIVES,
        SQL_TRIM_COUNT, SQL_TRIM_AGE,
        SQL_HISTORY, SQL_HISTORY_OF_TASK,
        STATEMENT_COUNT_
};

struct value {
        enum { VALUE_NULL, VALUE_TEXT, VALUE_NUMBER, VALUE_BYTES } kind;
        const char *text;        /* outlives the use of the statement; NULL is SQL's NULL */
        size_t len;
        int64_t number;
};

#define TEXT(t)     ((struct value) { .kind = VALUE_TEXT, .text = (t) })
#define NUMBER(n)   ((struct value) { .kind = VALUE_NUMBER, .number = (int64_t) (n) })
#define BYTES(b, l) ((struct value) { .kind = VALUE_BYTES, .text = (b), .len = (l) })
#define NOTHING     ((struct value) { .kind = VALUE_NULL })
#define VALUES(...)                                                                                \
        (const struct value[]) { __VA_ARGS__ }, sizeof((struct value[]) { __VA_ARGS__ }) / sizeof(struct value)
#define NO_VALUES   NULL, 0

/* A query: bind, then statement_row until it gives 0 (end) or below 0. To be reset by statement_resetp, since
 * an open query pins the WAL. */
int statement_begin(struct sqlite_store *s, enum statement id, const struct value *values, size_t count,
                    sqlite3_stmt **ret);
int statement_row(struct sqlite_store *s, sqlite3_stmt *st);   /* 1: there is a row */
void statement_resetp(sqlite3_stmt **st);

/* A statement without rows. */
int statement_run(struct sqlite_store *s, enum statement id, const struct value *values, size_t count);

void statements_done(struct sqlite_store *s);

/* The error of SQLite as -errno: -EAGAIN locked by a stranger, -ENOSPC, -EUCLEAN not a sound database, -EIO,
 * -EROFS, -EACCES, -ENOMEM, -EPROTO our own mistake. */
int store_errno(struct sqlite_store *s, int code);

/* Text of a column, "" for NULL; cut to the room. */
void column_text(sqlite3_stmt *st, int column, char *ret, size_t room);

#endif
