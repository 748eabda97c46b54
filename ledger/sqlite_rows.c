/* Reads and writes single rows; no rule is decided here. */
#include "ledger/sqlite_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

static int word_index(const char *const *names, sqlite3_stmt *st, int column)
{
        const char *word = (const char *) sqlite3_column_text(st, column);
        int i = word ? name_index(names, word) : -1;

        return i < 0 ? -EUCLEAN : i;
}

int record_read(struct sqlite_store *s, const char *occ, const char *token, struct record_row *ret)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        *ret = (struct record_row) { 0 };
        if (!*occ)
                return 0;
        int r = statement_begin(s, SQL_RECORD, VALUES(TEXT(occ), TEXT(token)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r;
        int state = word_index(state_names, st, 2), cause = word_index(cause_names, st, 3);
        if (state < 0 || cause < 0)
                return -EUCLEAN;
        ret->facts = (struct record_facts) { .exists = true, .own = sqlite3_column_int(st, 0) == 1,
                                             .in_slot = sqlite3_column_int(st, 1) == 1,
                                             .state = (enum state) state, .cause = (enum cause) cause };
        ret->fence = sqlite3_column_int64(st, 4);
        column_text(st, 5, ret->owner, sizeof(ret->owner));
        ret->gap = sqlite3_column_int(st, 6) == 1;
        return 0;
}

int task_read(struct sqlite_store *s, const char *task, struct task_row *ret)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        *ret = (struct task_row) { .keep = { 1000, 0 } };
        int r = statement_begin(s, SQL_TASK, VALUES(TEXT(task)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r;
        ret->exists = true;
        column_text(st, 0, ret->when_hash, sizeof(ret->when_hash));
        column_text(st, 1, ret->def_hash, sizeof(ret->def_hash));
        ret->rev = (uint64_t) sqlite3_column_int64(st, 2);
        ret->valid_from.ms = sqlite3_column_int64(st, 3);
        ret->shards = (unsigned) sqlite3_column_int(st, 4);
        ret->competes = sqlite3_column_int(st, 5) == 1;
        column_text(st, 6, ret->schedule, sizeof(ret->schedule));
        ret->keep.count = (unsigned) sqlite3_column_int(st, 7);
        ret->keep.age_ms = sqlite3_column_int64(st, 8);
        return 0;
}

int task_schedule(const struct task_row *task, struct schedule *ret)
{
        *ret = (struct schedule) { .kind = SCHEDULE_NONE };
        return task->exists ? schedule_parse(task->schedule, ret) : 0;
}

static int slots_read(struct sqlite_store *s, const struct unit_key *u, struct unit_facts *ret,
                      struct slot_row *ret_slot)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_SLOTS, VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r;
        ret->slots = (unsigned) sqlite3_column_int(st, 0);
        ret->ending = (unsigned) sqlite3_column_int(st, 1);
        column_text(st, 2, ret_slot->occ, sizeof(ret_slot->occ));
        column_text(st, 3, ret_slot->owner, sizeof(ret_slot->owner));
        return 0;
}

int unit_read(struct sqlite_store *s, const struct unit_key *u, struct unit_facts *ret, struct slot_row *ret_slot)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_UNIT, VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r < 0)
                return r;
        ret->registered = r > 0;
        ret->cursor = r > 0 ? (struct instant) { sqlite3_column_int64(st, 0) } : INSTANT_NONE;
        ret->now = s->now;
        ret->barrier = s->barrier;
        /* The first query stays open over the second: outside of a transaction too both see one snapshot. */
        return slots_read(s, u, ret, ret_slot);
}

int queue_count(struct sqlite_store *s, const struct unit_key *u, unsigned *ret)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_QUEUE_COUNT, VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r < 0)
                return r;
        *ret = (unsigned) sqlite3_column_int(st, 0);
        return 0;
}

int queue_oldest(struct sqlite_store *s, const struct unit_key *u, struct instant *ret, char ret_occ[OCC_TEXT])
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        *ret = INSTANT_NONE;
        int r = statement_begin(s, SQL_QUEUE_OLDEST, VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r;
        ret->ms = sqlite3_column_int64(st, 0);
        column_text(st, 1, ret_occ, OCC_TEXT);
        return 0;
}

int term_read(struct sqlite_store *s, const char *node, uint64_t *ret)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        *ret = 0;
        int r = statement_begin(s, SQL_TERM, VALUES(TEXT(node)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r > 0)
                *ret = (uint64_t) sqlite3_column_int64(st, 0);
        return r < 0 ? r : 0;
}

int unit_move(struct sqlite_store *s, const struct unit_key *u, struct instant cursor)
{
        return statement_run(s, SQL_UNIT_CURSOR, VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard),
                                                        NUMBER(cursor.ms)));
}

int untold_add(struct sqlite_store *s, const char *owner, uint64_t life)
{
        return statement_run(s, SQL_UNTOLD_ADD, VALUES(TEXT(owner), NUMBER(life)));
}

int queued_end(struct sqlite_store *s, const char *occ, const char *owner, const char *token, enum state state,
               enum cause cause)
{
        int r = statement_run(s, SQL_QUEUED_END,
                              VALUES(TEXT(occ), TEXT(state_names[state]), TEXT(cause_names[cause]), TEXT(owner),
                                     NUMBER(s->life), NUMBER(s->now.ns), TEXT(token)));

        return r < 0 ? r : untold_add(s, owner, s->life);
}

void fence_text(int64_t fence, char ret[FENCE_TEXT])
{
        (void) snprintf(ret, FENCE_TEXT, "%" PRId64, fence);
}

static bool is_decision(const struct new_record *n)
{
        return n->state == STATE_SKIPPED || n->state == STATE_MISSED ||
               (n->state == STATE_UNKNOWN && n->cause == CAUSE_BARRIER);
}

int record_insert(struct sqlite_store *s, const struct new_record *n)
{
        const struct unit_key *u = n->unit;
        struct value ended = state_is_final(n->state) ? NUMBER(s->now.ns) : NOTHING;
        /* The claim's time stands for that of the start, until who ran it tells that one. */
        struct value started = n->state == STATE_RUNNING ? NUMBER(s->now.ns) : NOTHING;

        int r = statement_run(
                s, SQL_RECORD_INSERT,
                VALUES(TEXT(u->task), TEXT(u->scope_key), NUMBER(u->shard), NUMBER(n->planned.ms),
                       NUMBER(n->last.ms), NUMBER(n->count), TEXT(n->occ), TEXT(n->token), TEXT(n->trig),
                       TEXT(n->owner), TEXT(n->node), NUMBER(s->life), TEXT(s->boot),
                       n->fence ? NUMBER(n->fence) : NOTHING, TEXT(state_names[n->state]),
                       TEXT(cause_names[n->cause]), TEXT(""), NUMBER(n->slot), NUMBER(n->tree), NUMBER(n->gap),
                       started, ended, NUMBER(-1), NUMBER(0), TEXT(""), NOTHING));
        return r == 0 && is_decision(n) ? untold_add(s, n->owner, s->life) : r;
}

int record_trim(struct sqlite_store *s, const char *task, const char *occ, const struct history_keep *keep)
{
        if (*occ != '0')
                return 0;
        int r = statement_run(s, SQL_TRIM_COUNT, VALUES(TEXT(task), NUMBER(keep->count)));
        if (r == 0 && keep->age_ms > 0)
                r = statement_run(s, SQL_TRIM_AGE, VALUES(TEXT(task),
                                                          NUMBER(stamp_instant(s->now).ms - keep->age_ms)));
        return r;
}
