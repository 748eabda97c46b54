/* Replies of a Redis server gone mad: every operation of the ledger, each request of it answered by what the input
 * says. A line is a part of a reply: [ and ] an array, :1 an integer, $x a text (with | for a line's end), +x a
 * status, -x an error, ! none. The first line chooses the operation. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "common/cleanup.h"
#include "ledger/redis_ledger.h"

#define DEPTH_MAX    4
#define ELEMENTS_MAX 256
#define QUEUE_MAX    64

/* The connection: requests wait here for their reply, in order. */
static struct waiting {
        redis_reply_cb cb;
        void *arg;
} queue[QUEUE_MAX];
static size_t queue_first, queue_last;
static bool closed;
static unsigned answered, expected;

int __wrap_redis_link_send(struct redis_link *l, int argc, const char **argv, const size_t *lens, redis_reply_cb cb,
                           void *arg);
int __wrap_redis_script_send(struct redis_link *l, const struct redis_text *script, const char *store_key,
                             struct redis_args *args, redis_reply_cb cb, void *arg);
void __wrap_redis_link_drop(struct redis_link *l, const char *why);
void __wrap_redis_link_settled(struct redis_link *l);

static int queue_add(redis_reply_cb cb, void *arg)
{
        if (closed || queue_last == QUEUE_MAX)
                return -ENOTCONN;
        queue[queue_last++] = (struct waiting) { cb, arg };
        return 0;
}

int __wrap_redis_link_send(struct redis_link *l, int argc, const char **argv, const size_t *lens, redis_reply_cb cb,
                           void *arg)
{
        (void) l;
        for (int i = 0; i < argc; i++)
                CLAIM(argv[i] && strlen(argv[i]) == lens[i]);
        return queue_add(cb, arg);
}

int __wrap_redis_script_send(struct redis_link *l, const struct redis_text *script, const char *store_key,
                             struct redis_args *args, redis_reply_cb cb, void *arg)
{
        (void) l;
        redis_args_done(args);
        CLAIM(strlen(script->text) == script->len && *store_key);
        return queue_add(cb, arg);
}

void __wrap_redis_link_drop(struct redis_link *l, const char *why)
{
        (void) l;
        CLAIM(*why);
}

void __wrap_redis_link_settled(struct redis_link *l)
{
        (void) l;
}

/* One part of a reply, with what is in it; NULL at the end of the input. */
static redisReply *part_read(char **rest, unsigned depth)
{
        char *line = *rest ? strsep(rest, "\n") : NULL;

        if (!line)
                return NULL;
        redisReply *r = calloc(1, sizeof(*r));
        CLAIM(r != NULL);
        r->type = REDIS_REPLY_NIL;
        if (*line == ':') {
                r->type = REDIS_REPLY_INTEGER;
                r->integer = strtoll(line + 1, NULL, 10);
        } else if (*line == '$' || *line == '+' || *line == '-') {
                r->type = *line == '$' ? REDIS_REPLY_STRING : *line == '+' ? REDIS_REPLY_STATUS : REDIS_REPLY_ERROR;
                r->len = strlen(line + 1);
                r->str = strdup(line + 1);
                CLAIM(r->str != NULL);
                for (char *bar = r->str; (bar = strchr(bar, '|'));)
                        *bar = '\n';
        } else if (*line == '[' && depth < DEPTH_MAX) {
                r->type = REDIS_REPLY_ARRAY;
                r->element = calloc(ELEMENTS_MAX, sizeof(redisReply *));
                while (r->elements < ELEMENTS_MAX && *rest && **rest != ']' &&
                       (r->element[r->elements] = part_read(rest, depth + 1)))
                        r->elements++;
                if (*rest && **rest == ']')
                        (void) strsep(rest, "\n");
        }
        return r;
}

static void part_free(redisReply *r)
{
        for (size_t i = 0; i < r->elements; i++)
                part_free(r->element[i]);
        free(r->element);
        free(r->str);
        free(r);
}

static void claim_ended(const struct ended_record *list, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                CLAIM(strnlen(list[i].occ, OCC_TEXT) < OCC_TEXT && strnlen(list[i].trig, TRIG_TEXT) < TRIG_TEXT);
                CLAIM(list[i].state < STATE_COUNT_ && list[i].cause < CAUSE_COUNT_);
        }
}

