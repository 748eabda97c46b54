/* The report for people: the table, then what is worth a sentence, then one line with the verdict. */
#include "cli/prove/report.h"

#include <inttypes.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/columns.h"
#include "common/clock.h"
#include "common/exits.h"

#define PROVE_DUPLICATE 1
#define PROVE_MISSED    2
#define PROVE_UNKNOWN   3

#define NOTES_SHOWN 10

/* Tasks under `none` promise nothing that could be judged: their runs are something all the same. */
static bool any_plain_run(const struct judge *j)
{
        for (size_t i = 0; i < j->row_count; i++)
                if (j->rows[i]->path == PATH_NONE && j->rows[i]->runs > 0)
                        return true;
        return false;
}

const char *report_verdict(const struct evidence *e, const struct judge *j)
{
        bool any;
        enum verdict v = judge_verdict(j, &any);

        if (e->unreadable && v < VERDICT_UNKNOWN)
                return verdict_names[VERDICT_UNKNOWN];
        return any ? verdict_names[v] : any_plain_run(j) ? "NOT SINGLE" : "NOTHING";
}

/* Where nothing was due, nothing is proved. */
int report_exit(const struct evidence *e, const struct judge *j)
{
        bool any;

        switch (judge_verdict(j, &any)) {
        case VERDICT_DUPLICATE:
                return PROVE_DUPLICATE;
        case VERDICT_MISSED:
                return PROVE_MISSED;
        case VERDICT_UNKNOWN:
                return PROVE_UNKNOWN;
        default:
                return e->unreadable || (!any && !any_plain_run(j)) ? PROVE_UNKNOWN : EXIT_FINE;
        }
}

/* What an exact multiple comes from: that many nodes of a path that is for one, or that many processes. */
static const char *multiple_why(const struct row *r, unsigned n)
{
        bool per_node = r->path != PATH_NONE && r->nodes == n;

        if (r->moved)
                return " (its singleton was changed)";
        if (per_node && r->path == PATH_FLOCK)
                return " (runs once per node: singleton flock is for one machine)";
        if (per_node && r->path == PATH_DEDICATED)
                return " (runs once per node: singleton dedicated is for one machine)";
        if (per_node)
                return " (runs once per node)";
        return row_sources(r) >= n ? " (runs once per process)" : "";
}

void report_row_verdict(const struct row *r, char *ret, size_t room)
{
        unsigned n = row_multiple(r);
        const char *failed = row_all_failed(r) ? ", every run failed" : "";
        const char *why = n ? multiple_why(r, n) : "", *word;
        bool any;
        enum verdict v = row_verdict(r, &any);

        if (r->path == PATH_NONE) {
                word = r->runs ? "NOT SINGLE" : "-";
                if (r->runs && !n && r->per_instant[1] && row_sources(r) == 1)
                        word = "NOT SINGLE, one process";
        } else {
                word = any ? verdict_names[v] : "-";
        }
        if (n)
                (void) snprintf(ret, room, "%s x%u%s%s", word, n, why, failed);
        else
                (void) snprintf(ret, room, "%s%s", word, failed);
}

static void head_print(FILE *out, const struct evidence *e, const struct judge *j)
{
        char from[STAMP_TEXT], upto[STAMP_TEXT];
        size_t workers = 0, masters = 0;

        for (size_t i = 0; i < e->process_count; i++) {
                workers += e->processes[i]->kind == PROCESS_WORKER || e->processes[i]->kind == PROCESS_ALONE;
                masters += e->processes[i]->kind == PROCESS_MASTER;
        }
        (void) fprintf(out, "files %zu, lines %" PRIu64 ", masters %zu, workers %zu\n", e->files, e->lines,
                       masters, workers);
        if (e->from_us > e->to_us)
                return;
        instant_text((struct instant) { j->from_ms }, from);
        instant_text((struct instant) { j->upto_ms > j->from_ms ? j->upto_ms : j->from_ms }, upto);
        (void) fprintf(out, "judged: instants from %s to %s\n", from, upto);
}

static void findings_print(FILE *out, const struct row *r)
{
        const char *separator = ": ";

        for (unsigned f = 0; f < FINDING_COUNT_; f++) {
                if (!r->findings[f])
                        continue;
                (void) fprintf(out, "%s%s%s %" PRIu64, *separator == ':' ? r->task : "", separator,
                               finding_names[f], r->findings[f]);
                separator = ", ";
        }
        if (*separator == ',')
                (void) fputc('\n', out);
}

