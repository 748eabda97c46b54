/* Which worker is the timer worker. Election only places work; the ledger, by its terms, settles it. */
#ifndef ONCED_ELECT_H
#define ONCED_ELECT_H

struct slot;

/* Index of the worker to lead now, -1 when none can. `leader` (-1 none) stays while it is ready. */
int elect(const struct slot *workers, unsigned count, int leader);

#endif
