/* define: what is in force is read, what its schedule had until now is counted here, since schedules live in C,
 * and the new one is written only if nothing of that has changed meanwhile. */
#include "ledger/redis_ledger.h"
#include "ledger/redis_reply.h"
#include "ledger/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit that moves between reading and writing, at most each 10 ms: this often in a row is no chance. */
#define TRIES 50

static const char *scope_key(const struct define_in *in)
{
        return in->all_scope ? in->node : "";
}

static void on_defined(struct redis_request *q, const struct redisReply *r);

static void ask(struct redis_ledger *l, struct ledger_call *c);

/* What `s` had in (cursor, now]. */
static struct instant_range given_up(const struct schedule *s, struct instant cursor, struct instant now)
{
        struct instant_range range = { INSTANT_NONE, INSTANT_NONE, 0 };

        if (instant_is_none(cursor) || schedule_next(s, cursor, &range.first) < 0 || range.first.ms > now.ms ||
            schedule_last(s, now, &range.last) < 0)
                return (struct instant_range) { INSTANT_NONE, INSTANT_NONE, 0 };
        range.count = schedule_count(s, cursor, now);
        return range;
}

/* The reply of definition.lua. */
enum { NOW_AT = 3, REV_AT, WHEN_AT, DEF_AT, SHARDS_AT, COMPETES_AT, SCHEDULE_AT, VALID_AT, CURSORS_AT, FENCE_AT };

static void add_units(struct redis_args *a, const struct redisReply *r, struct ledger_call *c)
{
        const struct redisReply *cursors = reply_at(r, CURSORS_AT);
        struct define_out *out = &c->out.define;
        struct schedule old = { .kind = SCHEDULE_NONE };

        c->why[0] = '\0';
        if (*reply_text(r, REV_AT) && schedule_parse(reply_text(r, SCHEDULE_AT), &old) < 0) {
                ledger_uncounted(reply_text(r, SCHEDULE_AT), c->why, sizeof(c->why));
                old = (struct schedule) { .kind = SCHEDULE_NONE };
        }
        for (size_t i = 0; i < reply_count(cursors); i++) {
                struct instant cursor = reply_instant(cursors, i);
                struct instant_range range = given_up(&old, cursor, out->valid_from);
                if (out->revised.count == 0)
                        out->revised = range;
                redis_args_instant(a, cursor);
                redis_args_instant(a, range.first);
                redis_args_instant(a, range.last);
                redis_args_int(a, (int64_t) range.count);
        }
}

static struct instant newest_cursor(const struct redisReply *cursors)
{
        struct instant newest = INSTANT_NONE;

        for (size_t i = 0; i < reply_count(cursors); i++)
                if (reply_instant(cursors, i).ms > newest.ms)
                        newest = reply_instant(cursors, i);
        return newest;
}

static void put(struct redis_ledger *l, struct ledger_call *c, const struct redisReply *r)
{
        const struct define_in *in = &c->in.define;
        struct define_out *out = &c->out.define;
        bool competed = reply_int(r, COMPETES_AT) == 1;
        const char *old_when = *reply_text(r, REV_AT) ? reply_text(r, WHEN_AT) : NULL;
        char definition[UNIT_TEXT], other[UNIT_TEXT], schedule[SCHEDULE_TEXT];
        struct redis_args a = { 0 };

        struct instant newest = newest_cursor(reply_at(r, CURSORS_AT));

        *out = (struct define_out) { .valid_from = rules_valid_from(in, old_when, newest, reply_instant(r, NOW_AT)),
                                     .changed = true,
                                     .cause = competed && in->competes ? CAUSE_REVISED : CAUSE_DISABLED,
                                     .told = out->told, .told_count = out->told_count };
        out->ended = in->away && competed;
        if (in->away)
                out->left = out->valid_from;
        reply_copy(r, FENCE_AT, out->fence, sizeof(out->fence));
        schedule_text(&in->schedule, schedule, sizeof(schedule));
        redis_definition_key(scope_key(in), in->task, definition);
        /* What leaves has no other scope that it goes to. */
        other[0] = '\0';
        if (!in->away)
                redis_definition_key(in->all_scope ? "" : l->o.node, in->task, other);
        redis_begin(l, &a);
        redis_args_text(&a, definition);
        redis_args_text(&a, other);
        redis_args_text(&a, scope_key(in));
        redis_args_text(&a, in->task);
        redis_args_text(&a, reply_text(r, REV_AT));
        redis_args_instant(&a, out->valid_from);
        redis_args_text(&a, in->when_hash);
        redis_args_text(&a, in->def_hash);
        redis_args_int(&a, in->away ? reply_int(r, SHARDS_AT) : in->shards);
        redis_args_int(&a, in->competes);
        redis_args_text(&a, schedule);
        redis_args_text(&a, cause_names[out->cause]);
        redis_args_text(&a, l->o.owner);
        redis_args_text(&a, l->o.node);
        redis_args_int(&a, (int64_t) l->o.life);
        redis_args_int(&a, rules_moves_in(in, old_when));
        add_units(&a, r, c);
        redis_request(l, REDIS_DEFINE, &a, &c, 1, on_defined);
}

