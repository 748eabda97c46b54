/* Effects on the group's own server, behind a check of the fence. A script of the configuration travels inside ours,
 * as one text with one digest, so that the server knows both after the first time. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>
#include <openssl/evp.h>

#include "common/buf.h"
#include "common/cleanup.h"

#define DIGEST_BYTES 20   /* of SHA-1, by which servers know scripts */

/* effect.lua with one script in front of it. */
struct redis_effect {
        struct redis_effect *next;
        const char *body;          /* borrowed; what it was made of */
        char *whole;               /* owned */
        char digest[2 * DIGEST_BYTES + 1];
        struct redis_text text;    /* of these two */
};

static struct redis_effect *effect_free(struct redis_effect *e)
{
        if (!e)
                return NULL;
        free(e->whole);
        free(e);
        return NULL;
}

DEFINE_CLEANUP(struct redis_effect *, effect_freep, effect_free)

void redis_effects_free(struct redis_ledger *l)
{
        while (l->effects) {
                struct redis_effect *e = l->effects;
                l->effects = e->next;
                (void) effect_free(e);
        }
}

/* How many = make brackets that `body` does not close itself. None would do for most, but Lua does not nest those. */
static size_t bracket_level(const char *body)
{
        size_t len = strlen(body);

        for (size_t level = 1;; level++) {
                bool closes = false;
                for (const char *p = body; !closes && (p = strchr(p, ']')); p++) {
                        size_t n = strspn(p + 1, "=");
                        /* Its last bytes may close with the first of the bracket behind them. */
                        closes = n == level && (p[1 + n] == ']' || p + 1 + n == body + len);
                }
                if (!closes)
                        return level;
        }
}

static void add_bracket(struct buf *b, char bracket, size_t level)
{
        buf_char(b, bracket);
        for (size_t i = 0; i < level; i++)
                buf_char(b, '=');
        buf_char(b, bracket);
}

static int digest_make(const struct buf *text, char ret[2 * DIGEST_BYTES + 1])
{
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned len = 0;

        if (EVP_Digest(text->data, text->len, bytes, &len, EVP_sha1(), NULL) != 1 || len != DIGEST_BYTES)
                return -ENOMEM;
        for (unsigned i = 0; i < len; i++)
                (void) snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
        return 0;
}

static struct redis_effect *effect_new(const char *body)
{
        const struct redis_text *ours = &redis_scripts[REDIS_EFFECT];
        _cleanup_(effect_freep) struct redis_effect *e = calloc(1, sizeof(*e));
        _cleanup_(buf_done) struct buf whole = BUF_EMPTY;
        size_t level = bracket_level(body);

        if (!e)
                return NULL;
        buf_text(&whole, "local BODY = ");
        add_bracket(&whole, '[', level);
        buf_char(&whole, '\n');   /* Lua leaves out one at the beginning, which may be the body's own */
        buf_text(&whole, body);
        add_bracket(&whole, ']', level);
        buf_char(&whole, '\n');
        buf_add(&whole, ours->text, ours->len);
        if (whole.failed || digest_make(&whole, e->digest) < 0)
                return NULL;
        e->body = body;
        e->text = (struct redis_text) { .name = ours->name, .digest = e->digest, .len = whole.len };
        e->text.text = e->whole = buf_take(&whole);
        return e->whole ? TAKE(e) : NULL;
}

/* Made once for a script. NULL: out of memory. */
static const struct redis_text *text_of(struct redis_ledger *l, const struct effect_in *in)
{
        if (in->kind == EFFECT_STREAM)
                return &redis_scripts[REDIS_EFFECT];
        for (const struct redis_effect *e = l->effects; e; e = e->next)
                if (e->body == in->script)
                        return &e->text;
        struct redis_effect *e = effect_new(in->script);
        if (!e)
                return NULL;
        e->next = l->effects;
        l->effects = e;
        return &e->text;
}

static void add_texts(struct redis_args *a, const char *const *texts, size_t count)
{
        for (size_t i = 0; i < count; i++)
                redis_args_text(a, texts[i]);
}

static int text_copy(const struct redisReply *r, struct effect_out *out)
{
        bool given = r && r->type == REDIS_REPLY_STRING;
        size_t len = given ? r->len : 0;

        out->text = malloc(len + 1);
        if (!out->text)
                return -ENOMEM;
        if (given)
                memcpy(out->text, r->str, len);
        out->text[len] = '\0';
        out->text_len = len;
        return 0;
}

static void on_effected(struct redis_request *q, const struct redisReply *r)
{
        static const char *const words[] = { [EFFECT_DONE] = "done", [EFFECT_BEFORE] = "before",
                                             [EFFECT_FENCED] = "fenced", [EFFECT_FAILED] = "failed", NULL };
        struct ledger_call *c = q->calls[0];
        int word = reply_name(r, 3, words, -1);

        /* Not understood, or without memory for it: it may have been made, as after a lost reply. */
        if (word < 0)
                redis_answer(c, -ETIMEDOUT, "the server's answer is not understood");
        else if (text_copy(reply_at(r, 4), &c->out.effect) < 0)
                redis_answer(c, -ETIMEDOUT, "out of memory");
        else {
                c->out.effect.effected = (enum effected) word;
                redis_answer(c, 0, NULL);
        }
}

void redis_effect_send(struct redis_ledger *l, struct ledger_call *c)
{
        static const char *const kinds[] = { [EFFECT_STREAM] = "stream", [EFFECT_SCRIPT] = "script" };
        const struct effect_in *in = &c->in.effect;
        const struct redis_text *text = text_of(l, in);
        struct redis_args a = { 0 };

        if (!text) {
                redis_answer(c, -EAGAIN, "out of memory");
                return;
        }
        redis_begin(l, &a);
        redis_args_text(&a, in->occ);
        redis_args_text(&a, in->token);
        redis_args_text(&a, in->fence);
        redis_args_text(&a, kinds[in->kind]);
        if (in->kind == EFFECT_STREAM) {
                redis_args_text(&a, in->key);
                redis_args_int(&a, in->maxlen);
                add_texts(&a, in->context, in->context_count);
                add_texts(&a, in->fields, in->field_count);
        } else {
                redis_args_int(&a, (int64_t) in->key_count);
                redis_args_int(&a, (int64_t) in->field_count);
                add_texts(&a, in->keys, in->key_count);
                add_texts(&a, in->fields, in->field_count);
                add_texts(&a, in->context, in->context_count);
        }
        redis_request_text(l, text, &a, &c, 1, on_effected);
}
