/* A slot: one child's place in the master, 0..workers_max-1 for workers, workers_max for the console.
 * A replacement inherits the slot; process, channel and place on the scoreboard are its own. */
#ifndef ONCED_SLOT_H
#define ONCED_SLOT_H

#include <stdbool.h>

#include "common/clock.h"
#include "common/record/ids.h"
#include "common/scoreboard/scoreboard.h"

enum slot_state {
        SLOT_EMPTY,      /* no child is wanted here */
        SLOT_WAITING,    /* a child is born at `due` */
        SLOT_STARTING,   /* born, not ready */
        SLOT_READY,
        SLOT_DRAINING,   /* told to finish what runs and end */
        SLOT_STOPPING,   /* told to end what runs and end */
        SLOT_DYING,      /* a fatal signal was sent; SIGKILL follows at `due` */
        SLOT_REFUSED,    /* ended with a configuration error: not born again */
        SLOT_STATE_COUNT_
};

struct child_kind;

struct slot {
        unsigned index;
        enum place_role role;
        const struct child_kind *kind;   /* borrowed, static */
        struct board *board;             /* borrowed; NULL in tests of slots alone */
        char name[12];                   /* "0".., "c": as in owner texts */
        char title[24];                  /* "worker 0", "console": as in logs */
        enum slot_state state;
        struct mono due;                 /* see the states; ns INT64_MAX: none */
        unsigned recent_deaths;          /* see restart.h */

        /* the child; all of it means something only while slot_lives() */
        struct process_id process;
        char owner[OWNER_TEXT];
        int pidfd, channel, tree;        /* owned; -1 none */
        int place;                       /* on the scoreboard */
        uint32_t generation;
        bool said_ready;
        struct mono born, ready, deaf;   /* see hang.h */
};

#define NEVER ((struct mono) { INT64_MAX })

void slot_init(struct slot *s, unsigned index, enum place_role role, const struct child_kind *kind,
               struct board *board);

/* The one function that changes a state. A move that is not in its table is our own mistake and asserts. */
void slot_go(struct slot *s, enum slot_state to);

bool slot_may_go(enum slot_state from, enum slot_state to);
bool slot_lives(const struct slot *s);          /* it has a process */
bool slot_in_crash_loop(const struct slot *s);  /* and is not ready now */
const char *slot_state_name(enum slot_state s);

#endif
