/* Accepting a loss: what `onced recover` does to a ledger. Blocking, for a command of its own; nothing else
 * may use the local ledger meanwhile, so the caller holds the node lock.
 * A look changes nothing and says in words what there is; the deed follows only what a person has agreed to.
 * What was lost is never run again: instants up to now become unknown(barrier) when they are asked for. */
#ifndef ONCED_RECOVER_H
#define ONCED_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/clock.h"
#include "common/node_id.h"

struct config;

#define RECOVER_TEXT 256

struct recover_look {
        bool kept;                       /* the ledger can go on; else a new one is begun */
        bool present;                    /* local: there is a file */
        bool sound;                      /* nothing was found to be wrong with it */
        bool node_id_kept;
        char ledger[RECOVER_TEXT];       /* what was found, for people */
        char node_id[RECOVER_TEXT];      /* "" nothing to say */
};

struct recover_done {
        char ledger_aside[RECOVER_TEXT], node_id_aside[RECOVER_TEXT];   /* where the old file is now; "" it stayed */
        char node[NODE_ID_MAX], incarnation[INCARNATION_TEXT];
        struct instant barrier;
};

/* The local ledger (sqlite_recover.c). Below 0: `why` (RECOVER_TEXT) says what failed. */
int recover_local_look(const struct config *c, struct recover_look *ret, char *why);
int recover_local(const struct config *c, struct recover_done *ret, char *why);

/* The group's store on Redis (redis_recover.c). */
int recover_store_look(const struct config *c, struct recover_look *ret, char *why);
int recover_store(const struct config *c, struct recover_done *ret, char *why);

/* Units of one task whose newest decided instant lies in the future, or was lost by the store: their cursor is
 * set to now. The range that is open again is recorded, with who asked. `set` false: only looks. */
struct recover_ahead {
        unsigned units;                  /* found ahead of now, or set */
        unsigned lost;                   /* redis: units without a cursor */
        struct instant now, furthest;
};
int recover_cursor_local(const struct config *c, const char *task, bool set, struct recover_ahead *ret, char *why);
int recover_cursor_store(const struct config *c, const char *task, bool set, struct recover_ahead *ret, char *why);

#endif
