/* One connection at a time, in one of six states. Every end of one passes through lost(): the commands that
 * were on their way get their answer there, then the owner hears of it, and the next try is due by then. */
#include "ledger/redis_link.h"

#include "common/scoreboard/scoreboard.h"
#include "ledger/redis_io.h"
#include "ledger/redis_sentinel.h"
#include "ledger/redis_socket.h"
#include "ledger/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <hiredis/async.h>

#define BACKOFF_FIRST_MS 50U
#define BACKOFF_LAST_MS  1000U

enum link_state {
        LINK_WAITING,      /* for the next try */
        LINK_ASKING,       /* the sentinels */
        LINK_RESOLVING,
        LINK_CONNECTING,
        LINK_OPEN,
        LINK_CLOSING,
};

struct command {
        struct command *next;
        uint64_t due_ms;           /* loop time */
        redis_reply_cb cb;
        void *arg;
};

struct redis_link {
        uv_loop_t *loop;           /* borrowed */
        struct redis_link_options o;
        enum link_state state;
        struct redis_question *question;   /* while asking */
        struct resolver *resolver;
        struct resolved addresses;
        unsigned next_address;
        struct redisAsyncContext *ac;  /* hiredis' own, valid while `io` is */
        struct redis_io *io;
        uv_timer_t timer;          /* the next try, or the end of this one */
        uv_timer_t deadline;       /* of the oldest command */
        bool polled;               /* the loop has looked at the socket since the deadline passed */
        unsigned backoff_ms;
        struct command *first, **last;
        unsigned closing;          /* handles that must close first */
        void (*closed)(void *arg);
        void *closed_arg;
};

static void try_next(struct redis_link *l);

static void closed_one(void *arg)
{
        struct redis_link *l = arg;

        if (--l->closing > 0)
                return;
        l->closed(l->closed_arg);
        free(l);
}

static void on_handle_closed(uv_handle_t *h)
{
        closed_one(h->data);
}

static void on_retry(uv_timer_t *t);

/* Full jitter, so that a fleet does not come back in step. */
static void arm_retry(struct redis_link *l)
{
        unsigned drawn = 0;

        (void) getrandom(&drawn, sizeof(drawn), 0);
        unsigned wait = drawn % (l->backoff_ms + 1);
        l->state = LINK_WAITING;
        l->backoff_ms = l->backoff_ms * 2 < BACKOFF_LAST_MS ? l->backoff_ms * 2 : BACKOFF_LAST_MS;
        (void) uv_timer_start(&l->timer, on_retry, wait, 0);
}

static void answer_all(struct redis_link *l, int error)
{
        struct command *c = l->first;

        l->first = NULL;
        l->last = &l->first;
        (void) uv_timer_stop(&l->deadline);
        while (c) {
                struct command *next = c->next;
                c->cb(error, NULL, c->arg);
                free(c);
                c = next;
        }
}

/* The connection is off our hands already. */
static void lost(struct redis_link *l, const char *why)
{
        char text[160];

        (void) snprintf(text, sizeof(text), "%s", why);
        arm_retry(l);
        answer_all(l, -ETIMEDOUT);
        if (l->state != LINK_CLOSING)
                l->o.on_lost(text, l->o.arg);
}

static void on_gone(struct redisAsyncContext *ac, void *arg)
{
        struct redis_link *l = arg;
        char why[160];

        (void) snprintf(why, sizeof(why), "%s", ac->c.errstr[0] ? ac->c.errstr : "connection ended");
        l->io = NULL;
        l->ac = NULL;
        (void) uv_timer_stop(&l->timer);
        if (l->state == LINK_CONNECTING && l->next_address < l->addresses.count)
                try_next(l);
        else
                lost(l, why);
}

static void let_go(struct redis_link *l, void (*closed)(void *), void *arg)
{
        struct redis_io *io = l->io;

        l->io = NULL;
        l->ac = NULL;
        redis_io_drop(io, closed, arg);
}

void redis_link_drop(struct redis_link *l, const char *why)
{
        if (l->state == LINK_CLOSING || !l->io)
                return;
        (void) uv_timer_stop(&l->timer);
        let_go(l, NULL, NULL);
        lost(l, why);
}

static void on_try_timeout(uv_timer_t *t)
{
        struct redis_link *l = t->data;

        if (l->io)
                redis_link_drop(l, "connecting timed out");
}

static void on_connected(const struct redisAsyncContext *ac, int status)
{
        struct redis_link *l = ac->data;

        if (status != REDIS_OK || l->ac != ac)
                return;   /* hiredis ends it, on_gone follows */
        (void) uv_timer_stop(&l->timer);
        l->state = LINK_OPEN;
        l->o.on_open(l->o.arg);
}

static int attach(struct redis_link *l, struct redisAsyncContext *ac)
{
        redis_socket_tune(ac->c.fd, !l->o.url.unix_socket, l->o.command_ms);
        int r = redis_io_attach(l->loop, ac, on_gone, l, &l->io);
        if (r < 0)
                return r;
        ac->data = l;
        l->ac = ac;
        l->state = LINK_CONNECTING;
        (void) redisAsyncSetConnectCallback(ac, on_connected);
        return 0;
}

/* The next address of this try; `timer` ends them all together. */
static void try_next(struct redis_link *l)
{
        const char *why = "out of memory";
        struct redisAsyncContext *ac;

        if (l->o.url.unix_socket)
                ac = redisAsyncConnectUnix(l->o.url.path);
        else
                ac = redisAsyncConnect(l->addresses.addresses[l->next_address], (int) l->o.url.port);
        l->next_address++;
        uv_update_time(l->loop);
        if (ac && !ac->err && attach(l, ac) == 0) {
                uint64_t left = uv_timer_get_due_in(&l->timer);
                (void) uv_timer_start(&l->timer, on_try_timeout, left ? left : l->o.connect_ms, 0);
                return;
        }
        char text[160];
        if (ac && ac->err)
                why = ac->c.errstr;
        (void) snprintf(text, sizeof(text), "%s", why);
        if (ac)
                redisAsyncFree(ac);
        if (l->next_address < l->addresses.count)
                try_next(l);
        else
                lost(l, text);
}

