/* A few signals on one descriptor. */
#include "worker/terminate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct terminate {
        uv_poll_t poll;
        int fd;                          /* owned */
        void (*asked)(int signum, void *arg);
        void (*closed)(void *arg);
        void *arg;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct terminate *t = poll->data;
        struct signalfd_siginfo info;
        (void) status;
        (void) events;

        if (read(t->fd, &info, sizeof(info)) == sizeof(info))
                t->asked((int) info.ssi_signo, t->arg);
}

int terminate_open(uv_loop_t *loop, const sigset_t *signals, void (*asked)(int signum, void *arg), void *arg,
                   struct terminate **ret)
{
        struct terminate *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;

        (void) sigprocmask(SIG_BLOCK, signals, NULL);
        t->asked = asked;
        t->arg = arg;
        t->fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
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
        void (*closed)(void *) = t->closed;
        void *arg = t->arg;

        (void) close(t->fd);
        free(t);
        closed(arg);
}

void terminate_close(struct terminate *t, void (*closed)(void *arg), void *arg)
{
        t->closed = closed;
        t->arg = arg;
        (void) uv_poll_stop(&t->poll);
        uv_close((uv_handle_t *) &t->poll, on_closed);
}
