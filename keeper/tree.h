/* The descendants of this process, found through /proc and signalled. */
#ifndef ONCED_KEEPER_TREE_H
#define ONCED_KEEPER_TREE_H

#include <sys/types.h>

/* Sends `sig` to every descendant that can be found now; 0 only counts. Returns how many were found, or
 * -errno when the children of this process cannot be read. A tree that forks meanwhile needs another call: SIGTERM
 * goes to each but once, since many programs take a second one for an order to hurry. */
int tree_signal(int sig);

#endif
