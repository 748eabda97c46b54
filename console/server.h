/* HTTP on a listening socket, in a libuv loop, by libmicrohttpd. It never blocks; sizes, numbers and times of
 * connections are limited. */
#ifndef ONCED_SERVER_H
#define ONCED_SERVER_H

#include <uv.h>

struct api;
struct server;

#define SERVER_CONNECTIONS 128
#define SERVER_IDLE_S      10       /* a connection without any byte */
#define SERVER_MEMORY      16384    /* a request line with its headers */

/* `listener` and `api` are borrowed. */
int server_open(uv_loop_t *loop, int listener, struct api *api, struct server **ret);

/* Ends all connections; nobody may wait for the api any more. The listener stays as it is: its other owners go
 * on with it. `closed` runs later, once, on the loop. */
void server_close(struct server *s, void (*closed)(void *arg), void *arg);

#endif
