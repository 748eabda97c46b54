/* `onced run FILE`: reads the configuration and becomes the master. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/log.h"
#include "console/console.h"
#include "supervisor/master.h"
#include "worker/worker.h"

DEFINE_CLEANUP(struct config *, config_freep, (void) config_free)

/* A number that names an open descriptor above 2; -1. */
static int fd_argument(const char *text)
{
        char *end;

        errno = 0;
        long n = strtol(text, &end, 10);
        if (errno || end == text || *end || n <= STDERR_FILENO || n > 1 << 20)
                return -1;
        return fcntl((int) n, F_SETFD, FD_CLOEXEC) < 0 ? -1 : (int) n;
}

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
static int fds_suffice(const struct config *c)
{
        rlim_t master = MASTER_FDS(c->workers + 1), worker = WORKER_FDS(c->max_handles), least = WORKER_FDS(0);
        struct rlimit l;

        if (least < master)
                least = master;
        if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
                return EXIT_FINE;
        if (l.rlim_cur < least) {
                (void) log_error(0, "only %ju files may be open (RLIMIT_NOFILE), and %u worker%s need at least %ju; cure: "
                                    "ulimit -n, LimitNOFILE= of systemd", (uintmax_t) l.rlim_cur, c->workers,
                                 c->workers == 1 ? "" : "s", (uintmax_t) least);
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

int command_run(int argc, char **argv)
{
        static const struct option options[] = { { "notify-fd", required_argument, NULL, 'n' }, { 0 } };
        _cleanup_(config_freep) struct config *config = NULL;
        int option, notify_fd = -1;

        opterr = 0;
        while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
                if (option == ':')
                        return usage_error("run", "%s needs a value", argv[optind - 1]);
                if (option != 'n')
                        return usage_error("run", "unknown option %s", argv[optind - 1]);
                notify_fd = fd_argument(optarg);
                if (notify_fd < 0)
                        return usage_error("run", "--notify-fd %s is no open descriptor above 2", optarg);
        }
        if (argc - optind != 1)
                return usage_error("run", "one configuration file is needed");
        int r = standard_fds();
        if (r < 0) {
                (void) log_error(r, "/dev/null");
                return EXIT_OS;
        }
        int code = load(argv[optind], &config);
        if (code != EXIT_FINE)
                return code;
        (void) signal(SIGPIPE, SIG_IGN);
        raise_fd_limit();
        log_setup(config->log.level, config->log.format);
        code = fds_suffice(config);
        if (code != EXIT_FINE)
                return code;
        return master_run(&(struct master_options) {
                .config = config, .worker = &worker_kind, .console = &console_kind, .notify_fd = notify_fd,
        });
}