static void on_resolved(const struct resolved *r, void *arg)
{
        struct redis_link *l = arg;

        if (l->state != LINK_RESOLVING)
                return;
        if (r->error < 0) {
                lost(l, r->why);
                return;
        }
        l->addresses = *r;
        try_next(l);
}

static void resolve(struct redis_link *l)
{
        l->state = LINK_RESOLVING;
        resolver_lookup(l->resolver, l->o.url.host, l->o.connect_ms, on_resolved, l);
}

static void on_primary(const struct redis_primary *p, void *arg)
{
        struct redis_link *l = arg;

        l->question = NULL;
        if (p->error < 0) {
                lost(l, p->why);
                return;
        }
        (void) snprintf(l->o.url.host, sizeof(l->o.url.host), "%s", p->host);
        l->o.url.port = p->port;
        resolve(l);
}

/* Anew for each try: the one that was lost may have been replaced. */
static void ask_sentinels(struct redis_link *l)
{
        const struct redis_sentinels s = { .addresses = l->o.sentinels, .master = l->o.master,
                                           .connect_ms = l->o.connect_ms, .command_ms = l->o.command_ms };

        l->state = LINK_ASKING;
        if (redis_sentinel_ask(l->loop, &s, on_primary, l, &l->question) < 0)
                lost(l, "out of memory");
}

static void on_retry(uv_timer_t *t)
{
        struct redis_link *l = t->data;

        l->next_address = 0;
        l->addresses.count = 0;
        if (l->o.url.unix_socket) {
                try_next(l);
                return;
        }
        if (l->o.sentinels)
                ask_sentinels(l);
        else
                resolve(l);
}

static void on_deadline(uv_timer_t *t)
{
        struct redis_link *l = t->data;

        if (!l->polled) {
                /* After a stop or stall of this process the reply may have come: look before judging. */
                l->polled = true;
                (void) uv_timer_start(&l->deadline, on_deadline, 1, 0);
                return;
        }
        redis_link_drop(l, "no answer in time");
}

static void arm_deadline(struct redis_link *l)
{
        uint64_t now = uv_now(l->loop);

        l->polled = false;
        if (!l->first)
                (void) uv_timer_stop(&l->deadline);
        else
                (void) uv_timer_start(&l->deadline, on_deadline,
                                      l->first->due_ms > now ? l->first->due_ms - now : 0, 0);
}

/* `privdata` is not looked at when there is no reply: the commands of an ended connection are answered by
 * answer_all, which may have freed it. */
static void on_reply(struct redisAsyncContext *ac, void *reply, void *privdata)
{
        struct redis_link *l = ac->data;
        struct command *c = l->first;

        if (!reply || l->ac != ac)
                return;
        assert(c && c == privdata);
        l->first = c->next;
        if (!l->first)
                l->last = &l->first;
        arm_deadline(l);
        c->cb(0, reply, c->arg);
        free(c);
}

int redis_link_send(struct redis_link *l, int argc, const char **argv, const size_t *lens, redis_reply_cb cb,
                    void *arg)
{
        if (l->state != LINK_OPEN)
                return -ENOTCONN;
        struct command *c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        if (redisAsyncCommandArgv(l->ac, on_reply, c, argc, argv, lens) != REDIS_OK) {
                free(c);
                return -ENOTCONN;
        }
        uv_update_time(l->loop);
        *c = (struct command) { .due_ms = uv_now(l->loop) + l->o.command_ms, .cb = cb, .arg = arg };
        *l->last = c;
        l->last = &c->next;
        if (l->first == c)
                arm_deadline(l);
        return 0;
}

void redis_link_forgotten(struct redis_link *l)
{
        if (l->o.place)
                place_add(l->o.place, COUNT_REDIS_NOSCRIPT, 1);
}

void redis_link_settled(struct redis_link *l)
{
        l->backoff_ms = BACKOFF_FIRST_MS;
}

int redis_link_open(uv_loop_t *loop, const struct redis_link_options *o, struct redis_link **ret)
{
        struct redis_link *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        int r = resolver_open(loop, &l->resolver);
        if (r < 0) {
                free(l);
                return r;
        }
        l->loop = loop;
        l->o = *o;
        l->backoff_ms = BACKOFF_FIRST_MS;
        l->last = &l->first;
        (void) uv_timer_init(loop, &l->timer);
        (void) uv_timer_init(loop, &l->deadline);
        l->timer.data = l->deadline.data = l;
        (void) uv_timer_start(&l->timer, on_retry, 0, 0);
        *ret = l;
        return 0;
}

void redis_link_close(struct redis_link *l, void (*closed)(void *arg), void *arg)
{
        l->state = LINK_CLOSING;
        l->closed = closed;
        l->closed_arg = arg;
        l->closing = 3;
        uv_close((uv_handle_t *) &l->timer, on_handle_closed);
        uv_close((uv_handle_t *) &l->deadline, on_handle_closed);
        resolver_close(l->resolver, closed_one, l);
        if (l->question) {
                l->closing++;
                redis_sentinel_end(l->question, closed_one, l);
        }
        if (l->io) {
                l->closing++;
                let_go(l, closed_one, l);
        }
        answer_all(l, -ECANCELED);
}
