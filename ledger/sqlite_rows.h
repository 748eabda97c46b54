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
        char schedule[SCHEDULE_TEXT];
        struct history_keep keep;
};

int task_read(struct sqlite_store *s, const char *task, struct task_row *ret);

/* The schedule as it was when it was put in force; it has no instants when it cannot be read (any more): its zone may
 * be gone from this machine. 0, or as schedule_parse. */
int task_schedule(const struct task_row *task, struct schedule *ret);

/* registered, cursor, slots and ending of a unit; the holder of a slot, or "". */
struct slot_row { char occ[OCC_TEXT], owner[OWNER_TEXT]; };
int unit_read(struct sqlite_store *s, const struct unit_key *u, struct unit_facts *ret, struct slot_row *ret_slot);
/* How many wait; and the oldest of them, with its occurrence. */
int queue_count(struct sqlite_store *s, const struct unit_key *u, unsigned *ret);
int queue_oldest(struct sqlite_store *s, const struct unit_key *u, struct instant *ret, char ret_occ[OCC_TEXT]);

/* The term of a node's newest leader, 0: none was. */
int term_read(struct sqlite_store *s, const char *node, uint64_t *ret);

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

/* A queued instant is given up: it tells of itself like a decision of `owner`. `token`: of the take that gave it up,
 * or NULL. */
int queued_end(struct sqlite_store *s, const char *occ, const char *owner, const char *token, enum state state,
               enum cause cause);

void fence_text(int64_t fence, char ret[FENCE_TEXT]);

int untold_add(struct sqlite_store *s, const char *owner, uint64_t life);

/* History beyond what the task keeps goes, now and then: by the occurrence's digest one write in sixteen does
 * it, so that no task's turn is missed by a rhythm. */
int record_trim(struct sqlite_store *s, const char *task, const char *occ, const struct history_keep *keep);

#endif
