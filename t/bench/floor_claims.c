/* The floor for claims: the same rows, or the same scripts, by a bare program.
 * usage: as of claims */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/bare.h"
#include "t/bench/crew.h"
#include "t/bench/times.h"

#define BATCH_MAX 64

struct job {
        struct book_place place;
        int batch, processes;
        struct instant first;
};

static int turn(struct bare *b, struct due *dues, int batch, bool first)
{
        struct due before[BATCH_MAX];

        memcpy(before, dues, (size_t) batch * sizeof(*dues));
        for (int i = 0; i < batch; i++)
                due_next(&dues[i]);
        return bare_turn(b, before, first ? 0 : batch, dues, batch);
}

static int64_t claim_on(struct crew_member *m, void *arg)
{
        const struct job *j = arg;
        struct due dues[BATCH_MAX];
        struct bare b;
        int64_t done = 0;

        int r = bare_open(&b, &j->place);
        for (int i = 0; i < j->batch; i++)
                due_begin(&dues[i], m->index, i, j->first);
        if (r == 0)
                r = turn(&b, dues, j->batch, true);
        crew_begin(m);
        while (r == 0 && crew_goes_on(m)) {
                r = turn(&b, dues, j->batch, false);
                done += j->batch;
        }
        bare_close(&b);
        return r < 0 ? r : done;
}

/* Tables and scripts are the product's own. In a process of its own, so that the members fork from one without
 * threads. */
static int64_t prepare(struct crew_member *m, void *arg)
{
        const struct job *j = arg;

        crew_begin(m);
        return book_prepare(&j->place, j->processes, j->batch, j->first);
}

int main(int argc, char **argv)
{
        struct crew_sum sum;

        if (argc != 7)
                return 64;
        struct job j = { .place = { .store = argv[1], .where = argv[2], .full = strcmp(argv[3], "full") == 0 },
                         .batch = atoi(argv[4]), .processes = atoi(argv[5]),
                         .first = { times_wall_ns() / NS_PER_S * MS_PER_S - DUE_BACK } };
        (void) snprintf(j.place.app, sizeof(j.place.app), "%s", argv[3]);
        if (j.batch < 1 || j.batch > BATCH_MAX)
                return 64;
        int r = crew_run(1, 1, prepare, &j, &sum);
        if (r == 0)
                r = crew_run(j.processes, atoi(argv[6]), claim_on, &j, &sum);
        if (r < 0)
                return 71;
        crew_print(&sum);
        return 0;
}
