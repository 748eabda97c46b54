/* Said after every connect, before anything else: who we are, whether this server can be trusted with a ledger,
 * and whether it is still the store that was spoken to before. */
#ifndef ONCED_REDIS_HELLO_H
#define ONCED_REDIS_HELLO_H

#include <stdbool.h>

#include "ledger/redis_link.h"
#include "ledger/redis_memory.h"

/* The store is there no more, or lacks what it must have. */
#define REDIS_STORE_LOST "the store has lost its identity: claims it held may be lost; cure: its data back, or " \
                         "onced recover --store -c FILE"

enum hello_verdict {
        HELLO_OK,
        HELLO_REFUSED,     /* the server may become good: tried again */
        HELLO_HALTED,      /* the store is not the one it was */
};

struct redis_hello {
        /* Set by the caller; borrowed. */
        const char *user, *password, *store_key, *prefix;
        unsigned db;
        int64_t margin_ms;           /* clocks of the servers that may hold the store differ by at most this */
        int64_t quarantine_ms;       /* a server that may not be the only one grants nothing for this long */
        bool reader;                 /* looks only: no identity is asked for or made */
        struct redis_memory *memory; /* brought up to date by HELLO_OK */
        char refusal[160];           /* why it is refused whatever the server says; "" it is not */
        void (*done)(enum hello_verdict v, const char *why, void *arg);
        void *arg;

        /* its own */
        struct redis_link *link;
        unsigned waiting;            /* replies to come before the verdict */
        bool aof, rdb, rdb_known;
        char why[200];               /* first thing wrong; of a hello that went well, what it found out */
};

/* `done` runs once, later; never when the connection ends before: the link tells that. */
void redis_hello_say(struct redis_hello *h, struct redis_link *l);

#endif
