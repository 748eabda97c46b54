/* One of the two bare stores, under one name. */
#ifndef ONCED_BENCH_BARE_H
#define ONCED_BENCH_BARE_H

#include <string.h>

#include "t/bench/bare_redis.h"
#include "t/bench/bare_sqlite.h"
#include "t/bench/book.h"

struct bare {
        bool is_redis;
        struct bare_sqlite sqlite;
        struct bare_redis redis;
};

static inline int bare_open(struct bare *b, const struct book_place *place)
{
        b->is_redis = strcmp(place->store, "redis") == 0;
        return b->is_redis ? bare_redis_open(&b->redis, place->where, place->app) :
                             bare_sqlite_open(&b->sqlite, place->where, place->full);
}

static inline int bare_turn(struct bare *b, const struct due *ended, int ended_count, struct due *dues, int count)
{
        return b->is_redis ? bare_redis_turn(&b->redis, ended, ended_count, dues, count) :
                             bare_sqlite_turn(&b->sqlite, ended, ended_count, dues, count);
}

static inline void bare_close(struct bare *b)
{
        if (b->is_redis)
                bare_redis_close(&b->redis);
        else
                bare_sqlite_close(&b->sqlite);
}

#endif
