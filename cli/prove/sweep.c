/* What was to happen and did not: the instants of the plans that no evidence covers, and what cannot be judged. */
#include <errno.h>
#include <string.h>

#include "cli/prove/unit.h"
#include "common/clock.h"

/* Behind the end of the window so much may lie without a word: the processes' last steps take that long. */
#define LAST_STEPS_MS 1000

/* Its last lines and its death may lie so far apart. */
#define OWED_US (5 * 1000000LL)

static const char *const why_texts[] = {
        [WHY_NOT_SAID] = "nothing says why",
        [WHY_STRANGER] = "decided by a process whose log is not here",
        [WHY_LOST] = "the last lines of a process that ended without its stop line may be lost",
};

int unit_unexplained(struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms, uint64_t count,
                     enum why_unexplained why)
{
        enum verdict v = why == WHY_NOT_SAID ? VERDICT_MISSED : VERDICT_UNKNOWN;
        struct instant first;
        char first_text[STAMP_TEXT], last_text[STAMP_TEXT];

        if (unit_next(u, after_ms, &first) < 0)
                first.ms = after_ms + 1;
        instant_text(first, first_text);
        instant_text((struct instant) { upto_ms }, last_text);
        if (count == 1)
                return judge_note(j, "%s %s %s: %s%s", verdict_names[v], u->task, first_text,
                                  v == VERDICT_MISSED ? "nobody ran it, and " : "", why_texts[why]);
        return judge_note(j, "%s %s: %llu instants from %s to %s%s%s", verdict_names[v], u->task,
                          (unsigned long long) count, first_text, last_text, v == VERDICT_MISSED ? ", and " : ": ",
                          why_texts[why]);
}

/* A process that died may owe the lines of what it decided last; else it was no process of those here. */
static bool is_strangers(const struct judge *j, const struct unit *u, int64_t first_ms, int64_t last_ms)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { last_ms });

        if (!plan || plan->path != PATH_REDIS || unit_instants(u, first_ms - 1, last_ms) == 0)
                return false;
        int64_t upto_ms = last_ms + unit_grace_ms(u, plan, last_ms);
        return !evidence_died(j->evidence, first_ms * 1000 - OWED_US, upto_ms * 1000 + OWED_US);
}

