/* Names as a worker makes them. */
#include "t/bench/due.h"

#include <inttypes.h>
#include <stdio.h>

void due_begin(struct due *d, int process, int unit, struct instant first)
{
        *d = (struct due) { .planned = first };
        (void) snprintf(d->task, sizeof(d->task), "t%d-%d", process, unit);
        (void) snprintf(d->owner, sizeof(d->owner), DUE_NODE ".%d.%d.1-aaaa", process, 100 + process);
}

void due_next(struct due *d)
{
        d->expect = d->planned;
        d->planned.ms += DUE_EVERY;
        d->seq++;
        occurrence_id("", d->task, 0, d->planned, d->occ);
        claim_token(d->owner, d->occ, d->token);
        trigger_id(d->owner, d->seq, d->trig);
}
