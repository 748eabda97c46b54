/* ppoll over a signalfd, a timerfd and the children's descriptors. */
#include "supervisor/events.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct watched {
        enum watch what;
        unsigned slot;
};

int events_open(struct events *e, const sigset_t *signals)
{
        *e = (struct events) { .signals = -1, .timer = -1 };
        e->signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (e->signals < 0)
                return -errno;
        e->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        return e->timer < 0 ? -errno : 0;
}

void events_close(struct events *e)
{
        if (e->signals >= 0)
                (void) close(e->signals);
        if (e->timer >= 0)
                (void) close(e->timer);
        free(e->polls);
        free(e->watched);
        *e = (struct events) { .signals = -1, .timer = -1 };
}

static int make_room(struct events *e, size_t n)
{
        if (n <= e->room)
                return 0;
        struct pollfd *p = realloc(e->polls, 2 * n * sizeof(*p));
        if (!p)
                return -ENOMEM;
        e->polls = p;
        struct watched *w = realloc(e->watched, 2 * n * sizeof(*w));
        if (!w)
                return -ENOMEM;
        e->watched = w;
        e->room = 2 * n;
        return 0;
}

int events_clear(struct events *e, size_t more)
{
        int r = make_room(e, more + 2);

        if (r < 0)
                return r;
        e->count = 0;
        events_watch(e, e->signals, WATCH_SIGNALS, 0);
        events_watch(e, e->timer, WATCH_TIMER, 0);
        return 0;
}

/* The kernel refuses more entries than descriptors are allowed, and most slots are empty. */
void events_watch(struct events *e, int fd, enum watch what, unsigned slot)
{
        if (fd < 0)
                return;
        e->polls[e->count] = (struct pollfd) { .fd = fd, .events = POLLIN };
        e->watched[e->count++] = (struct watched) { what, slot };
}

static int timer_set(int timer, struct mono wake)
{
        int64_t ns = wake.ns > 0 ? wake.ns : 1;   /* 0 would disarm it */
        const struct itimerspec at = { .it_value = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S } };

        /* Setting it also takes back that it has gone off. */
        return timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

int events_wait(struct events *e, struct mono wake, bool at_once)
{
        const struct timespec none = { 0 };

        int r = timer_set(e->timer, wake);
        if (r < 0)
                return r;
        if (ppoll(e->polls, e->count, at_once ? &none : NULL, NULL) < 0 && errno != EINTR)
                return -errno;
        return 0;
}

void events_answer(const struct events *e, void (*answer)(void *arg, enum watch what, unsigned slot, int fd),
                   void *arg)
{
        for (int what = WATCH_LIFE; what <= WATCH_TIMER; what++)
                for (size_t i = 0; i < e->count; i++)
                        if (e->polls[i].revents && (int) e->watched[i].what == what)
                                answer(arg, e->watched[i].what, e->watched[i].slot, e->polls[i].fd);
}
