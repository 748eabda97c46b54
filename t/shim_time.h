/* For what is preloaded to give a process another time: readers of the wall clock beside clock_gettime, which the
 * including file defines, and moving a time. Included by one file of each module. */
#ifndef ONCED_SHIM_TIME_H
#define ONCED_SHIM_TIME_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NS_A_SECOND 1000000000LL

static inline void shift(struct timespec *ts, int64_t ns)
{
        int64_t all = (int64_t) ts->tv_sec * NS_A_SECOND + ts->tv_nsec + ns;

        if (all < 1)
                all = 1;   /* zero would switch a timer off */
        ts->tv_sec = all / NS_A_SECOND;
        ts->tv_nsec = all % NS_A_SECOND;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
        struct timespec ts;

        (void) zone;
        (void) clock_gettime(CLOCK_REALTIME, &ts);
        tv->tv_sec = ts.tv_sec;
        tv->tv_usec = ts.tv_nsec / 1000;
        return 0;
}

time_t time(time_t *ret)
{
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        if (ret)
                *ret = ts.tv_sec;
        return ts.tv_sec;
}

#endif
