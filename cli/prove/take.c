/* Lines in: each finds its occurrence. Attempts that were not granted are only counted. What a line says of an
 * occurrence is counted when that is settled; under `none`, where each process is by itself, at once. */
#include <errno.h>

#include "cli/prove/unit.h"

static uint64_t fence_of(const struct record *r)
{
        struct text t = record_text(r, FIELD_FENCE);
        uint64_t v = 0;

        for (size_t i = 0; i < t.len && i < 19; i++) {
                if (t.at[i] < '0' || t.at[i] > '9')
                        return 0;
                v = v * 10 + (uint64_t) (t.at[i] - '0');
        }
        return v;
}

int take_attempt(struct taking *t)
{
        int out = text_index(record_text(t->r, FIELD_OUT), outcome_names);

        t->row->attempts++;
        if (out < 0 || out >= OUTCOME_COUNT_)
                return 0;
        t->row->outcomes[out]++;
        if ((out == OUTCOME_DOWN || out == OUTCOME_HALTED) && t->planned_ms > t->u->down_ms)
                t->u->down_ms = t->planned_ms;
        if (t->path == PATH_NONE)
                return out == OUTCOME_QUEUED ? own_queued(t) : 0;
        if (out == OUTCOME_QUEUED)
                return take_queued(t);
        if (out == OUTCOME_DONE && !t->manual && !t->p->damaged)
                return spans_add(&t->u->done, t->planned_ms, t->planned_ms, unit_empty_between, t->u);
        if (out != OUTCOME_GRANTED)
                return 0;
        uint64_t fence = fence_of(t->r);
        t->row->fences += fence > 0;
        enum past past = t->manual ? PAST_NONE : unit_past(t->u, t->planned_ms);
        if (past == PAST_FORGOTTEN)
                return 0;
        if (past == PAST_RAN)
                return judge_note(
                        t->j, "%s: instant %lld was granted again to %s (line %llu) after it had run",
                        t->u->task, (long long) t->planned_ms, t->p->name, (unsigned long long) t->r->n);
        struct occurrence *o = unit_occurrence(t->j, t->u, t->r, t->manual);
        if (!o)
                return judge_no_room(t->j);
        o->two_fences |= o->granted && o->fence != fence;
        o->granted = true;
        o->fence = fence;
        o->path = t->path;
        o->last_process = t->p->index;
        return 0;
}

int take_run(struct taking *t)
{
        struct run_ref ref = { t->p->index, t->said_path, t->r->n, t->r->t_us, t->r->b_ns };
        bool none = t->path == PATH_NONE && !t->manual;

        t->row->manual += t->manual;
        int r = none ? own_run(t) : 0;
        if (r < 0)
                return r;
        if (!t->manual && unit_past(t->u, t->planned_ms) != PAST_NONE)
                return none ? 0 : unit_ran_again(t);
        struct occurrence *o = unit_occurrence(t->j, t->u, t->r, t->manual);
        if (!o)
                return judge_no_room(t->j);
        if (++o->runs == 1)
                o->first = ref;
        else
                o->second = ref;
        if (o->runs > 2 && !t->manual && !none && unit_expects(t->j, t->u, t->planned_ms))
                r = row_source(t->row, t->p->index);
        o->path = t->path;
        o->last_process = t->p->index;
        return r;
}

/* An end that was told in place of a dead process, of what is settled already without a run: by another who told
 * it, or by the dead one itself. */
static bool told_again(const struct taking *t)
{
        if (!record_has(t->r, FIELD_OF) || !spans_has(&t->u->covered, t->planned_ms))
                return false;
        for (size_t i = t->u->open_count; i > 0 && t->u->open[i - 1].planned_ms >= t->planned_ms; i--)
                if (t->u->open[i - 1].planned_ms == t->planned_ms)
                        return false;
        return true;
}

