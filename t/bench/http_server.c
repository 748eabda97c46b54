/* A server that answers every request with 200 and two bytes, and does nothing else: the same for the product and
 * for the floor. One process, epoll, keep-alive.
 * usage: http_server      prints its port, and serves until its stdin ends */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 8192
#define CONNECTIONS_MAX 4096

struct connection {
        char bytes[REQUEST_MAX];
        size_t len;
};

static struct connection *connections[CONNECTIONS_MAX];

static void watch(int epoll, int fd)
{
        struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0)
                exit(71);
}

static void hang_up(int fd)
{
        free(connections[fd]);
        connections[fd] = NULL;
        (void) close(fd);
}

static void greet(int epoll, int listener)
{
        const int yes = 1;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        connections[fd < CONNECTIONS_MAX ? fd : 0] = fd < CONNECTIONS_MAX ? calloc(1, sizeof(struct connection)) : NULL;
        if (fd >= CONNECTIONS_MAX || !connections[fd]) {
                (void) close(fd);
                return;
        }
        (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        watch(epoll, fd);
}

/* Requests have no body: each ends with an empty line. */
static void serve(int fd)
{
        static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        struct connection *c = connections[fd];
        ssize_t n = read(fd, c->bytes + c->len, sizeof(c->bytes) - c->len);

        if (n <= 0) {
                if (n == 0 || errno != EAGAIN)
                        hang_up(fd);
                return;
        }
        c->len += (size_t) n;
        for (char *end; (end = memmem(c->bytes, c->len, "\r\n\r\n", 4)); ) {
                size_t used = (size_t) (end + 4 - c->bytes);
                memmove(c->bytes, c->bytes + used, c->len - used);
                c->len -= used;
                if (write(fd, answer, sizeof(answer) - 1) != (ssize_t) sizeof(answer) - 1) {
                        hang_up(fd);
                        return;
                }
        }
        if (c->len == sizeof(c->bytes))
                hang_up(fd);
}

static int listen_somewhere(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *) &at, len) < 0 || listen(fd, 1024) < 0 ||
            getsockname(fd, (struct sockaddr *) &at, &len) < 0)
                exit(71);
        (void) printf("%u\n", ntohs(at.sin_port));
        (void) fflush(stdout);
        return fd;
}

int main(void)
{
        struct epoll_event events[64];
        int epoll = epoll_create1(EPOLL_CLOEXEC), listener = listen_somewhere();

        watch(epoll, listener);
        watch(epoll, STDIN_FILENO);
        for (;;) {
                int n = epoll_wait(epoll, events, 64, -1);
                for (int i = 0; i < n; i++) {
                        int fd = events[i].data.fd;
                        if (fd == STDIN_FILENO)
                                return 0;
                        if (fd == listener)
                                greet(epoll, listener);
                        else if (connections[fd])
                                serve(fd);
                }
        }
}
