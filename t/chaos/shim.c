/* Preloaded into a node under test: makes its disk slow or failing, and shifts the wall clock of single
 * processes, both while it runs and as the harness says. A clock set wrong is seen by the process alone:
 * absolute timers are shifted back, so that they fire when its own clock says so. */
#include "t/chaos/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "t/shim_time.h"

static const volatile struct shim_control *control;

static int (*real_fdatasync)(int);
static int (*real_fsync)(int);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_timerfd_settime)(int, int, const struct itimerspec *, struct itimerspec *);

__attribute__((constructor)) static void shim_begin(void)
{
        const char *path = getenv("ONCED_CHAOS_CONTROL");

        *(void **) &real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
        *(void **) &real_fsync = dlsym(RTLD_NEXT, "fsync");
        *(void **) &real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
        *(void **) &real_timerfd_settime = dlsym(RTLD_NEXT, "timerfd_settime");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
                return;
        void *map = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
        (void) close(fd);
        if (map != MAP_FAILED)
                control = map;
}

static int64_t skew_ns(void)
{
        if (!control)
                return 0;
        for (int i = 0; i < SHIM_SKEWS; i++)
                if (control->skews[i].pid && control->skews[i].pid == getpid())
                        return control->skews[i].ns;
        return 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
        /* Libraries read the clock in their constructors, before ours has run. */
        int r = real_clock_gettime ? real_clock_gettime(id, ts) : (int) syscall(SYS_clock_gettime, id, ts);

        if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
                shift(ts, skew_ns());
        return r;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
        struct itimerspec own = *at;
        int64_t ns = skew_ns();

        if (ns && (flags & TFD_TIMER_ABSTIME) && (own.it_value.tv_sec || own.it_value.tv_nsec))
                shift(&own.it_value, -ns);
        return real_timerfd_settime ? real_timerfd_settime(fd, flags, &own, old)
                                    : (int) syscall(SYS_timerfd_settime, fd, flags, &own, old);
}

static int sync_as_told(int (*real)(int), long number, int fd)
{
        int delay_ms = control ? control->sync_delay_ms : 0, error = control ? control->sync_error : 0;
        struct timespec wait = { delay_ms / 1000, delay_ms % 1000 * 1000000L };

        if (delay_ms > 0)
                (void) nanosleep(&wait, NULL);
        if (error) {
                errno = error;
                return -1;
        }
        return real ? real(fd) : (int) syscall(number, fd);
}

int fdatasync(int fd)
{
        return sync_as_told(real_fdatasync, SYS_fdatasync, fd);
}

int fsync(int fd)
{
        return sync_as_told(real_fsync, SYS_fsync, fd);
}
