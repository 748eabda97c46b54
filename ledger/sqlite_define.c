/* Definitions and cursors: which schedule is in force, since when, and where a unit begins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "ledger/sqlite_rows.h"

struct unit_cursor {
        char scope[NODE_ID_MAX];
        unsigned shard;
        struct instant cursor;
};

static int units_of_task(struct sqlite_store *s, const char *task, struct unit_cursor **ret, size_t *ret_count)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;
        _cleanup_(freep) struct unit_cursor *units = NULL;
        size_t count = 0, room = 0;

        int r = statement_begin(s, SQL_UNITS_OF_TASK, VALUES(TEXT(task)), &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                if (count == room) {
                        room = room ? 2 * room : 16;
                        struct unit_cursor *more = reallocarray(units, room, sizeof(*more));
                        if (!more)
                                return -ENOMEM;
                        units = more;
                }
                column_text(st, 0, units[count].scope, sizeof(units[count].scope));
                units[count].shard = (unsigned) sqlite3_column_int(st, 1);
                units[count++].cursor.ms = sqlite3_column_int64(st, 2);
                r = 0;
        }
        if (r < 0)
                return r;
        *ret = TAKE(units);
        *ret_count = count;
        return 0;
}

/* (cursor, until] of the schedule that ends here is given up in one range, or an instant of it just before one
 * of the new schedule would be passed over without ever being decided. */
static int close_unit(struct sqlite_store *s, const char *task, const struct schedule *old,
                      const struct unit_cursor *u, struct define_out *out)
{
        struct unit_key key = { u->scope, task, u->shard };
        struct instant until = out->valid_from;
        struct instant_range g = { .count = schedule_count(old, u->cursor, until) };

        if (g.count > 0 && schedule_next(old, u->cursor, &g.first) == 0 && schedule_last(old, until, &g.last) == 0) {
                int r = record_insert(s, &(struct new_record) { .unit = &key, .planned = g.first, .last = g.last,
                                                                .count = g.count, .owner = s->owner,
                                                                .node = s->node,
                                                                .state = rules_gap_state(out->cause),
                                                                .cause = out->cause });
                if (r < 0)
                        return r;
                if (g.count > out->revised.count)
                        out->revised = g;
        }
        return unit_move(s, &key, until);
}

static struct instant newest_cursor(const struct unit_cursor *units, size_t count)
{
        struct instant newest = INSTANT_NONE;

        for (size_t i = 0; i < count; i++)
                if (units[i].cursor.ms > newest.ms)
                        newest = units[i].cursor;
        return newest;
}

static int close_old(struct sqlite_store *s, const struct task_row *old, struct ledger_call *c)
{
        const struct define_in *in = &c->in.define;
        struct define_out *out = &c->out.define;
        _cleanup_(freep) struct unit_cursor *units = NULL;
        struct schedule schedule;
        size_t count = 0;

        out->cause = in->competes && old->competes ? CAUSE_REVISED : CAUSE_DISABLED;
        if (task_schedule(old, &schedule) < 0)
                ledger_uncounted(old->schedule, c->why, sizeof(c->why));
        int r = units_of_task(s, in->task, &units, &count);
        out->valid_from = rules_valid_from(in, old->when_hash, newest_cursor(units, count), stamp_instant(s->now));
        for (size_t i = 0; r == 0 && i < count; i++)
                r = close_unit(s, in->task, &schedule, &units[i], out);
        return r;
}

static int begin_units(struct sqlite_store *s, const struct define_in *in, struct instant cursor)
{
        int r = 0;

        for (unsigned i = 0; r == 0 && i < in->shards; i++)
                r = statement_run(s, SQL_UNIT_INSERT, VALUES(TEXT(in->task), TEXT(in->all_scope ? in->node : ""),
                                                             NUMBER(i), NUMBER(cursor.ms)));
        return r;
}

/* Whom nobody will ask for any more: those of a task that runs no longer by itself, and of units that are no more. */
static int queued_without_unit(struct sqlite_store *s, const struct define_in *in, struct buf *occs, struct buf *told)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;
        struct told_range t = { .count = 1, .state = STATE_SKIPPED,
                                .cause = in->competes ? CAUSE_REVISED : CAUSE_DISABLED };
        char occ[OCC_TEXT];

        (void) snprintf(t.task, sizeof(t.task), "%s", in->task);
        (void) snprintf(t.owner, sizeof(t.owner), "%s", s->owner);
        int r = statement_begin(s, SQL_QUEUED_OF_TASK,
                                VALUES(TEXT(in->task), NUMBER(!in->competes), TEXT(in->all_scope ? in->node : ""),
                                       NUMBER(in->shards)), &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                column_text(st, 0, occ, sizeof(occ));
                column_text(st, 1, t.scope_key, sizeof(t.scope_key));
                t.shard = (unsigned) sqlite3_column_int(st, 2);
                t.first.ms = t.last.ms = sqlite3_column_int64(st, 3);
                buf_add(occs, occ, sizeof(occ));
                buf_add(told, &t, sizeof(t));
                r = 0;
        }
        return r < 0 ? r : occs->failed || told->failed ? -ENOMEM : 0;
}