static const char *cause_word(unsigned cause)
{
        return *cause_names[cause] ? cause_names[cause] : "no cause given";
}

static void causes_print(FILE *out, const struct row *r)
{
        for (unsigned c = 0; c < CAUSE_COUNT_; c++)
                if (r->given_up[c])
                        (void) fprintf(out, "%s: %" PRIu64 " not run: %s\n", r->task, r->given_up[c],
                                       cause_word(c));
        for (unsigned c = 0; c < CAUSE_COUNT_; c++) {
                bool unsent = c == CAUSE_NOT_SENT || c == CAUSE_LOG;
                if (r->failed_by[c])
                        (void) fprintf(out, "%s: %" PRIu64 " failed: %s%s\n", r->task, r->failed_by[c],
                                       cause_word(c), unsent ? " (not started)" : "");
        }
        if (row_all_failed(r))
                (void) fprintf(out, "%s: every run failed\n", r->task);
}

static void span_text(int64_t from_ms, int64_t upto_ms, char ret[2 * STAMP_TEXT + 8])
{
        char from[STAMP_TEXT], upto[STAMP_TEXT];

        instant_text((struct instant) { from_ms }, from);
        instant_text((struct instant) { upto_ms }, upto);
        (void) snprintf(ret, 2 * STAMP_TEXT + 8, "%s to %s", from, upto);
}

/* What is in no column, or said better in words. */
static void beside_print(FILE *out, const struct row *r)
{
        char span[2 * STAMP_TEXT + 8];

        if (r->unrun[UNRUN_QUEUED])
                (void) fprintf(out, "%s: %" PRIu64 " still queued\n", r->task, r->unrun[UNRUN_QUEUED]);
        if (r->waited)
                (void) fprintf(out, "%s: %" PRIu64 " run%s queued before, for %.1f s at most; not in LATE\n", r->task,
                               r->waited, r->waited == 1 ? "" : "s", (double) r->wait_max_us / 1e6);
        if (r->manual)
                (void) fprintf(out, "%s: %" PRIu64 " more run%s, by hand\n", r->task, r->manual,
                               r->manual == 1 ? "" : "s");
        if (r->away.count) {
                span_text(r->away.from_ms, r->away.upto_ms, span);
                (void) fprintf(out, "%s: not judged: %" PRIu64 " instant%s from %s: no node had the task then, or not "
                                    "under %s\n", r->task, r->away.count, r->away.count == 1 ? "" : "s", span, columns_path(r->path));
        }
        if (!r->between.count)
                return;
        span_text(r->between.from_ms, r->between.upto_ms, span);
        (void) fprintf(out, "%s: not judged: %" PRIu64 " instant%s from %s: then another ledger began, which knows "
                            "nothing of them\n", r->task, r->between.count, r->between.count == 1 ? "" : "s", span);
}

#define TASKS_NAMED 5

/* The names of tasks that one line is about, one after the other; then how many more there are. Rows of one task, of
 * several paths, stand together. */
static void name_print(FILE *out, const struct row *r, const char **last, size_t *count)
{
        if (*last && strcmp(*last, r->task) == 0)
                return;
        *last = r->task;
        if ((*count)++ < TASKS_NAMED)
                (void) fprintf(out, "%s%s", *count > 1 ? ", " : "", r->task);
}

static void more_print(FILE *out, size_t count)
{
        if (count > TASKS_NAMED)
                (void) fprintf(out, " and %zu more", count - TASKS_NAMED);
}

/* One line a reason: mostly all tasks have the same. */
static void unjudged_print(FILE *out, const struct judge *j, enum unjudged why)
{
        int64_t from = INT64_MAX, upto = INT64_MIN;
        char span[2 * STAMP_TEXT + 8];
        const char *last = NULL;
        size_t count = 0;

        for (size_t i = 0; i < j->row_count; i++) {
                const struct row *r = j->rows[i];
                if (r->unjudged != why)
                        continue;
                from = r->unjudged_from_ms < from ? r->unjudged_from_ms : from;
                upto = r->unjudged_upto_ms > upto ? r->unjudged_upto_ms : upto;
                name_print(out, r, &last, &count);
        }
        if (count == 0)
                return;
        more_print(out, count);
        span_text(from, upto, span);
        (void) fprintf(out, ": not judged: from %s (%s)%s\n", span, unjudged_names[why],
                       why == UNJUDGED_RUNNING ? "" : "; the next start names them");
}

