/* Host names to addresses on the loop by c-ares: never blocks, never a thread that can hang.
 * Literal addresses and names of /etc/hosts are answered without a query. */
#ifndef ONCED_RESOLVER_H
#define ONCED_RESOLVER_H

#include <sys/socket.h>
#include <uv.h>

struct resolver;

#define RESOLVER_ADDRESSES 8

struct resolved {
        int error;                     /* 0 or -errno: -ENOENT no such name, -ETIMEDOUT, -EIO */
        char why[96];
        unsigned count;
        char addresses[RESOLVER_ADDRESSES][46];   /* numeric text, IPv4 or IPv6 */
};

typedef void (*resolver_cb)(const struct resolved *r, void *arg);

int resolver_open(uv_loop_t *loop, struct resolver **ret);
/* `cb` runs exactly once, later, on the loop. */
void resolver_lookup(struct resolver *rs, const char *host, int64_t timeout_ms, resolver_cb cb, void *arg);
/* Answers what is outstanding with -ECANCELED; `closed` runs later, once. */
void resolver_close(struct resolver *rs, void (*closed)(void *arg), void *arg);

#endif
