/* What the builders of answers look at: the configuration and the scoreboard at one moment. They are pure
 * functions of it (and of /proc), so that tests fill a scoreboard by hand and name the time. */
#ifndef ONCED_VIEW_H
#define ONCED_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "common/clock.h"

struct board;
struct config;

struct view {
        const struct config *config;   /* borrowed, as all of it */
        const struct board *board;     /* NULL: no instance runs; counts are null then */
        const char *node;
        struct stamp wall;
        struct mono mono;
};

/* JSON forms of times: RFC 3339 in UTC, null for none. */
json_t *json_instant(struct instant i);
json_t *json_stamp(struct stamp s);

/* A counter, at most what a JSON integer holds: the scoreboard may hold anything. */
json_t *json_count(uint64_t n);

#endif
