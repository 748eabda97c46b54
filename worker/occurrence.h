/* One planned instant of one unit in this process, from being due to being recorded:
 *
 *   PLANNED -> CLAIMING -> GRANTED -> RUNNING -> FINISHING -> CLOSED
 *                  |          '----------------------^ ^
 *                  '-- decided otherwise, or not at all -> CLOSED
 *
 * One that takes what waits in a queue learns its instant when it is granted. It is asked for like any other, or
 * handed on by the one whose run ends: then it stays PLANNED until it is GRANTED, or CLOSED unused.
 * An occurrence belongs to the spine and frees itself when it is CLOSED. */
#ifndef ONCED_OCCURRENCE_H
#define ONCED_OCCURRENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record/triglog.h"
#include "worker/claim/claim.h"
#include "worker/runner/runner.h"
#include "worker/spine.h"

enum occurrence_state {
        OCCURRENCE_PLANNED,
        OCCURRENCE_CLAIMING,
        OCCURRENCE_GRANTED,
        OCCURRENCE_RUNNING,
        OCCURRENCE_FINISHING,
        OCCURRENCE_CLOSED,
        OCCURRENCE_STATE_COUNT_
};

extern const char *const occurrence_state_names[];

struct occurrence {
        struct spine *spine;             /* borrowed, outlives us */
        struct unit *unit;               /* borrowed, outlives us */
        struct occurrence *prev, *next;  /* in spine->all */
        enum occurrence_state state;
        struct claim claim;
        struct ledger_call call;         /* finish, register */
        struct delay wait;               /* between tries to finish */
        unsigned backoff_ms;
        struct mono give_up;             /* when its finish is tried no more; ns 0: not yet set */
        bool call_in_flight;
        bool unsure;                     /* a finish was sent whose answer was lost */
        bool stop_asked;
        int64_t late_us;                 /* of the attempt */
        struct mono asked;               /* when it was claimed; ns 0: not by itself */
        struct occurrence *successor;    /* owned while PLANNED: what our finish asks for in the same step; or NULL */
        struct take_in take;             /* of the successor; the finish borrows it */

        /* from GRANTED on */
        struct run run;
        struct run_context context;
        char *attempt_log;               /* owned; the context borrows it */
        bool started;                    /* the run line is written */
        struct stamp started_at, ended_at;
        struct mono run_began, run_ended;
};

/* Asks for the first instant to run of `p`, or for its gap alone. -ENOMEM: nothing was begun. */
int occurrence_begin(struct spine *s, struct unit *u, const struct misfire_plan *p, struct stamp now);

/* Asks for the oldest instant that waits in the unit's queue. -ENOMEM: nothing was begun. */
int occurrence_take(struct spine *s, struct unit *u);

/* PLANNED, with a trigger id; NULL when there is no memory. */
struct occurrence *occurrence_new(struct spine *s, struct unit *u);

/* Makes a PLANNED one of those that take what waits. */
void occurrence_to_take(struct occurrence *o);

/* What log lines say of it. */
struct line_subject occurrence_subject(const struct occurrence *o);

/* The only place where the state changes. */
void occurrence_go(struct occurrence *o, enum occurrence_state to);

/* Granted: starts the run. */
void occurrence_run(struct occurrence *o);

/* The worker drains: a claim that waits ends soon. It may be freed when this returns. */
void occurrence_hurry(struct occurrence *o);

/* The worker must stop: the run is ended, waits are over. It may be freed when this returns. */
void occurrence_stop(struct occurrence *o);

/* finish.c: the run is over, or was not to be started: `run.outcome` says how. */
void occurrence_finish(struct occurrence *o);

/* FINISHING: a wait between tries ends now. */
void occurrence_finish_now(struct occurrence *o);

/* Ends it whatever it is at; only for FINISHING, when the ledger did not answer in time. */
void occurrence_abandon(struct occurrence *o);

/* verdict.c: what the answer of the ledger means for the unit and for the occurrence. */
void occurrence_judge(struct occurrence *o);

#endif
