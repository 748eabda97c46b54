/* One question to all sentinels, each over a link of its own. The answer is given when enough of them agree or all
 * have had their say, and only after the links are closed: a question leaves nothing behind on the loop. */
#include "ledger/redis_sentinel.h"

#include "common/config/config.h"
#include "ledger/redis_link.h"
#include "ledger/redis_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

struct voter {
        struct redis_question *question;
        const char *address;       /* borrowed, of the configuration */
        struct redis_link *link;
        bool said;                 /* an answer, or that none comes */
        bool named;                /* the answer is `host` and `port` */
        char host[256];
        unsigned port;
};

struct redis_question {
        uv_loop_t *loop;           /* borrowed */
        struct redis_sentinels o;
        redis_primary_cb cb;       /* NULL: ended, nobody is told */
        void *arg;
        void (*closed)(void *arg); /* when ended */
        uv_timer_t limit;          /* of the whole question */
        struct redis_primary primary;
        char trouble[160];         /* why one of them named nobody */
        bool over;
        unsigned closing;          /* handles that must close first */
        size_t count;
        struct voter voters[];
};

static void closed_one(void *arg)
{
        struct redis_question *q = arg;

        if (--q->closing > 0)
                return;
        if (q->cb)
                q->cb(&q->primary, q->arg);
        else
                q->closed(q->arg);
        free(q);
}

static void on_limit_closed(uv_handle_t *h)
{
        closed_one(h->data);
}

static void conclude(struct redis_question *q)
{
        if (q->over)
                return;
        q->over = true;
        q->closing = 1;
        for (size_t i = 0; i < q->count; i++) {
                if (!q->voters[i].link)
                        continue;
                q->closing++;
                redis_link_close(q->voters[i].link, closed_one, q);
        }
        uv_close((uv_handle_t *) &q->limit, on_limit_closed);
}

static size_t votes_for(const struct redis_question *q, const struct voter *v)
{
        size_t votes = 0;

        for (size_t i = 0; i < q->count; i++) {
                const struct voter *other = &q->voters[i];
                votes += other->named && other->port == v->port && strcmp(other->host, v->host) == 0;
        }
        return votes;
}

static const struct voter *most_named(const struct redis_question *q, size_t *ret_votes, size_t *ret_answers)
{
        const struct voter *best = NULL;

        *ret_votes = *ret_answers = 0;
        for (size_t i = 0; i < q->count; i++) {
                if (!q->voters[i].named)
                        continue;
                size_t votes = votes_for(q, &q->voters[i]);
                ++*ret_answers;
                if (votes <= *ret_votes)
                        continue;
                *ret_votes = votes;
                best = &q->voters[i];
        }
        return best;
}

/* `last`: no further answer will come. */
static void count_votes(struct redis_question *q, bool last)
{
        struct redis_primary *p = &q->primary;
        size_t votes, answers;
        const struct voter *best = most_named(q, &votes, &answers);

        if (votes * 2 <= q->count && !last)
                return;
        if (answers * 2 > q->count && votes * 2 > answers) {
                *p = (struct redis_primary) { .port = best->port };
                (void) snprintf(p->host, sizeof(p->host), "%s", best->host);
        } else {
                p->error = -EHOSTUNREACH;
                if (answers * 2 > q->count)
                        (void) snprintf(p->why, sizeof(p->why), "the sentinels do not agree where the primary is");
                else
                        (void) snprintf(p->why, sizeof(p->why), "%zu of %zu sentinels say where the primary is; %.90s",
                                        answers, q->count, q->trouble);
        }
        conclude(q);
}

static void heard(struct voter *v)
{
        struct redis_question *q = v->question;
        bool last = true;

        v->said = true;
        for (size_t i = 0; i < q->count; i++)
                last &= q->voters[i].said;
        count_votes(q, last);
}

static void named_nobody(struct voter *v, const char *why)
{
        struct redis_question *q = v->question;

        if (v->said || q->over)
                return;
        (void) snprintf(q->trouble, sizeof(q->trouble), "%.64s: %.90s", v->address, why);
        heard(v);
}

static void on_named(int error, const struct redisReply *r, void *arg)
{
        struct voter *v = arg;

        if (error < 0 || v->said || v->question->over)
                return;   /* the link tells of its loss */
        int64_t port = reply_count(r) == 2 ? reply_int(r, 1) : 0;
        if (r->type == REDIS_REPLY_ERROR)
                named_nobody(v, r->str);
        else if (r->type == REDIS_REPLY_NIL)
                named_nobody(v, "knows no redis.master of this name");
        else if (port < 1 || port > 65535 || !*reply_text(r, 0) || strlen(reply_text(r, 0)) >= sizeof(v->host))
                named_nobody(v, "its answer is not understood");
        else {
                reply_copy(r, 0, v->host, sizeof(v->host));
                v->port = (unsigned) port;
                v->named = true;
                heard(v);
        }
}

static void on_open(void *arg)
{
        struct voter *v = arg;
        const char *argv[] = { "SENTINEL", "get-master-addr-by-name", v->question->o.master };
        const size_t lens[] = { strlen(argv[0]), strlen(argv[1]), strlen(argv[2]) };

        /* What is not sent is not answered: the limit ends that. */
        if (!v->said && !v->question->over)
                (void) redis_link_send(v->link, 3, argv, lens, on_named, v);
}

static void on_lost(const char *why, void *arg)
{
        named_nobody(arg, why);
}

static void on_limit(uv_timer_t *t)
{
        count_votes(t->data, true);
}

static int voter_open(struct redis_question *q, struct voter *v, const char *address)
{
        struct redis_link_options o = { .connect_ms = q->o.connect_ms, .command_ms = q->o.command_ms,
                                        .on_open = on_open, .on_lost = on_lost, .arg = v };
        char url[300];

        v->question = q;
        v->address = address;
        (void) snprintf(url, sizeof(url), "redis://%s", address);
        int r = redis_url_parse(url, &o.url);
        return r < 0 ? r : redis_link_open(q->loop, &o, &v->link);
}

int redis_sentinel_ask(uv_loop_t *loop, const struct redis_sentinels *s, redis_primary_cb cb, void *arg,
                       struct redis_question **ret)
{
        size_t count = s->addresses->count;
        struct redis_question *q = calloc(1, sizeof(*q) + count * sizeof(q->voters[0]));

        if (!q)
                return -ENOMEM;
        *q = (struct redis_question) { .loop = loop, .o = *s, .cb = cb, .arg = arg, .count = count };
        (void) uv_timer_init(loop, &q->limit);
        q->limit.data = q;
        for (size_t i = 0; i < count; i++) {
                int r = voter_open(q, &q->voters[i], s->addresses->items[i]);
                if (r == 0)
                        continue;
                q->voters[i].said = true;
                (void) snprintf(q->trouble, sizeof(q->trouble), "%.64s: %s", q->voters[i].address, strerror(-r));
        }
        (void) uv_timer_start(&q->limit, on_limit, s->connect_ms + s->command_ms, 0);
        *ret = q;
        return 0;
}

void redis_sentinel_end(struct redis_question *q, void (*closed)(void *arg), void *arg)
{
        q->cb = NULL;
        q->closed = closed;
        q->arg = arg;
        conclude(q);
}
