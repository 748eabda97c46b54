/* The node's memory beside its ledger: `state_dir/node_id`, small, fsynced, replaced whole.
 * It knows the node's name, that a ledger existed and which, and how often it started.
 * `run_dir/witness` is the same once more, where a copy of state_dir that is put back does not bring its own: it tells
 * that state_dir was restored or removed, as long as run_dir lasts. */
#ifndef ONCED_NODE_ID_H
#define ONCED_NODE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"

#define INCARNATION_TEXT 33
#define LEDGER_FILE_TEXT 48

struct node_id {
        char node[NODE_ID_MAX];
        char incarnation[INCARNATION_TEXT];  /* of the local ledger; "" while there was none yet */
        char ledger[LEDGER_FILE_TEXT];       /* which file that life had as its ledger; a copy is another one */
        uint64_t life;                       /* newest start that reached the ledger; 0: none */
        char boot[BOOT_ID_TEXT];             /* of that life */
        bool clean;                          /* that life ended by a clean stop */
};

/* Reads `state_dir`/node_id. -ENOENT: not there; -EINVAL: not understood (kept, never overwritten). */
int node_id_read(const char *state_dir, struct node_id *ret);

/* Writes it durably. Callers hold `state_dir/ledger.lock`, or are the master before any fork. */
int node_id_write(const char *state_dir, const struct node_id *n);

/* The witness; the same errors. Callers hold `state_dir/ledger.lock`. */
int node_witness_read(const char *run_dir, struct node_id *ret);
int node_witness_write(const char *run_dir, const struct node_id *n);

/* Is `n`, as found in state_dir, behind what ran here last? True, and why, for people. `witness`: NULL: none. A life that
 * ended clean wrote nothing after it said so: its copy is as good as itself, and a folder may be moved; a copy from
 * before that may have missed something. A witness of an earlier life could not be written then, and tells nothing. */
bool node_id_is_older(const struct node_id *n, const struct node_id *witness, const char *ledger_now, char *ret_why,
                      size_t room);

/* A new identity: "<hostname>-<8 hex>", everything else empty. */
int node_id_make(struct node_id *ret);

#endif
