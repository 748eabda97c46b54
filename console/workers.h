/* The children of the master as the scoreboard shows them, with what /proc adds. */
#ifndef ONCED_WORKERS_H
#define ONCED_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/scoreboard/scoreboard.h"
#include "console/proc_facts.h"
#include "console/view.h"

/* Every process beats once a second: three missed ones are a sign that its loop stands. */
#define STALE_MS 3000

struct worker_view {
        struct place_view place;
        int64_t beat_age_ms;      /* -1: no beat yet */
        bool stale;
        int last_exit;            /* wait status of the slot's newest death; -1 none, or unknown */
        struct proc_facts proc;
};

struct workers {
        struct worker_view *list; /* owned; by role, slot and generation */
        size_t count;
};

/* 0 or -ENOMEM. `proc`: ask the kernel too. */
int workers_read(const struct view *v, bool proc, struct workers *ret);
void workers_done(struct workers *w);

/* The worker that is ready and holds the timer role; NULL: none. */
const struct worker_view *workers_timer(const struct workers *w);

/* enum place_trouble of all workers that are ready, together. */
unsigned workers_troubles(const struct workers *w);

/* "exit 70", "signal 9 (KILL)"; "" for -1. */
#define LAST_EXIT_TEXT 40
void last_exit_text(int status, char ret[LAST_EXIT_TEXT]);

json_t *workers_json(const struct workers *w);

#endif