static void claim_nodes(const struct node_row *rows, size_t count)
{
        CLAIM(count <= GROUP_NODES_MAX && (rows || count == 0));
        for (size_t i = 0; i < count; i++) {
                CLAIM(strnlen(rows[i].node, NODE_ID_MAX) < NODE_ID_MAX && strnlen(rows[i].host, HOST_TEXT) < HOST_TEXT);
                CLAIM(strnlen(rows[i].token, START_TOKEN_TEXT) < START_TOKEN_TEXT);
                CLAIM(strnlen(rows[i].version, VERSION_TEXT) < VERSION_TEXT);
        }
}

static void claim_group(const struct ledger_call *c)
{
        if (c->op == LEDGER_BEAT) {
                const struct beat_out *out = &c->out.beat;
                claim_nodes(out->nodes, out->count);
                CLAIM(out->verdict == BEAT_OK || (out->verdict == BEAT_CLONE && !out->is_main));
                CLAIM(!out->is_main || out->main_until.ns > 0);
                CLAIM(strnlen(out->main, NODE_ID_MAX) < NODE_ID_MAX);
        }
        if (c->op == LEDGER_NODES)
                claim_nodes(c->out.nodes.nodes, c->out.nodes.count);
        if (c->op == LEDGER_SET_MAIN)
                CLAIM(strnlen(c->out.set_main.before, NODE_ID_MAX) < NODE_ID_MAX);
        if (c->op == LEDGER_EFFECT) {
                CLAIM(c->out.effect.effected <= EFFECT_FAILED);
                CLAIM(strlen(c->out.effect.text) == c->out.effect.text_len);
        }
        if (c->op == LEDGER_SWEEP)
                claim_ended(c->out.sweep.ended, c->out.sweep.ended_count);
        for (size_t i = 0; c->op == LEDGER_SWEEP && i < c->out.sweep.expired_count; i++)
                CLAIM(strnlen(c->out.sweep.expired[i].occ, OCC_TEXT) < OCC_TEXT);
}

/* What the caller of a ledger relies on, whoever answered. */
static void claim_answer(const struct ledger_call *c)
{
        CLAIM(c->error <= 0);
        CLAIM(strnlen(c->why, sizeof(c->why)) < sizeof(c->why));
        const struct take_out *take = c->op == LEDGER_TAKE ? &c->out.take :
                                      c->op == LEDGER_FINISH && c->in.finish.take ? &c->out.finish.take : NULL;
        if (c->op == LEDGER_CLAIM || take) {
                const struct claim_out *out = take ? &take->claim : &c->out.claim;
                CLAIM(out->outcome < OUTCOME_COUNT_);
                CLAIM(c->error < 0 || (out->state < STATE_COUNT_ && out->cause < CAUSE_COUNT_));
                CLAIM(c->error < 0 || out->outcome != OUTCOME_GRANTED || *out->fence);
        }
        if (c->error < 0)
                return;
        claim_group(c);
        CLAIM(!take || take->claim.outcome != OUTCOME_GRANTED || !instant_is_none(take->planned));
        CLAIM(!take || strnlen(take->occ, OCC_TEXT) < OCC_TEXT);
        for (size_t i = 0; c->op == LEDGER_QUEUED && i < c->out.queued.count; i++)
                CLAIM(strnlen(c->out.queued.units[i].task, TASK_NAME_MAX) < TASK_NAME_MAX);
        if (c->op == LEDGER_INTERRUPT)
                claim_ended(c->out.interrupt.ended, c->out.interrupt.ended_count);
        if (c->op == LEDGER_LEAD)
                claim_ended(c->out.lead.ended, c->out.lead.ended_count);
        for (size_t i = 0; c->op == LEDGER_HISTORY && i < c->out.history.count; i++) {
                const struct history_row *r = &c->out.history.rows[i];
                CLAIM(r->state < STATE_COUNT_ && r->cause < CAUSE_COUNT_ && r->result < RESULT_COUNT_);
                CLAIM(r->text && r->error);
        }
}

static void on_done(struct ledger_call *c)
{
        answered++;
        claim_answer(c);
        ledger_call_done(c);
}

static void on_hello(enum hello_verdict v, const char *why, void *arg)
{
        (void) arg;
        answered++;
        CLAIM(v == HELLO_OK || *why);
}

