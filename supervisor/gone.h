/* Deaths of workers that the ledger must still hear of. The master never touches a ledger: it tells the timer
 * worker, keeps what is unanswered, and tells it again to each new timer worker. A death is settled in two
 * steps while task trees of the dead live: first its records end, later, at the end of its tree pipe, their
 * slots are freed. The dead process's place on the scoreboard is kept until then. */
#ifndef ONCED_GONE_H
#define ONCED_GONE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/clock.h"
#include "common/record/ids.h"

/* An unanswered report is repeated after this time: the ledger may have been away. */
#define GONE_REPEAT_MS 5000

struct gone {
        char owner[OWNER_TEXT];
        int place;               /* -1: had to be given back early */
        int tree;                /* owned; read end of the tree pipe, -1 once it has ended */
        bool records_ended;      /* the first step was answered */
        struct mono asked;       /* when the newest report went out; ns 0: not yet to this timer worker */
};

struct gones {
        struct gone *list;       /* owned; oldest first */
        size_t count, room;
};

void gones_done(struct gones *g);

/* A worker was reaped. `tree` (taken over, also on failure; may be -1) is at its end already when it is -1. */
int gones_add(struct gones *g, const char *owner, int place, int tree);

/* There is a new timer worker: everything is told again. */
void gones_repeat(struct gones *g);

/* The next one to be told at `now`, NULL when none is due. */
struct gone *gones_next(struct gones *g, struct mono now);

/* When gones_next has something again; ns INT64_MAX: not by time. */
struct mono gones_due(const struct gones *g);

/* The tree pipe of `gone` has ended: closed here, and the second step is due. */
void gone_tree_ended(struct gone *gone);

/* The timer worker answered. True when the death is settled: it is forgotten, and *ret_place (-1: none) is to
 * be released. An answer nobody asked for is false. */
bool gones_answered(struct gones *g, const char *owner, bool trees_gone, int *ret_place);

/* The place of the oldest unsettled death, given back early because a birth needs it; -1 none. */
int gones_give_place(struct gones *g);

/* Any task tree of a dead worker still alive? */
bool gones_have_trees(const struct gones *g);

#endif
