/* The least a claim on Redis can be: the product's scripts by EVALSHA, pipelined on one blocking connection. */
#ifndef ONCED_BENCH_BARE_REDIS_H
#define ONCED_BENCH_BARE_REDIS_H

#include "t/bench/due.h"

struct redisContext;

struct bare_redis {
        struct redisContext *c;
        char prefix[64], store_key[80], epoch[64], run_id[64];
};

/* Makes the group's store as if long ago, if there is none: the past can be planned in it. 0 or -1. */
int bare_redis_make(const char *url, const char *app);

/* `url` is redis://127.0.0.1:PORT/0; the product has made the group `app` before, and its scripts are loaded. */
int bare_redis_open(struct bare_redis *b, const char *url, const char *app);
void bare_redis_close(struct bare_redis *b);

/* One round trip: a finish for each of `ended`, one claim of all `dues`. 0 or -1. */
int bare_redis_turn(struct bare_redis *b, const struct due *ended, int ended_count, struct due *dues, int count);

#endif
