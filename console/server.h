/* HTTP on a listening socket, in a libuv loop, by libmicrohttpd. It never blocks; sizes, numbers and times of
 * connections are limited. */
#ifndef ONCED_SERVER_H
#define ONCED_SERVER_H

#include <uv.h>

struct api;
struct server;

#define SERVER_MEMORY 16384    /* a request line with its headers */

struct server_limits {
        unsigned connections;  /* further ones wait in the socket's backlog */
        unsigned idle_s;       /* a connection without any byte is ended after this */
};

#define SERVER_LIMITS ((struct server_limits) { 128, 10 })

/* `listener` and `api` are borrowed. */
int server_open(uv_loop_t *loop, int listener, struct api *api, struct server_limits limits, struct server **ret);

/* Ends all connections; nobody may wait for the api any more. The listener stays as it is: its other owners go
 * on with it. `closed` runs later, once, on the loop. */
void server_close(struct server *s, void (*closed)(void *arg), void *arg);

#endif
