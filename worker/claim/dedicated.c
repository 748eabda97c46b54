/* The dedicated way: only the elected timer worker asks. Being elected decides nothing: the term does, which
 * the ledger compares, so that a stopped leader that wakes up finds itself old. */
#include <errno.h>
#include <stdlib.h>

#include "worker/claim/ask.h"

static int dedicated_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        struct claimer *cr = calloc(1, sizeof(*cr));

        if (!cr)
                return -ENOMEM;
        *cr = (struct claimer) { .kind = &claim_dedicated, .options = o, .ledger = l };
        *ret = cr;
        return 0;
}

static void on_answered(struct claim *c)
{
        c->done(c);
}

static void dedicated_ask(struct claimer *cr, struct claim *c)
{
        c->answered = on_answered;
        ask_ledger(cr, c);
}

static void dedicated_close(struct claimer *cr)
{
        free(cr);
}

const struct claim_kind claim_dedicated = {
        .name = "dedicated", .path = PATH_DEDICATED,
        .open = dedicated_open, .ask = dedicated_ask, .hurry = ask_hurry, .close = dedicated_close,
};
