/* The verdict on one occurrence, and what else its lines show. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"
#include "common/clock.h"
#include "common/schedule/misfire.h"

/* A start may be this much ahead of its instant: the store lets a claim come that early. */
#define EARLY_US 50000LL

enum past unit_past(const struct unit *u, int64_t planned_ms)
{
        if (spans_has(&u->ran, planned_ms))
                return PAST_RAN;
        return planned_ms <= u->ran_from_ms && spans_has(&u->covered, planned_ms) ? PAST_FORGOTTEN
                                                                                  : PAST_NONE;
}

static int spans_recent(struct spans *s, int64_t planned_ms, const struct unit *u, int64_t *forgotten_ms)
{
        int r = spans_add(s, planned_ms, planned_ms, unit_empty_between, u);

        if (r == 0 && s->count > RECENT) {
                int64_t upto = s->list[s->count / 2].last;
                spans_forget(s, upto);
                if (forgotten_ms)
                        *forgotten_ms = upto;
        }
        return r;
}

/* Under none there is no final line for all: every process may run it, up to its grace later. */
bool occurrence_settled(const struct unit *u, const struct occurrence *o, int64_t frontier_ms)
{
        const struct plan *plan;

        if (o->manual || o->planned_ms >= frontier_ms)
                return false;
        /* A log may be at later instants before it has the run of this one, as at a start that catches up, or of what
         * had waited; then another's word of its end is read first. */
        if (o->path != PATH_NONE && o->runs == 0 && o->end_count > 0 && o->ends[0].by_other)
                return frontier_ms > o->ends[0].t_us / 1000;
        if (o->path != PATH_NONE)
                return o->end_count > 0;
        plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        return o->planned_ms + unit_grace_ms(u, plan, o->planned_ms) + ERROR_US / 1000 < frontier_ms;
}

int64_t unit_grace_ms(const struct unit *u, const struct plan *plan, int64_t planned_ms)
{
        return plan ? plans_grace_ms(u->plans, plan, (struct instant) { planned_ms }) : 0;
}

/* False when the clock was set about then: a line's time does not tell how late the start was. One that seems to be
 * far off may have been asked for before a step, and waited for its answer. */
static bool is_lateness_known(const struct judge *j, const struct run_ref *run, int64_t late_us)
{
        int64_t before_ns = llabs(late_us) > ERROR_US ? GRACE_DEFAULT_MS * NS_PER_MS : 0;

        return !steps_near(j->evidence, j->evidence->processes[run->process], run->b_ns, before_ns);
}

static void when_text(int64_t planned_ms, char ret[STAMP_TEXT])
{
        instant_text((struct instant) { planned_ms }, ret);
}

static const char *process_name(const struct judge *j, size_t index)
{
        return j->evidence->processes[index]->name;
}

/* A run that comes to light when its instant was settled. */
static int ran_long_ago(struct taking *t, const char *when)
{
        t->row->beside[VERDICT_UNKNOWN]++;
        t->row->outside++;
        return judge_note(t->j,
                          "UNKNOWN %s %s: run by %s (line %llu) long after; too long ago to say whether it had run",
                          t->u->task, when, t->p->name, (unsigned long long) t->r->n);
}

/* The first run was counted as once, or as unknown: it cannot be told which, but the sum is right. */
static void once_becomes_twice(struct row *row)
{
        enum verdict was = row->verdicts[VERDICT_ONCE] ? VERDICT_ONCE : VERDICT_UNKNOWN;

        if (!row->once || !row->verdicts[was]) {
                row->beside[VERDICT_DUPLICATE]++;
                return;
        }
        row->once--;
        row->verdicts[was]--;
        row->verdicts[VERDICT_DUPLICATE]++;
}

