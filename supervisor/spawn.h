/* The birth of a child, in one function, by a written list. */
#ifndef ONCED_SPAWN_H
#define ONCED_SPAWN_H

#include <sys/types.h>

#include "common/birth.h"

struct spawn_order {
        const struct child_kind *kind;
        const char *title;         /* "worker 0": in ps and in the log */
        struct birth birth;        /* channel, tree_pipe, process, owner are filled in by spawn; node_lock and
                                    * listener are lent: the child gets copies of its own */
        int log_fd;                /* the log's file, kept open in the child */
};

struct spawned {
        pid_t pid;
        int pidfd, channel, tree;  /* owned by the caller: process, our end of the channel, read end of the pipe */
};

/* Forks. 0, or -errno with nothing left behind. */
int spawn(const struct spawn_order *o, struct spawned *ret);

/* In a child: closes every descriptor that is not listed (-1 entries are skipped). Sorts `fds`. */
int keep_only(int *fds, size_t count);

#endif
