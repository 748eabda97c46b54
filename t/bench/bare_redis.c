/* The same arguments in the same order as the ledger sends; nothing but the answer's fences is looked at. */
#include "t/bench/bare_redis.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/redis_args.h"
#include "ledger/redis_script.h"

#define HEAD      4      /* EVALSHA digest 1 key */
#define ARGS_MAX  (HEAD + 3 + 64 * 32)

static int ask(struct bare_redis *b, const char *field, char *ret, size_t room)
{
        redisReply *r = redisCommand(b->c, "HGET %s %s", b->store_key, field);
        bool found = r && r->type == REDIS_REPLY_STRING && r->len < room;

        if (found)
                (void) snprintf(ret, room, "%s", r->str);
        freeReplyObject(r);
        return found ? 0 : -1;
}

static int bare_redis_connect(struct bare_redis *b, const char *url, const char *app)
{
        unsigned port;

        *b = (struct bare_redis) { 0 };
        if (sscanf(url, "redis://127.0.0.1:%u", &port) != 1)
                return -1;
        (void) snprintf(b->prefix, sizeof(b->prefix), "onced:{%.31s:default}:", app);
        (void) snprintf(b->store_key, sizeof(b->store_key), "%sstore", b->prefix);
        b->c = redisConnect("127.0.0.1", (int) port);
        return !b->c || b->c->err ? -1 : 0;
}

int bare_redis_open(struct bare_redis *b, const char *url, const char *app)
{
        char epoch[24], incarnation[40];

        if (bare_redis_connect(b, url, app) < 0 || ask(b, "epoch", epoch, sizeof(epoch)) < 0 ||
            ask(b, "inc", incarnation, sizeof(incarnation)) < 0)
                return -1;
        (void) snprintf(b->epoch, sizeof(b->epoch), "%s %s", epoch, incarnation);
        return ask(b, "run_id", b->run_id, sizeof(b->run_id));
}

int bare_redis_make(const char *url, const char *app)
{
        struct bare_redis b;
        int r = bare_redis_connect(&b, url, app);

        if (r == 0)
                freeReplyObject(redisCommand(b.c, "EVAL %s 2 %s %sfence",
                        "if redis.call('SETNX', KEYS[2], '1') == 1 then redis.call('HSET', KEYS[1], 'v', '1', 'inc',"
                        "  '0123456789abcdef0123456789abcdef', 'epoch', '1', 'run_id',"
                        "  string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 'barrier', '000000000000000',"
                        "  'born', '000000000000000', 'hold', '000000000000000') end", b.store_key, b.prefix));
        bare_redis_close(&b);
        return r;
}

void bare_redis_close(struct bare_redis *b)
{
        if (b->c)
                redisFree(b->c);
}

static int append(struct bare_redis *b, enum redis_script script, struct redis_args *a)
{
        const char *argv[ARGS_MAX] = { "EVALSHA", redis_scripts[script].digest, "1", b->store_key };
        size_t lens[ARGS_MAX] = { 7, strlen(redis_scripts[script].digest), 1, strlen(b->store_key) };
        int count = HEAD + (int) redis_args_count(a);

        redis_args_list(a, argv + HEAD, lens + HEAD);
        int r = redis_args_state(a) < 0 || redisAppendCommandArgv(b->c, count, argv, lens) != REDIS_OK ? -1 : 0;
        redis_args_done(a);
        return r;
}

static void common_begin(const struct bare_redis *b, struct redis_args *a)
{
        redis_args_text(a, b->prefix);
        redis_args_text(a, b->epoch);
        redis_args_text(a, b->run_id);
}

static void texts(struct redis_args *a, const char *const *values)
{
        for (; *values; values++)
                redis_args_text(a, *values);
}

static void claim_item(struct redis_args *a, const struct due *d)
{
        char unit[UNIT_TEXT], definition[UNIT_TEXT];

        unit_text("", d->task, 0, unit);
        unit_text("", d->task, 0, definition);
        definition[strlen(definition) - 1] = '\0';
        texts(a, (const char *[]) { unit, definition, "", d->task, "0", NULL });
        redis_args_instant(a, d->planned);
        texts(a, (const char *[]) { d->occ, d->token, d->trig, d->owner, DUE_NODE, NULL });
        redis_args_instant(a, d->expect);
        texts(a, (const char *[]) { "", "", "0", "skipped", "misfire", "59000", "1", "drop", "1", "100", "30000", "1",
                                    "1", "0", "0", "1", DUE_BOOT, "", "", "", NULL });
}

static int finish_one(struct bare_redis *b, const struct due *d)
{
        struct redis_args a = { 0 };
        char unit[UNIT_TEXT];
        int64_t now = clock_wall().ns;

        unit_text("", d->task, 0, unit);
        common_begin(b, &a);
        texts(&a, (const char *[]) { unit, "", d->task, "0", d->occ, d->token, d->fence, d->trig, d->owner, DUE_NODE,
                                     NULL });
        redis_args_instant(&a, d->planned);
        texts(&a, (const char *[]) { "succeeded", "", "noop", NULL });
        redis_args_int(&a, now);
        redis_args_int(&a, now);
        texts(&a, (const char *[]) { "", "0", "", "-1", "1000", "0", NULL });
        return append(b, REDIS_FINISH, &a);
}

static int answer(struct bare_redis *b, struct due *dues, int count)
{
        redisReply *r = NULL;
        int done = 0;

        if (redisGetReply(b->c, (void **) &r) != REDIS_OK || !r)
                return -1;
        bool ok = r->type == REDIS_REPLY_ARRAY && r->elements > 3 && strcmp(r->element[0]->str, "OK") == 0;
        for (; ok && done < count; done++) {
                const redisReply *item = r->element[3 + done];
                if (strcmp(item->element[0]->str, "granted") != 0)
                        break;
                (void) snprintf(dues[done].fence, sizeof(dues[done].fence), "%s", item->element[2]->str);
        }
        if (!ok || done < count)
                (void) fprintf(stderr, "bare: %s\n", r->type == REDIS_REPLY_ERROR ? r->str : "refused");
        freeReplyObject(r);
        return ok && done == count ? 0 : -1;
}

static int claim_all(struct bare_redis *b, const struct due *dues, int count)
{
        struct redis_args a = { 0 };

        common_begin(b, &a);
        for (int i = 0; i < count; i++)
                claim_item(&a, &dues[i]);
        return append(b, REDIS_CLAIM, &a);
}

int bare_redis_turn(struct bare_redis *b, const struct due *ended, int ended_count, struct due *dues, int count)
{
        int r = 0;

        for (int i = 0; i < ended_count && r == 0; i++)
                r = finish_one(b, &ended[i]);
        if (r == 0 && count > 0)
                r = claim_all(b, dues, count);
        for (int i = 0; i < ended_count && r == 0; i++)
                r = answer(b, NULL, 0);
        return r < 0 || count == 0 ? r : answer(b, dues, count);
}
