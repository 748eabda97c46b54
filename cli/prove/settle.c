/* The verdict on one occurrence, and what else its lines show. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"
#include "common/clock.h"

/* Clocks of two nodes, and a line's time against its effect, may differ by this much. */
#define ERROR_US 1000000LL
/* A start may be this much ahead of its instant: the store lets a claim come that early. */
#define EARLY_US 50000LL

bool unit_empty_between(int64_t after_ms, int64_t before_ms, const void *unit)
{
        const struct unit *u = unit;

        return plans_adjacent(u->plans, (struct instant) { after_ms }, (struct instant) { before_ms });
}

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
        if (o->path != PATH_NONE)
                return o->final;
        plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        return o->planned_ms + (plan ? plan_grace_ms(plan) : 0) + ERROR_US / 1000 < frontier_ms;
}

static bool in_window(const struct judge *j, const struct unit *u, int64_t planned_ms)
{
        int64_t after, upto;

        return unit_window(j, u, &after, &upto) && planned_ms > after && planned_ms <= upto &&
               plans_count(u->plans, u->shard, (struct instant) { planned_ms - 1 },
                           (struct instant) { planned_ms }) > 0;
}

static void when_text(int64_t planned_ms, char ret[STAMP_TEXT])
{
        instant_text((struct instant) { planned_ms }, ret);
}

static const char *process_name(const struct judge *j, size_t index)
{
        return j->evidence->processes[index]->name;
}

/* A second run of what was settled before: it was counted as once then. */
int unit_ran_again(struct judge *j, struct unit *u, struct row *row, const struct process *p,
                   const struct record *r)
{
        int64_t planned_ms = record_number(r, FIELD_PLANNED);
        char when[STAMP_TEXT];

        when_text(planned_ms, when);
        if (unit_past(u, planned_ms) == PAST_FORGOTTEN) {
                row->verdicts[VERDICT_UNKNOWN]++;
                return judge_note(j,
                                  "UNKNOWN %s %s: run by %s (line %llu) long after; too long ago to say "
                                  "whether it had run",
                                  u->task, when, p->name, (unsigned long long) r->n);
        }
        if (spans_has(&u->doubled, planned_ms))
                return 0;
        row->verdicts[VERDICT_DUPLICATE]++;
        if (row->verdicts[VERDICT_ONCE])
                row->verdicts[VERDICT_ONCE]--;
        else if (row->verdicts[VERDICT_UNKNOWN])
                row->verdicts[VERDICT_UNKNOWN]--;
        int e = spans_recent(&u->doubled, planned_ms, u, NULL);
        if (e < 0)
                return e;
        return judge_note(j, "DUPLICATE %s %s: run again by %s (line %llu)", u->task, when, p->name,
                          (unsigned long long) r->n);
}

static int finding(struct judge *j, const struct unit *u, struct row *row, const struct occurrence *o,
                   enum finding f, const char *text)
{
        char when[STAMP_TEXT];

        when_text(o->planned_ms, when);
        row->findings[f]++;
        return judge_note(j, "%s %s %s: %s (%s)", finding_names[f], u->task, when, text,
                          process_name(j, o->last_process));
}

static bool overlaps(const struct judge *j, const struct interval *a, const struct interval *b)
{
        const struct process *p = j->evidence->processes[a->process], *q = j->evidence->processes[b->process];

        if (*p->boot && strcmp(p->boot, q->boot) == 0)
                return a->from_b_ns < b->to_b_ns && b->from_b_ns < a->to_b_ns;
        return a->from_us + ERROR_US < b->to_us && b->from_us + ERROR_US < a->to_us;
}

/* The run's own measured length counts, not the time of its finish line: that is written after the unit was
 * free again, when the next run may have begun already. Of what another process ended, no length is known. */
static int neighbours_check(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        int64_t length_us = o->final && !o->by_other ? o->run_us : 0;
        struct interval i = {
                .planned_ms = o->planned_ms, .process = o->first.process,
                .from_us = o->first.t_us, .to_us = o->first.t_us + length_us,
                .from_b_ns = o->first.b_ns, .to_b_ns = o->first.b_ns + length_us * NS_PER_US,
        };
        bool overlap = false, back = false;
        int r = 0;

        for (size_t k = 0; k < INTERVALS && k < u->interval_next; k++) {
                const struct interval *other = &u->intervals[k];
                const struct interval *older = other->planned_ms < i.planned_ms ? other : &i;
                const struct interval *newer = older == other ? &i : other;

                overlap |= overlaps(j, &i, other);
                back |= older->from_us > newer->from_us + ERROR_US;
        }
        u->intervals[u->interval_next++ % INTERVALS] = i;
        if (overlap && (!plan || !plan->concurrent))
                r = finding(j, u, row, o, FINDING_OVERLAP, "ran while another run of the unit went on");
        if (r == 0 && back && (!plan || (!plan->concurrent && !plan->queued && !plan->catch_up)))
                r = finding(j, u, row, o, FINDING_BACK, "an older instant was started after a newer one");
        return r;
}

