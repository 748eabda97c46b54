/* Messages between the master and a child: see channel.h. One packet is one message; what does not look
 * like one is eaten and reported, never acted on. */
#include "common/channel/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for more descriptors than allowed, so that surplus ones are seen and closed, not leaked. */
#define CONTROL_FDS 8

int channel_send(int channel, const struct message *m, int fd)
{
        struct message out = *m;
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec iov = { .iov_base = &out, .iov_len = sizeof(out) };
        struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

        out.layout = CHANNEL_LAYOUT;
        if (fd >= 0) {
                memset(&control, 0, sizeof(control));
                h.msg_control = &control;
                h.msg_controllen = sizeof(control.room);
                struct cmsghdr *c = CMSG_FIRSTHDR(&h);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &fd, sizeof(int));
        }
        for (;;) {
                if (sendmsg(channel, &h, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                        return 0;
                if (errno == EINTR)
                        continue;
                if (errno == ECONNRESET || errno == ENOTCONN)
                        return -EPIPE;
                return errno == EWOULDBLOCK || errno == ENOBUFS ? -EAGAIN : -errno;
        }
}

/* The one descriptor of a message; surplus ones are closed and counted. */
static unsigned take_fds(struct msghdr *h, int *ret_fd)
{
        unsigned count = 0;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < n; i++) {
                        int fd;
                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        if (count++ == 0)
                                *ret_fd = fd;
                        else
                                (void) close(fd);
                }
        }
        return count;
}

static bool well_formed(const struct message *m, size_t len, int flags, unsigned fds)
{
        return len == sizeof(*m) && !(flags & (MSG_TRUNC | MSG_CTRUNC)) && fds <= 1 && m->layout == CHANNEL_LAYOUT &&
               m->type > MESSAGE_NONE && m->type < MESSAGE_TYPE_COUNT_ && m->trees_gone <= 1 &&
               memchr(m->owner, 0, sizeof(m->owner)) != NULL;
}

int channel_receive(int channel, struct message *ret, int *ret_fd)
{
        struct message m = { 0 };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(CONTROL_FDS * sizeof(int))];
        } control;
        struct iovec iov = { .iov_base = &m, .iov_len = sizeof(m) };
        struct msghdr h = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room),
        };
        ssize_t n;
        int fd = -1;

        do
                n = recvmsg(channel, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return 0;
        if (n < 0)
                return errno == ECONNRESET ? -EPIPE : -errno;

        unsigned fds = take_fds(&h, &fd);
        if (n == 0 || !well_formed(&m, (size_t) n, h.msg_flags, fds)) {
                if (fd >= 0)
                        (void) close(fd);
                return n == 0 ? -EPIPE : -EPROTO;
        }
        *ret = m;
        *ret_fd = fd;
        return 1;
}
