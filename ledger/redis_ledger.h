/* What the files of the Redis ledger share: the ledger itself and one request on its way. */
#ifndef ONCED_REDIS_LEDGER_H
#define ONCED_REDIS_LEDGER_H

#include <stdbool.h>
#include <uv.h>

#include "ledger/ledger.h"
#include "ledger/redis_args.h"
#include "ledger/redis_hello.h"
#include "ledger/redis_link.h"
#include "ledger/redis_script.h"

struct redisReply;

/* More items would hold the server for longer than about 4 ms. */
#define REDIS_BATCH 64

enum redis_state {
        REDIS_OPENING,     /* the first hello is on its way: calls wait for it */
        REDIS_UP,
        REDIS_DOWN,        /* calls are answered at once: nothing piles up */
        REDIS_HALTED,
        REDIS_CLOSING,
};

struct redis_ledger {
        struct ledger base;
        struct ledger_options o;      /* what it points to is borrowed, outlives us */
        uv_loop_t *loop;
        ledger_health_cb health;
        void *health_arg;
        enum redis_state state;
        char why[200];                /* it is not up, or what the hello found out */
        struct redis_link *link;
        struct redis_hello hello;
        struct redis_memory memory;
        struct redis_memory kept;     /* what the file is known to hold */
        char was[INCARNATION_TEXT];   /* what was remembered when the newest hello was said */
        bool greeted;                 /* this connection's hello was answered well */
        bool keeping;                 /* the file is being written */
        struct mono kept_at;
        struct redis_url url;
        char *prefix, *store_key;     /* owned */
        char *memory_path;            /* owned; NULL: a reader or no node, which remember nothing */
        struct ledger_call *first, **last;  /* of this turn of the loop, or waiting for the first hello */
        uv_check_t gather;            /* runs at the end of a turn: takes what came in it */
        uv_idle_t awake;              /* active with it: the turn ends without sleeping */
        struct redis_effect *effects; /* owned; the scripts that were run, as they are sent */
        struct redis_heard *heard;    /* owned; what the newest answered sweep ended */
        size_t heard_count;
        unsigned closing;             /* what must close first */
        void (*closed)(void *arg);
        void *closed_arg;
};

/* Why a store that has just failed over grants nothing yet. */
#define REDIS_HELD "the store waits for owners to report after a failover"

/* Ends a call; `why` may be NULL when error is 0. */
void redis_answer(struct ledger_call *c, int error, const char *why);

struct redis_request {
        struct redis_ledger *ledger;
        struct ledger_call *calls[REDIS_BATCH];   /* none: nobody waits for the answer */
        size_t count;
        /* The server's verdict is OK. Ends each of the calls, or sends another request for it. */
        void (*decided)(struct redis_request *q, const struct redisReply *r);
};

/* redis_keep.c. Before a hello. */
void redis_recall(struct redis_ledger *l);
/* After a hello: redis_go_up follows, at once or when the identity is in the file. */
void redis_keep_identity(struct redis_ledger *l);
/* A grant was heard of. */
void redis_keep_floors(struct redis_ledger *l);

void redis_go_up(struct redis_ledger *l);

/* One of what must close first has. */
void redis_closed_one(void *arg);

/* Begins the arguments of a script: prefix, epoch with incarnation, and run_id. */
void redis_begin(const struct redis_ledger *l, struct redis_args *a);

/* Sends one request for `calls`, which are all ended if it cannot be sent. `args` is taken over. */
void redis_request(struct redis_ledger *l, enum redis_script script, struct redis_args *args,
                   struct ledger_call *const *calls, size_t count,
                   void (*decided)(struct redis_request *q, const struct redisReply *r));
void redis_request_text(struct redis_ledger *l, const struct redis_text *script, struct redis_args *args,
                        struct ledger_call *const *calls, size_t count,
                        void (*decided)(struct redis_request *q, const struct redisReply *r));

/* The store is not what it was: everything ends with -EUCLEAN until the cure. */
void redis_halt(struct redis_ledger *l, const char *why);

/* Which unit has no cursor any more, and the cure. The caller's words say which task it is. */
void redis_unit_lost(const struct unit_key *k, char *ret, size_t room);

/* What the units of one definition have in common: unit_text up to the shard's number. */
void redis_definition_key(const char *scope_key, const char *task, char ret[UNIT_TEXT]);

/* Until when a lease set by a request sent at `sent` can be relied on, whatever the server's clock does. */
struct mono redis_valid_until(struct mono sent, int64_t lease_ms);

/* The fields by which scripts know a unit, with which the items of claims and takes begin. */
void redis_unit_add(struct redis_args *a, const struct unit_key *u);

/* An answer of outcome() in the scripts. 0 or -ENOMEM. */
int redis_claim_read(const struct redisReply *r, int64_t lease_ms, struct mono sent, struct claim_out *out);
bool redis_claim_is_understood(const char *word, const struct claim_out *out);
/* When it is a grant. */
void redis_keep_in_mind(struct redis_ledger *l, struct instant planned, const struct claim_out *out);

/* redis_take.c. What a script wants of a take; and an answer of take() in the scripts: 0, or -ETIMEDOUT when it is not
 * understood, as it may stand for a grant. */
void redis_take_add(const struct redis_ledger *l, struct redis_args *a, const struct take_in *in);
int redis_take_read(struct redis_ledger *l, const struct redisReply *r, const struct take_in *in, struct mono sent,
                    struct stamp store_time, struct take_out *ret, char *ret_why, size_t room);

/* One script each. */
void redis_claim_send(struct redis_ledger *l, struct ledger_call *const *calls, size_t count);
void redis_register_send(struct redis_ledger *l, struct ledger_call *c);
void redis_peek_send(struct redis_ledger *l, struct ledger_call *c);
void redis_take_send(struct redis_ledger *l, struct ledger_call *c);
void redis_revoke_send(struct redis_ledger *l, struct ledger_call *c);
void redis_renew_send(struct redis_ledger *l, struct ledger_call *c);
void redis_finish_send(struct redis_ledger *l, struct ledger_call *c);
void redis_said_send(struct redis_ledger *l, struct ledger_call *c);
void redis_history_send(struct redis_ledger *l, struct ledger_call *c);
void redis_effect_send(struct redis_ledger *l, struct ledger_call *c);
void redis_effects_free(struct redis_ledger *l);
void redis_beat_send(struct redis_ledger *l, struct ledger_call *c);
void redis_nodes_send(struct redis_ledger *l, struct ledger_call *c);
void redis_set_main_send(struct redis_ledger *l, struct ledger_call *c);
void redis_sweep_send(struct redis_ledger *l, struct ledger_call *c);

/* Several scripts one after the other. */
void redis_queued_send(struct redis_ledger *l, struct ledger_call *c);
void redis_define_send(struct redis_ledger *l, struct ledger_call *c);
void redis_lead_send(struct redis_ledger *l, struct ledger_call *c);
void redis_interrupt_send(struct redis_ledger *l, struct ledger_call *c);

#endif
