/* How a child is born. Leaked descriptors, stray signal handlers and children that outlive their parent are the
 * slowest bugs of a prefork program: what a child keeps is listed here, everything else is gone. */
#include "supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/exits.h"
#include "common/log.h"
#include "supervisor/verb.h"

static int fd_order(const void *a, const void *b)
{
        int x = *(const int *) a, y = *(const int *) b;

        return (x > y) - (x < y);
}

int keep_only(int *fds, size_t count)
{
        unsigned next = 0;

        qsort(fds, count, sizeof(*fds), fd_order);
        for (size_t i = 0; i < count; i++) {
                if (fds[i] < 0 || (unsigned) fds[i] < next)
                        continue;
                if ((unsigned) fds[i] > next && close_range(next, (unsigned) fds[i] - 1, 0) < 0)
                        return -errno;
                next = (unsigned) fds[i] + 1;
        }
        return close_range(next, ~0u, 0) < 0 ? -errno : 0;
}

/* The master installs no handler, so that only ignored signals need their default back. What the master reads as
 * verbs stays ignored, except TERM: a terminal or a careless kill sends it to the whole group, and one answers.
 * PIPE is an error code of the write that met it. */
static void signals_as_born(void)
{
        sigset_t none;

        for (int s = 1; s < NSIG; s++) {
                struct sigaction a;
                if (s == SIGPIPE || (s != SIGTERM && verb_of_signal(s) != VERB_NONE))
                        (void) signal(s, SIG_IGN);
                else if (sigaction(s, NULL, &a) == 0 && a.sa_handler == SIG_IGN)
                        (void) signal(s, SIG_DFL);
        }
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The kernel ends us with the master; the master may have died before that was asked for. */
static void die_with_parent(pid_t master)
{
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != master)
                _exit(EXIT_OS);
}

static void child_live(const struct spawn_order *o, pid_t master, int channel, int tree) __attribute__((noreturn));

static void child_live(const struct spawn_order *o, pid_t master, int channel, int tree)
{
        struct birth b = o->birth;
        int keep[] = { 0, 1, 2, channel, tree, b.node_lock, b.listener, o->log_fd };

        if (keep_only(keep, ARRAY_SIZE(keep)) < 0)
                _exit(EXIT_OS);
        signals_as_born();
        die_with_parent(master);
        process_title("onced: %s", o->title);
        log_identity(o->title);
        int r = process_identify(getpid(), &b.process);
        if (r < 0) {
                (void) log_error(r, "own start time");
                _exit(EXIT_OS);
        }
        b.channel = channel;
        b.tree_pipe = tree;
        owner_text(b.node, b.slot_name, &b.process, b.owner);
        _exit(o->kind->run(&b));
}

/* A child nobody can watch must not live. */
static int undo_birth(pid_t pid, int error)
{
        (void) kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        return error;
}

int spawn(const struct spawn_order *o, struct spawned *ret)
{
        int pair[2], pipes[2];
        pid_t master = getpid();

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        _cleanup_(closep) int ours = pair[0];
        _cleanup_(closep) int theirs = pair[1];
        if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        _cleanup_(closep) int tree_read = pipes[0];
        _cleanup_(closep) int tree_write = pipes[1];

        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_live(o, master, theirs, tree_write);
        /* Not yet reaped, the pid can be nobody else's. */
        int pidfd = pidfd_open(pid, 0);
        if (pidfd < 0)
                return undo_birth(pid, -errno);
        *ret = (struct spawned) {
                .pid = pid, .pidfd = pidfd, .channel = TAKE_FD(ours), .tree = TAKE_FD(tree_read),
        };
        return 0;
}