static int settle_queues(struct sqlite_store *s, const struct define_in *in, struct define_out *out)
{
        _cleanup_(buf_done) struct buf occs = BUF_EMPTY, told = BUF_EMPTY;

        int r = queued_without_unit(s, in, &occs, &told);
        for (size_t at = 0; r == 0 && at < occs.len; at += OCC_TEXT)
                r = queued_end(s, occs.data + at, s->owner, NULL, STATE_SKIPPED,
                               in->competes ? CAUSE_REVISED : CAUSE_DISABLED);
        if (r < 0 || told.len == 0)
                return r;
        out->told_count = told.len / sizeof(*out->told);
        out->told = (void *) buf_take(&told);
        return 0;
}

/* In place of a def-hash, of what is away: whether the other ledger still has to be told where to begin. */
#define TO_HAND "to hand on"
#define HANDED  "handed on"

static int put_task(struct sqlite_store *s, const struct define_in *in, const struct task_row *old,
                    const struct define_out *out)
{
        const char *def_hash = !in->away ? in->def_hash : old->exists ? TO_HAND : HANDED;
        unsigned shards = in->away ? old->shards : in->shards;
        char schedule[SCHEDULE_TEXT];

        schedule_text(&in->schedule, schedule, sizeof(schedule));
        return statement_run(s, SQL_TASK_PUT,
                             VALUES(TEXT(in->task), TEXT(in->when_hash), TEXT(def_hash), NUMBER(out->rev),
                                    NUMBER(out->valid_from.ms), NUMBER(shards), NUMBER(in->competes),
                                    TEXT(schedule)));
}

/* The schedule is the one in force. */
static int put_rest(struct sqlite_store *s, const struct define_in *in, const struct task_row *old,
                    struct define_out *out)
{
        const char *def_hash = !in->away ? in->def_hash : in->handed ? HANDED : old->def_hash;

        out->rev = old->rev;
        out->valid_from = old->valid_from;
        if (in->away && strcmp(def_hash, HANDED) != 0)
                out->left = old->valid_from;
        if (strcmp(old->def_hash, def_hash) == 0)
                return 0;
        return statement_run(s, SQL_TASK_DEF, VALUES(TEXT(in->task), TEXT(def_hash)));
}

static int replace(struct sqlite_store *s, const struct task_row *old, struct ledger_call *c)
{
        const struct define_in *in = &c->in.define;
        struct define_out *out = &c->out.define;
        const char *old_when = old->exists ? old->when_hash : NULL;

        out->changed = true;
        out->rev = old->rev + 1;
        out->valid_from = rules_valid_from(in, old_when, INSTANT_NONE, stamp_instant(s->now));
        int r = old->exists ? close_old(s, old, c) : 0;
        if (r == 0)
                r = settle_queues(s, in, out);
        if (r == 0 && rules_moves_in(in, old_when))
                r = begin_units(s, in, out->valid_from);
        out->ended = in->away && old->competes;
        if (in->away && old->exists)
                out->left = out->valid_from;
        return r < 0 ? r : put_task(s, in, old, out);
}

int op_define(struct sqlite_store *s, struct ledger_call *c)
{
        const struct define_in *in = &c->in.define;
        struct define_out *out = &c->out.define;
        struct task_row old;

        int r = task_read(s, in->task, &old);
        if (r < 0)
                return r;
        s->fence = rules_fence_of_both(s->fence, in->fence);
        fence_text(s->fence, out->fence);
        if (in->away && !old.exists && !in->noted)
                return 0;
        out->waits = !in->away && !in->asked && rules_is_in_ledger(old.when_hash);
        if (out->waits)
                return 0;
        if (old.exists && strcmp(old.when_hash, in->when_hash) == 0)
                return put_rest(s, in, &old, out);
        return replace(s, &old, c);
}

int op_register(struct sqlite_store *s, struct ledger_call *c)
{
        const struct register_in *in = &c->in.reg;
        struct unit_facts u = { 0 };
        struct slot_row slot;

        int r = unit_read(s, &in->unit, &u, &slot);
        if (r < 0)
                return r;
        c->out.reg.created = !u.registered;
        c->out.reg.cursor = u.registered ? u.cursor : in->cursor;
        if (u.registered)
                return 0;
        return statement_run(s, SQL_UNIT_INSERT, VALUES(TEXT(in->unit.task), TEXT(in->unit.scope_key),
                                                        NUMBER(in->unit.shard), NUMBER(in->cursor.ms)));
}
