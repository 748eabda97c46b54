/* A node made by hand for the tests: a configuration, a scoreboard with filled places, and times that are
 * values. */
#ifndef ONCED_TEST_WORLD_H
#define ONCED_TEST_WORLD_H

#include <stddef.h>

#include "common/birth.h"
#include "common/config/config.h"
#include "common/scoreboard/scoreboard.h"
#include "console/view.h"

#define WORLD_NOW_MS 1764522000500LL   /* 2025-11-30T17:00:00.500Z */

struct world {
        struct config config;
        struct board *board;
        struct view view;
        char dir[64];              /* a temp folder of its own */
        char socket[96];
        int listener;              /* as the master holds it: it outlives consoles; -1 none yet */
};

/* `tasks` tasks named "task-0", "task-1", ...: every second, flock, noop. */
void world_init(struct world *w, unsigned workers, size_t tasks);
void world_done(struct world *w);

/* A worker (ROLE_WORKER) or the console on a place of its own, ready, with a beat `age_ms` old; it is this very
 * process, so that /proc knows it. Returns the place. */
unsigned world_add(struct world *w, enum place_role role, unsigned slot, uint32_t generation, int64_t age_ms);

/* The master is this process; `ready` and `draining` as given. */
void world_master(struct world *w, bool ready, bool draining);

/* Listens at `w->socket`. */
void world_listen(struct world *w);

/* Starts the console in a child on `w->socket`; its messages are at the returned end of a channel. The pid goes to
 * *ret_pid. Waits for READY. */
int world_console(struct world *w, int *ret_pid);

/* Sends STOP, takes the exit code. */
int world_console_end(int channel, int pid);

#endif
