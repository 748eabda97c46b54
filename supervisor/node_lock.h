/* `state_dir`/node.lock: one instance a state folder. The lock belongs to the open file, which every child
 * inherits and nobody unlocks: it is free when the master and all of its workers and keepers are gone. */
#ifndef ONCED_NODE_LOCK_H
#define ONCED_NODE_LOCK_H

#include <stdint.h>

/* Takes it for this process and writes pid and start into it. The holder's master lives: refused at once. It
 * is dead, but workers or keepers of it linger: waited for, up to `wait_ms`. Logs why it fails.
 * 0 with the descriptor, or an exit code (EXIT_HELD, EXIT_CANTCREAT; EXIT_FINE + *ret_fd -1: a signal to stop
 * came while waiting). */
int node_lock_take(const char *state_dir, int64_t wait_ms, int *ret_fd);

#endif
