/* The crew: all children of the master, their births, messages and deaths. crew.c bears and watches, talk.c
 * speaks with them, reap.c buries them. Nothing here waits; the master's loop calls when something is there. */
#ifndef ONCED_CREW_H
#define ONCED_CREW_H

#include <stdbool.h>

#include "common/channel/channel.h"
#include "common/clock.h"
#include "common/scoreboard/scoreboard.h"
#include "supervisor/gone.h"
#include "supervisor/slot.h"

struct config;
struct ground;
struct triglog;
struct master_options;

struct crew {
        const struct config *config;    /* borrowed, like all pointers here, from master_run's frame */
        const struct ground *ground;
        struct triglog *roster;         /* the master's trigger log */
        struct board *board;
        struct asked_table *asked;
        int listener, log_fd;           /* lent to children; -1 none */

        struct slot *slots;             /* owned; workers_max workers, then the console */
        unsigned workers_max;
        unsigned wanted;                /* workers: slots 0..wanted-1 */
        int leader;                     /* slot of the timer worker, -1 none */
        struct gones gones;
        struct mono counted_from;       /* see hang.h */
        bool ending;                    /* nobody is born any more */
        bool roster_broken;             /* said once */
        int killed;                     /* children that ended by a signal or had to kill tasks, while ending */
        struct master_facts facts;

        /* What a child asked (console: enum verb). Called from crew_read. */
        void (*on_verb)(void *arg, enum verb verb);
        void *arg;
};

int crew_init(struct crew *c, const struct master_options *o);
void crew_done(struct crew *c);

static inline struct slot *crew_console(struct crew *c)
{
        return &c->slots[c->workers_max];
}

/* crew.c */
void crew_want(struct crew *c, unsigned workers);   /* more are born, the highest ones drained */
void crew_due(struct crew *c, struct mono now);     /* births, hangs, kills whose time has come */
struct mono crew_next(const struct crew *c, struct mono now);   /* when crew_due has something again, at most */
void crew_end(struct crew *c);                      /* no more births */
void crew_kill(struct slot *s, int signal);
bool crew_lives(const struct crew *c);              /* any worker with a process */
bool crew_all_ready(const struct crew *c);
bool crew_all_refused(const struct crew *c);
bool crew_is_degraded(const struct crew *c);
bool crew_is_fresh(const struct crew *c, struct mono now);   /* no living child is overdue */

/* talk.c */
void crew_read(struct crew *c, struct slot *s);     /* messages of one child, a bounded number */
void crew_read_last(struct crew *c, struct slot *s);/* all that a dead child has still said */
int crew_tell(struct slot *s, enum message_type type, int fd);
void crew_elect(struct crew *c);
void crew_report_gone(struct crew *c, struct mono now);

/* reap.c */
bool crew_reap(struct crew *c, struct slot *s);     /* true when it was dead */
bool crew_sweep(struct crew *c);                    /* strangers; true when there may be more */

#endif
