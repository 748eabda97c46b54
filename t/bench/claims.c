/* Claims per second through the ledger's interface: each process claims a batch of units, finishes them together
 * with the next batch's claims, and so on, as a worker under load does.
 * usage: claims sqlite FOLDER full|process BATCH PROCESSES SECONDS    (FOLDER is empty)
 *        claims redis URL APP BATCH PROCESSES SECONDS */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/book.h"
#include "t/bench/crew.h"
#include "t/bench/times.h"

#define BATCH_MAX 64

struct job {
        struct book_place place;
        int batch, processes;
        struct instant first;
};

static int granted(struct ledger_call *calls, struct due *dues, int batch)
{
        for (int i = 0; i < batch; i++) {
                const struct claim_out *out = &calls[i].out.claim;
                if (out->outcome != OUTCOME_GRANTED) {
                        (void) fprintf(stderr, "claim: %s\n", outcome_names[out->outcome]);
                        return -EPROTO;
                }
                (void) snprintf(dues[i].fence, sizeof(dues[i].fence), "%s", out->fence);
        }
        return 0;
}

static int turn(struct book *b, struct due *dues, int batch, bool first)
{
        struct ledger_call calls[2 * BATCH_MAX];
        struct due before[BATCH_MAX];

        int ended = first ? 0 : batch;

        memcpy(before, dues, (size_t) batch * sizeof(*dues));
        for (int i = 0; i < ended; i++)
                book_finish(&before[i], &calls[i]);
        for (int i = 0; i < batch; i++) {
                due_next(&dues[i]);
                book_claim(&dues[i], &calls[ended + i]);
        }
        int r = book_call(b, calls, (size_t) (ended + batch));
        return r < 0 ? r : granted(calls + ended, dues, batch);
}

/* Checkpoints are the leader's: without one the log would grow for ever. */
static int lead(struct book *b)
{
        struct ledger_call c = { .op = LEDGER_LEAD };

        c.in.lead = (struct lead_in) { DUE_NODE, DUE_NODE ".0.100.1-aaaa", DUE_BOOT, DUE_LIFE };
        int r = book_call(b, &c, 1);
        ledger_call_done(&c);
        return r;
}

static int64_t claim_on(struct crew_member *m, void *arg)
{
        const struct job *j = arg;
        struct due dues[BATCH_MAX];
        struct book b;
        int64_t done = 0;

        int r = book_open(&b, &j->place);
        if (r == 0 && m->index == 0)
                r = lead(&b);
        for (int i = 0; i < j->batch; i++)
                due_begin(&dues[i], m->index, i, j->first);
        if (r == 0)
                r = turn(&b, dues, j->batch, true);
        crew_begin(m);
        while (r == 0 && crew_goes_on(m)) {
                r = turn(&b, dues, j->batch, false);
                done += j->batch;
        }
        book_close(&b);
        return r < 0 ? r : done;
}

/* In a process of its own, so that the members fork from one without threads. */
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
        if (r < 0) {
                (void) fprintf(stderr, "claims: %s\n", strerror(-r));
                return 71;
        }
        crew_print(&sum);
        return 0;
}
