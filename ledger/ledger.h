/* The ledger: the durable truth. One interface, two implementations (sqlite, redis), one conformance suite.
 *
 * A call is an object of the caller: filled in, sent, untouched until `done` runs, exactly once, later, on the
 * loop, never before ledger_send returns. Calls sent in one turn of the loop are decided in one batch
 * (finishes first, then claims): one transaction or one round trip.
 * `error` in an answered call: 0: the ledger decided, see `out`. -EAGAIN: surely not executed (down, locked
 * out); -ETIMEDOUT: unknown whether it was executed: send the same call again, or LEDGER_REVOKE its token.
 * -EUCLEAN: halted (store lost, corrupt, newer schema), `why` names it. Other -errno: as they say.
 * ledger_close answers what is outstanding with -ECANCELED first. */
#ifndef ONCED_LEDGER_H
#define ONCED_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/record/ids.h"
#include "common/record/names.h"
#include "common/schedule/misfire.h"
#include "ledger/group.h"

struct board_place;
struct ledger;
struct ledger_call;

/* A unit as the ledger names it. Strings are borrowed until `done`. */
struct unit_key {
        const char *scope_key;   /* "" or the node id */
        const char *task;
        unsigned shard;
};

enum ledger_op {
        LEDGER_LEAD,       /* raise this node's term; settles what an earlier life left running */
        LEDGER_DEFINE,     /* put a task's definition in force */
        LEDGER_REGISTER,   /* give a unit its first cursor, only if it has none */
        LEDGER_PEEK,       /* read a unit's cursor and slot without any lock */
        LEDGER_CLAIM,      /* decide one planned instant, or one gap alone */
        LEDGER_REVOKE,     /* make a token void */
        LEDGER_RENEW,      /* redis: prolong a lease; sqlite: always OK */
        LEDGER_FINISH,     /* final record, slot and lease freed in the same step; may take the next queued one */
        LEDGER_TAKE,       /* start the oldest queued instant of a unit */
        LEDGER_QUEUED,     /* which units have queued instants */
        LEDGER_INTERRUPT,  /* the owner is dead: end its running records */
        LEDGER_SAID,       /* what LEAD or INTERRUPT told is in the log: it need not be told again */
        LEDGER_HISTORY,    /* newest records and ranges, for people */
        LEDGER_BEAT,       /* this node lives; who else does, and who is main */
        LEDGER_NODES,      /* the same for people */
        LEDGER_SET_MAIN,   /* the operator moves or pins the main node */
        LEDGER_SWEEP,      /* leases that ran out */
        LEDGER_EFFECT,     /* redis: an effect on the same server, behind a check of the fence */
        LEDGER_OP_COUNT_
};

extern const char *const ledger_op_names[];

/* A record that somebody else than its owner ended, or that its owner ended without a start and may have died before
 * it said so, to be logged by who hears of it. `list` is the call's. */
struct ended_record {
        char occ[OCC_TEXT], trig[TRIG_TEXT];
        char scope_key[NODE_ID_MAX], task[TASK_NAME_MAX];
        unsigned shard;
        struct instant planned;
        char fence[FENCE_TEXT];
        enum state state;        /* interrupted, or unknown; failed when it was not started */
        enum cause cause;        /* worker_died, power, barrier; of its owner when it was not started */
        bool ending;             /* slot still taken: its task tree lives */
};

/* Instants that a dead owner decided without a start (skipped, missed, unknown by the barrier), maybe without
 * coming to say so in its log: to be logged again by who hears of them. All that it recorded within
 * LEDGER_UNTOLD_MS before the newest of these records, at most LEDGER_UNTOLD_MAX, newest first: a loop that
 * stalls sends no calls, so that what it did not log is at most what was on its way then. */
#define LEDGER_UNTOLD_MS  5000
#define LEDGER_UNTOLD_MAX 10000
struct told_range {
        char scope_key[NODE_ID_MAX], task[TASK_NAME_MAX];
        unsigned shard;
        struct instant first, last;
        uint64_t count;
        enum state state;
        enum cause cause;
        char owner[OWNER_TEXT];
};

struct lead_in {
        const char *node, *owner, *boot;
        uint64_t life;
};
/* `ended` and `told` are freed by ledger_call_done. Both are told again by every LEAD, or every INTERRUPT of the
 * owner, until LEDGER_SAID: the caller may die before their lines leave. */
