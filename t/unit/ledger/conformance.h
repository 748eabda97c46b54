/* One table of cases that every ledger must pass: the interface's promises, asked of an opened store on a
 * loop. A backend says how to make an empty store; conformance_main runs the table against it. */
#ifndef ONCED_CONFORMANCE_H
#define ONCED_CONFORMANCE_H

#include "common/config/config.h"
#include "ledger/ledger.h"

struct conformance_backend {
        const char *name;
        const struct ledger_kind *kind;
        unsigned lacks;          /* bits 1u << enum ledger_op of what it does not have: those cases skip */
        bool forgets_leases;     /* a lease may run out by itself (informative) */
        /* An empty store for one case, and the configuration that leads to it (zeroed before; what it sets
         * is freed by drop). Below 0: the case is skipped, there is no server here. */
        int (*fresh)(struct config *config, void **ret_data);
        void (*drop)(struct config *config, void *data);
};

/* One opened ledger and the loop it lives on; other tests of a store use it as well. */
struct world {
        const struct conformance_backend *backend;
        void *data;              /* the backend's */
        struct config config;
        uv_loop_t loop;
        struct ledger *ledger;   /* NULL: closed */
        struct instant base;     /* a whole second shortly before now: planned instants are counted from it */
        const char *node, *boot, *owner;
        uint64_t life;
        bool read_only;
        uint64_t rev;            /* of the task of the world, as last defined */
        unsigned shards;
        enum ledger_health health;
        unsigned health_changes;
        char why[200];           /* of the newest change of health */
};

/* Makes an empty store and the world around it, not opened. -errno: no such store here. */
int world_begin(struct world *w, const struct conformance_backend *backend);
void world_end(struct world *w);
void world_open(struct world *w);
void world_close(struct world *w);

/* Runs the loop until the ledger has said so. */
void world_wait_health(struct world *w, enum ledger_health h);

/* Sends and runs the loop until it is answered. */
void world_call(struct world *w, struct ledger_call *c);
/* Sends all in one turn, and waits for all: one batch. */
void world_call_all(struct world *w, struct ledger_call *calls, size_t count);

#define WORLD_TASK "mail"
#define GRACE_MS   60000LL

/* Defines WORLD_TASK as `every` 1 s with `shards`, and registers shard 0.. with the cursor at `cursor_s`
 * seconds from base. */
void world_task(struct world *w, unsigned shards, int cursor_s);

/* base + s seconds. */
struct instant world_at(const struct world *w, int s);

/* A claim as the world's task makes it; what is 0 or NULL takes the usual value. Seconds from base. */
struct ask {
        const char *owner;       /* default: the world's */
        int at, expect;          /* planned, and the cursor believed in */
        bool gap_alone;
        int gap_first, gap_last; /* both 0: no gap */
        enum cause gap_cause;
        int64_t grace_ms;
        bool catch_up, tree;
        enum overlap_policy overlap;
        unsigned max_running;
        unsigned shard;
        uint64_t rev;
        unsigned shards;
        uint64_t term;
        int64_t void_after_ms;   /* not_after, from now */
};

/* The strings that a call borrows. */
struct ask_texts {
        char occ[OCC_TEXT], token[TOKEN_TEXT], trig[TRIG_TEXT], fence[FENCE_TEXT];
};

/* Fills `ret` as a claim, without sending it. */
void ask_claim(struct world *w, const struct ask *a, struct ask_texts *texts, struct ledger_call *ret);

/* The same for finish: `texts` as the claim filled them, fence from its answer. */
void ask_finish(struct world *w, const struct ask *a, struct ask_texts *texts, enum state state,
                struct ledger_call *ret);

/* The `n`th take of the world's task by `owner`, NULL: the world's. */
struct take_texts { char token[TOKEN_TEXT], trig[TRIG_TEXT]; };
void ask_take(struct world *w, const char *owner, int n, struct take_texts *texts, struct take_in *ret);

/* A beat of `node`, NULL: the world's. Its main lease lasts MAIN_MS, it is offline after OFFLINE_MS. */
#define MAIN_MS    90000LL
#define OFFLINE_MS 90000LL
void ask_beat(struct world *w, const char *node, const char *token, struct ledger_call *ret);

/* argv[1]: a pattern of case names. Returns the exit code. */
int conformance_main(int argc, char **argv, const struct conformance_backend *backend);

#endif
