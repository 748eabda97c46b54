/* One claim of a real kind against a ledger that the test plays. */
#ifndef ONCED_CLAIM_RIG_H
#define ONCED_CLAIM_RIG_H

#include <stdio.h>

#include "t/unit/worker/rig.h"

extern struct rig *const r;
extern struct claim *const c;
extern struct claimer *claimer;
extern unsigned done_count, lost_local, lease_late, lease_lost;   /* what it told */
extern char run_dir[64];

int claim_rig_up(void **state);
int claim_rig_down(void **state);

/* Asks, in this way. */
void begin(const struct claim_kind *kind);

/* Answers to the newest call. */
void grant_call(void);
void answer_call(enum outcome outcome);
void revoke_call(enum revoked revoked);

/* Lets the loop run until another call was sent; fails after two seconds. */
void until_called(unsigned before);

#endif