bool unit_has_strangers(const struct judge *j, const struct unit *u)
{
        int64_t after, upto;

        if (!unit_window(j, u, &after, &upto))
                return false;
        for (size_t i = spans_find(&u->done, after + 1); i < u->done.count && u->done.list[i].first <= upto; i++) {
                int64_t last = u->done.list[i].last < upto ? u->done.list[i].last : upto;
                int64_t first = u->done.list[i].first > after ? u->done.list[i].first : after + 1;

                for (size_t k = spans_find(&u->covered, first); first <= last; k++) {
                        bool end = k == u->covered.count || u->covered.list[k].first > last;
                        int64_t gap_last = end ? last : u->covered.list[k].first - 1;
                        if (gap_last >= first && is_strangers(j, u, first, gap_last))
                                return true;
                        if (end)
                                break;
                        first = u->covered.list[k].last + 1;
                }
        }
        return false;
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

/* Nobody can say what was due. */
static int not_computable(struct judge *j, const struct unit *u, struct row *row)
{
        if (row->path == PATH_NONE)
                return 0;
        row->beside[VERDICT_UNKNOWN]++;
        return judge_note(j, "UNKNOWN %s: %s, so that nobody can say when it was due", u->task, u->plans->doubt);
}

/* One plan's part of the window. */
static int plan_sweep(struct judge *j, struct unit *u, size_t i, int64_t after_ms, int64_t upto_ms)
{
        const struct plan *plan = &u->plans->list[i];
        struct instant from = { after_ms }, to = { upto_ms };
        bool some = plans_part(u->plans, i, &from, &to);
        struct row *row = judge_row(j, u->task, plan->path);
        char text[SCHEDULE_TEXT] = "";

        if (!row)
                return -ENOMEM;
        if (plan->competes && plan->computable)
                schedule_text(&plan->schedule, text, sizeof(text));
        if (*text && row_when(row, text) < 0)
                return -ENOMEM;
        if (plan->path == PATH_NONE)
                ran_between(u, &from.ms, &to.ms);
        if (!some || from.ms >= to.ms)
                return 0;
        if (!plan->computable)
                return not_computable(j, u, row);
        row->expected += unit_instants(u, from.ms, to.ms);
        struct counted missed = { .first_ms = from.ms + 1, .last_ms = to.ms, .verdict = VERDICT_MISSED };
        return unit_count(j, u, &missed);
}

/* Instants of one plan in (from, to] that are left out of the window, so that a person sees it. */
static void leave_out(struct unit *u, const struct plan *plan, struct instant from, struct instant to,
                      struct stretch *ret)
{
        if (from.ms < plan->valid_from.ms)
                from = plan->valid_from;
        if (from.ms >= to.ms || !plan->competes || !plan->computable || u->shard >= plan->shards)
                return;
        uint64_t n = plans_plan_count(u->plans, plan, from, to);
        if (n == 0)
                return;
        if (!ret->count || from.ms < ret->from_ms)
                ret->from_ms = from.ms;
        if (!ret->count || to.ms > ret->upto_ms)
                ret->upto_ms = to.ms;
        ret->count += n;
}

/* The instants between two ledgers. */
static void between_ledgers(struct unit *u, struct row *row, size_t i, int64_t after_ms, int64_t upto_ms)
{
        const struct plan *plan = &u->plans->list[i];
        struct instant from = plan->until, to = { upto_ms };

        if (!plans_restart(u->plans, i))
                return;
        if (to.ms > u->plans->list[i + 1].valid_from.ms)
                to = u->plans->list[i + 1].valid_from;
        if (from.ms < after_ms)
                from.ms = after_ms;
        leave_out(u, plan, from, to, &row->between);
}

/* The instants at which no node had the task. */
static void away(const struct judge *j, struct unit *u, struct row *row, size_t i)
{
        const struct plan *plan = &u->plans->list[i];
        bool newest = i + 1 == u->plans->count;
        struct instant from = plan->until, to = { j->evidence->to_us / 1000 };

        if (u->plain || from.ms == INT64_MAX || plans_restart(u->plans, i))
                return;
        if (!newest && to.ms > plan[1].valid_from.ms)
                to = plan[1].valid_from;
        if (to.ms >= j->options.until_ms)
                to.ms = j->options.until_ms - 1;
        if (from.ms < u->from_ms - 1)
                from.ms = u->from_ms - 1;
        leave_out(u, plan, from, to, &row->away);
}

/* What was due after the window, while processes still wrote lines. */
static void behind_window(const struct judge *j, const struct unit *u, struct row *row)
{
        const struct evidence *e = j->evidence;
        const struct plan *plan = &u->plans->list[u->plans->count - 1];
        int64_t to = (*u->key ? evidence_node_to_us(e, u->key) : e->to_us) / 1000, from = u->from_ms;
        enum unjudged why = UNJUDGED_NOBODY;

        if (to >= j->options.until_ms)
                to = j->options.until_ms - 1;
        if (u->end_ms > from)
                from = u->end_ms - 1;
        if (plan->path == PATH_NONE || to - from <= LAST_STEPS_MS || unit_instants(u, from, to) == 0)
                return;
        if (evidence_goes_on(e, u->key))
                why = UNJUDGED_RUNNING;
        else if (u->down_ms > from)
                why = UNJUDGED_DOWN;
        if (!row->unjudged || from < row->unjudged_from_ms)
                row->unjudged_from_ms = from;
        if (!row->unjudged || to > row->unjudged_upto_ms)
                row->unjudged_upto_ms = to;
        if (!row->unjudged || why == UNJUDGED_DOWN)
                row->unjudged = why;
}

int unit_sweep(struct judge *j, struct unit *u)
{
        int64_t after, upto;
        int r = 0;

        if (u->plans->count == 0)
                return 0;
        struct row *newest = judge_row(j, u->task, u->plans->list[u->plans->count - 1].path);
        if (!newest)
                return -ENOMEM;
        behind_window(j, u, newest);
        for (size_t i = 0; i < u->plans->count; i++)
                away(j, u, judge_row(j, u->task, u->plans->list[i].path), i);
        if (u->plain)
                own_settle(j, u, newest);
        if (!unit_window(j, u, &after, &upto))
                return 0;
        if (upto > j->upto_ms)
                j->upto_ms = upto;
        /* Each plan's part by itself: they may differ in path, and so in row. */
        for (size_t i = 0; i < u->plans->count && r == 0; i++) {
                r = plan_sweep(j, u, i, after, upto);
                if (r == 0)
                        between_ledgers(u, judge_row(j, u->task, u->plans->list[i].path), i, after, upto);
        }
        if (r == 0 && u->plans->split && u->shard == 0) {
                newest->findings[FINDING_SPLIT]++;
                r = judge_note(j, "SPLIT %s: two definitions of one revision", u->task);
        }
        return r;
}
