/* Which server is the primary, by the word of the sentinels that watch it. */
#ifndef ONCED_REDIS_SENTINEL_H
#define ONCED_REDIS_SENTINEL_H

#include <uv.h>

struct text_list;
struct redis_question;

struct redis_sentinels {
        const struct text_list *addresses;   /* host:port each; borrowed */
        const char *master;                  /* their name for the primary; borrowed */
        unsigned connect_ms, command_ms;     /* for one of them */
};

struct redis_primary {
        int error;                           /* 0 or -errno: no primary that enough of them agree on */
        char why[160];
        char host[256];
        unsigned port;
};

typedef void (*redis_primary_cb)(const struct redis_primary *p, void *arg);

/* All are asked at once. More than half of those listed must answer, and more than half of the answers must name the
 * same server. `cb` runs once, later, when nothing of the question is left; *ret is invalid from then on. */
int redis_sentinel_ask(uv_loop_t *loop, const struct redis_sentinels *s, redis_primary_cb cb, void *arg,
                       struct redis_question **ret);

/* Instead of the answer `closed` runs later, once. */
void redis_sentinel_end(struct redis_question *q, void (*closed)(void *arg), void *arg);

#endif
