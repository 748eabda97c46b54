/* What a node remembers of its group's store, so that one that lost what it knew is not taken for a first one: by its
 * processes while they live, by `state_dir`/store-<16 hex of the group's prefix> for those that come after them. */
#ifndef ONCED_REDIS_MEMORY_H
#define ONCED_REDIS_MEMORY_H

#include <uv.h>

#include "common/clock.h"
#include "common/node_id.h"

#define REDIS_ID_TEXT    41
#define REDIS_EPOCH_TEXT 24

/* "" and INSTANT_NONE at first. */
struct redis_memory {
        char incarnation[INCARNATION_TEXT];
        char epoch[REDIS_EPOCH_TEXT];
        char run_id[REDIS_ID_TEXT];    /* of the server; not in the file */
        char fence[FENCE_TEXT];        /* highest seen */
        struct instant planned;        /* newest granted */
};

/* Where the file is, allocated; NULL without memory. */
char *redis_memory_path(const char *state_dir, const char *prefix);

/* Adds what the file knows: its incarnation holds, of the rest the higher. 0 also when there is none; -EINVAL: not
 * understood. */
int redis_memory_load(const char *path, struct redis_memory *m);

/* Writes `m` durably, merged with what sibling processes wrote. `was` is the incarnation that `m` came from: -ESTALE,
 * and nothing is written, when the file knows neither that nor this one. */
int redis_memory_keep(const char *path, const char *was, const struct redis_memory *m);

/* The same on a thread of libuv's pool, since a disk takes its time. `done` runs once, later, on the loop, if this
 * returns 0. */
int redis_memory_keep_later(uv_loop_t *loop, const char *path, const char *was, const struct redis_memory *m,
                            void (*done)(int result, void *arg), void *arg);

#endif
