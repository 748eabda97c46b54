/* Deaths, of one owner and of a whole earlier life: runs are ended, and what the dead may not have come to log is
 * told, until somebody has it in his log: those runs, and the instants decided without a start. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "ledger/sqlite_rows.h"

/* A run to be ended. */
struct taken {
        char occ[OCC_TEXT], owner[OWNER_TEXT];
        uint64_t life;
        enum state state;
        enum cause cause;
        bool ending;
};

struct owner { char name[OWNER_TEXT]; };

/* Rows of RECORD_TAKEN. `boot`: the one of today, or NULL when all are of it. */
static int collect_taken(struct sqlite_store *s, sqlite3_stmt *st, const char *boot, bool trees_gone, struct buf *list)
{
        int r;

        while ((r = statement_row(s, st)) > 0) {
                /* After a power loss the finish may have been written and lost: nobody can know. */
                bool power = boot && strcmp((const char *) sqlite3_column_text(st, 4), boot) != 0;
                struct taken t = {
                        .life = (uint64_t) sqlite3_column_int64(st, 2),
                        .state = power ? STATE_UNKNOWN : STATE_INTERRUPTED,
                        .cause = power ? CAUSE_POWER : CAUSE_WORKER_DIED,
                        .ending = sqlite3_column_int(st, 3) == 1 && !trees_gone,
                };

                column_text(st, 0, t.occ, sizeof(t.occ));
                column_text(st, 1, t.owner, sizeof(t.owner));
                buf_add(list, &t, sizeof(t));
        }
        return r < 0 ? r : list->failed ? -ENOMEM : 0;
}

static int end_all(struct sqlite_store *s, const struct buf *list)
{
        const struct taken *items = (const void *) list->data;
        int r = 0;

        for (size_t i = 0; i < list->len / sizeof(*items) && r == 0; i++) {
                const struct taken *t = &items[i];

                r = statement_run(s, SQL_RECORD_END,
                                  VALUES(TEXT(t->occ), TEXT(state_names[t->state]), TEXT(cause_names[t->cause]),
                                         NUMBER(t->ending), NUMBER(s->now.ns)));
                if (r == 0)
                        r = untold_add(s, t->owner, t->life);
        }
        return r;
}

static int end_taken(struct sqlite_store *s, enum statement taken, const struct value *values, size_t count,
                     const char *boot, bool trees_gone)
{
        struct buf list = BUF_EMPTY;
        sqlite3_stmt *st = NULL;

        int r = statement_begin(s, taken, values, count, &st);
        if (r == 0)
                r = collect_taken(s, st, boot, trees_gone, &list);
        statement_resetp(&st);
        if (r == 0)
                r = end_all(s, &list);
        buf_done(&list);
        return r;
}

static int tell_ended(struct sqlite_store *s, const char *owner, struct buf *ended)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_UNTOLD_ENDED, VALUES(TEXT(owner), NUMBER(LEDGER_UNTOLD_MS * NS_PER_MS)), &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                int state = name_index(state_names, (const char *) sqlite3_column_text(st, 7));
                int cause = name_index(cause_names, (const char *) sqlite3_column_text(st, 8));
                struct ended_record e = {
                        .shard = (unsigned) sqlite3_column_int(st, 4), .planned = { sqlite3_column_int64(st, 5) },
                        .state = (enum state) state, .cause = (enum cause) cause,
                        .ending = sqlite3_column_int(st, 9) == 1,
                };

                column_text(st, 0, e.occ, sizeof(e.occ));
                column_text(st, 1, e.trig, sizeof(e.trig));
                column_text(st, 2, e.scope_key, sizeof(e.scope_key));
                column_text(st, 3, e.task, sizeof(e.task));
                (void) snprintf(e.fence, sizeof(e.fence), "%" PRId64, (int64_t) sqlite3_column_int64(st, 6));
                buf_add(ended, &e, sizeof(e));
                r = 0;
        }
        return r;
}

static int tell_decided(struct sqlite_store *s, const char *owner, struct buf *told)
{
        size_t room = LEDGER_UNTOLD_MAX - told->len / sizeof(struct told_range);
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, SQL_UNTOLD_DECIDED,
                                VALUES(TEXT(owner), NUMBER(LEDGER_UNTOLD_MS * NS_PER_MS), NUMBER(room)), &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                int state = name_index(state_names, (const char *) sqlite3_column_text(st, 6));
                int cause = name_index(cause_names, (const char *) sqlite3_column_text(st, 7));
                struct told_range t = {
                        .shard = (unsigned) sqlite3_column_int(st, 2),
                        .first = { sqlite3_column_int64(st, 3) }, .last = { sqlite3_column_int64(st, 4) },
                        .count = (uint64_t) sqlite3_column_int64(st, 5),
                        .state = (enum state) state, .cause = (enum cause) cause,
                };

                if (state < 0 || cause < 0)
                        return -EUCLEAN;
                column_text(st, 0, t.scope_key, sizeof(t.scope_key));
                column_text(st, 1, t.task, sizeof(t.task));
                (void) snprintf(t.owner, sizeof(t.owner), "%s", owner);
                buf_add(told, &t, sizeof(t));
                r = 0;
        }
        return r;
}