int unit_ran_again(struct taking *t)
{
        struct unit *u = t->u;
        bool expected = unit_expects(t->j, u, t->planned_ms);
        char when[STAMP_TEXT];
        int r = 0;

        when_text(t->planned_ms, when);
        if (unit_past(u, t->planned_ms) == PAST_FORGOTTEN)
                return ran_long_ago(t, when);
        if (expected) {
                t->row->runs++;
                r = row_source(t->row, t->p->index);
                if (r == 0)
                        r = row_late(t->row, t->r->t_us - t->planned_ms * 1000);
        } else {
                t->row->outside++;
        }
        if (r < 0 || spans_has(&u->doubled, t->planned_ms))
                return r;
        if (expected)
                once_becomes_twice(t->row);
        else
                t->row->beside[VERDICT_DUPLICATE]++;
        r = spans_recent(&u->doubled, t->planned_ms, u, NULL);
        if (r < 0)
                return r;
        bool moved = unit_path(u, t->planned_ms, t->said_path) != t->said_path && t->said_path < PATH_COUNT_;
        t->row->moved += moved;
        return judge_note(t->j, "DUPLICATE %s %s: run again by %s (line %llu)%s%s", u->task, when, t->p->name,
                          (unsigned long long) t->r->n, moved ? "; its singleton was changed, now " : "",
                          moved ? path_names[t->said_path] : "");
}

int occurrence_finding(struct judge *j, const struct unit *u, struct row *row, const struct occurrence *o,
                       enum finding f, const char *text)
{
        char when[STAMP_TEXT];

        when_text(o->planned_ms, when);
        row->findings[f]++;
        return judge_note(j, "%s %s %s: %s (%s)", finding_names[f], u->task, when, text,
                          process_name(j, o->last_process));
}

/* Fences grow with the instants they were granted for. */
static int fence_check(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool newer = o->planned_ms > u->newest_ms;
        int r = 0;

        if (!o->fence)
                return 0;
        if (u->newest_fence && u->newest_path == o->path && newer != (o->fence > u->newest_fence))
                r = occurrence_finding(j, u, row, o, FINDING_FENCE, "its fence does not fit the order of instants");
        if (!u->newest_fence || newer) {
                u->newest_ms = o->planned_ms;
                u->newest_fence = o->fence;
                u->newest_path = o->path;
        }
        return r;
}

static int time_check(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        int64_t late_us = o->first.t_us - o->planned_ms * 1000;
        bool known = is_lateness_known(j, &o->first, late_us);
        int r = 0;

        if (known && late_us < -EARLY_US)
                r = occurrence_finding(j, u, row, o, FINDING_EARLY, "started before its instant");
        if (r == 0 && known && plan && !plan->queued && !plan->catch_up &&
            late_us > unit_grace_ms(u, plan, o->planned_ms) * 1000 + ERROR_US)
                r = occurrence_finding(j, u, row, o, FINDING_LATE, "started after its grace");
        if (r == 0 && !plans_has(u->plans, u->shard, (struct instant) { o->planned_ms }))
                r = occurrence_finding(j, u, row, o, FINDING_PHANTOM, "no plan has this instant");
        return r;
}

/* A run without an end, though nobody is left who could still tell one: whoever took the place of its process would
 * have said that it was interrupted. */
static bool is_unfinished(const struct judge *j, const struct occurrence *o)
{
        return o->end_count == 0 && j->evidence->processes[o->first.process]->ended;
}

static bool is_of_two_paths(const struct occurrence *o)
{
        return o->runs > 1 && o->first.path != o->second.path && o->first.path < PATH_COUNT_ &&
               o->second.path < PATH_COUNT_;
}

static int duplicate_note(struct judge *j, const struct unit *u, const struct occurrence *o)
{
        char when[STAMP_TEXT], moved[96] = "";

        when_text(o->planned_ms, when);
        if (o->runs < 2)
                return judge_note(j, "DUPLICATE %s %s: granted twice, with two fences", u->task, when);
        if (is_of_two_paths(o))
                (void) snprintf(moved, sizeof(moved), "; its singleton was changed: %s for one, %s for the other",
                                path_names[o->first.path], path_names[o->second.path]);
        return judge_note(j, "DUPLICATE %s %s: run by %s (line %llu) and by %s (line %llu)%s%s", u->task, when,
                          process_name(j, o->first.process), (unsigned long long) o->first.n,
                          process_name(j, o->second.process), (unsigned long long) o->second.n,
                          o->runs > 2 ? " and more" : "", moved);
}

