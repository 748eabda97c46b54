/* Instants that were queued: decided, to be run later by whoever comes to it, the oldest first. One that still waits
 * when the logs end is no loss; one that a later instant has passed was lost. */
#include <errno.h>

#include "cli/prove/unit.h"
#include "common/clock.h"

int take_queued(struct taking *t)
{
        struct unit *u = t->u;

        if (t->manual || spans_has(&u->covered, t->planned_ms))
                return 0;
        return spans_add(&u->queued, t->planned_ms, t->planned_ms, unit_empty_between, u);
}

/* Of a range of instants that wait, what is left between two that were taken out holds none. */
static int drop_empty(struct unit *u, size_t i)
{
        if (i >= u->queued.count)
                return 0;
        struct span s = u->queued.list[i];
        return unit_instants(u, s.first - 1, s.last) > 0 ? 0 : spans_cut(&u->queued, s.first, s.last);
}

int unit_unqueue(struct unit *u, int64_t first_ms, int64_t last_ms)
{
        int r = spans_cut(&u->queued, first_ms, last_ms);
        size_t behind = spans_find(&u->queued, last_ms);

        if (r == 0)
                r = drop_empty(u, behind);
        return r == 0 && behind > 0 ? drop_empty(u, behind - 1) : r;
}

void unit_passed(struct unit *u, int64_t planned_ms)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { planned_ms });

        if (plan && plan->queued && planned_ms > u->passed_ms)
                u->passed_ms = planned_ms;
}

int unit_waits(struct unit *u)
{
        int r = 0;

        for (size_t i = 0; i < u->queued.count && r == 0; i++)
                r = spans_cut(&u->done, u->queued.list[i].first, u->queued.list[i].last);
        return r;
}

static int passed(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms)
{
        uint64_t n = unit_instants(u, after_ms, upto_ms);
        struct instant first = { after_ms };
        char when[STAMP_TEXT];

        if (n == 0)
                return 0;
        row->verdicts[VERDICT_MISSED] += n;
        (void) unit_next(u, after_ms, &first);
        instant_text(first, when);
        return judge_note(j, "MISSED %s %s: queued, passed by a later one, and nothing says why%s", u->task, when,
                          n > 1 ? "; and more behind it" : "");
}

/* Instants in (after, upto], all of them queued. Where something may have run unseen since, one of them may have. */
static int count_queued(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms)
{
        int64_t unseen_ms = evidence_blind_end_us(j->evidence, u->key) / 1000;
        int64_t upto = upto_ms < u->passed_ms ? upto_ms : u->passed_ms;
        int r = 0;

        if (j->strangers && row->path == PATH_REDIS)
                unseen_ms = upto_ms;
        if (unseen_ms > after_ms) {
                int64_t end = unseen_ms < upto_ms ? unseen_ms : upto_ms;
                uint64_t n = unit_instants(u, after_ms, end);
                row->verdicts[VERDICT_UNKNOWN] += n;
                row->unrun[UNRUN_UNSURE] += n;
                after_ms = end;
        }
        if (upto > after_ms) {
                r = passed(j, u, row, after_ms, upto);
                after_ms = upto;
        }
        uint64_t n = unit_instants(u, after_ms, upto_ms);
        row->verdicts[VERDICT_EXPLAINED] += n;
        row->unrun[UNRUN_QUEUED] += n;
        return r;
}

int unit_waiting(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms,
                 int (*rest)(struct judge *, struct unit *, struct row *, int64_t, int64_t))
{
        int64_t after = after_ms;
        int r = 0;

        for (size_t i = spans_find(&u->queued, after + 1); after < upto_ms && r == 0; i++) {
                bool last = i == u->queued.count || u->queued.list[i].first > upto_ms;
                int64_t end = last ? upto_ms : u->queued.list[i].first - 1;
                if (end > after) {
                        r = rest(j, u, row, after, end);
                        after = end;
                }
                if (last || r < 0)
                        break;
                end = u->queued.list[i].last < upto_ms ? u->queued.list[i].last : upto_ms;
                r = count_queued(j, u, row, after, end);
                after = end;
        }
        return r;
}
