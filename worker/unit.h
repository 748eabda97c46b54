/* What one worker knows of its tasks and their units. All of it is belief: the ledger settles. */
#ifndef ONCED_UNIT_H
#define ONCED_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/heap.h"
#include "common/schedule/misfire.h"
#include "ledger/ledger.h"

struct board_row;
struct claimer;
struct runner;
struct runner_kind;

/* One task of the configuration in this worker. */
struct job {
        const struct task *task;         /* borrowed from the configuration */
        const char *scope_key;           /* "" or the node id; borrowed */
        struct claimer *claimer;         /* borrowed from the worker */
        struct ledger *ledger;           /* borrowed; NULL: path none */
        struct runner *runner;           /* borrowed */
        const struct runner_kind *runner_kind;
        struct board_row *row;
        uint64_t rev;                    /* of the definition, as the ledger said */
        struct instant valid_from;
        bool defined;
        bool competes;                   /* enabled, has a schedule, and is not manual */
        struct instant left;             /* until when it was claimed elsewhere: it begins there; ms 0: not known */
        char left_fence[FENCE_TEXT];     /* the newest of the ledger that it left, "" none */
        bool waits;                      /* the group had it, as was noted here: it is defined when that was told */
        bool asked;                      /* the group was told that it is not the task's ledger, or there is no group */
        bool split;                      /* another definition is in force: said once, then its units sleep */
        uint64_t queued, queued_shown;   /* instants that wait, as last seen; of them on the scoreboard */
        struct unit *units;              /* owned; one a shard */
        unsigned unit_count;
};

/* (scope key, task, shard): what is exclusive. */
struct unit {
        struct heap_node node;           /* in the agenda */
        struct instant wake;             /* while in the agenda */
        struct job *of;
        struct instant cursor;           /* newest decided instant, as far as is known here */
        struct instant handed;           /* newest instant that an attempt was made for; INSTANT_NONE */
        struct instant said_down;        /* the instant whose DOWN or HALTED is in the trigger log already */
        enum cause trouble;              /* why instants after `cursor` were not decided; CAUSE_NONE */
        struct instant held;             /* until then a claim was not answered by the ledger; INSTANT_NONE */
        unsigned shard;
        unsigned running;                /* occurrences of this process that were granted and not yet closed */
        unsigned queued;                 /* path none: instants in `own_queue` */
        unsigned backoff_ms;             /* 0: no trouble */
        unsigned early_ms;               /* the newest wait for the store's clock; 0: it is not behind */
        bool registered;                 /* has a cursor in the ledger */
        bool claiming;                   /* one occurrence is being claimed: not in the agenda meanwhile */
        bool taking;                     /* one that waits in the queue is being asked for */
        uint8_t moved;                   /* times in a row that the cursor was not where it was believed */
        char *lock_name;                 /* owned; the run lock's file, known from the first try on, else NULL */
        struct watch *watch;             /* owned; a holder whose lease is being watched, or NULL */
        struct mono asked;               /* redis: when a queue behind a taken slot was asked for; ns 0: never */
        struct own_queue *own_queue;     /* owned, from malloc; path none: what waits in this process, or NULL */
};

/* Makes the units of `task` for node `node`. 0 or -ENOMEM. Ledger, claimer and runner are filled by the caller. */
int job_init(struct job *j, const struct task *task, const char *node);
void job_done(struct job *j);

/* What puts the task's definition in force, for node `node`, where it was left elsewhere. */
void job_definition(const struct job *j, const char *node, struct define_in *ret);

/* What tells a ledger that the task is claimed elsewhere; with `all_scope`, its units of this node alone. */
void job_departure(const struct job *j, const char *node, bool all_scope, struct define_in *ret);

/* Notes where another ledger left it, unless it was left later by one heard of before. */
void job_left(struct job *j, const struct define_out *out);

/* Where a unit's cursor starts that the ledger does not know yet. Not before another ledger left it. Not behind the
 * definition, however long it took to come to this unit: what was due meanwhile would never be decided. A unit of
 * this node alone (scope all) begins with the node, and not with a definition from before `since`. */
struct instant job_first_cursor(const struct job *j, struct instant now, struct instant since);

/* How many runs of one unit may go on at once. */
static inline unsigned job_slots(const struct job *j)
{
        return j->task->overlap.policy == OVERLAP_CONCURRENT ? j->task->overlap.max_running : 1;
}

static inline struct unit_key unit_key(const struct unit *u)
{
        return (struct unit_key) { u->of->scope_key, u->of->task->name, u->shard };
}

/* The instant after which nothing was handed to an attempt: the cursor, or `handed` when that is newer. */
struct instant unit_handed(const struct unit *u);

/* Notes that the ledger's cursor is at least at `cursor`; trouble is over when that is news. */
void unit_advance(struct unit *u, struct instant cursor);

/* The next wait after trouble in ms: doubling from 20 ms to 1 s. */
unsigned unit_back_off(struct unit *u);

#endif
