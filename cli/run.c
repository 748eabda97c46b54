/* `onced run FILE`: reads the configuration and becomes the master. */
#include "cli/cli.h"
#include "cli/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
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
        int code = prepare(argv[optind], true, &config);
        if (code != EXIT_FINE)
                return code;
        return master_run(&(struct master_options) {
                .config = config, .worker = &worker_kind, .console = &console_kind, .notify_fd = notify_fd,
        });
}
