/* Names by c-ares. Each question has a channel of its own: it sees /etc/resolv.conf and /etc/hosts as they are
 * now, and giving it up is one call. Answers are handed on from a timer, never from inside c-ares, since a
 * channel must not be destroyed in its own callback. */
#include "ledger/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define SOCKETS_MAX 8
#define TRY_MS      1000
#define TICK_MS     20000   /* when c-ares has no timeout of its own */

struct watched {
        uv_poll_t poll;
        struct lookup *lookup;
        ares_socket_t fd;
};

struct lookup {
        struct resolver *resolver;
        struct lookup *next;
        ares_channel channel;          /* NULL: literal address */
        struct watched *sockets[SOCKETS_MAX];
        uv_timer_t timer;
        struct mono until;
        bool answered;
        struct resolved result;
        resolver_cb cb;
        void *arg;
};

struct resolver {
        uv_loop_t *loop;
        struct lookup *lookups;
        uv_timer_t life;               /* never started: its closing ends the resolver */
        unsigned open;                 /* lookups whose timer is not closed, and `life` */
        void (*closed)(void *arg);
        void *closed_arg;
};

static void release(struct resolver *rs)
{
        if (--rs->open > 0)
                return;
        ares_library_cleanup();
        rs->closed(rs->closed_arg);
        free(rs);
}

static void on_life_closed(uv_handle_t *h)
{
        release(h->data);
}

static void on_lookup_closed(uv_handle_t *h)
{
        struct lookup *k = h->data;
        struct resolver *rs = k->resolver;

        free(k);
        release(rs);
}

static void on_socket_closed(uv_handle_t *h)
{
        free(h->data);
}

static void unwatch(struct lookup *k, unsigned i)
{
        struct watched *w = k->sockets[i];

        k->sockets[i] = NULL;
        uv_close((uv_handle_t *) &w->poll, on_socket_closed);
}

static void end(struct lookup *k)
{
        struct lookup **p = &k->resolver->lookups;

        while (*p != k)
                p = &(*p)->next;
        *p = k->next;
        k->answered = true;
        if (k->channel)
                ares_destroy(k->channel);
        k->channel = NULL;
        for (unsigned i = 0; i < SOCKETS_MAX; i++)
                if (k->sockets[i])
                        unwatch(k, i);
        resolver_cb cb = k->cb;
        void *arg = k->arg;
        struct resolved result = k->result;
        uv_close((uv_handle_t *) &k->timer, on_lookup_closed);
        cb(&result, arg);
}

static void on_timer(uv_timer_t *t);

static void arm(struct lookup *k)
{
        struct timeval most = { TICK_MS / 1000, 0 }, next;
        int64_t wait = mono_since_ms(clock_mono(), k->until) + 1;

        if (k->answered || wait < 0)
                wait = 0;
        else if (k->channel) {
                (void) ares_timeout(k->channel, &most, &next);
                int64_t tick = next.tv_sec * 1000 + next.tv_usec / 1000 + 1;
                wait = tick < wait ? tick : wait;
        }
        (void) uv_timer_start(&k->timer, on_timer, (uint64_t) wait, 0);
}

static void on_timer(uv_timer_t *t)
{
        struct lookup *k = t->data;

        if (!k->answered && mono_since_ms(clock_mono(), k->until) > 0)
                ares_process_fd(k->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        else if (!k->answered) {
                k->result.error = -ETIMEDOUT;
                (void) snprintf(k->result.why, sizeof(k->result.why), "no name server answered in time");
                k->answered = true;
        }
        if (k->answered)
                end(k);
        else
                arm(k);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
        struct watched *w = poll->data;
        struct lookup *k = w->lookup;
        bool read = status < 0 || (events & UV_READABLE), write = status < 0 || (events & UV_WRITABLE);

        if (k->answered)
                return;
        ares_process_fd(k->channel, read ? w->fd : ARES_SOCKET_BAD, write ? w->fd : ARES_SOCKET_BAD);
        arm(k);
}

static struct watched *watch(struct lookup *k, ares_socket_t fd)
{
        for (unsigned i = 0; i < SOCKETS_MAX; i++) {
                if (k->sockets[i])
                        continue;
                struct watched *w = calloc(1, sizeof(*w));
                if (!w || uv_poll_init(k->resolver->loop, &w->poll, fd) < 0) {
                        free(w);
                        return NULL;
                }
                w->poll.data = w;
                w->lookup = k;
                w->fd = fd;
                k->sockets[i] = w;
                return w;
        }
        return NULL;
}

static void on_socket_state(void *data, ares_socket_t fd, int readable, int writable)
{
        struct lookup *k = data;
        unsigned i = 0;

        while (i < SOCKETS_MAX && !(k->sockets[i] && k->sockets[i]->fd == fd))
                i++;
        if (!readable && !writable) {
                if (i < SOCKETS_MAX)
                        unwatch(k, i);
                return;
        }
        /* Without room for one more socket the question ends by its timeout. */
        struct watched *w = i < SOCKETS_MAX ? k->sockets[i] : watch(k, fd);
        if (w)
                (void) uv_poll_start(&w->poll, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0), on_ready);
}

