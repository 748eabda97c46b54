/* The API's unix socket, bound by the master and given to the console, so that a new console finds all
 * connections that waited for it. */
#ifndef ONCED_LISTENER_H
#define ONCED_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

struct listener {
        int fd;            /* owned; -1 none */
        char path[108];    /* "": given by the service manager, whose file it is */
        dev_t device;
        ino_t inode;
};

/* Takes the socket that the service manager passed (LISTEN_FDS), or binds `run_dir`/onced.sock. A path nobody
 * listens at any more is replaced; one where somebody answers is left alone: -EADDRINUSE. Logs why it fails. */
int listener_open(struct listener *l, const char *run_dir, mode_t mode);

/* Looks whether the path still names this socket. 0: it does; 1: it did not, and is bound anew with another
 * descriptor, the one before is closed; -errno: it could not be, nothing changed. Logs nothing. */
int listener_follow(struct listener *l, const char *run_dir, mode_t mode);

/* Closes it; the file goes too when it is still the one bound here. */
void listener_close(struct listener *l);

#endif
