/* The timer worker's part: being elected, and settling the deaths of other processes. Election only places
 * work; the term that the ledger gives is what counts. */
#ifndef ONCED_LEAD_H
#define ONCED_LEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/unit.h"

struct board_place;
struct delays;
struct lead;
struct shortfalls;
struct triglog;

struct lead_options {
        struct delays *delays;
        struct triglog *log;
        struct board_place *place;
        struct shortfalls *shortfalls;
        struct ledger *local, *group;      /* group: NULL without redis */
        const char *node, *owner, *boot;
        uint64_t life;
        void (*led)(uint64_t term, void *arg);                 /* the local ledger gave a term */
        void (*settled)(const char *owner, bool trees_gone, void *arg);
        void *arg;
};

int lead_open(const struct lead_options *o, struct lead **ret);

/* Asks for a term, until it is given. Asked again while it is under way: fine. */
void lead_take(struct lead *l);

/* Not every ledger has answered yet. */
bool lead_is_asking(const struct lead *l);

/* This worker drains: a term that comes late is not used, and none is asked for any more. Deaths are still settled. */
void lead_yield(struct lead *l);

/* The process `owner` is dead: ends its records. -ENOBUFS: too many on the way, the master asks again. */
int lead_gone(struct lead *l, const char *owner, bool trees_gone);

/* No callback runs any more; calls under way are answered by the closing of the ledgers. */
void lead_cancel(struct lead *l);
void lead_free(struct lead *l);            /* after the ledgers were closed; NULL is fine */

/* Writes the plan of one task, from which its expected instants can be computed. */
void lead_log_plan(struct triglog *log, const struct job *j);

#endif
