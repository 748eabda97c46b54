/* Names for the tests, without any server: sink.test is this machine, silent.test never answers in time, all
 * others do not exist. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/resolver.h"

struct lookup {
        uv_timer_t timer;
        struct resolver *resolver;
        struct resolved found;
        resolver_cb cb;
        void *arg;
        struct lookup *next;
};

struct resolver {
        uv_loop_t *loop;
        struct lookup *first;
        uv_timer_t closing;
        void (*closed)(void *arg);
        void *closed_arg;
};

static void on_lookup_closed(uv_handle_t *h)
{
        free(container_of(h, struct lookup, timer));
}

static void answer(struct lookup *l)
{
        for (struct lookup **link = &l->resolver->first; *link; link = &(*link)->next)
                if (*link == l) {
                        *link = l->next;
                        break;
                }
        uv_close((uv_handle_t *) &l->timer, on_lookup_closed);
        l->cb(&l->found, l->arg);
}

static void on_time(uv_timer_t *timer)
{
        answer(container_of(timer, struct lookup, timer));
}

int resolver_open(uv_loop_t *loop, struct resolver **ret)
{
        struct resolver *rs = calloc(1, sizeof(*rs));

        if (!rs)
                return -ENOMEM;
        rs->loop = loop;
        *ret = rs;
        return 0;
}

void resolver_lookup(struct resolver *rs, const char *host, int64_t timeout_ms, resolver_cb cb, void *arg)
{
        struct lookup *l = calloc(1, sizeof(*l));
        uint64_t wait_ms = 1;

        if (!l)
                abort();
        l->resolver = rs;
        l->cb = cb;
        l->arg = arg;
        if (strcmp(host, "sink.test") == 0) {
                l->found.count = 1;
                (void) snprintf(l->found.addresses[0], sizeof(l->found.addresses[0]), "127.0.0.1");
        } else if (strcmp(host, "silent.test") == 0) {
                wait_ms = (uint64_t) timeout_ms;
                l->found.error = -ETIMEDOUT;
                (void) snprintf(l->found.why, sizeof(l->found.why), "no name server answered");
        } else {
                l->found.error = -ENOENT;
                (void) snprintf(l->found.why, sizeof(l->found.why), "no such name");
        }
        l->next = rs->first;
        rs->first = l;
        (void) uv_timer_init(rs->loop, &l->timer);
        (void) uv_timer_start(&l->timer, on_time, wait_ms, 0);
}

static void on_closing_closed(uv_handle_t *h)
{
        struct resolver *rs = container_of(h, struct resolver, closing);
        void (*closed)(void *) = rs->closed;
        void *arg = rs->closed_arg;

        free(rs);
        closed(arg);
}

void resolver_close(struct resolver *rs, void (*closed)(void *arg), void *arg)
{
        while (rs->first) {
                rs->first->found = (struct resolved) { .error = -ECANCELED };
                answer(rs->first);
        }
        rs->closed = closed;
        rs->closed_arg = arg;
        (void) uv_timer_init(rs->loop, &rs->closing);
        uv_close((uv_handle_t *) &rs->closing, on_closing_closed);
}