struct lead_out {
        uint64_t term;           /* > every term given before to this node */
        struct ended_record *ended;   /* of earlier lives */
        size_t ended_count;
        struct told_range *told;      /* likewise */
        size_t told_count;
};

struct define_in {
        const char *task, *when_hash, *def_hash;
        unsigned shards;
        bool competes;           /* enabled, and scope not manual: false gives cause disabled to the range */
        bool all_scope;          /* scope all: one unit a node */
        const char *node;
        /* The new one, kept by the ledger with the definition: when the next one replaces it, the instants
         * of this one in (cursor, now] are counted by schedule_count for the range record. */
        struct schedule schedule;

        /* The task is claimed elsewhere, by the word that rules_place gives as `when_hash`: what is known of it here
         * ends, like a definition that competes no more. One that is not known stays so, unless `noted`. */
        bool away, noted;
        bool handed;             /* sqlite: elsewhere it has begun where it was left here; `left` is told no more */
        bool asked;              /* the ledger that has it, as is noted here, was told of this, or is no more */
        struct instant left;     /* until when it was claimed elsewhere: it begins there; ms 0: nothing is known */
        const char *fence;       /* the newest of where it was: here they go on above it; NULL: none */
};
struct define_out {
        uint64_t rev;
        struct instant valid_from;
        bool changed;            /* the definition was new or other than before */
        struct instant_range revised;  /* what was given up in one unit (all alike); for the log */
        enum cause cause;
        /* Queued instants that this call gave up, since the task or their shard is no more; for the log. Freed by
         * ledger_call_done. */
        struct told_range *told;
        size_t told_count;
        bool waits;              /* nothing was put in force: another ledger has the task, and was not asked */
        bool ended;              /* away: it competed here until this call */
        struct instant left;     /* away: until when it was claimed here; ms 0: never, or that was handed on */
        char fence[FENCE_TEXT];  /* away: the newest here, "" none */
        /* The call's `why`, with error 0: what the old schedule had since the cursor cannot be counted here, so that
         * no range was written. */
};

struct register_in {
        struct unit_key unit;
        struct instant cursor;   /* used if there is none yet */
};
struct register_out {
        struct instant cursor;   /* the one that holds */
        bool created;
};

struct peek_in { struct unit_key unit; };
struct peek_out {
        bool registered;
        struct instant cursor;
        unsigned running;        /* slots taken, ending ones included */
        char slot_occ[OCC_TEXT]; /* one of them, "" none */
        uint64_t seq;            /* redis: its renew count, for the observation rule */
        unsigned queued;         /* instants that wait */
};

struct claim_in {
        struct unit_key unit;
        struct instant planned;      /* INSTANT_NONE: the gap alone */
        const char *occ, *token, *trig, *owner, *node;
        struct instant expect;       /* the cursor the caller believes in */
        struct instant_range gap;    /* (expect, planned) exclusive, given up by the misfire policy */
        enum cause gap_cause;        /* misfire (skipped) or late, ledger_down, abandoned, nobody (missed) */
        int64_t grace_ms;
        bool catch_up;               /* grace does not make it late */
        const char *main_token;      /* scope main: this node's start token, only the main node is granted; else NULL */
        enum overlap_policy overlap;
        unsigned max_running, queue_limit;
        int64_t lease_ms, timeout_ms;
        uint64_t rev;
        unsigned shards;
        uint64_t term;               /* dedicated: > 0 */
        bool tree;                   /* exec: the slot may outlive the worker */
        uint64_t life;               /* of the node */
        struct instant not_after;    /* store time from which the request is void */
        char stale_occ[OCC_TEXT];    /* redis: the occurrence whose lease the caller watched run out, or "" */
};
struct claim_out {
        enum outcome outcome;
        char fence[FENCE_TEXT];      /* granted */
        struct instant cursor;       /* where the cursor is now; INSTANT_NONE: unknown */
        enum state state;            /* decided: skipped, missed or unknown */
        enum cause cause;
        bool gap_written;            /* this call wrote the gap's range record */
        bool replay;                 /* granted again to the same token */
        uint64_t rev, term;          /* stale: what is in force */
        unsigned shards;
        struct stamp store_time;     /* ns 0: the store keeps no time of its own */
        struct mono valid_until;     /* redis: the local validity limit; ns INT64_MAX: no lease */
        uint64_t seq;                /* busy: renew count of the holder, for the observation rule */
        char holder[OWNER_TEXT], holder_occ[OCC_TEXT];
        struct ended_record *ended;  /* a dead holder's record this claim ended */
        size_t ended_count;
};

