/* The families of /metrics that have a series for each task. */
#ifndef ONCED_METRICS_TASKS_H
#define ONCED_METRICS_TASKS_H

#include <stddef.h>

#include "common/clock.h"
#include "common/scoreboard/scoreboard.h"
#include "console/exposition.h"
#include "console/view.h"

struct task_series {
        const char *name;        /* borrowed from the configuration, or "_other" */
        struct instant next;     /* INSTANT_NONE: never by itself */
        struct task_counts counts;
};

struct tasks_series {
        struct task_series *list;  /* owned; the first BOARD_TASKS tasks of the configuration, then `_other` */
        size_t count;
        uint64_t running;          /* over all */
};

/* 0 or -ENOMEM. */
int tasks_series_read(const struct view *v, struct tasks_series *ret);
void tasks_series_done(struct tasks_series *s);

void tasks_families(struct exposition *x, const struct tasks_series *s);
json_t *tasks_series_json(const struct tasks_series *s);

#endif
