/* The floor for the CPU of a once-per-interval task: four bare processes, each with its own timerfd on the grid, and
 * one word in shared memory that says who was first. Prints the CPU of the four in microseconds per run.
 * usage: floor_cpu PROCESSES EVERY_MS RUNS */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>

#include "t/bench/crew.h"
#include "t/bench/times.h"

#include <sys/mman.h>
#include <unistd.h>

struct job {
        int64_t every_ns;
        _Atomic int64_t *cursor;
};

static int64_t run_on(struct crew_member *m, void *arg)
{
        const struct job *j = arg;
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
        int64_t runs = 0;

        crew_begin(m);
        while (crew_goes_on(m)) {
                int64_t planned = (times_wall_ns() / j->every_ns + 1) * j->every_ns;
                struct itimerspec at = { .it_value = { planned / 1000000000, planned % 1000000000 } };
                uint64_t ticks;
                if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 || read(fd, &ticks, sizeof(ticks)) < 0)
                        return -1;
                int64_t before = atomic_load(j->cursor);
                if (before < planned && atomic_compare_exchange_strong(j->cursor, &before, planned))
                        runs++;
        }
        (void) close(fd);
        return runs;
}

int main(int argc, char **argv)
{
        struct crew_sum sum;

        if (argc != 4)
                return 64;
        struct job j = { .every_ns = atoll(argv[2]) * 1000000 };
        int64_t seconds = atoll(argv[3]) * atoll(argv[2]) / 1000;
        j.cursor = mmap(NULL, sizeof(*j.cursor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (j.cursor == MAP_FAILED || j.every_ns <= 0 || crew_run(atoi(argv[1]), seconds, run_on, &j, &sum) < 0)
                return 71;
        crew_print(&sum);
        return 0;
}