/* The oldest queued instant of a unit is started by one process: a new fence, a slot, a lease. Grace is not asked:
 * the instant was decided when it was queued. The same token again gets the same answer; another try is made under
 * another token, since a copy of a request may come late. */
struct take_in {
        struct unit_key unit;
        const char *token, *trig, *owner, *node;
        int64_t lease_ms;
        uint64_t rev;                /* of the taker's definition; not in force: STALE */
        unsigned shards;
        uint64_t term;               /* dedicated: > 0 */
        bool tree;
        const char *main_token;      /* as in claim_in */
        uint64_t life;
        struct instant not_after;    /* store time from which the request is void: EARLY */
        char stale_occ[OCC_TEXT];    /* as in claim_in */
};
struct take_out {
        /* granted; decided: the store may have lost a start of it, so that it was written off as unknown(barrier), and
         * the next is to be asked for under a new token; done: nothing is queued, or this token's run is over;
         * busy; stale; not_owner; early, the oldest lies ahead of the store's clock or the request is void;
         * unregistered; halted */
        struct claim_out claim;
        struct instant planned;      /* granted, decided: of the instant taken */
        char occ[OCC_TEXT];
};

/* A unit with queued instants. */
struct queued_unit {
        char scope_key[NODE_ID_MAX], task[TASK_NAME_MAX];
        unsigned shard;
        unsigned count;              /* queued */
        unsigned running;            /* slots taken, ending ones included */
        struct instant oldest;
};
struct queued_in { const char *node; };   /* units of scope all of other nodes are left out */
struct queued_out { struct queued_unit *units; size_t count; };   /* owned by the call */

struct revoke_in {
        struct unit_key unit;
        const char *occ, *token;
        struct instant planned, expect;
        struct instant not_after;    /* newest one sent with this token */
        int64_t grace_ms;
};
enum revoked {
        REVOKED_FREE,        /* void; nothing written; siblings may claim */
        REVOKED_WAIT,        /* the request may still run: ask again after not_after */
        REVOKED_ABANDONED,   /* missed(abandoned) was written by this call */
        REVOKED_DECIDED,     /* decided otherwise, by another or before */
};
struct revoke_out { enum revoked revoked; struct instant cursor; };

struct renew_in { struct unit_key unit; const char *occ, *token, *fence; int64_t lease_ms; struct instant planned; };
enum renewed { RENEWED_OK, RENEWED_LATE, RENEWED_REASSERTED, RENEWED_LOST };
struct renew_out { enum renewed renewed; struct mono valid_until; };

struct finish_in {
        struct unit_key unit;
        const char *occ, *token, *fence, *trig, *owner, *node;
        struct instant planned;
        enum state state;
        enum cause cause;
        enum result result;
        struct stamp started, ended;
        const char *text;            /* result text, up to 64 KiB; error text up to 4 KiB */
        size_t text_len;
        uint64_t text_cut;           /* bytes beyond what is kept */
        const char *error;           /* "" none */
        int code;                    /* exit code or http status; -1 none */
        struct history_keep keep;
        /* Or NULL. When it was written or known: what the owner takes next, in the same step, of the same unit. */
        const struct take_in *take;
};
enum finished { FINISHED_OK, FINISHED_FENCED /* already final otherwise; kept as it was */, FINISHED_RECOVERED };
struct finish_out { enum finished finished; bool lease_gap; struct take_out take; };

struct interrupt_in {
        const char *owner;
        bool trees_gone;             /* false: records with a task tree keep their slot (`ending`) */
};
struct interrupt_out {
        struct ended_record *ended;
        size_t ended_count;
        struct told_range *told;
        size_t told_count;
};

struct said_in {
        const char *owner;           /* as in INTERRUPT; NULL: what LEAD told, of all lives before `life` */
        const char *node;
        uint64_t life;
};

