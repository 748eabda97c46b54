/* Signals that ask a process to end, as SIGTERM to one worker, or to the whole process group: it drains, as if the master
 * had said so. Read by a signalfd, since libuv's table of signals is shared by all loops of a process and its forks. */
#ifndef ONCED_TERMINATE_H
#define ONCED_TERMINATE_H

#include <signal.h>
#include <uv.h>

struct terminate;

/* Before any thread is started: the signals of the set are blocked from here on, in threads as well. */
int terminate_open(uv_loop_t *loop, const sigset_t *signals, void (*asked)(int signum, void *arg), void *arg,
                   struct terminate **ret);
void terminate_close(struct terminate *t, void (*closed)(void *arg), void *arg);

#endif
