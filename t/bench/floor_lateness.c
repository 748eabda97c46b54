/* The floor for lateness: one bare process, one absolute realtime timerfd on the grid, and after each wake-up bare
 * claims of all units, so many in a commit or an EVALSHA; none for plain timers. What has been claimed is ended when
 * its lateness is known, as the product does. Prints one lateness in microseconds a line.
 * usage: floor_lateness EVERY_MS COUNT none
 *        floor_lateness EVERY_MS COUNT sqlite FOLDER full|process UNITS
 *        floor_lateness EVERY_MS COUNT redis URL APP UNITS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "t/bench/bare.h"
#include "t/bench/crew.h"
#include "t/bench/times.h"

#define BATCH 64

struct job {
        struct book_place place;
        int units;
        struct instant first;
        int64_t every_ns, *late;
        long count;
        struct due *dues;
};

static int64_t prepare(struct crew_member *m, void *arg)
{
        const struct job *j = arg;

        crew_begin(m);
        return book_prepare(&j->place, 1, j->units, j->first);
}

static int wait_until(int fd, int64_t ns)
{
        struct itimerspec at = { .it_value = { ns / 1000000000, ns % 1000000000 } };
        uint64_t ticks;

        return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 || read(fd, &ticks, sizeof(ticks)) < 0 ? -1 : 0;
}

static int batch_of(const struct job *j, int from)
{
        return j->units - from < BATCH ? j->units - from : BATCH;
}

/* One instant of all units: claimed, noted, ended. */
static int instant_serve(struct job *j, struct bare *b, int64_t planned, int64_t *late)
{
        int r = 0;

        for (int u = 0, n; u < j->units && r == 0; u += n) {
                n = batch_of(j, u);
                for (int i = 0; i < n; i++)
                        due_next(&j->dues[u + i]);
                r = bare_turn(b, NULL, 0, &j->dues[u], n);
                for (int i = 0; i < n; i++)
                        late[u + i] = (times_wall_ns() - planned) / 1000;
        }
        for (int u = 0, n; u < j->units && r == 0; u += n) {
                n = batch_of(j, u);
                r = bare_turn(b, &j->dues[u], n, NULL, 0);
        }
        return r;
}

static int measure(struct job *j)
{
        bool claims = strcmp(j->place.store, "none") != 0;
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC), r = fd < 0 ? -1 : 0;
        struct bare b;

        if (r == 0 && claims)
                r = bare_open(&b, &j->place);
        for (long i = 0; i < j->count && r == 0; i++) {
                int64_t planned = (times_wall_ns() / j->every_ns + 1) * j->every_ns;
                r = wait_until(fd, planned);
                if (r == 0 && claims)
                        r = instant_serve(j, &b, planned, &j->late[i * j->units]);
                else
                        j->late[i] = (times_wall_ns() - planned) / 1000;
        }
        if (r == 0 && claims)
                bare_close(&b);
        return r;
}

int main(int argc, char **argv)
{
        struct crew_sum sum;

        if (argc != 4 && argc != 7)
                return 64;
        struct job j = { .place = { .store = argv[3] }, .every_ns = atoll(argv[1]) * 1000000, .count = atol(argv[2]),
                         .units = argc == 7 ? atoi(argv[6]) : 1,
                         .first = { times_wall_ns() / NS_PER_S * MS_PER_S - DUE_BACK } };
        if (argc == 7) {
                j.place.where = argv[4];
                j.place.full = strcmp(argv[5], "full") == 0;
                (void) snprintf(j.place.app, sizeof(j.place.app), "%s", argv[5]);
        }
        if (j.every_ns <= 0 || j.count < 1 || j.units < 1)
                return 64;
        j.late = calloc((size_t) j.count * (size_t) j.units, sizeof(*j.late));
        j.dues = calloc((size_t) j.units, sizeof(*j.dues));
        if (!j.late || !j.dues)
                return 71;
        for (int u = 0; u < j.units; u++)
                due_begin(&j.dues[u], 0, u, j.first);
        if ((argc == 7 && crew_run(1, 1, prepare, &j, &sum) < 0) || measure(&j) < 0)
                return 71;
        for (long i = 0; i < j.count * j.units; i++)
                (void) printf("%lld\n", (long long) j.late[i]);
        free(j.late);
        free(j.dues);
        return 0;
}
