/* Rows of the local ledger as structs: what the operations read and write. */
#ifndef ONCED_SQLITE_ROWS_H
#define ONCED_SQLITE_ROWS_H

#include "ledger/rules.h"
#include "ledger/sqlite_store.h"

struct record_row {
        struct record_facts facts;
        int64_t fence;
        char owner[OWNER_TEXT];
        bool gap;                /* its claim wrote a range */
};

/* ret->facts.exists false: there is none. `token` is the caller's. */
int record_read(struct sqlite_store *s, const char *occ, const char *token, struct record_row *ret);

struct task_row {
        bool exists, competes;
        char when_hash[65], def_hash[65];
        uint64_t rev;
        struct instant valid_from;
        unsigned shards;
        struct schedule schedule;
        struct history_keep keep;
};

int task_read(struct sqlite_store *s, const char *task, struct task_row *ret);

/* registered, cursor, slots and ending of a unit; the holder of a slot, or "". */
struct slot_row { char occ[OCC_TEXT], owner[OWNER_TEXT]; };
int unit_read(struct sqlite_store *s, const struct unit_key *u, struct unit_facts *ret, struct slot_row *ret_slot);
int unit_move(struct sqlite_store *s, const struct unit_key *u, struct instant cursor);

/* One new record of an occurrence, or of a range (occ NULL). */
struct new_record {
        const struct unit_key *unit;
        struct instant planned, last;
        uint64_t count;
        const char *occ, *token, *trig, *owner, *node;
        int64_t fence;           /* 0: none was given */
        enum state state;
        enum cause cause;
        bool slot, tree, gap;
};

/* A decision without a start makes its owner one to be told of. */
int record_insert(struct sqlite_store *s, const struct new_record *n);

int untold_add(struct sqlite_store *s, const char *owner, uint64_t life);

/* History beyond what the task keeps goes, now and then: by the occurrence's digest one write in sixteen does
 * it, so that no task's turn is missed by a rhythm. */
int record_trim(struct sqlite_store *s, const char *task, const char *occ, const struct history_keep *keep);

#endif
