/* Counts each instant of the window once: by arithmetic over ranges, never one by one. What a range covered, and
 * how it was counted, is remembered for a while, since a run may come to light after a record that denies it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"

#define ERROR_MS 1000LL

bool unit_window(const struct judge *j, const struct unit *u, int64_t *ret_after_ms, int64_t *ret_upto_ms)
{
        if (u->plans->count == 0)
                return false;
        int64_t end = u->end_ms;
        if (end > j->options.until_ms)
                end = j->options.until_ms;
        *ret_after_ms = u->from_ms - 1;
        *ret_upto_ms = end == INT64_MIN ? INT64_MIN : end - 1;
        return *ret_after_ms < *ret_upto_ms;
}

uint64_t unit_instants(const struct unit *u, int64_t after_ms, int64_t upto_ms)
{
        return plans_count(u->plans, u->shard, (struct instant) { after_ms }, (struct instant) { upto_ms });
}

int unit_next(const struct unit *u, int64_t after_ms, struct instant *ret)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { after_ms + 1 });
        struct instant from = { after_ms };

        if (plan && plan->valid_from.ms > from.ms)
                from = plan->valid_from;
        return plan ? plans_next(u->plans, plan, from, ret) : -ENOENT;
}

bool unit_expects(const struct judge *j, const struct unit *u, int64_t planned_ms)
{
        int64_t after, upto;

        return unit_window(j, u, &after, &upto) && planned_ms > after && planned_ms <= upto &&
               unit_instants(u, planned_ms - 1, planned_ms) > 0;
}

static bool touching(int64_t after, int64_t before, const void *arg)
{
        (void) arg;
        return before - after <= 1;
}

/* Instants in (after, upto], and those of them of which lines may be wanting. */
struct part {
        int64_t after_ms, upto_ms, grace_ms;
        struct spans dark;      /* to be done by who made it */
};

static struct part part_of(const struct unit *u, int64_t after_ms, int64_t upto_ms)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { upto_ms });

        return (struct part) { .after_ms = after_ms, .upto_ms = upto_ms, .grace_ms = unit_grace_ms(u, plan, upto_ms) };
}

/* Lines of [from, to] may be wanting. 0 or -ENOMEM. */
static int part_darken(struct part *p, int64_t from_us, int64_t to_us)
{
        int64_t from = from_us / 1000 - p->grace_ms - ERROR_MS, to = to_us / 1000 + ERROR_MS;

        if (from <= p->after_ms)
                from = p->after_ms + 1;
        if (to > p->upto_ms)
                to = p->upto_ms;
        return from <= to ? spans_add(&p->dark, from, to, touching, NULL) : 0;
}

static uint64_t part_dark(const struct part *p, const struct unit *u)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < p->dark.count; i++)
                sum += unit_instants(u, p->dark.list[i].first - 1, p->dark.list[i].last);
        return sum;
}

/* That something may have run unseen. */
static int part_unseen(struct part *p, const struct judge *j, const struct unit *u)
{
        const struct evidence *e = j->evidence;
        int r = 0;

        for (size_t i = 0; i < e->blind_count && r == 0; i++) {
                const struct blind *b = &e->blinds[i];
                if (!*u->key || !b->node || strcmp(b->node, u->key) == 0)
                        r = part_darken(p, b->from_us, b->to_us);
        }
        return r;
}

/* That a record of what did not run may have gone with its process. */
static int part_untold(struct part *p, const struct judge *j, const struct unit *u)
{
        const struct evidence *e = j->evidence;
        int r = 0;

        for (size_t i = 0; i < e->process_count && r == 0; i++) {
                const struct process *of = e->processes[i];
                if (evidence_silent(of, u->key))
                        r = part_darken(p, of->last_us, of->ended_us);
        }
        return r;
}

/* Instants in (after, upto] that may have been run unseen. */
static int count_unseen(const struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms,
                        uint64_t *ret)
{
        struct part p = part_of(u, after_ms, upto_ms);
        int r = part_unseen(&p, j, u);

        *ret = part_dark(&p, u);
        spans_done(&p.dark);
        return r;
}

