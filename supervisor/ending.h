/* How the master ends: drain, fast, kill, each stage after the one before when asked again or when its time is
 * over. The console is ended last, so that one can watch. */
#ifndef ONCED_ENDING_H
#define ONCED_ENDING_H

#include <stdbool.h>

#include "common/clock.h"

struct crew;

enum stage {
        STAGE_RUN,     /* no end in sight */
        STAGE_DRAIN,   /* workers finish what runs */
        STAGE_FAST,    /* workers end what runs */
        STAGE_KILL,    /* workers are killed; their keepers end the trees */
        STAGE_CLOSE,   /* all workers are gone: the console, and trees that are still being ended */
        STAGE_OVER,
        STAGE_COUNT_
};

struct ending {
        enum stage stage;
        struct mono deadline;    /* of the stage */
        bool hurried;            /* the kill was asked for: trees are not waited for */
        const char *how;         /* the hardest stage that was needed, for the roster's last line */
        int code;                /* exit code that is certain already, -1: by what happens to the workers */
};

void ending_init(struct ending *e);

/* Begins the end, or goes one stage further. `fast`: without draining. */
void ending_ask(struct ending *e, struct crew *c, bool fast);
void ending_due(struct ending *e, struct crew *c, struct mono now);
struct mono ending_next(const struct ending *e);   /* ns INT64_MAX: nothing by time */
int ending_code(const struct ending *e, const struct crew *c);
const char *stage_name(enum stage s);

#endif
