/* The right to run one planned instant, asked for in one of four ways. A claim is an object of the
 * caller, untouched by it until `done` runs: exactly once, later, on the loop, never before claim_ask
 * returns. A claim that was granted is held until claim_release; then its memory is the caller's again.
 *
 * A lost reply is the claim layer's matter: the same token is asked for again, and when time is over the
 * token is made void before the answer is given. The caller never sees "perhaps". */
#ifndef ONCED_CLAIM_H
#define ONCED_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/process.h"
#include "ledger/ledger.h"
#include "worker/delay.h"

struct asked;
struct asked_table;
struct claim;
struct claim_kind;
struct unit;

enum claim_notice {
        CLAIM_LOST_LOCAL,        /* a sibling holds the lock; the claim looks again by itself */
        CLAIM_LEASE_RENEWED,     /* answer.valid_until is a later one; comes before the two that follow */
        CLAIM_LEASE_LATE,        /* the lease had run out and could be taken again */
        CLAIM_LEASE_REASSERTED,  /* the store had lost the claim; it was put back */
        CLAIM_LEASE_LOST,        /* the right to be running is gone, said once */
};

struct claim {
        /* the caller's: what is asked */
        struct unit *unit;           /* borrowed, outlives the claim */
        bool take;                   /* the oldest instant that waits in the unit's queue; it fills planned and occ */
        struct instant planned;      /* INSTANT_NONE: a gap alone */
        struct instant expect;
        struct instant_range gap;
        enum cause gap_cause;
        int64_t grace_ms;
        char occ[OCC_TEXT], token[TOKEN_TEXT], trig[TRIG_TEXT];
        void (*done)(struct claim *c);
        void (*notice)(struct claim *c, enum claim_notice n);   /* may come between ask and release */

        /* the answer; in `done` and after. `ended` of it goes with claim_answer_free. */
        struct claim_out answer;
        char why[160];               /* DOWN, HALTED: for people */
        bool was_lost_local;         /* a notice said so before */

        /* the claim layer's own */
        struct ledger_call call;
        struct delay wait;
        void (*wait_over)(struct claim *c);
        void (*answered)(struct claim *c);
        struct instant not_after;    /* newest one sent with this token */
        unsigned backoff_ms;
        bool in_flight;              /* `call` is the ledger's */
        bool unsure;                 /* a request with this token may have been executed or may still be */
        bool hurried, given_up;
        int lock_fd;                 /* flock: the run lock, or -1 */
        struct asked *asked;         /* redis: the unit's word, while it is this claim's turn to ask; or NULL */
        struct lease *lease;         /* redis: what keeps it */
};

/* One way to claim, in one worker. Every implementation's struct begins with this. */
struct claimer {
        const struct claim_kind *kind;
        struct claimer_options *options;  /* borrowed, outlives it */
        struct ledger *ledger;            /* borrowed; NULL: path none */
};

struct claimer_options {
        const struct config *config;
        struct delays *delays;
        const char *node, *owner;
        uint64_t life;
        struct process_id master;    /* this process, when it has none */
        struct asked_table *asked;   /* redis: shared with the siblings; NULL: there are none */
        unsigned rank;               /* 1..: this worker's place among its siblings */
        uint64_t term;               /* changes: 0 while this worker does not lead */
        bool ending;                 /* changes: the ledgers are closing, no claim is left */
};

struct claim_kind {
        const char *name;
        enum path path;
        int (*open)(struct claimer_options *o, struct ledger *l, struct claimer **ret);
        void (*ask)(struct claimer *cr, struct claim *c);
        /* Ends a wait inside the claim early; see claim_hurry. `done` may run before it returns. */
        void (*hurry)(struct claimer *cr, struct claim *c);
        void (*release)(struct claimer *cr, struct claim *c);   /* may be NULL */
        void (*hand_over)(struct claimer *cr, struct claim *from, struct claim *to);   /* may be NULL */
        void (*close)(struct claimer *cr);    /* no claim is left, the ledger is closed, delays are not */
};

extern const struct claim_kind claim_dedicated, claim_flock, claim_redis, claim_none;

const struct claim_kind *claim_kind(enum path path);

void claim_ask(struct claimer *cr, struct claim *c);

/* The daemon's time is short: waits inside the claim end now; what may still be granted is revoked.
 * `give_up`: not even that is waited for, only a request that is on its way. `done` may run before this
 * returns, the one exception to the rule above. */
void claim_hurry(struct claimer *cr, struct claim *c, bool give_up);

/* The unit may be taken by others: the finish is committed, or nothing was started. */
void claim_release(struct claimer *cr, struct claim *c);

/* Taking at a finish: what is asked for along with it, for the claim `c` that is to take. May be filled again for
 * another try with the same token. `ret` borrows from the claim. */
void claim_take_in(struct claimer *cr, struct claim *c, struct take_in *ret);

/* The answer to a take is the claim's from here on. */
void claim_took(struct claim *c, struct take_out *took);

/* What holds the unit for `from` holds it for `to`, which was granted in the step that ended `from`. */
void claim_hand_over(struct claimer *cr, struct claim *from, struct claim *to);

/* False when the lease of a granted claim has run out by this process's own clock. */
bool claim_is_held(const struct claim *c);

void claim_answer_free(struct claim *c);

#endif
