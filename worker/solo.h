/* A worker without a master: a bounded number of rounds in one process. In a round every unit is looked at once, what
 * the policies say is run, and all of it is waited for. It is master enough to elect itself, and no more. */
#ifndef ONCED_SOLO_H
#define ONCED_SOLO_H

#include <signal.h>
#include <stdint.h>

#include "common/channel/channel.h"

struct birth;
struct solo;

struct solo_options {
        const char *role;        /* "once" or "work": its name in logs */
        unsigned rounds;
        int64_t interval_ms;     /* from the begin of one round to that of the next; a longer one takes several */
};

/* The whole life; `b` has no channel and no tree pipe. An exit code: EXIT_FAILED when a run or a ledger failed. */
int solo_run(const struct birth *b, const struct solo_options *o);

/* For the worker inside, which answers to it. */
const char *solo_role(const struct solo *so);
void solo_signals(sigset_t *ret);                        /* those that end it */
void solo_told(struct solo *so, enum message_type type);
void solo_asked(struct solo *so, int signum);            /* by a signal */
void solo_turn(struct solo *so);                         /* a turn of the loop ends */
void solo_end(struct solo *so);                          /* the worker closes; its delays are needed no more */

#endif
