/* Puts the definitions of a worker's tasks in force in one ledger and gives their units a cursor: at the start
 * of every worker, with a bounded number of calls on the way, and again and again while the ledger is away. Tasks of
 * another ledger, or of none, are said to be there, so that none is ever claimed in two. A local task that was the
 * group's until now waits until the group was told; the others wait for their own ledger alone. */
#ifndef ONCED_SETUP_H
#define ONCED_SETUP_H

#include <stddef.h>

#include "common/scoreboard/scoreboard.h"
#include "worker/unit.h"

struct delays;
struct setup;
struct shortfalls;
struct triglog;

struct setup_options {
        struct delays *delays;
        struct triglog *log;
        struct shortfalls *shortfalls;
        struct ledger *ledger;             /* one of the next two */
        struct ledger *local, *group;      /* group: NULL without one */
        struct job *jobs;                  /* those of another ledger are left in this one; borrowed */
        size_t job_count;
        const char *node;
        struct board_place *place;         /* where `trouble` shows while the ledger is waited for; borrowed */
        enum place_trouble trouble;
        void (*defined)(struct job *j, bool by_us, void *arg);   /* by_us: it was put in force by this call */
        void (*registered)(struct unit *u, void *arg);
        /* Once: all is done, or -errno for what trying again cannot cure; `why` is for people. */
        void (*done)(int error, const char *why, void *arg);
        void *arg;
};

/* 0, then `done` runs later, on the loop; or -ENOMEM. */
int setup_begin(const struct setup_options *o, struct setup **ret);

/* No callback runs any more; calls under way are answered by the closing of the ledger. */
void setup_cancel(struct setup *su);

/* After the ledger was closed, or `done` ran. NULL is fine. */
void setup_free(struct setup *su);

#endif
