/* The end of runs: by their owner, at the death of their worker, and of a whole earlier life. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/sqlite_rows.h"

static int write_final(struct sqlite_store *s, const struct finish_in *in)
{
        return statement_run(
                s, SQL_RECORD_FINISH,
                VALUES(TEXT(in->occ), TEXT(state_names[in->state]), TEXT(cause_names[in->cause]),
                       TEXT(result_names[in->result]), in->started.ns ? NUMBER(in->started.ns) : NOTHING,
                       NUMBER(in->ended.ns ? in->ended.ns : s->now.ns), NUMBER(in->code), NUMBER(in->text_cut),
                       TEXT(in->error), in->text_len ? BYTES(in->text, in->text_len) : NOTHING, TEXT(in->token),
                       NUMBER(strtoll(in->fence, NULL, 10)), TEXT(in->trig), TEXT(in->owner)));
}

/* The ledger lost the claim (an older copy): its owner knows better. Later fences stay above this one. */
static int recover(struct sqlite_store *s, const struct finish_in *in, bool exists)
{
        int64_t fence = strtoll(in->fence, NULL, 10);
        int r = 0;

        if (fence > s->fence)
                s->fence = fence;
        if (!exists)
                r = record_insert(s, &(struct new_record) { .unit = &in->unit, .planned = in->planned,
                                                            .last = in->planned, .count = 1, .occ = in->occ,
                                                            .token = in->token, .trig = in->trig,
                                                            .owner = in->owner, .node = in->node, .fence = fence,
                                                            .state = in->state, .cause = in->cause });
        if (r == 0)
                r = write_final(s, in);
        return r < 0 ? r : unit_move(s, &in->unit, in->planned);
}

static int keep_history(struct sqlite_store *s, const struct finish_in *in)
{
        int r = statement_run(s, SQL_TASK_KEEP, VALUES(TEXT(in->unit.task), NUMBER(in->keep.count),
                                                       NUMBER(in->keep.age_ms)));
        return r < 0 ? r : record_trim(s, in->unit.task, in->occ, &in->keep);
}

int op_finish(struct sqlite_store *s, struct ledger_call *c)
{
        const struct finish_in *in = &c->in.finish;
        struct finish_out *out = &c->out.finish;
        struct record_row record;

        int r = record_read(s, in->occ, in->token, &record);
        if (r < 0)
                return r;
        switch (rules_finish(in, &record.facts)) {
        case FINISH_KNOWN:
                out->finished = FINISHED_OK;
                return 0;
        case FINISH_FENCED:
                out->finished = FINISHED_FENCED;
                return 0;
        case FINISH_RECOVER:
                out->finished = FINISHED_RECOVERED;
                r = recover(s, in, record.facts.exists);
                break;
        case FINISH_WRITE:
                out->finished = FINISHED_OK;
                r = write_final(s, in);
                break;
        }
        return r < 0 ? r : keep_history(s, in);
}

struct ended_list {
        struct ended_record *items;
        size_t count, room;
};

static struct ended_record *ended_add(struct ended_list *l)
{
        if (l->count == l->room) {
                size_t room = l->room ? 2 * l->room : 8;
                struct ended_record *items = reallocarray(l->items, room, sizeof(*items));
                if (!items)
                        return NULL;
                l->items = items;
                l->room = room;
        }
        struct ended_record *e = &l->items[l->count++];
        *e = (struct ended_record) { 0 };
        return e;
}

/* Rows of RECORD_TAKEN that still run, as the list of those to be ended. */
static int collect_running(struct sqlite_store *s, sqlite3_stmt *st, const char *boot, bool trees_gone,
                           struct ended_list *l)
{
        int r;

