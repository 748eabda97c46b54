/* The timerfd behind the agenda, polled by the loop. */
#include "worker/wakeup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct wakeup {
        uv_poll_t poll;
        int fd;                    /* owned */
        struct instant armed;      /* what the timer is set to; INSTANT_NONE: it is off */
        int64_t offset_ns;         /* wall clock over boot clock when it was last set */
        struct wakeup_calls calls;
        void (*closed)(void *arg);
        void *closed_arg;
};

static int64_t wall_offset_ns(void)
{
        return clock_wall().ns - clock_mono().ns;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct wakeup *w = poll->data;
        uint64_t expirations;
        (void) status;
        (void) events;

        if (read(w->fd, &expirations, sizeof(expirations)) == sizeof(expirations)) {
                w->armed = INSTANT_NONE;
                w->calls.due(w->calls.arg);
                return;
        }
        if (errno != ECANCELED)
                return;

        int64_t offset_ns = wall_offset_ns();
        int64_t jump_ns = offset_ns - w->offset_ns;
        w->offset_ns = offset_ns;
        w->armed = INSTANT_NONE;
        w->calls.stepped(jump_ns, w->calls.arg);
}

int wakeup_open(uv_loop_t *loop, const struct wakeup_calls *calls, struct wakeup **ret)
{
        struct wakeup *w = calloc(1, sizeof(*w));
        if (!w)
                return -ENOMEM;

        w->calls = *calls;
        w->armed = INSTANT_NONE;
        w->offset_ns = wall_offset_ns();
        w->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        int r = w->fd < 0 ? -errno : uv_poll_init(loop, &w->poll, w->fd);
        if (r < 0) {
                if (w->fd >= 0)
                        (void) close(w->fd);
                free(w);
                return r;
        }

        w->poll.data = w;
        (void) uv_poll_start(&w->poll, UV_READABLE, on_readable);
        *ret = w;
        return 0;
}

int wakeup_arm(struct wakeup *w, struct instant at)
{
        if (at.ms == w->armed.ms)
                return 0;

        struct itimerspec when = { { 0, 0 }, { 0, 0 } };
        if (!instant_is_none(at)) {
                /* Zero would switch the timer off; the first nanosecond of 1970 is as good for what is past. */
                int64_t ns = at.ms > 0 ? at.ms * NS_PER_MS : 1;
                when.it_value.tv_sec = ns / NS_PER_S;
                when.it_value.tv_nsec = ns % NS_PER_S;
        }
        /* ECANCELED tells of a step since the last call; the timer is set nevertheless and readable at once. */
        if (timerfd_settime(w->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL) < 0 &&
            errno != ECANCELED)
                return -errno;
        w->armed = at;
        return 0;
}

static void on_closed(uv_handle_t *h)
{
        struct wakeup *w = h->data;
        void (*closed)(void *) = w->closed;
        void *arg = w->closed_arg;

        (void) close(w->fd);
        free(w);
        closed(arg);
}

void wakeup_close(struct wakeup *w, void (*closed)(void *arg), void *arg)
{
        w->closed = closed;
        w->closed_arg = arg;
        (void) uv_poll_stop(&w->poll);
        uv_close((uv_handle_t *) &w->poll, on_closed);
}
