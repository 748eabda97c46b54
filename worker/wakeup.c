/* The timerfd behind the agenda, polled by the loop. */
#include "worker/wakeup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A clock that is disciplined in smaller portions keeps its instants well enough; they add up until they are told. */
#define JUMP_MIN_NS NS_PER_MS

/* How clocks stand to each other. Only a set clock changes `wall_ns`, only suspend `slept_ns`: slewing moves all of
 * them. `width_ns`: they were read one after the other, so much is not known. */
struct offsets {
        int64_t wall_ns;     /* wall clock over boot clock */
        int64_t slept_ns;    /* boot clock over the one that stands still in suspend */
        int64_t width_ns;
};

struct wakeup {
        uv_poll_t poll;
        int fd;                    /* owned */
        struct instant armed;      /* what the timer is set to; ARMED_UNKNOWN: it has run out */
        struct offsets offsets;    /* as they were told last */
        struct wakeup_calls calls;
        void (*closed)(void *arg);
        void *closed_arg;
};

/* The year 2200: what the kernel's nanoseconds hold. */
#define NEVER_MS 7258118400000LL

#define ARMED_UNKNOWN ((struct instant) { INT64_MIN + 1 })

static int64_t clock_awake_ns(void)
{
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t) ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static struct offsets offsets_once(void)
{
        int64_t before = clock_mono().ns;
        int64_t wall = clock_wall().ns, awake = clock_awake_ns();
        int64_t after = clock_mono().ns;

        return (struct offsets) { wall - before, before - awake, after - before };
}

/* Of three: whoever is not let run between two readings takes that for a jump. */
static struct offsets offsets_now(void)
{
        struct offsets best = offsets_once();

        for (int i = 0; i < 2; i++) {
                struct offsets o = offsets_once();
                if (o.width_ns < best.width_ns)
                        best = o;
        }
        return best;
}

static int64_t told(int64_t now, int64_t before, int64_t width)
{
        int64_t by = now - before;

        return by >= JUMP_MIN_NS + width || by <= -JUMP_MIN_NS - width ? by : 0;
}

/* Measured at every wake-up, and not at the kernel's notice alone: a timer that ran out in the same moment can be
 * seen first. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct wakeup *w = poll->data;
        struct offsets now = offsets_now();
        struct clock_jump jump = {
                .wall_ns = told(now.wall_ns, w->offsets.wall_ns, now.width_ns),
                .slept_ns = told(now.slept_ns, w->offsets.slept_ns, now.width_ns),
        };
        uint64_t expirations;
        (void) status;
        (void) events;

        if (read(w->fd, &expirations, sizeof(expirations)) < 0 && errno != ECANCELED)
                return;
        w->armed = ARMED_UNKNOWN;
        if (!jump.wall_ns && !jump.slept_ns) {
                w->calls.due(w->calls.arg);
                return;
        }
        w->offsets = now;
        w->calls.stepped(&jump, w->calls.arg);
}

int wakeup_open(uv_loop_t *loop, const struct wakeup_calls *calls, struct wakeup **ret)
{
        struct wakeup *w = calloc(1, sizeof(*w));
        if (!w)
                return -ENOMEM;

        w->calls = *calls;
        w->armed = ARMED_UNKNOWN;
        w->offsets = offsets_now();
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

static int set(const struct wakeup *w, int64_t ns)
{
        const struct itimerspec when = { .it_value = { ns / NS_PER_S, ns % NS_PER_S } };

        return timerfd_settime(w->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL) < 0 ? -errno : 0;
}

int wakeup_arm(struct wakeup *w, struct instant at)
{
        if (at.ms == w->armed.ms)
                return 0;

        /* Never off: a timer that is off takes the notice of a step with it. Nor zero, which would switch it off. */
        int64_t ns = instant_is_none(at) || at.ms > NEVER_MS ? NEVER_MS * NS_PER_MS : at.ms > 0 ? at.ms * NS_PER_MS : 1;
        int r = set(w, ns);
        if (r == -ECANCELED) {
                /* The clock was set since the last call, and this answer was the notice: the timer is set, but nothing
                 * is readable. So that the step is looked at, it runs out at once. */
                r = set(w, 1);
                w->armed = ARMED_UNKNOWN;
                return r == -ECANCELED ? 0 : r;
        }
        w->armed = at;
        return r;
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