/* Fences grow with the instants they were granted for. */
static int fence_check(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool newer = o->planned_ms > u->newest_ms;
        int r = 0;

        if (!o->fence)
                return 0;
        if (u->newest_fence && u->newest_path == o->path && newer != (o->fence > u->newest_fence))
                r = finding(j, u, row, o, FINDING_FENCE, "its fence does not fit the order of instants");
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
        int r = 0;

        if (late_us < -EARLY_US)
                r = finding(j, u, row, o, FINDING_EARLY, "started before its instant");
        if (r == 0 && plan && !plan->queued && !plan->catch_up &&
            late_us > plan_grace_ms(plan) * 1000 + ERROR_US)
                r = finding(j, u, row, o, FINDING_LATE, "started after its grace");
        if (r == 0 && !plans_has(u->plans, u->shard, (struct instant) { o->planned_ms }))
                r = finding(j, u, row, o, FINDING_PHANTOM, "no plan has this instant");
        return r;
}

static int end_check(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        if (o->final)
                return 0;
        if (j->evidence->processes[o->first.process]->ended)
                return finding(j, u, row, o, FINDING_UNFINISHED, "no line says how it ended");
        row->running++;
        return 0;
}

static int duplicate_note(struct judge *j, const struct unit *u, const struct occurrence *o)
{
        char when[STAMP_TEXT];

        when_text(o->planned_ms, when);
        if (o->runs < 2)
                return judge_note(j, "DUPLICATE %s %s: granted twice, with two fences", u->task, when);
        return judge_note(j, "DUPLICATE %s %s: run by %s (line %llu) and by %s (line %llu)%s", u->task, when,
                          process_name(j, o->first.process), (unsigned long long) o->first.n,
                          process_name(j, o->second.process), (unsigned long long) o->second.n,
                          o->runs > 2 ? " and more" : "");
}

static bool maybe_unseen(const struct judge *j, const struct unit *u, const struct occurrence *o)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        int64_t until = o->planned_ms * 1000 + (plan ? plan_grace_ms(plan) : 0) * 1000;

        if (o->runs && o->first.t_us > until)
                until = o->first.t_us;
        return evidence_blind(j->evidence, u->key, o->planned_ms * 1000 - ERROR_US, until + ERROR_US);
}

static int settle_run(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool twice = o->runs > 1 || o->two_fences;
        int r = 0;

        if (twice) {
                row->verdicts[VERDICT_DUPLICATE]++;
                r = duplicate_note(j, u, o);
                if (r == 0 && !o->manual)
                        r = spans_recent(&u->doubled, o->planned_ms, u, NULL);
        } else {
                row->verdicts[maybe_unseen(j, u, o) ? VERDICT_UNKNOWN : VERDICT_ONCE]++;
        }
        if (r == 0)
                r = neighbours_check(j, u, row, o);
        if (r == 0)
                r = end_check(j, u, row, o);
        if (r < 0 || o->manual)
                return r;
        row->per_instant[o->runs < PER_INSTANT_MAX ? o->runs : PER_INSTANT_MAX]++;
        r = fence_check(j, u, row, o);
        return r < 0 ? r : time_check(j, u, row, o);
}

/* Nothing ran: a final record explains it, unless it speaks of a run that has no line. */
static int settle_no_run(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        bool orphan = !o->by_other && (o->state == STATE_SUCCEEDED ||
                                       (o->state == STATE_UNKNOWN && o->cause != CAUSE_BARRIER));

        if (!o->final)
                return 0;               /* granted and not yet started, or never: the sweep sees to it */
        if (o->two_fences) {
                row->verdicts[VERDICT_DUPLICATE]++;
                return duplicate_note(j, u, o);
        }
        if (orphan) {
                row->verdicts[VERDICT_UNKNOWN]++;
                int r = finding(j, u, row, o, FINDING_ORPHAN,
                                "finished, but no line says that it was started");
                if (r < 0 || o->manual)
                        return r;
        } else if (!o->manual) {
                int r = unit_count(j, u, o->planned_ms - 1, o->planned_ms, VERDICT_EXPLAINED);
                if (r < 0)
                        return r;
        }
        return o->manual ? 0 : spans_add(&u->covered, o->planned_ms, o->planned_ms, unit_empty_between, u);
}

int occurrence_settle(struct judge *j, struct unit *u, struct occurrence *o)
{
        struct row *row = judge_row(j, u->task, o->path);
        int r;

        if (!row)
                return -ENOMEM;
        /* The run line could not be made certain, so that it was not started: its finish says so. */
        if (o->runs == 1 && o->final && o->state == STATE_FAILED && o->cause == CAUSE_LOG) {
                o->runs = 0;
                row->runs -= row->runs > 0;
        }
        if (o->runs == 0 && o->path != PATH_NONE)
                return settle_no_run(j, u, row, o);
        if (o->runs == 0)
                return 0;
        if (!o->manual) {
                bool window = in_window(j, u, o->planned_ms);
                row->extra += !window;
                if (window && spans_has(&u->covered, o->planned_ms) && row->verdicts[VERDICT_EXPLAINED])
                        row->verdicts[VERDICT_EXPLAINED]--;
        }
        if (o->path == PATH_NONE)
                row->per_instant[o->runs < PER_INSTANT_MAX ? o->runs : PER_INSTANT_MAX]++;
        else if ((r = settle_run(j, u, row, o)) < 0)
                return r;
        if (o->manual)
                return 0;
        r = spans_recent(&u->ran, o->planned_ms, u, &u->ran_from_ms);
        return r < 0 ? r : spans_add(&u->covered, o->planned_ms, o->planned_ms, unit_empty_between, u);
}
