/* What the sockets of hiredis 0.14 lack: close-on-exec, and an end when the other host is silent. */
#ifndef ONCED_REDIS_SOCKET_H
#define ONCED_REDIS_SOCKET_H

#include <stdbool.h>

/* Nothing here can fail in a way that matters more than the connection itself: errors are passed over. */
void redis_socket_tune(int fd, bool tcp, unsigned silence_ms);

#endif
