/* One onced-keeper process: its birth, its messages, its end. */
#ifndef ONCED_EXEC_KEEPER_H
#define ONCED_EXEC_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "common/clock.h"
#include "keeper/keeper.h"

struct exec_target;
struct exec_keeper;

/* All keepers of one worker that are not reaped yet. */
struct exec_keepers {
        struct exec_keeper *first;
        size_t count;
        void (*on_empty)(struct exec_keepers *k);   /* set by exec_keepers_close */
};

struct exec_birth {
        const char *path;               /* of onced-keeper */
        const struct exec_target *target;
        const char *identity;
        char **env;
        int output;                     /* becomes the command's 1 and 2 */
        int node_lock, tree_pipe;       /* -1: none */
        struct mono valid_until;        /* ns 0: without limit */
};

struct exec_keeper_events {
        void (*message)(void *arg, const struct keeper_message *m);
        /* It has ended and was reaped, all its messages were given before; the keeper is freed by itself. */
        void (*gone)(void *arg, int code, int status);   /* as si_code and si_status of waitid(2) */
};

/* Callbacks run later, on the loop. 0; -errno: nothing runs, except with -ECHILD: it ran, could not be
 * watched and was ended with its tree. */
int exec_keeper_start(uv_loop_t *loop, struct exec_keepers *all, const struct exec_birth *b,
                      const struct exec_keeper_events *events, void *arg, struct exec_keeper **ret);

pid_t exec_keeper_pid(const struct exec_keeper *k);

/* Asks it to end its tree. */
void exec_keeper_end(struct exec_keeper *k);

/* It may go on for longer. */
void exec_keeper_prolong(struct exec_keeper *k, struct mono valid_until);

/* Gives the messages that have come so far. */
void exec_keeper_listen(struct exec_keeper *k);

/* No events from now on; it ends its tree, and is reaped when it ends. */
void exec_keeper_leave(struct exec_keeper *k);

/* Stops watching those that were left; they go on by themselves. `on_empty` runs later or, with none, never:
 * look at `count`. */
void exec_keepers_close(struct exec_keepers *all, void (*on_empty)(struct exec_keepers *k));

#endif