/* Instants that waited and were given up. */
static int add_told(struct define_out *out, const struct redisReply *rows)
{
        size_t count = reply_count(rows);

        if (count == 0)
                return 0;
        struct told_range *grown = reallocarray(out->told, out->told_count + count, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        out->told = grown;
        for (size_t i = 0; i < count; i++)
                reply_told(reply_at(rows, i), &grown[out->told_count++]);
        return 0;
}

static void on_defined(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        const char *word = reply_text(r, 3);

        if (add_told(&c->out.define, reply_at(r, 4)) < 0)
                redis_answer(c, -ENOMEM, "out of memory");
        else if (strcmp(word, "more") == 0)
                ask(q->ledger, c);
        else if (strcmp(word, "retry") != 0) {
                char why[160];
                (void) snprintf(why, sizeof(why), "%s", c->why);
                c->out.define.rev = (uint64_t) reply_int(r, 3);
                redis_answer(c, 0, why);
        } else if (++c->tries < TRIES)
                ask(q->ledger, c);
        else
                redis_answer(c, -EAGAIN, "the task's units did not stand still");
}

static void on_read(struct redis_request *q, const struct redisReply *r)
{
        struct ledger_call *c = q->calls[0];
        const struct define_in *in = &c->in.define;
        bool is_known = *reply_text(r, REV_AT);

        c->out.define.waits = is_known && !in->away && !in->asked && rules_is_in_ledger(reply_text(r, WHEN_AT));
        if (c->out.define.waits || (!is_known && in->away && !in->noted)) {
                redis_answer(c, 0, NULL);
                return;
        }
        if (!is_known || strcmp(reply_text(r, WHEN_AT), in->when_hash) != 0) {
                put(q->ledger, c, r);
                return;
        }
        /* What was given up in steps before is told, also when another has put the same in force meanwhile. */
        c->out.define.rev = (uint64_t) reply_int(r, REV_AT);
        c->out.define.valid_from = reply_instant(r, VALID_AT);
        c->out.define.changed = c->out.define.ended = false;
        if (in->away)
                c->out.define.left = c->out.define.valid_from;
        reply_copy(r, FENCE_AT, c->out.define.fence, sizeof(c->out.define.fence));
        redis_answer(c, 0, NULL);
}

static void ask(struct redis_ledger *l, struct ledger_call *c)
{
        char definition[UNIT_TEXT];
        struct redis_args a = { 0 };

        redis_definition_key(scope_key(&c->in.define), c->in.define.task, definition);
        redis_begin(l, &a);
        redis_args_text(&a, definition);
        redis_args_text(&a, c->in.define.fence ? c->in.define.fence : "");
        redis_request(l, REDIS_DEFINITION, &a, &c, 1, on_read);
}

void redis_define_send(struct redis_ledger *l, struct ledger_call *c)
{
        c->tries = 0;
        ask(l, c);
}
