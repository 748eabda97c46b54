/* No claim at all: every worker runs every instant, the plain timer of a process. Nothing is asked and
 * nothing is remembered; overlap is counted in this process alone. The log shows what that comes to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "worker/claim/ask.h"
#include "worker/unit.h"

static int none_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        struct claimer *cr = calloc(1, sizeof(*cr));
        (void) l;

        if (!cr)
                return -ENOMEM;
        *cr = (struct claimer) { .kind = &claim_none, .options = o };
        *ret = cr;
        return 0;
}

static bool overlaps(const struct unit *u)
{
        const struct overlap *o = &u->of->task->overlap;

        return u->running >= (o->policy == OVERLAP_CONCURRENT ? o->max_running : 1);
}

static void decide(struct claim *c)
{
        c->answer.cursor = instant_is_none(c->planned) ? c->gap.last : c->planned;
        c->answer.gap_written = c->gap.count > 0;
        if (instant_is_none(c->planned)) {
                ask_end(c, OUTCOME_DECIDED, "");
        } else if (overlaps(c->unit)) {
                c->answer.state = STATE_SKIPPED;
                c->answer.cause = CAUSE_OVERLAP;
                ask_end(c, OUTCOME_DECIDED, "");
        } else {
                (void) snprintf(c->answer.fence, sizeof(c->answer.fence), "0");
                ask_end(c, OUTCOME_GRANTED, "");
        }
}

static void on_decided(struct claim *c)
{
        c->done(c);
}

static void none_ask(struct claimer *cr, struct claim *c)
{
        c->answered = on_decided;
        ask_wait(cr, c, 0, decide);
}

static void none_hurry(struct claimer *cr, struct claim *c)
{
        (void) cr;   /* the answer comes in this turn or the next */
        (void) c;
}

static void none_close(struct claimer *cr)
{
        free(cr);
}

const struct claim_kind claim_none = {
        .name = "none", .path = PATH_NONE,
        .open = none_open, .ask = none_ask, .hurry = none_hurry, .close = none_close,
};
