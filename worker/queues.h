/* Looking after queues: what waits is taken by who ends a run, but that one may have died, or drain. So every worker
 * asks each ledger about once a second for units that have instants waiting and a slot free, and tries to start them;
 * who of them may is for the ledger to say. The timer worker shows how many wait. */
#ifndef ONCED_QUEUES_H
#define ONCED_QUEUES_H

#include <stddef.h>

#include "worker/unit.h"

struct claimer_options;
struct delays;
struct queues;
struct spine;

struct queues_options {
        struct delays *delays;
        struct ledger *ledger;             /* NULL: the queues of this process alone */
        struct spine *spine;               /* it starts what is found */
        struct job *jobs;                  /* of all tasks, in the order of the configuration; borrowed */
        size_t job_count;
        const struct claimer_options *claims;
        bool by_hand;                      /* there are no looks but those that are asked for */
};

/* The first look comes within a second; when it finds nothing and no task has `overlap: queue`, it was the last.
 * 0 or -ENOMEM. */
int queues_begin(const struct queues_options *o, struct queues **ret);

/* By hand: one look now. `looked` runs later, once, or within the call for the queues of this process; what was found
 * is being tried by then. */
void queues_look(struct queues *q, void (*looked)(void *arg), void *arg);

/* No look any more; a call under way is answered by the closing of the ledger. NULL is fine. */
void queues_cancel(struct queues *q);

/* After the ledger was closed. NULL is fine. */
void queues_free(struct queues *q);

#endif
