/* See prepare.h: the first steps of commands that run tasks. */
#include "cli/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/log.h"

DEFINE_CLEANUP(struct config *, config_freep, (void) config_free)

/* Started with a closed 0, 1 or 2, the next file opened would get that number, and print into it. */
static int standard_fds(void)
{
        int fd;

        do {
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                if (fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) < 0)
                        return -errno;
        } while (fd <= STDERR_FILENO);
        (void) close(fd);
        return 0;
}

/* Each worker may have max_handles connections and pipes; the soft limit of a login is for programs with select(). */
static void raise_fd_limit(void)
{
        struct rlimit l;

        if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
                return;
        l.rlim_cur = l.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &l) < 0)
                (void) log_warning(-errno, "the limit of open files stays as it is");
}

/* Descriptors: the master has three for each child (life, channel, tree) and a couple of dozen besides; a worker two
 * dozen for itself, some more while it starts a command, and then three for each run. */
#define MASTER_FDS(children) (24 + 3 * (children))
#define WORKER_FDS(runs)     (48 + 3 * (runs))

/* An exit code: with too few nothing would start, and each failure would look like the task's. */
static int fds_suffice(const struct config *c, bool has_children)
{
        rlim_t master = MASTER_FDS(c->workers + 1), worker = WORKER_FDS(c->max_handles), least = WORKER_FDS(0);
        unsigned workers = has_children ? c->workers : 1;
        struct rlimit l;

        if (has_children && least < master)
                least = master;
        if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
                return EXIT_FINE;
        if (l.rlim_cur < least) {
                (void) log_error(0, "only %ju files may be open (RLIMIT_NOFILE), and %u worker%s need at least %ju; cure: "
                                    "ulimit -n, LimitNOFILE= of systemd", (uintmax_t) l.rlim_cur, workers,
                                 workers == 1 ? "" : "s", (uintmax_t) least);
                return EXIT_OS;
        }
        if (l.rlim_cur < worker)
                (void) log_warning(0, "only %ju files may be open (RLIMIT_NOFILE); a worker with max_handles %u may need "
                                      "%ju", (uintmax_t) l.rlim_cur, c->max_handles, (uintmax_t) worker);
        return EXIT_FINE;
}

static int load(const char *path, struct config **ret)
{
        struct complaints complaints = COMPLAINTS_NONE;
        _cleanup_(config_freep) struct config *c = NULL;

        int r = config_load(path, &c, &complaints);
        bool later = r == 0 && config_has_later(c, &complaints);
        complaints_print(&complaints, stderr);
        if (r < 0 && complaints.errors == 0)
                (void) fprintf(stderr, "%s: %s\n", path, strerror(-r));
        complaints_done(&complaints);
        if (r < 0 || later)
                return EXIT_CONFIGURATION;
        *ret = TAKE(c);
        return EXIT_FINE;
}

int prepare(const char *path, bool has_children, struct config **ret)
{
        _cleanup_(config_freep) struct config *c = NULL;

        int r = standard_fds();
        if (r < 0) {
                (void) log_error(r, "/dev/null");
                return EXIT_OS;
        }
        int code = load(path, &c);
        if (code != EXIT_FINE)
                return code;
        (void) signal(SIGPIPE, SIG_IGN);
        raise_fd_limit();
        log_setup(c->log.level, c->log.format);
        code = fds_suffice(c, has_children);
        if (code == EXIT_FINE)
                *ret = TAKE(c);
        return code;
}
