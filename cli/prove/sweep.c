/* What was to happen and did not: the instants of the plans that no evidence covers, counted by arithmetic,
 * never one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"
#include "common/clock.h"

#define ERROR_MS 1000LL

bool unit_window(const struct judge *j, const struct unit *u, int64_t *ret_after_ms, int64_t *ret_upto_ms)
{
        if (u->plans->count == 0)
                return false;
        int64_t end = u->end_ms;
        if (end > j->options.until_ms)
                end = j->options.until_ms;
        *ret_after_ms = j->from_ms - 1;
        *ret_upto_ms = end == INT64_MIN ? INT64_MIN : end - 1;
        return *ret_after_ms < *ret_upto_ms;
}

static bool touching(int64_t after, int64_t before, const void *arg)
{
        (void) arg;
        return before - after <= 1;
}

/* Stretches of instants that may have been run unseen. */
static int unseen_stretches(const struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms,
                            struct spans *ret)
{
        const struct evidence *e = j->evidence;
        const struct plan *plan = plans_at(u->plans, (struct instant) { upto_ms });
        int64_t grace = plan ? plan_grace_ms(plan) : 0;

        for (size_t i = 0; i < e->blind_count; i++) {
                const struct blind *b = &e->blinds[i];
                int64_t from = b->from_us / 1000 - grace - ERROR_MS, to = b->to_us / 1000 + ERROR_MS;

                if (from <= after_ms)
                        from = after_ms + 1;
                if (to > upto_ms)
                        to = upto_ms;
                if (from > to || (*u->key && b->node && strcmp(b->node, u->key) != 0))
                        continue;
                int r = spans_add(ret, from, to, touching, NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

static uint64_t count_between(const struct unit *u, int64_t after_ms, int64_t upto_ms)
{
        return plans_count(u->plans, u->shard, (struct instant) { after_ms }, (struct instant) { upto_ms });
}

static int missed_note(struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms,
                       uint64_t count)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { after_ms + 1 });
        struct instant first = { after_ms }, from = first;
        char first_text[STAMP_TEXT], last_text[STAMP_TEXT];

        if (plan && plan->valid_from.ms > from.ms)
                from = plan->valid_from;
        if (!plan || schedule_next(&plan->schedule, from, &first) < 0)
                first.ms = after_ms + 1;
        instant_text(first, first_text);
        instant_text((struct instant) { upto_ms }, last_text);
        if (count == 1)
                return judge_note(j, "MISSED %s %s: nobody ran it, and nothing says why", u->task,
                                  first_text);
        return judge_note(j, "MISSED %s: %llu instants from %s to %s, and nothing says why", u->task,
                          (unsigned long long) count, first_text, last_text);
}

/* Instants in (after, upto], none of them covered. */
static int count_uncovered(struct judge *j, struct unit *u, struct row *row, int64_t after_ms,
                           int64_t upto_ms, enum verdict verdict)
{
        struct spans unseen = { 0 };
        uint64_t all = count_between(u, after_ms, upto_ms), unknown = 0;
        int r = 0;

        if (all == 0)
                return 0;
        r = unseen_stretches(j, u, after_ms, upto_ms, &unseen);
        for (size_t i = 0; i < unseen.count; i++)
                unknown += count_between(u, unseen.list[i].first - 1, unseen.list[i].last);
        spans_done(&unseen);
        row->verdicts[VERDICT_UNKNOWN] += unknown;
        row->verdicts[verdict] += all - unknown;
        if (r == 0 && verdict == VERDICT_MISSED && all > unknown)
                r = missed_note(j, u, after_ms, upto_ms, all - unknown);
        return r;
}

int unit_count(struct judge *j, struct unit *u, int64_t after_ms, int64_t upto_ms, enum verdict verdict)
{
        struct row *row = judge_row(j, u->task, unit_path(u, upto_ms, PATH_COUNT_));
        int64_t after, upto;
        int r = 0;

        if (!row)
                return -ENOMEM;
        if (row->path == PATH_NONE || !unit_window(j, u, &after, &upto))
                return 0;
        if (after_ms > after)
                after = after_ms;
        if (upto_ms < upto)
                upto = upto_ms;
        for (size_t i = spans_find(&u->covered, after + 1); after < upto && r == 0; i++) {
                int64_t gap_end = i < u->covered.count ? u->covered.list[i].first - 1 : upto;
                if (gap_end > upto)
                        gap_end = upto;
                if (gap_end > after)
                        r = count_uncovered(j, u, row, after, gap_end, verdict);
                after = i < u->covered.count ? u->covered.list[i].last : upto;
        }
        return r;
}

/* Nothing says since when a plain timer of a process was armed: what it ran bounds what it was to run. */
static void ran_between(const struct unit *u, int64_t *after_ms, int64_t *upto_ms)
{
        if (u->covered.count == 0) {
                *upto_ms = *after_ms;
                return;
        }
        if (u->covered.list[0].first - 1 > *after_ms)
                *after_ms = u->covered.list[0].first - 1;
        if (u->covered.list[u->covered.count - 1].last < *upto_ms)
                *upto_ms = u->covered.list[u->covered.count - 1].last;
}

/* Each plan's stretch by itself: they may differ in path, and so in row. */
int unit_sweep(struct judge *j, struct unit *u)
{
        int64_t after, upto;
        int r = 0;

        if (!unit_window(j, u, &after, &upto))
                return 0;
        if (upto > j->upto_ms)
                j->upto_ms = upto;
        for (size_t i = 0; i < u->plans->count && r == 0; i++) {
                const struct plan *plan = &u->plans->list[i];
                int64_t from = plan->valid_from.ms > after ? plan->valid_from.ms : after, to = upto;

                if (i + 1 < u->plans->count && u->plans->list[i + 1].valid_from.ms < to)
                        to = u->plans->list[i + 1].valid_from.ms;
                struct row *row = judge_row(j, u->task, plan->path);
                if (!row)
                        return -ENOMEM;
                if (plan->competes && plan->computable)
                        schedule_text(&plan->schedule, row->when, sizeof(row->when));
                if (plan->path == PATH_NONE)
                        ran_between(u, &from, &to);
                if (from >= to)
                        continue;
                row->expected += count_between(u, from, to);
                r = unit_count(j, u, from, to, VERDICT_MISSED);
        }
        if (r == 0 && u->plans->split && u->shard == 0) {
                struct row *row = judge_row(j, u->task, u->plans->list[u->plans->count - 1].path);
                if (!row)
                        return -ENOMEM;
                row->findings[FINDING_SPLIT]++;
                r = judge_note(j, "SPLIT %s: two definitions of one revision", u->task);
        }
        return r;
}