struct history_in {
        const char *task;            /* NULL: all */
        int state;                   /* enum state, or -1 */
        struct instant since;        /* INSTANT_NONE: no bound */
        unsigned limit;              /* 1..1000 */
};
struct history_row {
        bool range;                  /* then occ, trig, fence are "" and first..last, count hold */
        char occ[OCC_TEXT], trig[TRIG_TEXT], fence[FENCE_TEXT], owner[OWNER_TEXT];
        char scope_key[NODE_ID_MAX], task[TASK_NAME_MAX];
        unsigned shard;
        struct instant planned, last;
        uint64_t count;
        enum state state;
        enum cause cause;
        enum result result;
        struct stamp started, ended; /* ns 0: none */
        int code;
        char *text, *error;          /* owned by the call */
        size_t text_len;
};
struct history_out { struct history_row *rows; size_t count; };

struct ledger_call {
        enum ledger_op op;
        union {
                struct lead_in lead; struct define_in define; struct register_in reg; struct peek_in peek;
                struct claim_in claim; struct revoke_in revoke; struct renew_in renew;
                struct finish_in finish; struct interrupt_in interrupt; struct said_in said; struct history_in history;
                struct take_in take; struct queued_in queued;
                struct beat_in beat; struct set_main_in set_main; struct sweep_in sweep; struct effect_in effect;
        } in;
        union {
                struct lead_out lead; struct define_out define; struct register_out reg; struct peek_out peek;
                struct claim_out claim; struct revoke_out revoke; struct renew_out renew;
                struct finish_out finish; struct interrupt_out interrupt; struct history_out history;
                struct take_out take; struct queued_out queued;
                struct beat_out beat; struct nodes_out nodes; struct set_main_out set_main; struct sweep_out sweep;
                struct effect_out effect;
        } out;
        int error;
        char why[160];               /* for people, when error is not 0 or the outcome is HALTED */
        void (*done)(struct ledger_call *call);
        void *arg;

        /* the ledger's own */
        struct ledger *ledger;
        struct ledger_call *next;
        struct mono sent;
        unsigned tries;
};

/* Frees what `out` owns; the call itself is the caller's. */
void ledger_call_done(struct ledger_call *c);

/* What went wrong with a call, for people: its `why`, else what its error means here. Also after its done. */
const char *ledger_call_text(const struct ledger_call *c);

struct ledger_options {
        const struct config *config;     /* borrowed, outlives the ledger */
        const char *node, *owner, *boot; /* borrowed */
        uint64_t life;                   /* 0: a reader that must not create or change anything */
        bool read_only;
        struct board_place *place;       /* where calls and troubles are counted; borrowed, NULL: nowhere */
};

/* Called when the ledger goes down or comes back, or halts: for log lines, readiness and alerts. */
enum ledger_health { LEDGER_UP, LEDGER_DOWN, LEDGER_HALTED };
typedef void (*ledger_health_cb)(enum ledger_health h, const char *why, void *arg);

struct ledger_kind {
        const char *name;                /* "sqlite", "redis" */
        /* Starts opening; calls may be sent at once and wait for it. -errno only for what can never work. */
        int (*open)(uv_loop_t *loop, const struct ledger_options *o, ledger_health_cb health, void *arg,
                    struct ledger **ret);
        void (*send)(struct ledger *l, struct ledger_call *call);
        /* `closed` runs later, once, on the loop; the ledger is gone then. */
        void (*close)(struct ledger *l, void (*closed)(void *arg), void *arg);
};

extern const struct ledger_kind ledger_sqlite, ledger_redis;

/* Every implementation's struct begins with this. */
struct ledger {
        const struct ledger_kind *kind;
        struct board_place *place;
};

static inline void ledger_send(struct ledger *l, struct ledger_call *c)
{
        c->ledger = l;
        c->sent = clock_mono();
        l->kind->send(l, c);
}

/* For implementations: why a definition's replacement has no range record, see define_out. */
void ledger_uncounted(const char *schedule, char *ret, size_t room);

/* For implementations: counts an answered call and runs its `done`. */
void ledger_answer(struct ledger_call *c);

static inline void ledger_close(struct ledger *l, void (*closed)(void *arg), void *arg)
{
        l->kind->close(l, closed, arg);
}

#endif
