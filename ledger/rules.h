/* The rules of once, as pure functions: given what the store knows, what becomes of a claim, a revoke, a
 * finish. SQLite calls them inside its transaction; the Redis scripts follow them line by line. */
#ifndef ONCED_RULES_H
#define ONCED_RULES_H

#include "ledger/ledger.h"

/* A claimer's clock may be ahead of the store's by this much before it is sent away as EARLY. */
#define CLAIM_EARLY_MS 50LL

/* What the store holds on one occurrence. */
struct record_facts {
        bool exists;
        bool own;                /* its token is the caller's */
        bool in_slot;            /* it holds a run slot of its unit */
        enum state state;
        enum cause cause;
};

/* What the store holds when a claim or a revoke is decided; all read in the same transaction. */
struct unit_facts {
        struct stamp now;        /* the store's clock */
        struct instant barrier;  /* nothing at or before it may be started; INSTANT_NONE: no barrier */
        bool registered;
        struct instant cursor;
        uint64_t rev, term;      /* in force; 0: none */
        unsigned shards;
        unsigned slots;          /* taken, the ending ones included */
        unsigned ending;         /* interrupted, their task trees not proven gone */
        unsigned queued;         /* instants that wait; read for a claim under OVERLAP_QUEUE */
        struct instant oldest;   /* of those that wait, INSTANT_NONE: none; read for a take */
};

struct claim_verdict {
        enum outcome outcome;
        enum state state;        /* DECIDED: what is to be recorded, or was by the same call before */
        enum cause cause;
        bool replay;             /* the same token asked before: the same answer, nothing is written */
};

/* The rules of a claim, the first that fits wins:
 *  1 known to the store: the same token gets its answer again, any other DONE
 *  2 the unit has no cursor                          UNREGISTERED
 *  3 planned at or before the cursor                 DONE
 *  4 revision, shard count or term not in force      STALE   (before anything is written)
 *  5 planned ahead of the store's clock              EARLY   (or the last of a gap alone: nobody gives up the future)
 *  6 the cursor is not the expected one              MOVED   (or instants in between would be buried)
 *  7 planned at or before the barrier                DECIDED unknown(barrier)
 *  8 later than grace, and no catch_up               DECIDED missed(late)
 *  9 under OVERLAP_QUEUE others wait, or no slot free QUEUED; at the limit DECIDED skipped(queue_full)
 * 10 no slot free                                    BUSY if one is ending; else DECIDED skipped(overlap)
 * 11                                                 GRANTED
 * Where there are other nodes, what only the main node may run is NOT_OWNER for the others, behind 4.
 * GRANTED, QUEUED and DECIDED move the cursor to planned and write the gap's range record in the same step. A gap
 * alone (no planned) passes 2, 4, 5 and 6 and is then DECIDED by its cause. Who comes while others wait goes behind
 * them, also when the slot is free: instants of a queue start in the order they were planned in. */
void rules_claim(const struct claim_in *in, const struct record_facts *r, const struct unit_facts *u,
                 struct claim_verdict *ret);

/* The rules of a take, the first that fits wins; `r` is what the same token took before:
 *  1 it took one before                              the same answer again; DONE once that run is over
 *  2 the request is void                             EARLY
 *  3 the unit has no cursor                          UNREGISTERED
 *  4 revision, shard count or term not in force      STALE   (NOT_OWNER behind it, as for a claim)
 *  5 nothing is queued                               DONE
 *  6 the oldest is planned ahead of the clock        EARLY   (it was queued before the clock went back)
 *  7 it is at or before the barrier                  DECIDED unknown(barrier): the store may have lost its start
 *  8 the slot is taken, by an ending one too         BUSY
 *  9                                                 GRANTED
 * Grace is not asked, and no cursor moves: the instant was decided when it was queued. */
void rules_take(const struct take_in *in, const struct record_facts *r, const struct unit_facts *u,
                struct claim_verdict *ret);

/* How a range that was given up for `cause` is recorded: as skipped on purpose, or missed. */
enum state rules_gap_state(enum cause cause);

/* REVOKED_ABANDONED on an own running record or on none: missed(abandoned) is to be written. */
enum revoked rules_revoke(const struct revoke_in *in, const struct record_facts *r, const struct unit_facts *u);

/* What a finish does to the record. */
enum finish_verdict {
        FINISH_WRITE,      /* running under this token: the final record, slot freed */
        FINISH_KNOWN,      /* the same final record stands: an earlier reply was lost */
        FINISH_FENCED,     /* ended otherwise, or another's: stays as it is */
        FINISH_RECOVER,    /* the store lost the claim: the owner's word restores it */
};
enum finish_verdict rules_finish(const struct finish_in *in, const struct record_facts *r);

/* What stands in place of a when-hash in the ledgers that a task is not in: where it is instead. The local ledger
 * notes it of every task, so that one that comes from Redis is known even when Redis is gone. */
const char *rules_place(enum path path);
bool rules_is_away(const char *when_hash);
/* It is in a ledger, and not with nobody. */
bool rules_is_in_ledger(const char *when_hash);

/* From when on a definition that replaces `old_when` (NULL: none) is valid. One that comes from elsewhere goes on
 * where it was left, else it begins now; one that leaves ends behind all that was decided of it, at `newest`. */
struct instant rules_valid_from(const struct define_in *in, const char *old_when, struct instant newest,
                                struct instant now);

/* It comes from elsewhere: its units, also new ones, begin where it is valid, and have no window before. */
bool rules_moves_in(const struct define_in *in, const char *old_when);

/* The next fence: above every one before, also when the store lost its counter (1e6 a second would be
 * needed to overtake the clock). */
int64_t rules_fence(int64_t newest, struct stamp now);

/* The newer of two; `other` is that of another ledger, as text, or NULL. One that no clock can have come to is none. */
int64_t rules_fence_of_both(int64_t newest, const char *other);

#endif
