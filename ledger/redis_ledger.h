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
        char why[160];                /* it is not up */
        struct redis_link *link;
        struct redis_hello hello;
        struct redis_memory memory;
        struct redis_url url;
        char *prefix, *store_key;     /* owned */
        struct ledger_call *first, **last;  /* of this turn of the loop, or waiting for the first hello */
        uv_check_t gather;            /* runs at the end of a turn: takes what came in it */
        uv_idle_t awake;              /* active with it: the turn ends without sleeping */
        unsigned closing;             /* what must close first */
        void (*closed)(void *arg);
        void *closed_arg;
};

/* Ends a call; `why` may be NULL when error is 0. */
void redis_answer(struct ledger_call *c, int error, const char *why);

struct redis_request {
        struct redis_ledger *ledger;
        struct ledger_call *calls[REDIS_BATCH];   /* none: nobody waits for the answer */
        size_t count;
        /* The server's verdict is OK. Ends each of the calls, or sends another request for it. */
        void (*decided)(struct redis_request *q, const struct redisReply *r);
};

/* Begins the arguments of a script: prefix, epoch and run_id. */
void redis_begin(const struct redis_ledger *l, struct redis_args *a);

/* Sends one request for `calls`, which are all ended if it cannot be sent. `args` is taken over. */
void redis_request(struct redis_ledger *l, enum redis_script script, struct redis_args *args,
                   struct ledger_call *const *calls, size_t count,
                   void (*decided)(struct redis_request *q, const struct redisReply *r));

/* The store is not what it was: everything ends with -EUCLEAN until the cure. */
void redis_halt(struct redis_ledger *l, const char *why);

/* What the units of one definition have in common: unit_text up to the shard's number. */
void redis_definition_key(const char *scope_key, const char *task, char ret[UNIT_TEXT]);

/* Until when a lease set by a request sent at `sent` can be relied on, whatever the server's clock does. */
struct mono redis_valid_until(struct mono sent, int64_t lease_ms);

/* One script each. */
void redis_claim_send(struct redis_ledger *l, struct ledger_call *const *calls, size_t count);
void redis_register_send(struct redis_ledger *l, struct ledger_call *c);
void redis_peek_send(struct redis_ledger *l, struct ledger_call *c);
void redis_revoke_send(struct redis_ledger *l, struct ledger_call *c);
void redis_renew_send(struct redis_ledger *l, struct ledger_call *c);
void redis_finish_send(struct redis_ledger *l, struct ledger_call *c);
void redis_said_send(struct redis_ledger *l, struct ledger_call *c);
void redis_history_send(struct redis_ledger *l, struct ledger_call *c);

/* Several scripts one after the other. */
void redis_define_send(struct redis_ledger *l, struct ledger_call *c);
void redis_lead_send(struct redis_ledger *l, struct ledger_call *c);
void redis_interrupt_send(struct redis_ledger *l, struct ledger_call *c);

#endif
