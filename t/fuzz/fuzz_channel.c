/* Messages of children to the master: any packets with any descriptors, and well-formed ones that say what does not
 * fit. The master's crew stays in order, and nothing is leaked. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/birth.h"
#include "common/channel/channel.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/log.h"
#include "supervisor/crew.h"
#include "supervisor/ground.h"
#include "supervisor/master.h"

#define WORKERS  2
#define FDS_MAX  12   /* more than the receiver makes room for */
#define FDS_SEEN 64

static const struct child_kind worker_kind_fake = { "worker", NULL }, console_kind_fake = { "console", NULL };
static unsigned verbs;

struct input {
        const uint8_t *at, *end;
};

static uint8_t take(struct input *in)
{
        return in->at < in->end ? *in->at++ : 0;
}

static size_t take_bytes(struct input *in, void *ret, size_t len)
{
        if (len > (size_t) (in->end - in->at))
                len = (size_t) (in->end - in->at);
        memcpy(ret, in->at, len);
        in->at += len;
        return len;
}

static void on_verb(void *arg, enum verb v)
{
        (void) arg;
        CLAIM(v > VERB_NONE && v < VERB_COUNT_);
        verbs++;
}

static unsigned fds_open(void)
{
        unsigned n = 0;

        for (int fd = 0; fd < FDS_SEEN; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

static void child_be_there(struct crew *c, struct slot *s, int *ret_peer)
{
        int pair[2];

        CLAIM(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
        s->channel = pair[0];
        *ret_peer = pair[1];
        s->generation = 1;
        s->process.pid = 1;
        s->place = board_take(c->board, s->role, s->index, 1);
        CLAIM(s->place >= 0);
        slot_go(s, SLOT_STARTING);
}

/* Fails when the socket is full, as it would for a child. */
static void send_packet(int peer, const void *bytes, size_t len, unsigned fds)
{
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
        } control;
        struct iovec iov = { .iov_base = (void *) (uintptr_t) bytes, .iov_len = len };
        struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (fds > 0) {
                memset(&control, 0, sizeof(control));
                h.msg_control = &control;
                h.msg_controllen = CMSG_SPACE(fds * sizeof(int));
                struct cmsghdr *c = CMSG_FIRSTHDR(&h);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(fds * sizeof(int));
                for (unsigned i = 0; i < fds; i++)
                        memcpy(CMSG_DATA(c) + i * sizeof(int), &peer, sizeof(int));
        }
        (void) !sendmsg(peer, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* One packet: raw bytes, or a message in whose place only one field is the input's. */
static void say(struct input *in, int peer, const struct slot *s)
{
        struct message m = { .layout = CHANNEL_LAYOUT, .slot = s->index, .generation = s->generation };
        uint8_t kind = take(in), raw[256];
        unsigned fds = kind >> 4 == 15 ? take(in) % (FDS_MAX + 1) : 0;
        size_t len;

        switch (kind & 3) {
        case 0:
                len = take_bytes(in, raw, take(in));
                send_packet(peer, raw, len, fds);
                return;
        case 1:
                (void) take_bytes(in, &m, sizeof(m));
                break;
        default:
                m.type = take(in) % MESSAGE_TYPE_COUNT_;
                m.value = take(in);
                m.trees_gone = take(in) & 1;
                (void) snprintf(m.owner, sizeof(m.owner), "n1.%u.9.5-ab", take(in) % 4U);
        }
        send_packet(peer, &m, sizeof(m), fds);
}

static void claim_crew(struct crew *c)
{
        struct place_view v;

        CLAIM(c->leader >= -1 && c->leader < (int) c->workers_max);
        CLAIM(c->leader < 0 || slot_lives(&c->slots[c->leader]));
        for (unsigned i = 0; i <= c->workers_max; i++)
                CLAIM(c->slots[i].state < SLOT_STATE_COUNT_);
        for (unsigned i = 0; i < board_places(c->board); i++)
                if (board_read(c->board, i, &v) == 0)
                        CLAIM(v.slot <= c->workers_max);
}

static void talk(struct crew *c, struct slot *const slots[3], int peers[3], struct input *in)
{
        struct message m;
        int fd;

        while (in->at < in->end) {
                uint8_t who = take(in);
                unsigned i = who % 3;
                if (who & 0x80 && peers[i] >= 0) {
                        (void) close(peers[i]);
                        peers[i] = -1;
                }
                if (peers[i] >= 0)
                        say(in, peers[i], slots[i]);
                if (who & 0x40)
                        continue;   /* more before the master looks */
                crew_read(c, slots[i]);
                crew_elect(c);
                crew_report_gone(c, clock_mono());
                claim_crew(c);
                while (peers[i] >= 0 && channel_receive(peers[i], &m, &fd) > 0)
                        CLAIM(fd == -1 && m.slot == slots[i]->index && memchr(m.owner, 0, sizeof(m.owner)));
        }
        for (unsigned i = 0; i < 3; i++)
                crew_read_last(c, slots[i]);
        claim_crew(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct config config = { .workers = WORKERS };
        struct ground ground = { .node = "n1" };
        struct master_options o = { .config = &config, .worker = &worker_kind_fake, .console = &console_kind_fake };
        struct crew c = { .ground = &ground, .on_verb = on_verb };
        struct input in = { data, data + size };
        int peers[3];

        log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
        unsigned open_before = fds_open();
        CLAIM(crew_init(&c, &o) == 0);
        struct slot *const slots[3] = { &c.slots[0], &c.slots[1], crew_console(&c) };
        for (unsigned i = 0; i < 3; i++)
                child_be_there(&c, slots[i], &peers[i]);
        for (unsigned i = 0; i < 3; i++) {
                char owner[OWNER_TEXT];
                int place = board_take(c.board, ROLE_WORKER, i, 0);
                (void) snprintf(owner, sizeof(owner), "n1.%u.9.5-ab", i);
                CLAIM(gones_add(&c.gones, owner, place, -1) == 0);
        }
        talk(&c, slots, peers, &in);
        crew_done(&c);
        for (unsigned i = 0; i < 3; i++)
                closep(&peers[i]);
        CLAIM(fds_open() == open_before);
        return 0;
}