static int untold_owners(struct sqlite_store *s, enum statement which, const struct value *values, size_t count,
                         struct buf *owners)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_begin(s, which, values, count, &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                struct owner o = { "" };

                column_text(st, 0, o.name, sizeof(o.name));
                buf_add(owners, &o, sizeof(o));
                r = 0;
        }
        return r < 0 ? r : owners->failed ? -ENOMEM : 0;
}

struct telling { struct buf ended, told; };

static int tell(struct sqlite_store *s, const struct buf *owners, struct telling *t)
{
        const struct owner *items = (const void *) owners->data;
        int r = 0;

        for (size_t i = 0; i < owners->len / sizeof(*items) && r == 0; i++) {
                r = tell_ended(s, items[i].name, &t->ended);
                if (r == 0)
                        r = tell_decided(s, items[i].name, &t->told);
        }
        return r < 0 ? r : t->ended.failed || t->told.failed ? -ENOMEM : 0;
}

static void *list_take(struct buf *list, size_t size, size_t *ret_count)
{
        *ret_count = list->len / size;
        return list->len ? buf_take(list) : NULL;
}

/* Everything of the owners that `which` finds, as lists of the call. */
static int tell_of(struct sqlite_store *s, enum statement which, const struct value *values, size_t count,
                   struct ended_record **ret_ended, size_t *ret_ended_count, struct told_range **ret_told,
                   size_t *ret_told_count)
{
        struct telling t = { BUF_EMPTY, BUF_EMPTY };
        struct buf owners = BUF_EMPTY;

        int r = untold_owners(s, which, values, count, &owners);
        if (r == 0)
                r = tell(s, &owners, &t);
        if (r == 0) {
                *ret_ended = list_take(&t.ended, sizeof(**ret_ended), ret_ended_count);
                *ret_told = list_take(&t.told, sizeof(**ret_told), ret_told_count);
        }
        buf_done(&owners);
        buf_done(&t.ended);
        buf_done(&t.told);
        return r;
}

int op_interrupt(struct sqlite_store *s, struct ledger_call *c)
{
        const struct interrupt_in *in = &c->in.interrupt;
        struct interrupt_out *out = &c->out.interrupt;

        int r = end_taken(s, SQL_TAKEN_OF_OWNER, VALUES(TEXT(in->owner)), NULL, in->trees_gone);
        if (r == 0 && in->trees_gone)
                r = statement_run(s, SQL_FREE_OF_OWNER, VALUES(TEXT(in->owner)));
        if (r < 0)
                return r;
        return tell_of(s, SQL_UNTOLD_OF_OWNER, VALUES(TEXT(in->owner)), &out->ended, &out->ended_count, &out->told,
                       &out->told_count);
}

static int raise_term(struct sqlite_store *s, const char *node, uint64_t *ret)
{
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;

        int r = statement_run(s, SQL_TERM_RAISE, VALUES(TEXT(node)));
        if (r == 0)
                r = statement_begin(s, SQL_TERM, VALUES(TEXT(node)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r <= 0)
                return r < 0 ? r : -EPROTO;
        *ret = (uint64_t) sqlite3_column_int64(st, 0);
        return 0;
}

/* The file belongs to one node, and its lock lets a new life begin only when every process of the old one,
 * keepers included, is gone: whatever still holds a slot from another life has no process. */
int op_lead(struct sqlite_store *s, struct ledger_call *c)
{
        const struct lead_in *in = &c->in.lead;
        struct lead_out *out = &c->out.lead;

        int r = raise_term(s, in->node, &out->term);
        if (r == 0)
                r = end_taken(s, SQL_TAKEN_OF_OTHER_LIVES, VALUES(TEXT(in->node), NUMBER(in->life)), in->boot, true);
        if (r == 0)
                r = statement_run(s, SQL_FREE_OF_OTHER_LIVES, VALUES(TEXT(in->node), NUMBER(in->life)));
        if (r == 0)
                r = tell_of(s, SQL_UNTOLD_OF_OTHER_LIVES, VALUES(NUMBER(in->life)), &out->ended, &out->ended_count,
                            &out->told, &out->told_count);
        if (r == 0)
                s->led = true;
        return r;
}

int op_said(struct sqlite_store *s, struct ledger_call *c)
{
        const struct said_in *in = &c->in.said;

        if (in->owner)
                return statement_run(s, SQL_SAID_OF_OWNER, VALUES(TEXT(in->owner)));
        return statement_run(s, SQL_SAID_OF_OTHER_LIVES, VALUES(NUMBER(in->life)));
}
