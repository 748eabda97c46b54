/* The node as a whole: is it alive, is it ready, what is it made of. */
#ifndef ONCED_STATUS_H
#define ONCED_STATUS_H

#include <stdbool.h>

#include "console/view.h"
#include "console/workers.h"

/* NULL when the node does its work; else why not, for people. */
const char *readiness(const struct view *v, const struct workers *w);

/* True while the master this board belongs to runs. */
bool master_lives(const struct view *v);

/* True when no worker of the node starts anything any more, or yet. */
bool node_stopped(const struct workers *w);

json_t *status_json(const struct view *v, const struct workers *w);

#endif