/* Under none: the run that this end belongs to was counted when it came. Only a start takes time. */
static int take_end_of_none(struct taking *t, const struct end *e)
{
        struct row *row = t->row;
        bool started = end_of_a_start(e) && (e->state != STATE_INTERRUPTED || e->run_us > 0);
        struct occurrence *o = NULL;

        if (!started && e->run_us > 0 && unit_past(t->u, t->planned_ms) == PAST_NONE) {
                o = unit_occurrence(t->j, t->u, t->r, false);
                if (!o)
                        return judge_no_room(t->j);
                o->path = PATH_NONE;
                o->runs -= o->runs > 0;
        }
        if (unit_expects(t->j, t->u, t->planned_ms)) {
                row_end(row, e);
                if (started || e->run_us > 0)
                        own_ended(t);
                if (!started) {
                        row->unrun[e->state == STATE_INTERRUPTED ? UNRUN_CUT : UNRUN_UNSENT]++;
                        row->runs -= e->run_us > 0 && row->runs > 0;
                }
        }
        return started ? 0 : unit_cover(t->u, t->planned_ms, t->planned_ms);
}

int take_finish(struct taking *t)
{
        int state = text_index(record_text(t->r, FIELD_STATE), state_names);
        int cause = text_index(record_text(t->r, FIELD_CAUSE), cause_names);
        int result = text_index(record_text(t->r, FIELD_RESULT), result_names);

        if (state < 0 || state >= STATE_COUNT_)
                return 0;
        struct end e = {
                .state = (enum state) state,
                .cause = cause > 0 && cause < CAUSE_COUNT_ ? (enum cause) cause : CAUSE_NONE,
                .result = result > 0 && result < RESULT_COUNT_ ? (enum result) result : RESULT_NONE,
                .by_other = record_has(t->r, FIELD_OF),
                .t_us = t->r->t_us,
                .run_us = record_number(t->r, FIELD_RUN_US),
        };
        if (t->path == PATH_NONE && !t->manual)
                return take_end_of_none(t, &e);
        /* A second end, of what is settled: the first one is what the ledger keeps. */
        if (!t->manual && (unit_past(t->u, t->planned_ms) != PAST_NONE || told_again(t)))
                return 0;
        struct occurrence *o = unit_occurrence(t->j, t->u, t->r, t->manual);
        if (!o)
                return judge_no_room(t->j);
        if (o->end_count == ENDS || (o->end_count > 0 && o->end_count >= o->runs))
                return 0;               /* one end a run, and one for what was never started */
        if (o->runs == 0)
                o->path = t->path;
        o->ends[o->end_count++] = e;
        o->last_process = t->p->index;
        return 0;
}

static enum unrun unrun_of(const struct record *r, enum cause cause)
{
        if (r->e == EVENT_MISS)
                return UNRUN_MISSED;
        return cause == CAUSE_OVERLAP || cause == CAUSE_QUEUE_FULL ? UNRUN_DROPPED : UNRUN_SKIPPED;
}

/* A range record: it covers its instants. One range may be told twice, by its author and by those who feared that
 * he had died before he could: that is one fact, as everything that is covered counts once. */
int take_range(struct judge *j, struct unit *u, const struct record *r)
{
        int cause = text_index(record_text(r, FIELD_CAUSE), cause_names);
        struct counted c = {
                .first_ms = record_number(r, FIELD_FIRST), .last_ms = record_number(r, FIELD_LAST),
                .verdict = VERDICT_EXPLAINED,
                .cause = cause > 0 && cause < CAUSE_COUNT_ ? (enum cause) cause : CAUSE_NONE,
        };

        c.unrun = unrun_of(r, c.cause);
        if (c.first_ms < j->options.since_ms)
                c.first_ms = j->options.since_ms;
        if (c.last_ms >= j->options.until_ms)
                c.last_ms = j->options.until_ms - 1;
        if (c.first_ms > c.last_ms)
                return 0;
        int e = unit_count(j, u, &c);
        return e < 0 ? e : unit_cover(u, c.first_ms, c.last_ms);
}