/* Those, and the ones whose records may be lost. */
static int count_unsure(const struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms,
                        uint64_t *ret_unseen, uint64_t *ret_unsure)
{
        struct part p = part_of(u, after_ms, upto_ms);
        int r = part_unseen(&p, j, u);

        *ret_unseen = part_dark(&p, u);
        if (r == 0)
                r = part_untold(&p, j, u);
        *ret_unsure = part_dark(&p, u);
        spans_done(&p.dark);
        return r;
}

/* Adds or takes away `n` instants that did not run. */
static void count_unrun(struct row *row, enum unrun unrun, enum cause cause, int64_t n)
{
        row->unrun[unrun] += (uint64_t) n;
        if (unrun == UNRUN_UNSENT) {
                row->finals[STATE_FAILED] += (uint64_t) n;
                row->failed_by[cause] += (uint64_t) n;
        } else {
                row->given_up[cause] += (uint64_t) n;
        }
        if (unrun == UNRUN_CUT)
                row->finals[STATE_INTERRUPTED] += (uint64_t) n;
}

/* Instants in (after, upto] without a word: missed, or unknown when somebody else must have decided them. */
static int count_as(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms,
                    enum verdict v)
{
        uint64_t all = unit_instants(u, after_ms, upto_ms), unseen, unsure;

        if (all == 0)
                return 0;
        int r = count_unsure(j, u, after_ms, upto_ms, &unseen, &unsure);
        if (r < 0)
                return r;
        if (v == VERDICT_UNKNOWN) {
                row->verdicts[VERDICT_UNKNOWN] += all;
                row->unrun[UNRUN_UNSURE] += all;
                return all > unseen ? unit_unexplained(j, u, after_ms, upto_ms, all - unseen, WHY_STRANGER) : 0;
        }
        row->verdicts[VERDICT_UNKNOWN] += unsure;
        row->unrun[UNRUN_UNSURE] += unsure;
        row->verdicts[VERDICT_MISSED] += all - unsure;
        if (unsure > unseen)
                r = unit_unexplained(j, u, after_ms, upto_ms, unsure - unseen, WHY_LOST);
        return r == 0 && all > unsure ? unit_unexplained(j, u, after_ms, upto_ms, all - unsure, WHY_NOT_SAID) : r;
}

/* What no line here tells of, but that it was decided: whoever did it, or tells of it later, has no log here. All
 * that is the group's may be a stranger's, once there is one. */
static int count_unexplained(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms)
{
        bool theirs = j->strangers && row->path == PATH_REDIS;
        int64_t after = after_ms;
        int r = 0;

        for (size_t i = spans_find(&u->done, after + 1); after < upto_ms && r == 0; i++) {
                bool last = i == u->done.count || u->done.list[i].first > upto_ms;
                int64_t end = last ? upto_ms : u->done.list[i].first - 1;
                if (end > after)
                        r = count_as(j, u, row, after, end, theirs ? VERDICT_UNKNOWN : VERDICT_MISSED);
                after = end > after ? end : after;
                if (last || r < 0)
                        break;
                end = u->done.list[i].last < upto_ms ? u->done.list[i].last : upto_ms;
                r = count_as(j, u, row, after, end, VERDICT_UNKNOWN);
                after = end;
        }
        return r;
}

/* Instants in (after, upto] of one plan, none of them covered. */
static int count_uncovered(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms,
                           const struct counted *c)
{
        uint64_t all = unit_instants(u, after_ms, upto_ms), unseen;

        if (all == 0)
                return 0;
        if (c->verdict == VERDICT_MISSED)
                return unit_waiting(j, u, row, after_ms, upto_ms, count_unexplained);
        int r = count_unseen(j, u, after_ms, upto_ms, &unseen);
        if (r < 0)
                return r;
        row->verdicts[VERDICT_UNKNOWN] += unseen;
        row->unrun[UNRUN_UNSURE] += unseen;
        row->verdicts[c->verdict] += all - unseen;
        count_unrun(row, c->unrun, c->cause, (int64_t) (all - unseen));
        return 0;
}

