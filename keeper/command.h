/* The command a keeper is for: what it needs, and its start. */
#ifndef ONCED_KEEPER_COMMAND_H
#define ONCED_KEEPER_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "keeper/keeper.h"

struct command {
        char **argv;            /* borrowed from main's, NULL-terminated */
        const char *cwd;
        mode_t umask;
        int nice;
        bool changes_identity;
        uid_t uid;
        gid_t gid;
        gid_t groups[KEEPER_GROUPS_MAX];
        size_t group_count;
};

struct command_failure {
        int step;               /* enum keeper_step */
        int error;              /* errno */
};

/* Reads "uid:gid:group,group,..." or "-". 0 or -EINVAL. */
int command_identity(struct command *c, const char *text);

/* Starts it, in a session of its own, and returns once it runs: 0, or -1 with what failed, and no process
 * left. */
int command_start(const struct command *c, pid_t *ret_pid, struct command_failure *ret_failure);

#endif
