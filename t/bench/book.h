/* A ledger opened through its interface on a loop of its own, called one batch after the other. */
#ifndef ONCED_BENCH_BOOK_H
#define ONCED_BENCH_BOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/config/config.h"
#include "ledger/ledger.h"
#include "t/bench/due.h"

/* Which store: "sqlite" with an existing empty folder, or "redis" with a URL. */
struct book_place {
        const char *store, *where;
        bool full;                /* sqlite: durability */
        char app[32];             /* redis: first part of every key */
};

struct book {
        struct config config;
        uv_loop_t loop;
        struct ledger *ledger;
};

/* 0, or -EINVAL for an unknown store, or as the ledger says. */
int book_open(struct book *b, const struct book_place *place);
void book_close(struct book *b);

/* Sends all in one turn of the loop and waits for all answers; what a store in trouble did not answer is sent
 * again, as the interface asks for. 0, or the first error. */
int book_call(struct book *b, struct ledger_call *calls, size_t count);

/* Defines and registers the units of `processes` times `units`, each with its cursor at `first`; the ledger is
 * opened and closed for it. */
int book_prepare(const struct book_place *place, int processes, int units, struct instant first);

void book_claim(const struct due *d, struct ledger_call *ret);
void book_finish(const struct due *d, struct ledger_call *ret);

#endif
