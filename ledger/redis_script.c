/* One call of a script, kept with its arguments until it is answered. */
#include "ledger/redis_script.h"

#include "common/cleanup.h"
#include "ledger/redis_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

struct script_call {
        struct redis_link *link;    /* borrowed, outlives its replies */
        const struct redis_text *script;
        char *store_key;
        struct redis_args args;
        redis_reply_cb cb;
        void *arg;
};

static struct script_call *call_free(struct script_call *c)
{
        if (!c)
                return NULL;
        redis_args_done(&c->args);
        free(c->store_key);
        free(c);
        return NULL;
}

static void on_answer(int error, const struct redisReply *reply, void *arg);

static int send_as(struct script_call *c, const char *verb, const char *body, size_t body_len)
{
        size_t count = redis_args_count(&c->args) + 4;
        _cleanup_(freep) const char **argv = calloc(count, sizeof(*argv));
        _cleanup_(freep) size_t *lens = calloc(count, sizeof(*lens));

        if (!argv || !lens || redis_args_state(&c->args) < 0)
                return -ENOMEM;
        const char *head[] = { verb, body, "1", c->store_key };
        memcpy(argv, head, sizeof(head));
        lens[0] = strlen(verb);
        lens[1] = body_len;
        lens[2] = 1;
        lens[3] = strlen(c->store_key);
        redis_args_list(&c->args, argv + 4, lens + 4);
        return redis_link_send(c->link, (int) count, argv, lens, on_answer, c);
}

static bool unknown_digest(const struct redisReply *reply)
{
        return reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

static void on_answer(int error, const struct redisReply *reply, void *arg)
{
        struct script_call *c = arg;

        if (unknown_digest(reply)) {
                redis_link_forgotten(c->link);
                if (send_as(c, "EVAL", c->script->text, c->script->len) == 0)
                        return;
                error = -ETIMEDOUT;
                reply = NULL;
        }
        redis_reply_cb cb = c->cb;
        void *cb_arg = c->arg;
        (void) call_free(c);
        cb(error, reply, cb_arg);
}

int redis_script_send(struct redis_link *l, const struct redis_text *script, const char *store_key,
                      struct redis_args *args, redis_reply_cb cb, void *arg)
{
        struct script_call *c = calloc(1, sizeof(*c));

        if (!c) {
                redis_args_done(args);
                return -ENOMEM;
        }
        *c = (struct script_call) { .link = l, .script = script, .args = *args, .cb = cb, .arg = arg };
        *args = (struct redis_args) { 0 };
        c->store_key = strdup(store_key);
        int r = c->store_key ? send_as(c, "EVALSHA", c->script->digest, strlen(c->script->digest)) : -ENOMEM;
        if (r < 0)
                (void) call_free(c);
        return r;
}
