/* The floor for lateness: one bare process, one absolute realtime timerfd on the same grid, nothing else.
 * usage: floor_timerfd EVERY_MS COUNT; prints one lateness in microseconds a line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
        if (argc != 3)
                return 64;
        int64_t every = atoll(argv[1]) * 1000000;
        long count = atol(argv[2]);
        int64_t *late = calloc((size_t) count, sizeof(*late));
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
        if (!late || fd < 0 || every <= 0)
                return 71;
        for (long i = 0; i < count; i++) {
                uint64_t ticks;
                int64_t planned = (now_ns() / every + 1) * every;
                struct itimerspec at = { .it_value = { planned / 1000000000, planned % 1000000000 } };
                if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 || read(fd, &ticks, sizeof(ticks)) < 0)
                        return 71;
                late[i] = (now_ns() - planned) / 1000;
        }
        for (long i = 0; i < count; i++)
                printf("%lld\n", (long long) late[i]);
        free(late);
        return 0;
}
