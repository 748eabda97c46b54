/* Signals and operators ask the same things: one table from signal to verb, one place that answers verbs. */
#ifndef ONCED_VERB_H
#define ONCED_VERB_H

#include <signal.h>

#include "common/channel/channel.h"

/* VERB_NONE: nothing is asked by it. */
enum verb verb_of_signal(int signum);
const char *verb_name(enum verb v);

/* All signals that the master reads instead of being interrupted by. */
void verb_signals(sigset_t *ret);

#endif
