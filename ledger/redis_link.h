/* The connection to a Redis server: made, watched, dropped and made again, with commands pipelined in order.
 * A connection is never used again after a timeout: the late reply would answer the next question. */
#ifndef ONCED_REDIS_LINK_H
#define ONCED_REDIS_LINK_H

#include <stddef.h>
#include <uv.h>

#include "ledger/redis_url.h"

struct redis_link;
struct text_list;
struct board_place;
struct redisReply;

struct redis_link_options {
        struct redis_url url;
        const struct text_list *sentinels;            /* asked before each try where it is; NULL: `url` says it; borrowed */
        const char *master;                           /* their name for it; borrowed */
        unsigned connect_ms, command_ms;
        struct board_place *place;                    /* where forgotten scripts are counted; NULL: nowhere */
        void (*on_open)(void *arg);                   /* connected: say hello */
        /* A try failed, or the connection ended; the next try follows by itself. Commands are answered before. */
        void (*on_lost)(const char *why, void *arg);
        void *arg;
};

/* The first try starts in the next turn of the loop. */
int redis_link_open(uv_loop_t *loop, const struct redis_link_options *o, struct redis_link **ret);

/* Runs once, later: 0 with the reply (also an error reply), valid during the call; or -ETIMEDOUT, whether the
 * command was executed is unknown; or -ECANCELED by close. */
typedef void (*redis_reply_cb)(int error, const struct redisReply *reply, void *arg);

/* 0, or -ENOTCONN / -ENOMEM: not sent, `cb` never runs. */
int redis_link_send(struct redis_link *l, int argc, const char **argv, const size_t *lens, redis_reply_cb cb,
                    void *arg);

/* The server had forgotten a script: counted. */
void redis_link_forgotten(struct redis_link *l);

/* The other side is as it should be: the next loss is tried again without delay. */
void redis_link_settled(struct redis_link *l);

/* Ends the connection for a reason of the caller's, as if it had been lost; nothing when there is none. */
void redis_link_drop(struct redis_link *l, const char *why);

/* Answers what is outstanding with -ECANCELED; `closed` runs later, once. */
void redis_link_close(struct redis_link *l, void (*closed)(void *arg), void *arg);

#endif
