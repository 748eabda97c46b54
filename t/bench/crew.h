/* Several processes that do the same work from one moment to another, and what they did together. */
#ifndef ONCED_BENCH_CREW_H
#define ONCED_BENCH_CREW_H

#include <stdbool.h>
#include <stdint.h>

struct crew_member {
        int index;
        int64_t until_ns;        /* CLOCK_MONOTONIC; 0 before crew_begin */
        int64_t cpu_begin_ns;
        struct crew_shared *shared;
};

struct crew_sum {
        uint64_t done;           /* of all members */
        int64_t cpu_ns;          /* of all members, from crew_begin to the end of their work */
        double seconds;
};

/* `work` runs in `count` forked processes: it prepares, calls crew_begin, works while crew_goes_on, and returns
 * how much it has done. 0, or -errno when one of them failed (work returned below 0, or it died). */
int crew_run(int count, int64_t seconds, int64_t (*work)(struct crew_member *m, void *arg), void *arg,
             struct crew_sum *ret);

/* Waits until all members are prepared. */
void crew_begin(struct crew_member *m);
bool crew_goes_on(const struct crew_member *m);

/* One line of JSON: done, seconds, per_second, cpu_us (each). */
void crew_print(const struct crew_sum *s);

#endif