static int lookup_errno(int status)
{
        switch (status) {
        case ARES_ENOTFOUND:
        case ARES_ENODATA:
        case ARES_ENONAME:
                return -ENOENT;
        case ARES_ETIMEOUT:
                return -ETIMEDOUT;
        case ARES_ENOMEM:
                return -ENOMEM;
        case ARES_ECANCELLED:
        case ARES_EDESTRUCTION:
                return -ECANCELED;
        default:
                return -EIO;
        }
}

static void take_addresses(struct resolved *r, const struct ares_addrinfo *found)
{
        for (const struct ares_addrinfo_node *n = found->nodes; n && r->count < RESOLVER_ADDRESSES; n = n->ai_next) {
                const void *at = NULL;
                if (n->ai_family == AF_INET)
                        at = &((const struct sockaddr_in *) (const void *) n->ai_addr)->sin_addr;
                else if (n->ai_family == AF_INET6)
                        at = &((const struct sockaddr_in6 *) (const void *) n->ai_addr)->sin6_addr;
                if (at && inet_ntop(n->ai_family, at, r->addresses[r->count], sizeof(r->addresses[0])))
                        r->count++;
        }
}

static void on_found(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
        struct lookup *k = arg;
        struct resolved *r = &k->result;

        (void) timeouts;
        if (!k->answered) {
                if (status == ARES_SUCCESS && found)
                        take_addresses(r, found);
                if (r->count == 0) {
                        r->error = status == ARES_SUCCESS ? -ENOENT : lookup_errno(status);
                        (void) snprintf(r->why, sizeof(r->why), "%s",
                                        status == ARES_SUCCESS ? "name has no address" : ares_strerror(status));
                }
                k->answered = true;
        }
        if (found)
                ares_freeaddrinfo(found);
}

static bool literal(const char *host, struct resolved *r)
{
        unsigned char bytes[16];

        if (strlen(host) >= sizeof(r->addresses[0]))
                return false;
        if (inet_pton(AF_INET, host, bytes) != 1 && inet_pton(AF_INET6, host, bytes) != 1)
                return false;
        (void) snprintf(r->addresses[0], sizeof(r->addresses[0]), "%s", host);
        r->count = 1;
        return true;
}

static void ask(struct lookup *k, const char *host)
{
        struct ares_options o = { .timeout = TRY_MS, .tries = 3, .sock_state_cb = on_socket_state,
                                  .sock_state_cb_data = k };
        struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

        int status = ares_init_options(&k->channel, &o, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
        if (status != ARES_SUCCESS) {
                k->channel = NULL;
                on_found(k, status, 0, NULL);
                return;
        }
        ares_getaddrinfo(k->channel, host, NULL, &hints, on_found, k);
}

void resolver_lookup(struct resolver *rs, const char *host, int64_t timeout_ms, resolver_cb cb, void *arg)
{
        /* Without memory for a question there is nothing to answer with: the process cannot go on. */
        struct lookup *k = calloc(1, sizeof(*k));
        if (!k)
                abort();
        *k = (struct lookup) { .resolver = rs, .next = rs->lookups, .cb = cb, .arg = arg,
                               .until = mono_plus_ms(clock_mono(), timeout_ms) };
        rs->lookups = k;
        rs->open++;
        (void) uv_timer_init(rs->loop, &k->timer);
        k->timer.data = k;
        k->answered = literal(host, &k->result);
        if (!k->answered)
                ask(k, host);
        uv_update_time(rs->loop);
        arm(k);
}

int resolver_open(uv_loop_t *loop, struct resolver **ret)
{
        if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
                return -ENOMEM;
        struct resolver *rs = calloc(1, sizeof(*rs));
        if (!rs) {
                ares_library_cleanup();
                return -ENOMEM;
        }
        rs->loop = loop;
        rs->open = 1;
        (void) uv_timer_init(loop, &rs->life);
        rs->life.data = rs;
        *ret = rs;
        return 0;
}

void resolver_close(struct resolver *rs, void (*closed)(void *arg), void *arg)
{
        rs->closed = closed;
        rs->closed_arg = arg;
        while (rs->lookups) {
                struct lookup *k = rs->lookups;
                k->result = (struct resolved) { .error = -ECANCELED, .why = "closing" };
                end(k);
        }
        uv_close((uv_handle_t *) &rs->life, on_life_closed);
}
