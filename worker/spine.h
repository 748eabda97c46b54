/* The spine of a worker: takes units that are due, has each claimed, run and recorded, and keeps what all
 * occurrences of the worker share. It knows agenda, claims, runners, ledger and log only by their
 * interfaces, so that its whole behaviour is tested with fakes. */
#ifndef ONCED_SPINE_H
#define ONCED_SPINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "worker/agenda.h"
#include "worker/claim/claim.h"
#include "worker/unit.h"

struct board_place;
struct cease_line;
struct occurrence;
struct shortfalls;
struct triglog;

enum spine_phase {
        SPINE_WORKING,
        SPINE_DRAINING,    /* takes nothing new; what was granted runs to its end */
        SPINE_STOPPING,    /* ends what runs */
};

struct spine_options {
        struct delays *delays;
        struct triglog *log;
        struct board_place *place;
        struct shortfalls *shortfalls;
        struct claimer_options *claims;    /* its `term` is what this worker leads by */
        const char *node, *owner;
        const char *log_dir;               /* folder of the trigger log */
        unsigned tick_limit, max_handles;
        int64_t timer_delay_ms;            /* a skewed timer, for tests; else 0 */
        bool in_rounds;                    /* nothing is looked at but by spine_round */
        /* The ledger knows a newer leader: this worker leads no more. Called once, from the loop. */
        void (*deposed)(uint64_t term, void *arg);
        /* The ledger had lost the task's definition, and knows it again. May be NULL. */
        void (*defined)(struct job *j, bool by_us, void *arg);
        void *arg;
};

struct spine {
        struct spine_options o;
        struct agenda agenda;
        enum spine_phase phase;
        struct instant began;              /* instants before it are nobody's fault in this life */
        struct instant stepped;            /* what the clock showed when it was set; INSTANT_NONE: it was not */
        struct instant full;               /* when the last of max_handles was given back; INSTANT_NONE: never */
        struct mono beat_due;              /* ns 0: there is none */
        struct mono stood_still;           /* the newest beat that was late by much; ns 0: none */
        struct instant drained;            /* when it began to drain; INSTANT_NONE: it works */
        struct instant horizon;            /* what is due later is left alone */
        struct occurrence *all;            /* those alive, newest first */
        unsigned count;                    /* of `all` */
        unsigned handles;                  /* of them, those being claimed or running: max_handles bounds these */
        uint64_t seq;                      /* of trigger ids */
        bool killed;                       /* a run was ended because the worker had to stop */
        bool said_log, said_early;         /* complaints that are made once */
        unsigned troubles;                 /* enum place_trouble, as claims were told */
        struct mono said_trouble;          /* ns 0: not yet */
        struct delay last_call;            /* stopping: then unanswered finishes are given up */
};

void spine_init(struct spine *s, const struct spine_options *o);
void spine_done(struct spine *s);          /* no occurrence is left */

/* Lets the unit compete: it is looked at now, so that what lies before is settled at once. */
void spine_enlist(struct spine *s, struct unit *u);
void spine_dismiss(struct spine *s, struct unit *u);

/* A round: looks at every unit that was due by `horizon`, and at no other until the next one. */
void spine_round(struct spine *s, struct job *jobs, size_t count, struct instant horizon);

/* Nothing is at work and nothing is left to be looked at. */
bool spine_is_idle(const struct spine *s);

/* Takes the units that are due, up to the limits, and asks for them. */
void spine_turn(struct spine *s, struct stamp now);

/* Starts what waits in the unit's queue if a slot and a handle are free; in vain is fine. */
void spine_take(struct spine *s, struct unit *u);

/* When spine_turn wants to be called next; INSTANT_NONE: not by time. */
struct instant spine_next(const struct spine *s);

/* The wall clock was set: every wait is forgotten and every unit is looked at anew. */
void spine_stepped(struct spine *s, struct job *jobs, size_t count, struct stamp now);

/* This process runs, and will be heard of again at `next`. */
void spine_beat(struct spine *s, struct mono now, struct mono next);

/* It did not run for a while since then: what took long is not the ledger's doing. */
bool spine_stood_still(const struct spine *s, struct mono since, struct mono now);

/* The ledger `l` answers again: units that waited for it are looked at now. */
void spine_ledger_up(struct spine *s, struct job *jobs, size_t count, const struct ledger *l, struct stamp now);

/* How far this worker came, for its cease and stop lines: all due before is known to be decided, here or elsewhere.
 * Each ledger by itself, since one may be away. `now` bounds it, or the time when draining began. */
void spine_ceased(const struct spine *s, const struct job *jobs, size_t count, struct instant now,
                  struct cease_line *ret);

/* From here on nothing new is taken; the cease line says so, and has left when this returns. */
void spine_drain(struct spine *s, struct job *jobs, size_t count, struct stamp now);
void spine_stop(struct spine *s, struct job *jobs, size_t count, struct stamp now);

/* For occurrence.c, finish.c and verdict.c. */
void spine_plan(struct spine *s, struct unit *u);      /* wakes the unit at its next planned instant */
void spine_wake(struct spine *s, struct unit *u, struct instant wake);
void spine_ask(struct spine *s, struct unit *u, struct stamp now);
bool spine_may_take(const struct spine *s, const struct unit *u);   /* this worker may start what waits */

#endif
