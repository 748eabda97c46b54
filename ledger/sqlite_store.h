/* The local ledger's inside: one SQLite connection, used by its own thread alone. Every write transaction and
 * every checkpoint of any process runs under one blocking flock (ledger.lock): all wait there and get their turns
 * instead of sleep-and-retry, and the WAL-reset race of SQLite 3.7 to 3.51 cannot happen.
 * All functions return 0 or more, or -errno (store_errno); none logs. */
#ifndef ONCED_SQLITE_STORE_H
#define ONCED_SQLITE_STORE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "ledger/ledger.h"
#include "ledger/sqlite_statement.h"

#define SQLITE_STORE_SCHEMA 2

/* Most calls in one transaction: the claims of a full turn with the finishes of the one before, since a claim
 * that is cut off from the finish of its unit finds the slot taken. More is better served in two. */
#define SQLITE_BATCH_MAX 256

struct sqlite_store {
        const struct config *config;             /* borrowed, as in ledger_options */
        char *node, *owner, *boot;               /* owned */
        uint64_t life;
        bool read_only;
        bool recovering;                         /* opened by `onced recover`, whichever ledger it is */
        char *path, *wal_path, *lock_path;       /* owned */
        void (*report)(void *arg, enum ledger_health h, const char *why);
        void *report_arg;

        sqlite3 *db;                             /* NULL: not open */
        sqlite3_stmt *statements[STATEMENT_COUNT_];
        dev_t db_dev;                            /* of the file that is open */
        ino_t db_ino;
        int lock_fd;                             /* ledger.lock; -1: not open */
        bool full_sync;                          /* newest PRAGMA synchronous: FULL */
        bool led;                                /* ran LEAD: does the checkpoints */
        int wal_pages;                           /* in the log after our newest commit; 0 after a checkpoint */
        bool rewrite;                            /* an fsync failed: all of the WAL is to be written anew */

        bool said, halted;                       /* health as last reported */
        bool refused;                            /* halted, and `onced recover` is no cure */
        enum ledger_health health;
        char why[240];

        /* of the transaction that runs */
        struct stamp now;
        struct instant barrier;
        int64_t fence, fence_before;
        bool clean;
};

/* ledger.lock (sqlite_lock.c). Blocks; the file locked is the one at its path. */
int store_lock(struct sqlite_store *s);
void store_unlock(struct sqlite_store *s);

/* Life of the connection (sqlite_open.c). */
int store_open(struct sqlite_store *s);          /* 0; below 0 with s->why set, halted or to be tried again */
void store_close(struct sqlite_store *s);        /* no checkpoint, no mark */
void store_end(struct sqlite_store *s);          /* a clean end: mark, sync, checkpoint, close */
int store_sync_level(struct sqlite_store *s, bool full);
bool store_file_is_ours(struct sqlite_store *s); /* the file at the path is the open one */
void store_checkpoint_if_due(struct sqlite_store *s);
int store_checkpoint(struct sqlite_store *s, int mode);

/* Tables and identity (sqlite_schema.c, sqlite_migrate.c, sqlite_identity.c); all under the lock. */
int schema_settle(struct sqlite_store *s);
int schema_migrate(struct sqlite_store *s);      /* layout 1 becomes the present one, whole or not at all */
int identity_settle(struct sqlite_store *s, char *ret_note, size_t room);
int identity_mark_clean(struct sqlite_store *s);
int identity_unmark(struct sqlite_store *s);     /* before the first write after a clean mark */

/* Health: told once per change. What is halted ends with the cure; what is refused names its own. */
#define STORE_CURE "; cure: onced recover --ledger -c FILE"
void store_refuse(struct sqlite_store *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void store_halt(struct sqlite_store *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void store_down(struct sqlite_store *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void store_up(struct sqlite_store *s, const char *note);

/* Batches (sqlite_batch.c): a list by `next` of at most SQLITE_BATCH_MAX; every call is answered. */
void store_serve(struct sqlite_store *s, struct ledger_call *calls);

/* The operations, each inside the transaction of the batch (peek, queued and history: outside of any). */
int op_claim(struct sqlite_store *s, struct ledger_call *c);
int op_take(struct sqlite_store *s, struct ledger_call *c);
int op_revoke(struct sqlite_store *s, struct ledger_call *c);
int op_finish(struct sqlite_store *s, struct ledger_call *c);
int op_interrupt(struct sqlite_store *s, struct ledger_call *c);
int op_lead(struct sqlite_store *s, struct ledger_call *c);
int op_said(struct sqlite_store *s, struct ledger_call *c);
int op_define(struct sqlite_store *s, struct ledger_call *c);
int op_register(struct sqlite_store *s, struct ledger_call *c);
int op_peek(struct sqlite_store *s, struct ledger_call *c);
int op_queued(struct sqlite_store *s, struct ledger_call *c);
int op_history(struct sqlite_store *s, struct ledger_call *c);

/* sqlite_nodes.c; outside of any transaction too. */
int op_beat(struct sqlite_store *s, struct ledger_call *c);
int op_nodes(struct sqlite_store *s, struct ledger_call *c);
int op_set_main(struct sqlite_store *s, struct ledger_call *c);
int op_sweep(struct sqlite_store *s, struct ledger_call *c);

/* A take inside the transaction of another call. */
int take_oldest(struct sqlite_store *s, const struct take_in *in, struct take_out *out);

#endif
