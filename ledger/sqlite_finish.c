/* The end of a run by its owner. */
#include <stdlib.h>
#include <string.h>

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

static int finish(struct sqlite_store *s, const struct finish_in *in, struct finish_out *out)
{
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
        /* Without a run line its finish line is all that says why nobody ran it. */
        if (r == 0 && in->started.ns == 0)
                r = untold_add(s, in->owner, s->life);
        return r < 0 ? r : keep_history(s, in);
}

int op_finish(struct sqlite_store *s, struct ledger_call *c)
{
        const struct finish_in *in = &c->in.finish;
        struct finish_out *out = &c->out.finish;

        int r = finish(s, in, out);
        if (r < 0 || !in->take)
                return r;
        if (out->finished != FINISHED_FENCED)
                return take_oldest(s, in->take, &out->take);
        /* Whoever ended this run has freed its slot or will: what waits is not the business of one that was late. */
        out->take = (struct take_out) { .claim.outcome = OUTCOME_BUSY, .claim.cursor = INSTANT_NONE,
                                        .planned = INSTANT_NONE };
        return 0;
}
