/* What others can remove from under a running master: the name of its socket, the file of its roster. Looked
 * at once a second and put back, since a master that cannot be asked, or whose roster nobody finds, is half gone. */
#ifndef ONCED_UPKEEP_H
#define ONCED_UPKEEP_H

#include "common/clock.h"

struct crew;
struct listener;

struct upkeep {
        struct mono due;
        int said;          /* -errno of the newest failure, said once; 0: all is well */
};

/* A socket bound anew is given to a new console; the old one ends. */
void upkeep_look(struct upkeep *u, struct crew *c, struct listener *l, struct mono now);

#endif