static void on_health(enum ledger_health h, const char *why, void *arg)
{
        (void) h;
        (void) why;
        (void) arg;
}

static const struct unit_key unit = { "", "mail", 0 };

static void fill(struct ledger_call *c, enum ledger_op op, struct ledger *l)
{
        static const char occ[] = "0011223344556677889900112233445566778899001122334455667788990011";
        static const struct take_in take = { .unit = { "", "mail", 0 }, .token = "t", .trig = "n1.0.7.5-ab.18",
                                             .owner = "n1.0.7.5-ab", .node = "n1", .lease_ms = 30000, .shards = 1,
                                             .not_after = { 9000 } };

        *c = (struct ledger_call) { .op = op, .done = on_done, .ledger = l };
        switch (op) {
        case LEDGER_LEAD:
                c->in.lead = (struct lead_in) { "n1", "n1.0.7.5-ab", "b00t", 1 };
                break;
        case LEDGER_DEFINE:
                c->in.define = (struct define_in) { .task = "mail", .when_hash = "00112233", .def_hash = "44556677",
                                                    .shards = 2, .competes = true, .node = "n1",
                                                    .schedule = { .kind = SCHEDULE_EVERY, .every_ms = 1000 } };
                break;
        case LEDGER_REGISTER:
                c->in.reg = (struct register_in) { unit, { 1000 } };
                break;
        case LEDGER_PEEK:
                c->in.peek = (struct peek_in) { unit };
                break;
        case LEDGER_CLAIM:
                c->in.claim = (struct claim_in) { .unit = unit, .planned = { 2000 }, .occ = occ, .token = "t",
                                                  .trig = "n1.0.7.5-ab.17", .owner = "n1.0.7.5-ab", .node = "n1",
                                                  .expect = { 1000 }, .lease_ms = 30000, .shards = 1 };
                break;
        case LEDGER_REVOKE:
                c->in.revoke = (struct revoke_in) { unit, occ, "t", { 2000 }, { 1000 }, { 3000 }, 500 };
                break;
        case LEDGER_RENEW:
                c->in.renew = (struct renew_in) { unit, occ, "t", "17", 30000, { 2000 } };
                break;
        case LEDGER_FINISH:
                c->in.finish = (struct finish_in) { .unit = unit, .occ = occ, .token = "t", .fence = "17",
                                                    .trig = "n1.0.7.5-ab.17", .owner = "n1.0.7.5-ab", .node = "n1",
                                                    .planned = { 2000 }, .state = STATE_SUCCEEDED, .text = "",
                                                    .error = "", .code = -1, .keep = { 10, 0 } };
                break;
        case LEDGER_TAKE:
                c->in.take = take;
                break;
        case LEDGER_QUEUED:
                c->in.queued = (struct queued_in) { "n1" };
                break;
        case LEDGER_BEAT:
                c->in.beat = (struct beat_in) { .node = "n1", .token = "01", .prev = "", .host = "h", .boot = "b00t",
                                                .version = "1", .tzdata = "2", .config = "3", .pid = 7,
                                                .offline_ms = 90000, .main_ms = 90000 };
                break;
        case LEDGER_NODES:
                break;
        case LEDGER_SET_MAIN:
                c->in.set_main = (struct set_main_in) { "n1", true, "x" };
                break;
        case LEDGER_EFFECT:
                c->in.effect = (struct effect_in) { .occ = occ, .token = "t", .fence = "17", .kind = EFFECT_SCRIPT,
                                                    .script = "return 1" };
                break;
        case LEDGER_SWEEP:
                c->in.sweep = (struct sweep_in) { .node = "n1", .owner = "n1.0.7.5-ab", .life = 1 };
                break;
        case LEDGER_OP_COUNT_:   /* a finish that takes */
                fill(c, LEDGER_FINISH, l);
                c->in.finish.take = &take;
                break;
        case LEDGER_INTERRUPT:
                c->in.interrupt = (struct interrupt_in) { "n1.0.7.5-ab", false };
                break;
        default:
                c->op = LEDGER_HISTORY;
                c->in.history = (struct history_in) { .task = "mail", .state = -1, .since = INSTANT_NONE, .limit = 10 };
        }
}

