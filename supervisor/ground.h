/* What the master stands on before it forks, or a process that has none: folders, and the name and life of its node. */
#ifndef ONCED_GROUND_H
#define ONCED_GROUND_H

#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"
#include "common/start_token.h"

struct config;

struct ground {
        int node_lock;                 /* owned; -1 none */
        char node[NODE_ID_MAX];
        char boot[BOOT_ID_TEXT];
        uint64_t life;
        struct start_token start;      /* token "": there is no group to tell it to */
        char *triggers;                /* owned; <log.dir>/triggers */
};

/* Makes the folders, takes the node lock, reads or makes the node's identity. Logs why it fails.
 * EXIT_FINE, or the code to exit with; EXIT_FINE with node_lock -1: told to stop before anything began. */
int ground_lay(struct ground *g, const struct config *c);
/* Sends the log of this process to its file, when it has one: then `ret_fd` is the caller's, else -1. 0 or -errno, said. */
int ground_log(const struct config *c, int *ret_fd);

void ground_done(struct ground *g);

#endif
