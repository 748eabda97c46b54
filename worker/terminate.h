/* SIGTERM to one worker, or to the whole process group: it drains, as if the master had said so. Read by a
 * signalfd, since libuv's table of signals is shared by all loops of a process and its forks. */
#ifndef ONCED_TERMINATE_H
#define ONCED_TERMINATE_H

#include <uv.h>

struct terminate;

/* Before any thread is started: SIGTERM is blocked from here on, in threads as well. */
int terminate_open(uv_loop_t *loop, void (*asked)(void *arg), void *arg, struct terminate **ret);
void terminate_close(struct terminate *t, void (*closed)(void *arg), void *arg);

#endif
