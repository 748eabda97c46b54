/* Folders, node lock, node identity: all that can refuse a start, before anything is forked. */
#include "supervisor/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/file.h"
#include "common/log.h"
#include "common/node_id.h"
#include "supervisor/node_lock.h"

/* A folder that others may write to could be given links, locks or logs of theirs. */
static int folder_lay(const char *key, const char *path, mode_t mode)
{
        struct stat st;

        int r = folder_make(path, mode);
        if (r < 0)
                return log_error(r, "%s: the folder %s cannot be made", key, path);
        if (stat(path, &st) < 0)
                return log_error(-errno, "%s: %s", key, path);
        if (st.st_uid != geteuid()) {
                (void) log_error(0, "%s: %s belongs to uid %d, not to uid %d which runs this; cure: chown", key, path,
                                 (int) st.st_uid, (int) geteuid());
                return -EPERM;
        }
        if (st.st_mode & S_IWOTH) {
                (void) log_error(0, "%s: everybody may write to %s; cure: chmod o-w %s", key, path, path);
                return -EPERM;
        }
        if (access(path, R_OK | W_OK | X_OK) < 0)
                return log_error(-errno, "%s: %s is not writable", key, path);
        return 0;
}

static int folders_lay(struct ground *g, const struct config *c)
{
        _cleanup_(freep) char *locks = path_join(c->run_dir, "locks");

        g->triggers = path_join(c->log.dir, "triggers");
        if (!locks || !g->triggers)
                return log_error(-ENOMEM, "names of folders");
        const struct { const char *key, *path; mode_t mode; } folders[] = {
                { "state_dir", c->state_dir, 0700 }, { "run_dir", c->run_dir, 0755 }, { "run_dir", locks, 0700 },
                { "log.dir", c->log.dir, 0700 },     { "log.dir", g->triggers, 0700 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                int r = folder_lay(folders[i].key, folders[i].path, folders[i].mode);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int identity_lay(struct ground *g, const char *state_dir)
{
        struct node_id n;

        int r = node_id_read(state_dir, &n);
        if (r == -ENOENT) {
                r = node_id_make(&n);
                if (r == 0)
                        r = node_id_write(state_dir, &n);
                if (r < 0)
                        return log_error(r, "%s/node_id cannot be written", state_dir);
                log_info("%s is new: this node is %s", state_dir, n.node);
        }
        if (r == -EINVAL) {
                (void) log_error(0, "%s/node_id is not understood; it is kept; cure: onced recover --ledger -c FILE",
                                 state_dir);
                return r;
        }
        if (r < 0)
                return log_error(r, "%s/node_id cannot be read", state_dir);
        r = clock_boot_id(g->boot);
        if (r < 0)
                return log_error(r, "boot id of this kernel");
        memcpy(g->node, n.node, sizeof(g->node));
        g->life = n.life + 1;
        return 0;
}

static int start_lay(struct ground *g, const struct config *c)
{
        int r = c->redis.url ? start_token_make(c->state_dir, &g->start) : 0;

        return r < 0 ? log_error(r, "%s/start cannot be replaced", c->state_dir) : 0;
}

int ground_lay(struct ground *g, const struct config *c)
{
        *g = (struct ground) { .node_lock = -1 };
        if (folders_lay(g, c) < 0)
                return EXIT_CANTCREAT;
        int code = node_lock_take(c->state_dir, c->boot_timeout_ms, &g->node_lock);
        if (code != EXIT_FINE || g->node_lock < 0)
                return code;
        return identity_lay(g, c->state_dir) < 0 || start_lay(g, c) < 0 ? EXIT_CANTCREAT : EXIT_FINE;
}

int ground_log(const struct config *c, int *ret_fd)
{
        *ret_fd = -1;
        if (c->log.to != LOG_TO_FILE)
                return 0;
        _cleanup_(freep) char *path = path_join(c->log.dir, "onced.log");
        if (!path)
                return log_error(-ENOMEM, "log");
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
        if (fd < 0)
                return log_error(-errno, "%s cannot be opened", path);
        (void) log_use_fd(fd);
        *ret_fd = fd;
        return 0;
}

void ground_done(struct ground *g)
{
        /* Closed, never unlocked: children that still live keep the node taken. */
        if (g->node_lock >= 0)
                (void) close(g->node_lock);
        free(g->triggers);
        *g = (struct ground) { .node_lock = -1 };
}
