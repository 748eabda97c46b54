/* Reading replies of the scripts. */
#include "ledger/redis_reply.h"

#include "common/cleanup.h"
#include "common/record/names.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

size_t reply_count(const struct redisReply *r)
{
        return r && r->type == REDIS_REPLY_ARRAY ? r->elements : 0;
}

const struct redisReply *reply_at(const struct redisReply *r, size_t i)
{
        return i < reply_count(r) ? r->element[i] : NULL;
}

const char *reply_text(const struct redisReply *r, size_t i)
{
        const struct redisReply *e = reply_at(r, i);

        return e && (e->type == REDIS_REPLY_STRING || e->type == REDIS_REPLY_STATUS) ? e->str : "";
}

int64_t reply_int(const struct redisReply *r, size_t i)
{
        return strtoll(reply_text(r, i), NULL, 10);
}

struct instant reply_instant(const struct redisReply *r, size_t i)
{
        return *reply_text(r, i) ? (struct instant) { reply_int(r, i) } : INSTANT_NONE;
}

struct stamp reply_time(const struct redisReply *r, size_t i)
{
        int64_t seconds, ns;

        if (__builtin_mul_overflow(reply_int(r, i), NS_PER_S, &seconds) ||
            __builtin_mul_overflow(reply_int(r, i + 1), NS_PER_US, &ns) || __builtin_add_overflow(seconds, ns, &ns))
                return (struct stamp) { 0 };
        return (struct stamp) { ns };
}

void reply_copy(const struct redisReply *r, size_t i, char *ret, size_t room)
{
        (void) snprintf(ret, room, "%s", reply_text(r, i));
}

int reply_name(const struct redisReply *r, size_t i, const char *const *names, int missing)
{
        int n = name_index(names, reply_text(r, i));

        return n < 0 ? missing : n;
}

void reply_ended(const struct redisReply *row, struct ended_record *ret)
{
        *ret = (struct ended_record) {
                .shard = (unsigned) reply_int(row, 4),
                .planned = reply_instant(row, 5),
                .state = (enum state) reply_name(row, 7, state_names, STATE_UNKNOWN),
                .cause = (enum cause) reply_name(row, 8, cause_names, CAUSE_NONE),
                .ending = reply_int(row, 9) == 1,
        };
        reply_copy(row, 0, ret->occ, sizeof(ret->occ));
        reply_copy(row, 1, ret->trig, sizeof(ret->trig));
        reply_copy(row, 2, ret->scope_key, sizeof(ret->scope_key));
        reply_copy(row, 3, ret->task, sizeof(ret->task));
        reply_copy(row, 6, ret->fence, sizeof(ret->fence));
}

void reply_told(const struct redisReply *row, struct told_range *ret)
{
        *ret = (struct told_range) {
                .shard = (unsigned) reply_int(row, 2),
                .first = reply_instant(row, 3), .last = reply_instant(row, 4),
                .count = (uint64_t) reply_int(row, 5),
                .state = (enum state) reply_name(row, 6, state_names, STATE_UNKNOWN),
                .cause = (enum cause) reply_name(row, 7, cause_names, CAUSE_NONE),
        };
        reply_copy(row, 0, ret->scope_key, sizeof(ret->scope_key));
        reply_copy(row, 1, ret->task, sizeof(ret->task));
        reply_copy(row, 8, ret->owner, sizeof(ret->owner));
}

int reply_error(const char *text)
{
        /* OOM, NOREPLICAS and MISCONF are here because each script's first write is one they refuse. */
        static const char *const refusals[] = {
                "NOSCRIPT", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "NOREPLICAS", "MISCONF", "NOAUTH", "NOPERM",
                "WRONGPASS", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "OOM",
        };

        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
                size_t len = strlen(refusals[i]);
                if (strncmp(text, refusals[i], len) == 0 && (text[len] == ' ' || text[len] == '\0'))
                        return -EAGAIN;
        }
        return -ETIMEDOUT;
}