/* Nearly every first start has some: instants within the grace of it are run, and come before the plan. */
static void outside_print(FILE *out, const struct judge *j)
{
        const char *last = NULL;
        uint64_t runs = 0;
        size_t count = 0;

        for (size_t i = 0; i < j->row_count; i++) {
                if (j->rows[i]->outside)
                        name_print(out, j->rows[i], &last, &count);
                runs += j->rows[i]->outside;
        }
        if (count == 0)
                return;
        more_print(out, count);
        (void) fprintf(out, ": %" PRIu64 " more run%s, before or after what is judged\n", runs,
                       runs == 1 ? "" : "s");
}

static void list_print(FILE *out, const char *title, char *const *texts, size_t count, size_t dropped,
                       bool all)
{
        size_t shown = all || count <= NOTES_SHOWN ? count : NOTES_SHOWN;

        if (count == 0)
                return;
        (void) fprintf(out, "\n%s\n", title);
        for (size_t i = 0; i < shown; i++)
                (void) fprintf(out, "  %s\n", texts[i]);
        if (count + dropped > shown)
                (void) fprintf(out, "  and %zu more%s\n", count + dropped - shown, all ? "" : " (--verbose)");
}

static void verbose_print(FILE *out, const struct row *r)
{
        (void) fprintf(out, "%s (%s): attempts %" PRIu64 ", run by %u of the processes;", r->task,
                       columns_path(r->path), r->attempts, row_sources(r));
        for (unsigned o = 0; o < OUTCOME_COUNT_; o++)
                if (r->outcomes[o])
                        (void) fprintf(out, " %s %" PRIu64, outcome_names[o], r->outcomes[o]);
        for (unsigned s = 0; s < STATE_COUNT_; s++)
                if (r->finals[s])
                        (void) fprintf(out, ", %s %" PRIu64, state_names[s], r->finals[s]);
        for (unsigned v = 0; v < VERDICT_COUNT_; v++)
                if (r->verdicts[v])
                        (void) fprintf(out, ", %" PRIu64 " %s", r->verdicts[v], verdict_names[v]);
        if (r->fences)
                (void) fprintf(out, ", fences %s", r->findings[FINDING_FENCE] ? "OUT OF ORDER" : "in order");
        if (r->running)
                (void) fprintf(out, ", %" PRIu64 " still running", r->running);
        (void) fputc('\n', out);
}

static void verdict_print(FILE *out, const struct evidence *e, const struct judge *j)
{
        uint64_t sums[VERDICT_COUNT_] = { 0 };
        uint64_t all = 0;
        size_t plain = 0;

        for (size_t i = 0; i < j->row_count; i++) {
                plain += j->rows[i]->path == PATH_NONE;
                for (unsigned v = 0; v < VERDICT_COUNT_; v++)
                        sums[v] += j->rows[i]->verdicts[v] + j->rows[i]->beside[v];
        }
        (void) fprintf(out, "\n");
        for (unsigned v = 0; v < VERDICT_COUNT_; v++) {
                if (sums[v])
                        (void) fprintf(out, "%s%" PRIu64 " %s", all ? ", " : "planned instants: ", sums[v],
                                       verdict_names[v]);
                all += sums[v];
        }
        if (all)
                (void) fputc('\n', out);
        if (plain)
                (void) fprintf(out,
                               "tasks under `none` run once per process; they are counted and not judged\n");
        (void) fprintf(out, "verdict: %s\n", report_verdict(e, j));
}

void report_table(FILE *out, const struct evidence *e, const struct judge *j, bool verbose)
{
        head_print(out, e, j);
        (void) fputc('\n', out);
        if (j->row_count)
                columns_print(out, j);
        else
                (void) fprintf(out, "no task in these logs\n");
        for (size_t i = 0; i < j->row_count && verbose; i++) {
                if (i == 0)
                        (void) fputc('\n', out);
                verbose_print(out, j->rows[i]);
        }
        for (size_t i = 0; i < j->row_count; i++) {
                findings_print(out, j->rows[i]);
                causes_print(out, j->rows[i]);
                beside_print(out, j->rows[i]);
        }
        outside_print(out, j);
        for (unsigned w = UNJUDGED_NOTHING + 1; w < UNJUDGED_COUNT_; w++)
                unjudged_print(out, j, (enum unjudged) w);
        list_print(out, "What does not fit:", j->notes, j->note_count, j->notes_dropped, verbose);
        list_print(out, "What one should know of the logs:", e->remarks, e->remark_count, e->remarks_dropped, verbose);
        list_print(out, "What is wrong with the logs:", e->troubles, e->trouble_count, e->troubles_dropped,
                   verbose);
        verdict_print(out, e, j);
}
