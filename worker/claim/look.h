/* Looking at a unit again while it is held by one who is watched: a holder that died is seen to be dead after a lease
 * and a fifth, whatever the period of the task. Nothing is decided by looking; the next claim may take over. */
#ifndef ONCED_LOOK_H
#define ONCED_LOOK_H

struct claimer;
struct look;
struct unit;

struct looks {
        struct claimer *claimer;     /* borrowed: it has us in it */
        struct look *first;          /* owned; one a unit that is looked at */
};

/* The unit is held, and watched: it is looked at each third of its lease until it is free or has another holder. */
void look_begin(struct looks *all, struct unit *u);

/* The ledger is closed, nothing is waited for. */
void looks_done(struct looks *all);

#endif
