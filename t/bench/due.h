/* What the claim benches claim: one unit's instants, one after the other, under the names that the product gives.
 * The product's side and the bare side take the same ones. */
#ifndef ONCED_BENCH_DUE_H
#define ONCED_BENCH_DUE_H

#include "common/clock.h"
#include "common/record/ids.h"

#define DUE_NODE  "bench-0a1b2c3d"
#define DUE_BOOT  "b007b007b007b007b007b007b007b007"
#define DUE_LIFE  1
#define DUE_EVERY 1000LL              /* ms */
/* Instants that lie behind us: a store refuses those ahead. */
#define DUE_BACK  (300 * MS_PER_DAY)

struct due {
        char task[32], owner[OWNER_TEXT];
        struct instant planned, expect;
        uint64_t seq;
        char occ[OCC_TEXT], token[TOKEN_TEXT], trig[TRIG_TEXT], fence[FENCE_TEXT];
};

/* Unit `unit` of process `process`; its first instant is the one after `first`. */
void due_begin(struct due *d, int process, int unit, struct instant first);
void due_next(struct due *d);

#endif
