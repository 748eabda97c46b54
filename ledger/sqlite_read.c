/* What is read without any lock: a unit's place, and history. In WAL mode readers and writers do not wait for
 * each other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/sqlite_rows.h"

int op_peek(struct sqlite_store *s, struct ledger_call *c)
{
        struct peek_out *out = &c->out.peek;
        struct unit_facts u = { 0 };
        struct slot_row slot = { 0 };

        int r = unit_read(s, &c->in.peek.unit, &u, &slot);
        if (r == 0)
                r = queue_count(s, &c->in.peek.unit, &out->queued);
        if (r < 0)
                return r;
        out->registered = u.registered;
        out->cursor = u.cursor;
        out->running = u.slots;
        (void) snprintf(out->slot_occ, sizeof(out->slot_occ), "%s", slot.occ);
        return 0;
}

static int word(sqlite3_stmt *st, int column, const char *const *names)
{
        const char *text = (const char *) sqlite3_column_text(st, column);

        return text ? name_index(names, text) : -1;
}

static int row_texts(sqlite3_stmt *st, struct history_row *row)
{
        const char *error = (const char *) sqlite3_column_text(st, 16);
        const void *text = sqlite3_column_blob(st, 17);

        row->text_len = (size_t) sqlite3_column_bytes(st, 17);
        row->error = strdup(error ? error : "");
        row->text = malloc(row->text_len + 1);
        if (!row->error || !row->text)
                return -ENOMEM;
        if (row->text_len)
                memcpy(row->text, text, row->text_len);
        row->text[row->text_len] = '\0';
        return 0;
}

static int row_read(sqlite3_stmt *st, struct history_row *row)
{
        int state = word(st, 10, state_names), cause = word(st, 11, cause_names), result = word(st, 12, result_names);

        if (state < 0 || cause < 0 || result < 0)
                return -EUCLEAN;
        row->range = sqlite3_column_type(st, 0) == SQLITE_NULL;
        column_text(st, 0, row->occ, sizeof(row->occ));
        if (!row->range)
                column_text(st, 1, row->trig, sizeof(row->trig));
        if (sqlite3_column_type(st, 2) != SQLITE_NULL)
                (void) snprintf(row->fence, sizeof(row->fence), "%" PRId64, (int64_t) sqlite3_column_int64(st, 2));
        column_text(st, 3, row->owner, sizeof(row->owner));
        column_text(st, 4, row->scope_key, sizeof(row->scope_key));
        column_text(st, 5, row->task, sizeof(row->task));
        row->shard = (unsigned) sqlite3_column_int(st, 6);
        row->planned.ms = sqlite3_column_int64(st, 7);
        row->last.ms = sqlite3_column_int64(st, 8);
        row->count = (uint64_t) sqlite3_column_int64(st, 9);
        row->state = (enum state) state;
        row->cause = (enum cause) cause;
        row->result = (enum result) result;
        row->started.ns = sqlite3_column_int64(st, 13);
        row->ended.ns = sqlite3_column_int64(st, 14);
        row->code = sqlite3_column_int(st, 15);
        return row_texts(st, row);
}

int op_history(struct sqlite_store *s, struct ledger_call *c)
{
        const struct history_in *in = &c->in.history;
        struct history_out *out = &c->out.history;
        _cleanup_(statement_resetp) sqlite3_stmt *st = NULL;
        const struct value values[] = { NUMBER(in->since.ms), in->state < 0 ? NOTHING : TEXT(state_names[in->state]),
                                        NUMBER(in->limit), TEXT(in->task) };

        out->rows = calloc(in->limit, sizeof(*out->rows));
        if (!out->rows)
                return -ENOMEM;
        int r = statement_begin(s, in->task ? SQL_HISTORY_OF_TASK : SQL_HISTORY, values, in->task ? 4 : 3, &st);
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                out->count++;
                r = row_read(st, &out->rows[out->count - 1]);
        }
        return r;
}
