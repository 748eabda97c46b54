/* Preloaded into a node under test: another time than the machine's, which the test sets while the node runs.
 * The file named by ONCED_FLOW_CLOCK is mapped by every process: how far the wall clock and the clock that counts
 * suspend are ahead, and how often they were set. What the kernel does when its clock is set is done here: timers on
 * the wall clock move with it, and those that asked to be told of it are: once, by a read or by the next
 * timerfd_settime, which takes the notice away. By system calls alone: libraries read the clock before anything of
 * ours, or of a sanitizer, has begun. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "t/shim_time.h"

#define TIMERS 8
#define LOOK_NS 1000000   /* how long a step may stay unnoticed */

/* clockwork.py writes it in this layout; `steps` last. */
struct control {
        int64_t wall_ns;    /* CLOCK_REALTIME is this much ahead */
        int64_t boot_ns;    /* CLOCK_BOOTTIME: time spent in suspend */
        uint64_t steps;
};

struct timer {
        int fd;
        bool used, is_wall;
        bool tells;              /* TFD_TIMER_CANCEL_ON_SET */
        bool has_news;           /* the clock was set, and nobody was told */
        bool is_absolute;
        struct itimerspec at;    /* as it was asked for */
};

static const volatile struct control *control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timer timers[TIMERS];
static int watched_by;           /* the process that has a watching thread */

__attribute__((constructor)) static void shim_begin(void)
{
        const char *path = getenv("ONCED_FLOW_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
                return;
        void *map = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
        (void) close(fd);
        if (map != MAP_FAILED)
                control = map;
}

static int64_t ahead_ns(clockid_t id)
{
        if (!control)
                return 0;
        if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
                return control->wall_ns;
        return id == CLOCK_BOOTTIME ? control->boot_ns : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
        int r = (int) syscall(SYS_clock_gettime, id, ts);

        if (r == 0 && ahead_ns(id))
                shift(ts, ahead_ns(id));
        return r;
}

/* All below: with the lock held. */

static struct timer *find(int fd)
{
        for (int i = 0; i < TIMERS; i++)
                if (timers[i].used && timers[i].fd == fd)
                        return &timers[i];
        return NULL;
}

static int set(const struct timer *t)
{
        struct itimerspec at = t->at;
        bool is_on = at.it_value.tv_sec || at.it_value.tv_nsec;

        if (is_on && t->is_absolute)
                shift(&at.it_value, -ahead_ns(t->is_wall ? CLOCK_REALTIME : CLOCK_BOOTTIME));
        return (int) syscall(SYS_timerfd_settime, t->fd, t->is_absolute ? TFD_TIMER_ABSTIME : 0, &at, NULL);
}

static void tell(struct timer *t)
{
        static const struct itimerspec now = { { 0, 0 }, { 0, 1 } };

        t->has_news = true;
        (void) syscall(SYS_timerfd_settime, t->fd, TFD_TIMER_ABSTIME, &now, NULL);
}

static void *watch(void *arg)
{
        static const struct timespec pause = { 0, LOOK_NS };
        uint64_t seen = *(uint64_t *) arg;

        free(arg);
        for (;;) {
                (void) nanosleep(&pause, NULL);
                if (control->steps == seen)
                        continue;
                (void) pthread_mutex_lock(&lock);
                seen = control->steps;
                for (int i = 0; i < TIMERS; i++) {
                        if (timers[i].used && timers[i].tells)
                                tell(&timers[i]);
                        else if (timers[i].used)
                                (void) set(&timers[i]);
                }
                (void) pthread_mutex_unlock(&lock);
        }
        return NULL;
}

/* A thread of its own in each process that has a timer on the wall clock; none elsewhere, since a master has to fork
 * with one thread. */
static void begin_watch(void)
{
        uint64_t *seen = malloc(sizeof(*seen));
        pthread_t thread;
        sigset_t all, before;

        if (!seen || watched_by == getpid())
                abort();
        watched_by = getpid();
        *seen = control->steps;
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&thread, NULL, watch, seen) != 0)
                abort();
        (void) pthread_detach(thread);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int timerfd_create(int id, int flags)
{
        int fd = (int) syscall(SYS_timerfd_create, id, flags);

        if (fd < 0 || !control || (id != CLOCK_REALTIME && id != CLOCK_BOOTTIME))
                return fd;
        (void) pthread_mutex_lock(&lock);
        struct timer *t = find(fd);   /* of before a fork, or a descriptor that was closed: the number is used anew */
        for (int i = 0; i < TIMERS && !t; i++)
                if (!timers[i].used)
                        t = &timers[i];
        if (!t)
                abort();
        *t = (struct timer) { .fd = fd, .used = true, .is_wall = id == CLOCK_REALTIME };
        if (t->is_wall)
                begin_watch();
        (void) pthread_mutex_unlock(&lock);
        return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
        (void) pthread_mutex_lock(&lock);
        struct timer *t = find(fd);
        if (!t) {
                (void) pthread_mutex_unlock(&lock);
                return (int) syscall(SYS_timerfd_settime, fd, flags, at, old);
        }
        t->at = *at;
        t->is_absolute = flags & TFD_TIMER_ABSTIME;
        t->tells = t->is_wall && t->is_absolute && (flags & TFD_TIMER_CANCEL_ON_SET);
        int r = set(t);
        bool is_on = at->it_value.tv_sec || at->it_value.tv_nsec;
        if (r == 0 && is_on && t->tells && t->has_news) {
                t->has_news = false;
                errno = ECANCELED;
                r = -1;
        }
        (void) pthread_mutex_unlock(&lock);
        return r;
}

ssize_t read(int fd, void *buf, size_t count)
{
        ssize_t n = syscall(SYS_read, fd, buf, count);
        int error = errno;

        if (!control)
                return n;
        (void) pthread_mutex_lock(&lock);
        struct timer *t = find(fd);
        if (t && t->has_news) {
                t->has_news = false;
                (void) set(t);
                error = ECANCELED;
                n = -1;
        }
        (void) pthread_mutex_unlock(&lock);
        errno = error;
        return n;
}

int close(int fd)
{
        (void) pthread_mutex_lock(&lock);
        struct timer *t = find(fd);
        if (t)
                t->used = false;
        (void) pthread_mutex_unlock(&lock);
        return (int) syscall(SYS_close, fd);
}
