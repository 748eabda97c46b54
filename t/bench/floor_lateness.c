/* The floor for lateness: one bare process, one absolute realtime timerfd on the grid, and after each wake-up one
 * bare claim: a commit or an EVALSHA; none for plain timers. What has been claimed is ended when its lateness is
 * known, as the product does. Prints one lateness in microseconds a line.
 * usage: floor_lateness EVERY_MS COUNT none
 *        floor_lateness EVERY_MS COUNT sqlite FOLDER full|process
 *        floor_lateness EVERY_MS COUNT redis URL APP */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "t/bench/bare.h"
#include "t/bench/crew.h"
#include "t/bench/times.h"

struct job {
        struct book_place place;
        struct instant first;
};

static int64_t prepare(struct crew_member *m, void *arg)
{
        const struct job *j = arg;

        crew_begin(m);
        return book_prepare(&j->place, 1, 1, j->first);
}

static int wait_until(int fd, int64_t ns)
{
        struct itimerspec at = { .it_value = { ns / 1000000000, ns % 1000000000 } };
        uint64_t ticks;

        return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 || read(fd, &ticks, sizeof(ticks)) < 0 ? -1 : 0;
}

static int measure(const struct job *j, int64_t every_ns, long count, int64_t *late)
{
        bool claims = strcmp(j->place.store, "none") != 0;
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC), r = fd < 0 ? -1 : 0;
        struct bare b;
        struct due d;

        if (r == 0 && claims)
                r = bare_open(&b, &j->place);
        due_begin(&d, 0, 0, j->first);
        for (long i = 0; i < count && r == 0; i++) {
                int64_t planned = (times_wall_ns() / every_ns + 1) * every_ns;
                if (wait_until(fd, planned) < 0)
                        return -1;
                if (claims) {
                        due_next(&d);
                        r = bare_turn(&b, NULL, 0, &d, 1);
                }
                late[i] = (times_wall_ns() - planned) / 1000;
                if (claims && r == 0)
                        r = bare_turn(&b, &d, 1, NULL, 0);
        }
        if (r == 0 && claims)
                bare_close(&b);
        return r;
}

int main(int argc, char **argv)
{
        struct crew_sum sum;

        if (argc < 4 || (argc != 4 && argc != 6))
                return 64;
        int64_t every = atoll(argv[1]) * 1000000;
        long count = atol(argv[2]);
        struct job j = { .place = { .store = argv[3] },
                         .first = { times_wall_ns() / NS_PER_S * MS_PER_S - DUE_BACK } };
        if (argc == 6) {
                j.place.where = argv[4];
                j.place.full = strcmp(argv[5], "full") == 0;
                (void) snprintf(j.place.app, sizeof(j.place.app), "%s", argv[5]);
        }
        int64_t *late = calloc((size_t) (count > 0 ? count : 1), sizeof(*late));
        if (!late || every <= 0 || (argc == 6 && crew_run(1, 1, prepare, &j, &sum) < 0) ||
            measure(&j, every, count, late) < 0)
                return 71;
        for (long i = 0; i < count; i++)
                (void) printf("%lld\n", (long long) late[i]);
        free(late);
        return 0;
}
