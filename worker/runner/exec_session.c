/* A keeper that was killed ends nobody any more. The kernel ends the command with it, and gives what the command had
 * started to the master, the nearest reaper of orphans: by that, and by the session, they are known. */
#include "worker/runner/exec_session.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

/* Who was born while the first pass went on is found by the second: its parent forks no more by then. */
#define PASSES 2

#define STAT_LIMIT 4096

DEFINE_CLEANUP(DIR *, closedirp, (void) closedir)

/* Parent and session of a process that runs; false: there is none. */
static bool kin_of(const char *pid, pid_t *ret_parent, pid_t *ret_session)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        char path[300], state;
        int parent, session;

        (void) snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        if (file_read_proc(path, STAT_LIMIT, &text) < 0)
                return false;
        /* The name stands in brackets and may hold anything. */
        const char *end = text.len ? strrchr(buf_string(&text), ')') : NULL;
        if (!end || sscanf(end, ") %c %d %*d %d", &state, &parent, &session) != 3 || strchr("ZX", state))
                return false;
        *ret_parent = parent;
        *ret_session = session;
        return true;
}

static int members(pid_t leader, pid_t heir, int signal, bool *ret_inherited)
{
        _cleanup_(closedirp) DIR *d = opendir("/proc");
        const struct dirent *e;
        pid_t parent, session;
        int count = 0;

        if (!d)
                return -errno;
        *ret_inherited = false;
        while ((e = readdir(d))) {
                if (e->d_name[0] < '1' || e->d_name[0] > '9' || !kin_of(e->d_name, &parent, &session) ||
                    session != leader)
                        continue;
                *ret_inherited |= parent == heir;
                if (signal == 0 || kill((pid_t) atoi(e->d_name), signal) == 0)
                        count++;
        }
        return count;
}

int exec_session_end(pid_t leader, pid_t heir)
{
        bool inherited;

        int count = members(leader, heir, 0, &inherited);
        if (count <= 0 || !inherited)
                return count < 0 ? count : 0;
        for (int i = 0; i < PASSES; i++)
                (void) members(leader, heir, SIGKILL, &inherited);
        return count;
}
