/* The Lua scripts and how they are called: by digest, and by text when the server does not know it (yet, or any
 * more: it forgets at every restart). */
#ifndef ONCED_REDIS_SCRIPT_H
#define ONCED_REDIS_SCRIPT_H

#include <stddef.h>

#include "ledger/redis_link.h"

struct redis_args;

enum redis_script {
        REDIS_BEAT,
        REDIS_CLAIM,
        REDIS_CURSOR,
        REDIS_DEFINE,
        REDIS_DEFINITION,
        REDIS_EFFECT,
        REDIS_FINISH,
        REDIS_HISTORY,
        REDIS_LEAD,
        REDIS_NODES,
        REDIS_PEEK,
        REDIS_QUEUED,
        REDIS_REBASE,
        REDIS_RECOVER,
        REDIS_REGISTER,
        REDIS_RENEW,
        REDIS_REVOKE,
        REDIS_SAID,
        REDIS_SETTLE,
        REDIS_SET_MAIN,
        REDIS_SWEEP,
        REDIS_TAKE,
        REDIS_UNTOLD,
        REDIS_SCRIPT_COUNT_
};

struct redis_text {
        const char *name, *digest, *text;
        size_t len;
};

extern const struct redis_text redis_scripts[];

/* Calls `script`, which outlives the reply, with the group's store key and `args`, which are taken over in every case
 * (and empty then).
 * 0, or -ENOTCONN / -ENOMEM: not sent, `cb` never runs. An error reply NOSCRIPT never reaches `cb`. */
int redis_script_send(struct redis_link *l, const struct redis_text *script, const char *store_key,
                      struct redis_args *args, redis_reply_cb cb, void *arg);

#endif