        while ((r = statement_row(s, st)) > 0) {
                if (strcmp((const char *) sqlite3_column_text(st, 7), state_names[STATE_RUNNING]) != 0)
                        continue;
                struct ended_record *e = ended_add(l);
                if (!e)
                        return -ENOMEM;
                column_text(st, 0, e->occ, sizeof(e->occ));
                column_text(st, 1, e->trig, sizeof(e->trig));
                column_text(st, 2, e->scope_key, sizeof(e->scope_key));
                column_text(st, 3, e->task, sizeof(e->task));
                e->shard = (unsigned) sqlite3_column_int(st, 4);
                e->planned.ms = sqlite3_column_int64(st, 5);
                (void) snprintf(e->fence, sizeof(e->fence), "%" PRId64, (int64_t) sqlite3_column_int64(st, 6));
                e->ending = sqlite3_column_int(st, 8) == 1 && !trees_gone;
                /* After a power loss the finish may have been written and lost: nobody can know. */
                bool power = boot && strcmp((const char *) sqlite3_column_text(st, 9), boot) != 0;
                e->state = power ? STATE_UNKNOWN : STATE_INTERRUPTED;
                e->cause = power ? CAUSE_POWER : CAUSE_WORKER_DIED;
        }
        return r;
}

static int end_all(struct sqlite_store *s, const struct ended_list *l)
{
        for (size_t i = 0; i < l->count; i++) {
                const struct ended_record *e = &l->items[i];

                int r = statement_run(s, SQL_RECORD_END,
                                      VALUES(TEXT(e->occ), TEXT(state_names[e->state]), TEXT(cause_names[e->cause]),
                                             NUMBER(e->ending), NUMBER(s->now.ns)));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int end_taken(struct sqlite_store *s, enum statement taken, const struct value *values, size_t count,
                     const char *boot, bool trees_gone, struct ended_record **ret, size_t *ret_count)
{
        struct ended_list l = { 0 };
        sqlite3_stmt *st = NULL;

        int r = statement_begin(s, taken, values, count, &st);
        if (r == 0)
                r = collect_running(s, st, boot, trees_gone, &l);
        statement_resetp(&st);
        if (r == 0)
                r = end_all(s, &l);
        if (r < 0) {
                free(l.items);
                return r;
        }
        *ret = l.items;
        *ret_count = l.count;
        return 0;
}

int op_interrupt(struct sqlite_store *s, struct ledger_call *c)
{
        const struct interrupt_in *in = &c->in.interrupt;

        int r = end_taken(s, SQL_TAKEN_OF_OWNER, VALUES(TEXT(in->owner)), NULL, in->trees_gone,
                          &c->out.interrupt.ended, &c->out.interrupt.ended_count);
        if (r < 0 || !in->trees_gone)
                return r;
        return statement_run(s, SQL_FREE_OF_OWNER, VALUES(TEXT(in->owner)));
}

/* The file belongs to one node, and its lock lets a new life begin only when every process of the old one,
 * keepers included, is gone: whatever still holds a slot from another life has no process. */
int op_lead(struct sqlite_store *s, struct ledger_call *c)
{
        const struct lead_in *in = &c->in.lead;
        struct lead_out *out = &c->out.lead;
        sqlite3_stmt *st = NULL;

        int r = statement_run(s, SQL_TERM_RAISE, VALUES(TEXT(in->node)));
        if (r == 0)
                r = statement_begin(s, SQL_TERM, VALUES(TEXT(in->node)), &st);
        if (r == 0)
                r = statement_row(s, st);
        if (r > 0)
                out->term = (uint64_t) sqlite3_column_int64(st, 0);
        statement_resetp(&st);
        if (r <= 0)
                return r < 0 ? r : -EPROTO;
        r = end_taken(s, SQL_TAKEN_OF_OTHER_LIVES, VALUES(TEXT(in->node), NUMBER(in->life)), in->boot, true,
                      &out->ended, &out->ended_count);
        if (r == 0)
                r = statement_run(s, SQL_FREE_OF_OTHER_LIVES, VALUES(TEXT(in->node), NUMBER(in->life)));
        if (r == 0)
                s->led = true;
        return r;
}
