/* One signal on a descriptor. */
#include "worker/terminate.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct terminate {
        uv_poll_t poll;
        int fd;                          /* owned */
        void (*call)(void *arg);         /* asked, later closed */
        void *arg;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct terminate *t = poll->data;
        struct signalfd_siginfo info;
        (void) status;
        (void) events;

        if (read(t->fd, &info, sizeof(info)) == sizeof(info))
                t->call(t->arg);
}

int terminate_open(uv_loop_t *loop, void (*asked)(void *arg), void *arg, struct terminate **ret)
{
        sigset_t set;
        struct terminate *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigprocmask(SIG_BLOCK, &set, NULL);
        t->call = asked;
        t->arg = arg;
        t->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
        int r = t->fd < 0 ? -errno : uv_poll_init(loop, &t->poll, t->fd);
        if (r < 0) {
                if (t->fd >= 0)
                        (void) close(t->fd);
                free(t);
                return r;
        }
        t->poll.data = t;
        (void) uv_poll_start(&t->poll, UV_READABLE, on_readable);
        *ret = t;
        return 0;
}

static void on_closed(uv_handle_t *h)
{
        struct terminate *t = h->data;
        void (*closed)(void *) = t->call;
        void *arg = t->arg;

        (void) close(t->fd);
        free(t);
        closed(arg);
}

void terminate_close(struct terminate *t, void (*closed)(void *arg), void *arg)
{
        t->call = closed;
        t->arg = arg;
        (void) uv_poll_stop(&t->poll);
        uv_close((uv_handle_t *) &t->poll, on_closed);
}