static bool maybe_unseen(const struct judge *j, const struct unit *u, const struct occurrence *o)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        int64_t until = o->planned_ms * 1000 + unit_grace_ms(u, plan, o->planned_ms) * 1000;

        if (o->runs && o->first.t_us > until)
                until = o->first.t_us;
        return evidence_blind(j->evidence, u->key, o->planned_ms * 1000 - ERROR_US, until + ERROR_US);
}

bool end_of_a_start(const struct end *e)
{
        return e->state != STATE_FAILED || (e->cause != CAUSE_LOG && e->cause != CAUSE_NOT_SENT);
}

void row_end(struct row *row, const struct end *e)
{
        row->finals[e->state]++;
        row->results[e->result] += e->result != RESULT_NONE;
        row->failed_by[e->cause] += e->state == STATE_FAILED;
}

/* How long a start waited in the queue is no lateness of this product's, and counted by itself. */
static int count_run(struct judge *j, const struct unit *u, struct row *row, const struct occurrence *o,
                     const struct run_ref *run)
{
        int64_t late_us = run->t_us - o->planned_ms * 1000;
        int r = row_source(row, run->process);

        if (r < 0 || !is_lateness_known(j, run, late_us))
                return r;
        if (!spans_has(&u->queued, o->planned_ms))
                return row_late(row, late_us);
        row_waited(row, late_us);
        return 0;
}

/* The runs of an instant of the window, and the instant itself. */
static int count_runs(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool twice = o->runs > 1 || o->two_fences;
        bool unsure = maybe_unseen(j, u, o) || is_unfinished(j, o);
        enum verdict v = twice ? VERDICT_DUPLICATE : unsure ? VERDICT_UNKNOWN : VERDICT_ONCE;
        int r = count_run(j, u, row, o, &o->first);

        if (r == 0 && o->runs > 1)
                r = count_run(j, u, row, o, &o->second);
        row->runs += o->runs;
        for (unsigned i = 0; i < o->end_count; i++)
                row_end(row, &o->ends[i]);
        row->unfinished += is_unfinished(j, o);
        row->running += o->end_count == 0 && !is_unfinished(j, o);
        row->per_instant[o->runs < PER_INSTANT_MAX ? o->runs : PER_INSTANT_MAX]++;
        if (!unit_uncount(j, u, o->planned_ms)) {
                row->beside[v]++;
                return r;
        }
        row->verdicts[v]++;
        row->once += !twice;
        return r;
}

/* By hand, or of an instant that is none of the window's: only what is wrong with it counts. */
static int count_beside(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        int r = 0;

        row->outside += o->manual ? 0 : o->runs;
        if (o->runs > 1 || o->two_fences)
                row->beside[VERDICT_DUPLICATE]++;
        else if (is_unfinished(j, o) || (!o->manual && maybe_unseen(j, u, o)))
                row->beside[VERDICT_UNKNOWN]++;
        if (u->plans->count > 0 || o->manual)
                return 0;
        if (!row->beside[VERDICT_UNKNOWN])
                r = judge_note(j, "UNKNOWN %s: no log has a plan of it, so that nobody can say when it was due",
                               u->task);
        row->beside[VERDICT_UNKNOWN]++;
        return r;
}

static int settle_run(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool expected = !o->manual && unit_expects(j, u, o->planned_ms);
        int r = expected ? count_runs(j, u, row, o) : count_beside(j, u, row, o);

        row->moved += is_of_two_paths(o);
        if (r == 0 && (o->runs > 1 || o->two_fences)) {
                r = duplicate_note(j, u, o);
                if (r == 0 && !o->manual)
                        r = spans_recent(&u->doubled, o->planned_ms, u, NULL);
        }
        if (r == 0)
                r = unit_neighbours(j, u, row, o);
        if (r == 0 && is_unfinished(j, o))
                r = occurrence_finding(j, u, row, o, FINDING_UNFINISHED,
                                       "no line says how it ended; its ledger may (onced history)");
        if (r < 0 || o->manual)
                return r;
        r = fence_check(j, u, row, o);
        return r < 0 ? r : time_check(j, u, row, o);
}

