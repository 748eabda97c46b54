/* Whose turn it is on this node to ask the group's ledger about an instant: one worker asks, its siblings stand in by
 * rank. common/scoreboard/asked.h has what they share; it saves requests and decides nothing. */
#ifndef ONCED_TURN_H
#define ONCED_TURN_H

#include "worker/claim/claim.h"

/* Asks the ledger now, or when a sibling that does so has had its time, or not at all when it was told that the
 * instant is decided. `c->answered` runs once, later. */
void turn_ask(struct claimer *cr, struct claim *c);

/* The claim was answered: the siblings learn what concerns them. */
void turn_answered(struct claim *c);

#endif