/* True: it was the hello, which ends without an answer when the connection does. */
static bool call_send(struct redis_ledger *l, struct ledger_call *calls, const char *operation)
{
        static void (*const senders[])(struct redis_ledger *, struct ledger_call *) = {
                [LEDGER_LEAD] = redis_lead_send,         [LEDGER_DEFINE] = redis_define_send,
                [LEDGER_REGISTER] = redis_register_send, [LEDGER_PEEK] = redis_peek_send,
                [LEDGER_REVOKE] = redis_revoke_send,     [LEDGER_RENEW] = redis_renew_send,
                [LEDGER_FINISH] = redis_finish_send,     [LEDGER_INTERRUPT] = redis_interrupt_send,
                [LEDGER_HISTORY] = redis_history_send,   [LEDGER_TAKE] = redis_take_send,
                [LEDGER_QUEUED] = redis_queued_send,     [LEDGER_OP_COUNT_] = redis_finish_send,
                [LEDGER_BEAT] = redis_beat_send,         [LEDGER_NODES] = redis_nodes_send,
                [LEDGER_SET_MAIN] = redis_set_main_send, [LEDGER_SWEEP] = redis_sweep_send,
                [LEDGER_EFFECT] = redis_effect_send,
        };
        static const char *const names[] = {
                [LEDGER_LEAD] = "lead",     [LEDGER_DEFINE] = "define", [LEDGER_REGISTER] = "register",
                [LEDGER_PEEK] = "peek",     [LEDGER_CLAIM] = "claim",   [LEDGER_REVOKE] = "revoke",
                [LEDGER_RENEW] = "renew",   [LEDGER_FINISH] = "finish", [LEDGER_INTERRUPT] = "interrupt",
                [LEDGER_HISTORY] = "history", [LEDGER_TAKE] = "take",   [LEDGER_QUEUED] = "queued",
                [LEDGER_BEAT] = "beat",     [LEDGER_NODES] = "nodes",   [LEDGER_SET_MAIN] = "set_main",
                [LEDGER_SWEEP] = "sweep",   [LEDGER_EFFECT] = "effect", [LEDGER_OP_COUNT_] = "finish_take",
        };
        struct ledger_call *list[] = { &calls[0], &calls[1] };

        for (size_t op = 0; op < ARRAY_SIZE(names); op++) {
                if (!names[op] || strcmp(names[op], operation) != 0)
                        continue;
                fill(&calls[0], (enum ledger_op) op, &l->base);
                fill(&calls[1], (enum ledger_op) op, &l->base);
                expected = op == LEDGER_CLAIM ? 2 : 1;
                if (op == LEDGER_CLAIM)
                        redis_claim_send(l, list, 2);
                else
                        senders[op](l, &calls[0]);
                return false;
        }
        expected = 1;
        redis_hello_say(&l->hello, l->link);
        return true;
}

/* Answers in order, until the input ends: then the connection does. */
static void answer(char *rest, bool is_hello)
{
        while (queue_first < queue_last) {
                redisReply *r = part_read(&rest, 0);
                closed = closed || !r;
                struct waiting w = queue[queue_first++];
                w.cb(r ? 0 : -ECANCELED, r, w.arg);
                if (r)
                        part_free(r);
        }
        CLAIM(is_hello ? answered <= 1 : answered == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = strndup((const char *) data, size), *rest = text;
        struct ledger_call calls[2];
        struct redis_ledger l = {
                .health = on_health, .state = REDIS_UP, .link = (struct redis_link *) (void *) &calls,
                .prefix = (char[]) { "onced:{a:g}:" }, .store_key = (char[]) { "onced:{a:g}:store" },
                .memory = { .epoch = "1", .run_id = "00" },
                .o = { .node = "n1", .owner = "n1.0.7.5-ab", .boot = "b00t", .life = 1 },
        };

        CLAIM(text != NULL);
        queue_first = queue_last = 0;
        closed = false;
        answered = 0;
        l.hello = (struct redis_hello) { .user = "u", .password = "p", .db = 1, .store_key = l.store_key,
                                         .prefix = l.prefix, .memory = &l.memory, .done = on_hello, .link = l.link };
        bool is_hello = call_send(&l, calls, strsep(&rest, "\n"));
        answer(rest, is_hello);
        redis_effects_free(&l);
        free(l.heard);
        free(text);
        return 0;
}