static enum unrun unrun_of(const struct end *e)
{
        switch (e->state) {
        case STATE_FAILED:
                return UNRUN_UNSENT;
        case STATE_INTERRUPTED:
                return UNRUN_CUT;
        case STATE_SKIPPED:
                return UNRUN_SKIPPED;
        case STATE_MISSED:
                return UNRUN_MISSED;
        default:
                return UNRUN_UNSURE;
        }
}

/* Granted to two, with two fences: that is wrong, whoever of them ran it or not. */
static int settle_granted_twice(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool expected = !o->manual && unit_expects(j, u, o->planned_ms);

        if (expected && unit_uncount(j, u, o->planned_ms))
                row->verdicts[VERDICT_DUPLICATE]++;
        else
                row->beside[VERDICT_DUPLICATE]++;
        int r = duplicate_note(j, u, o);
        if (r == 0 && !o->manual)
                r = spans_recent(&u->doubled, o->planned_ms, u, NULL);
        return r < 0 || o->manual ? r : unit_cover(u, o->planned_ms, o->planned_ms);
}

/* It began before the oldest file that is left of its log: the run line went with the one before. */
static bool is_of_gone_file(const struct judge *j, const struct occurrence *o)
{
        const struct process *p = j->evidence->processes[o->last_process];
        const struct end *e = &o->ends[0];

        return p->continues && e->t_us - e->run_us - ERROR_US < p->first_us;
}

/* Nothing ran: a final record explains it, unless it speaks of a run that has no line. */
static int settle_no_run(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        const struct end *e = &o->ends[0];

        if (o->two_fences)
                return settle_granted_twice(j, u, row, o);
        /* Granted and not yet started, or never: the sweep sees to it. Who stopped in good order owes no line: that
         * others were told of the grant decided nothing. */
        if (o->end_count == 0)
                return j->evidence->processes[o->last_process]->stopped ? spans_cut(&u->done, o->planned_ms, o->planned_ms) : 0;
        bool orphan = !e->by_other && (e->state == STATE_SUCCEEDED ||
                                       (e->state == STATE_UNKNOWN && e->cause != CAUSE_BARRIER));
        bool is_found = orphan && !is_of_gone_file(j, o);
        int r = is_found ? occurrence_finding(j, u, row, o, FINDING_ORPHAN, "finished, but no line says that it was started") : 0;
        if (o->manual)
                row->beside[VERDICT_UNKNOWN] += is_found;
        if (r < 0 || o->manual)
                return r;
        struct counted c = {
                .first_ms = o->planned_ms, .last_ms = o->planned_ms,
                .verdict = orphan ? VERDICT_UNKNOWN : VERDICT_EXPLAINED,
                .unrun = orphan ? UNRUN_UNSURE : unrun_of(e), .cause = e->cause,
        };
        r = unit_count(j, u, &c);
        return r < 0 ? r : unit_cover(u, o->planned_ms, o->planned_ms);
}

int occurrence_settle(struct judge *j, struct unit *u, struct occurrence *o)
{
        struct row *row = judge_row(j, u->task, o->path);
        int r;

        if (!row)
                return -ENOMEM;
        if (!o->manual && (o->runs > 0 || o->end_count > 0))
                unit_passed(u, o->planned_ms);
        if (o->path == PATH_NONE && !o->manual) {
                if (o->runs == 0)
                        return 0;
                if (unit_expects(j, u, o->planned_ms))
                        row->per_instant[o->runs < PER_INSTANT_MAX ? o->runs : PER_INSTANT_MAX]++;
        } else {
                if (o->runs == 1 && o->end_count > 0 && !end_of_a_start(&o->ends[0]))
                        o->runs = 0;    /* so its end says, whatever the line promised */
                r = o->runs == 0 ? settle_no_run(j, u, row, o) : settle_run(j, u, row, o);
                if (r < 0 || o->manual || o->runs == 0)
                        return r;
        }
        r = spans_recent(&u->ran, o->planned_ms, u, &u->ran_from_ms);
        return r < 0 ? r : unit_cover(u, o->planned_ms, o->planned_ms);
}
