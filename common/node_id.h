/* The node's memory beside its ledger: `state_dir/node_id`, small, fsynced, replaced whole.
 * It knows the node's name, that a ledger existed and which, and how often it started. */
#ifndef ONCED_NODE_ID_H
#define ONCED_NODE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"

#define INCARNATION_TEXT 33

struct node_id {
        char node[NODE_ID_MAX];
        char incarnation[INCARNATION_TEXT];  /* of the local ledger; "" while there was none yet */
        uint64_t life;                       /* newest start that reached the ledger; 0: none */
        char boot[BOOT_ID_TEXT];             /* of that life */
        bool clean;                          /* that life ended by a clean stop */
};

/* Reads `state_dir`/node_id. -ENOENT: not there; -EINVAL: not understood (kept, never overwritten). */
int node_id_read(const char *state_dir, struct node_id *ret);

/* Writes it durably. Callers hold `state_dir/ledger.lock`, or are the master before any fork. */
int node_id_write(const char *state_dir, const struct node_id *n);

/* A new identity: "<hostname>-<8 hex>", everything else empty. */
int node_id_make(struct node_id *ret);

#endif
