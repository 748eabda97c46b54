/* The channel: what comes through, and what is eaten. */
#include "t/unit/cases.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel/channel.h"
#include "common/cleanup.h"

struct ends {
        int a, b;
};

static struct ends open_ends(void)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        return (struct ends) { pair[0], pair[1] };
}

static void close_ends(struct ends *e)
{
        (void) close(e->a);
        (void) close(e->b);
}

static unsigned open_fds(void)
{
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

static void a_message_comes_through_whole(void **state)
{
        (void) state;
        struct ends e = open_ends();
        struct message in = { .type = MESSAGE_GONE, .slot = 3, .generation = 9, .value = 77, .trees_gone = 1 }, out;
        int fd = 5;

        (void) strcpy(in.owner, "node.3.4711.8-ab");
        assert_int_equal(channel_receive(e.b, &out, &fd), 0);
        assert_int_equal(channel_send(e.a, &in, -1), 0);
        assert_int_equal(channel_receive(e.b, &out, &fd), 1);
        assert_int_equal(fd, -1);
        assert_int_equal(out.type, MESSAGE_GONE);
        assert_int_equal(out.slot, 3);
        assert_int_equal(out.generation, 9);
        assert_int_equal(out.value, 77);
        assert_int_equal(out.trees_gone, 1);
        assert_string_equal(out.owner, "node.3.4711.8-ab");
        close_ends(&e);
}

static void a_descriptor_comes_along_close_on_exec(void **state)
{
        (void) state;
        struct ends e = open_ends();
        struct message in = { .type = MESSAGE_REOPEN }, out;
        int pipes[2], fd = -1;
        char c = 0;

        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(channel_send(e.a, &in, pipes[1]), 0);
        assert_int_equal(channel_receive(e.b, &out, &fd), 1);
        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(write(fd, "x", 1), 1);
        assert_int_equal(read(pipes[0], &c, 1), 1);
        assert_int_equal(c, 'x');
        (void) close(fd);
        (void) close(pipes[0]);
        (void) close(pipes[1]);
        close_ends(&e);
}

static void the_peers_end_is_told(void **state)
{
        (void) state;
        struct ends e = open_ends();
        struct message m = { .type = MESSAGE_READY };
        int fd;

        assert_int_equal(channel_send(e.a, &m, -1), 0);
        (void) close(e.a);
        assert_int_equal(channel_receive(e.b, &m, &fd), 1);   /* what was said before still comes */
        assert_int_equal(channel_receive(e.b, &m, &fd), -EPIPE);
        assert_int_equal(channel_send(e.b, &m, -1), -EPIPE);
        (void) close(e.b);
}

static void a_peer_that_does_not_read_stops_nobody(void **state)
{
        (void) state;
        struct ends e = open_ends();
        struct message m = { .type = MESSAGE_READY };
        int r = 0, n = 0;

        while (r == 0 && n++ < 100000)
                r = channel_send(e.a, &m, -1);
        assert_int_equal(r, -EAGAIN);
        close_ends(&e);
}

static void malformed_messages_are_eaten(void **state)
{
        (void) state;
        struct message good = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_READY }, out;
        struct message bad[6];
        struct ends e = open_ends();
        char big[sizeof(good) + 1] = { 0 };
        int fd;

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                bad[i] = good;
        bad[0].layout = CHANNEL_LAYOUT + 1;
        bad[1].type = MESSAGE_TYPE_COUNT_;
        bad[2].type = MESSAGE_NONE;
        bad[3].trees_gone = 2;
        memset(bad[4].owner, 'x', sizeof(bad[4].owner));      /* no end */
        bad[5].type = UINT32_MAX;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                assert_int_equal(send(e.a, &bad[i], sizeof(bad[i]), 0), (int) sizeof(bad[i]));
                assert_int_equal(channel_receive(e.b, &out, &fd), -EPROTO);
        }
        memcpy(big, &good, sizeof(good));
        assert_int_equal(send(e.a, big, sizeof(big), 0), (int) sizeof(big));
        assert_int_equal(send(e.a, &good, sizeof(good) - 1, 0), (int) sizeof(good) - 1);
        assert_int_equal(send(e.a, &good, 1, 0), 1);
        for (int i = 0; i < 3; i++)
                assert_int_equal(channel_receive(e.b, &out, &fd), -EPROTO);
        assert_int_equal(send(e.a, &good, sizeof(good), 0), (int) sizeof(good));
        assert_int_equal(channel_receive(e.b, &out, &fd), 1);  /* and the next good one is understood */
        close_ends(&e);
}

/* Sends `count` descriptors with one message of `len` bytes. */
static void send_fds(int to, const void *bytes, size_t len, int count)
{
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(64 * sizeof(int))];
        } control = { 0 };
        struct iovec iov = { .iov_base = (void *) (uintptr_t) bytes, .iov_len = len };
        struct msghdr h = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
                .msg_controllen = CMSG_SPACE((size_t) count * sizeof(int)),
        };
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t) count * sizeof(int));
        for (int i = 0; i < count; i++)
                memcpy(CMSG_DATA(c) + (size_t) i * sizeof(int), &(int) { 0 }, sizeof(int));
        assert_true(sendmsg(to, &h, 0) >= 0);
}

static void surplus_descriptors_do_not_leak(void **state)
{
        (void) state;
        struct message good = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_READY }, out;
        struct ends e = open_ends();
        unsigned before = open_fds();
        int fd;

        send_fds(e.a, &good, sizeof(good), 2);
        assert_int_equal(channel_receive(e.b, &out, &fd), -EPROTO);
        send_fds(e.a, &good, sizeof(good), 60);
        assert_int_equal(channel_receive(e.b, &out, &fd), -EPROTO);
        send_fds(e.a, &good, 3, 1);
        assert_int_equal(channel_receive(e.b, &out, &fd), -EPROTO);
        assert_int_equal(open_fds(), before);
        close_ends(&e);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_message_comes_through_whole),
                cmocka_unit_test(a_descriptor_comes_along_close_on_exec),
                cmocka_unit_test(the_peers_end_is_told),
                cmocka_unit_test(a_peer_that_does_not_read_stops_nobody),
                cmocka_unit_test(malformed_messages_are_eaten),
                cmocka_unit_test(surplus_descriptors_do_not_leak),
        };

        return RUN_CASES(argc, argv, "channel", tests);
}
