/* What all ways to claim share: a request to the ledger, its retries, and the revoking of its token. */
#ifndef ONCED_ASK_H
#define ONCED_ASK_H

#include "worker/claim/claim.h"

/* Asks the ledger. `c->answered` runs once, later: by then the outcome is certain. */
void ask_ledger(struct claimer *cr, struct claim *c);

/* Ends the claim without the ledger. Only from the loop, after claim_ask has returned. */
void ask_end(struct claim *c, enum outcome outcome, const char *why);

/* Ends it as decided before: the cursor is at its instant. */
void ask_end_done(struct claim *c);

/* A sibling is at it: said once. */
void ask_lost_local(struct claim *c);

/* A wait of the claim itself; `over` runs on the loop unless the claim ends before. */
void ask_wait(struct claimer *cr, struct claim *c, int64_t ms, void (*over)(struct claim *c));

/* How long this worker waits, of those that lost to a sibling, before it looks again: not all look at once. */
int64_t ask_rank_ms(const struct claimer *cr);

/* The default way to hurry: an unanswered token is revoked, any other wait ends as LOST_LOCAL. */
void ask_hurry(struct claimer *cr, struct claim *c);

#endif
