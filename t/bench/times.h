/* The two clocks of the bench programs, as plain nanoseconds. */
#ifndef ONCED_BENCH_TIMES_H
#define ONCED_BENCH_TIMES_H

#include <stdint.h>
#include <time.h>

static inline int64_t times_read(clockid_t clock)
{
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline int64_t times_wall_ns(void)
{
        return times_read(CLOCK_REALTIME);
}

static inline int64_t times_mono_ns(void)
{
        return times_read(CLOCK_MONOTONIC);
}

static inline int64_t times_cpu_ns(void)
{
        return times_read(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