/* Those of one plan's part. */
static int count_part(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms,
                      const struct counted *c)
{
        int64_t after = after_ms;
        int r = 0;

        if (row->path == PATH_NONE) {
                if (c->verdict != VERDICT_MISSED)
                        count_unrun(row, c->unrun, c->cause, (int64_t) unit_instants(u, after_ms, upto_ms));
                return 0;
        }
        for (size_t i = spans_find(&u->covered, after + 1); after < upto_ms && r == 0; i++) {
                bool last = i == u->covered.count;
                int64_t gap_end = last || u->covered.list[i].first > upto_ms ? upto_ms
                                                                              : u->covered.list[i].first - 1;
                if (gap_end > after)
                        r = count_uncovered(j, u, row, after, gap_end, c);
                after = last ? upto_ms : u->covered.list[i].last;
        }
        return r;
}

static int remember(struct unit *u, const struct counted *c)
{
        if (!u->counted)
                u->counted = calloc(COUNTED, sizeof(*u->counted));
        if (!u->counted)
                return -ENOMEM;
        u->counted[u->counted_next++ % COUNTED] = *c;
        return 0;
}

int unit_count(struct judge *j, struct unit *u, const struct counted *c)
{
        int64_t after, upto;
        int r = 0;

        if (!unit_window(j, u, &after, &upto))
                return 0;
        if (c->first_ms - 1 > after)
                after = c->first_ms - 1;
        if (c->last_ms < upto)
                upto = c->last_ms;
        for (size_t i = 0; i < u->plans->count && after < upto && r == 0; i++) {
                struct instant from = { after }, to = { upto };
                if (!plans_part(u->plans, i, &from, &to))
                        continue;
                struct row *row = judge_row(j, u->task, u->plans->list[i].path);
                if (!row)
                        return -ENOMEM;
                r = count_part(j, u, row, from.ms, to.ms, c);
        }
        return r < 0 || c->verdict == VERDICT_MISSED ? r : remember(u, c);
}

/* The oldest range that has it is the one that counted it. */
static const struct counted *counted_of(const struct unit *u, int64_t planned_ms)
{
        size_t n = u->counted_next < COUNTED ? u->counted_next : COUNTED;

        for (size_t i = u->counted_next - n; i < u->counted_next; i++) {
                const struct counted *c = &u->counted[i % COUNTED];
                if (c->first_ms <= planned_ms && c->last_ms >= planned_ms)
                        return c;
        }
        return NULL;
}

bool unit_uncount(struct judge *j, struct unit *u, int64_t planned_ms)
{
        const struct counted *c = counted_of(u, planned_ms);
        struct row *row = judge_row(j, u->task, unit_path(u, planned_ms, PATH_COUNT_));
        uint64_t unseen;

        if (!spans_has(&u->covered, planned_ms))
                return true;
        if (!c || !row || count_unseen(j, u, planned_ms - 1, planned_ms, &unseen) < 0)
                return false;
        enum verdict verdict = unseen ? VERDICT_UNKNOWN : c->verdict;
        enum unrun unrun = unseen ? UNRUN_UNSURE : c->unrun;
        if (!row->verdicts[verdict] || !row->unrun[unrun])
                return false;
        row->verdicts[verdict]--;
        if (unseen)
                row->unrun[unrun]--;
        else
                count_unrun(row, unrun, c->cause, -1);
        return true;
}

bool unit_empty_between(int64_t after_ms, int64_t before_ms, const void *unit)
{
        const struct unit *u = unit;

        return plans_adjacent(u->plans, (struct instant) { after_ms }, (struct instant) { before_ms });
}

int unit_cover(struct unit *u, int64_t first_ms, int64_t last_ms)
{
        int r = u->queued.count ? unit_unqueue(u, first_ms, last_ms) : 0;

        return r < 0 ? r : spans_add(&u->covered, first_ms, last_ms, unit_empty_between, u);
}
