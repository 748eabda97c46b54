/* What the master waits for: signals, one timer, and what its children hold. The set is built anew each turn,
 * since there are few of them and none can then be stale. */
#ifndef ONCED_EVENTS_H
#define ONCED_EVENTS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/clock.h"

/* In the order in which they are answered: deaths first, since the next timer worker is to wait for nothing. */
enum watch { WATCH_LIFE, WATCH_TREE, WATCH_CHANNEL, WATCH_SIGNALS, WATCH_TIMER };

struct pollfd;
struct watched;

struct events {
        int signals, timer;         /* owned */
        struct pollfd *polls;       /* owned, like what each entry stands for */
        struct watched *watched;
        size_t count, room;
};

int events_open(struct events *e, const sigset_t *signals);
void events_close(struct events *e);

/* Only signals and timer are watched from here on, with room for `more`. */
int events_clear(struct events *e, size_t more);

/* -1 is left out. */
void events_watch(struct events *e, int fd, enum watch what, unsigned slot);

/* Until something is there, or `wake` on the boot clock; `at_once`: only looks. */
int events_wait(struct events *e, struct mono wake, bool at_once);

/* Calls back for all that is there. The callback may close what it likes, and must bear to be called for it. */
void events_answer(const struct events *e, void (*answer)(void *arg, enum watch what, unsigned slot, int fd),
                   void *arg);

#endif
