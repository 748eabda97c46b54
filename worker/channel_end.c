/* Messages from and to the master. What does not fit the socket waits here, in order and bounded. */
#include "worker/channel_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/birth.h"
#include "common/log.h"

/* One read per message and a few a turn: the master must not keep the loop from its tasks. */
#define MESSAGES_A_TURN 16

#define WAITING_MAX 256

struct channel_end {
        uv_poll_t poll;
        const struct birth *birth;       /* borrowed */
        struct channel_calls calls;
        struct message waiting[WAITING_MAX];
        unsigned waiting_count;
        bool closing;
        void (*closed)(void *arg);
        void *closed_arg;
};

static void on_ready(uv_poll_t *poll, int status, int events);

static void listen_again(struct channel_end *c)
{
        (void) uv_poll_start(&c->poll, UV_READABLE | (c->waiting_count ? UV_WRITABLE : 0), on_ready);
}

static void send_waiting(struct channel_end *c)
{
        unsigned sent = 0;

        while (sent < c->waiting_count && channel_send(c->birth->channel, &c->waiting[sent], -1) != -EAGAIN)
                sent++;
        c->waiting_count -= sent;
        memmove(c->waiting, c->waiting + sent, c->waiting_count * sizeof(c->waiting[0]));
        listen_again(c);
}

static void receive(struct channel_end *c)
{
        for (unsigned n = 0; n < MESSAGES_A_TURN && !c->closing; n++) {
                struct message m;
                int fd = -1;
                int r = channel_receive(c->birth->channel, &m, &fd);
                if (r == 0)
                        return;
                if (r == 1 && m.slot == c->birth->slot && m.generation == c->birth->generation) {
                        c->calls.message(&m, fd, c->calls.arg);
                        continue;
                }
                if (fd >= 0)
                        (void) close(fd);
                if (r == 1 || r == -EPROTO) {
                        (void) log_warning(r == 1 ? 0 : r, "channel: a message that is not for this process");
                        continue;
                }
                (void) uv_poll_stop(&c->poll);
                c->calls.orphaned(c->calls.arg);
                return;
        }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
        struct channel_end *c = poll->data;

        if (status < 0) {
                (void) uv_poll_stop(poll);
                c->calls.orphaned(c->calls.arg);
                return;
        }
        if (events & UV_WRITABLE)
                send_waiting(c);
        if (events & UV_READABLE)
                receive(c);
}

int channel_end_open(uv_loop_t *loop, const struct birth *b, const struct channel_calls *calls,
                     struct channel_end **ret)
{
        struct channel_end *c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;

        c->birth = b;
        c->calls = *calls;
        int r = uv_poll_init(loop, &c->poll, b->channel);
        if (r < 0) {
                free(c);
                return r;
        }
        c->poll.data = c;
        listen_again(c);
        *ret = c;
        return 0;
}

void channel_end_say(struct channel_end *c, enum message_type type, uint64_t value, const char *owner,
                     bool trees_gone)
{
        struct message m = {
                .layout = CHANNEL_LAYOUT, .type = type,
                .slot = c->birth->slot, .generation = c->birth->generation,
                .value = value, .trees_gone = trees_gone,
        };
        if (owner)
                (void) snprintf(m.owner, sizeof(m.owner), "%s", owner);

        if (c->waiting_count == 0 && channel_send(c->birth->channel, &m, -1) != -EAGAIN)
                return;   /* a master that is gone shows at the other end of the channel */
        if (c->waiting_count == WAITING_MAX) {
                (void) log_warning(0, "channel: the master does not read; message %d is dropped", (int) type);
                return;
        }
        c->waiting[c->waiting_count++] = m;
        listen_again(c);
}

static void on_closed(uv_handle_t *h)
{
        struct channel_end *c = h->data;
        void (*closed)(void *) = c->closed;
        void *arg = c->closed_arg;

        free(c);
        closed(arg);
}

void channel_end_close(struct channel_end *c, void (*closed)(void *arg), void *arg)
{
        c->closing = true;
        c->closed = closed;
        c->closed_arg = arg;
        (void) uv_poll_stop(&c->poll);
        uv_close((uv_handle_t *) &c->poll, on_closed);
}
