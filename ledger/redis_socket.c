/* Options of the socket to Redis. */
#include "ledger/redis_socket.h"

#include "common/file.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define KEEPALIVE_IDLE_S  30
#define KEEPALIVE_EVERY_S 10
#define KEEPALIVE_TRIES   3

static void set(int fd, int level, int option, int value)
{
        (void) setsockopt(fd, level, option, &value, sizeof(value));
}

void redis_socket_tune(int fd, bool tcp, unsigned silence_ms)
{
        (void) fd_cloexec(fd, 1);
        if (!tcp)
                return;
        set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int) silence_ms);
        set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
        set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TRIES);
}
