/* The least a durable claim on SQLite can be: the rows that the ledger writes, without asking anything first. */
#ifndef ONCED_BENCH_BARE_SQLITE_H
#define ONCED_BENCH_BARE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "t/bench/due.h"

enum bare_statement { BARE_BEGIN, BARE_COMMIT, BARE_FENCE, BARE_CURSOR, BARE_INSERT, BARE_FINISH, BARE_COUNT_ };

struct bare_sqlite {
        sqlite3 *db;
        sqlite3_stmt *statements[BARE_COUNT_];
        int lock_fd;
};

/* `folder` holds a ledger.db that the product has made, so that tables and indexes are the same. 0 or -1. */
int bare_sqlite_open(struct bare_sqlite *b, const char *folder, bool full);
void bare_sqlite_close(struct bare_sqlite *b);

/* One transaction: the runs of `ended` become final, those of `dues` are claimed and get their fences. 0 or -1. */
int bare_sqlite_turn(struct bare_sqlite *b, const struct due *ended, int ended_count, struct due *dues, int count);

#endif
