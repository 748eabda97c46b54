/* The table: one row a task, then what is worth a sentence, then one line with the verdict. */
#include "cli/prove/report.h"

#include <inttypes.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "common/clock.h"
#include "common/exits.h"

#define PROVE_DUPLICATE 1
#define PROVE_MISSED    2
#define PROVE_UNKNOWN   3

#define NOTES_SHOWN 10

const char *report_verdict(const struct evidence *e, const struct judge *j)
{
        bool any;
        enum verdict v = judge_verdict(j, &any);

        if (e->unreadable && v < VERDICT_UNKNOWN)
                return verdict_names[VERDICT_UNKNOWN];
        return any ? verdict_names[v] : "NOTHING";
}

/* Nothing at all in the logs proves nothing; only tasks under `none` in them is fine. */
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
                return e->unreadable || j->row_count == 0 ? PROVE_UNKNOWN : EXIT_FINE;
        }
}

void report_row_verdict(const struct row *r, char *ret, size_t room)
{
        unsigned n = row_multiple(r);
        const char *word, *why = n && row_sources(r) >= n ? " (runs once per process)" : "";
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
                (void) snprintf(ret, room, "%s x%u%s", word, n, why);
        else
                (void) snprintf(ret, room, "%s", word);
}

static void late_text(int64_t us, char ret[16])
{
        if (us < 0)
                (void) snprintf(ret, 16, "-");
        else if (us < 1000)
                (void) snprintf(ret, 16, "%" PRId64 "us", us);
        else if (us < 1000000)
                (void) snprintf(ret, 16, "%.1fms", (double) us / 1e3);
        else
                (void) snprintf(ret, 16, "%.1fs", (double) us / 1e6);
}

static const char *path_word(enum path p)
{
        return p < PATH_COUNT_ ? path_names[p] : "?";
}

#define COLUMNS 16

struct cells {
        char text[COLUMNS][160];
};

static const char *const heads[COLUMNS] = {
        "TASK", "PATH", "SCHEDULE", "DUE", "RUNS", "DONE", "DROPPED", "SKIPPED", "INTERRUPTED", "UNKNOWN",
        "TWICE", "MISSED", "LATE p50", "p99", "max", "VERDICT",
};

static void number(char ret[160], uint64_t n)
{
        (void) snprintf(ret, 160, "%" PRIu64, n);
}

static void cells_fill(const struct row *r, struct cells *c)
{
        char late[16];

        (void) snprintf(c->text[0], 160, "%s", r->task);
        (void) snprintf(c->text[1], 160, "%s", path_word(r->path));
        (void) snprintf(c->text[2], 160, "%s", *r->when ? r->when : "-");
        number(c->text[3], r->expected + r->extra);
        number(c->text[4], r->runs + r->manual);
        number(c->text[5], r->results[RESULT_DONE]);
        number(c->text[6], r->dropped);
        number(c->text[7], r->skipped + r->recorded_missed);
        number(c->text[8], r->finals[STATE_INTERRUPTED]);
        number(c->text[9], r->finals[STATE_UNKNOWN]);
        number(c->text[10], r->verdicts[VERDICT_DUPLICATE]);
        number(c->text[11], r->verdicts[VERDICT_MISSED]);
        late_text(row_late_us(r, 0.5), late);
        (void) snprintf(c->text[12], 160, "%s", late);
        late_text(row_late_us(r, 0.99), late);
        (void) snprintf(c->text[13], 160, "%s", late);
        late_text(r->late_count ? r->late_max_us : -1, late);
        (void) snprintf(c->text[14], 160, "%s", late);
        report_row_verdict(r, c->text[15], 160);
}

static void row_print(FILE *out, const char *const *texts, const size_t widths[COLUMNS])
{
        for (size_t i = 0; i < COLUMNS; i++) {
                bool left = i < 3 || i == COLUMNS - 1;
                int width = i == COLUMNS - 1 ? 0 : (int) widths[i];
                (void) fprintf(out, left ? "%s%-*s" : "%s%*s", i ? "  " : "", width, texts[i]);
        }
        (void) fputc('\n', out);
}

static void cells_print(FILE *out, const struct cells *c, const size_t widths[COLUMNS])
{
        const char *texts[COLUMNS];

        for (size_t i = 0; i < COLUMNS; i++)
                texts[i] = c->text[i];
        row_print(out, texts, widths);
}

static void table_print(FILE *out, const struct judge *j)
{
        size_t widths[COLUMNS];
        struct cells c;

        for (size_t k = 0; k < COLUMNS; k++)
                widths[k] = strlen(heads[k]);
        for (size_t i = 0; i < j->row_count; i++) {
                cells_fill(j->rows[i], &c);
                for (size_t k = 0; k < COLUMNS; k++)
                        if (strlen(c.text[k]) > widths[k])
                                widths[k] = strlen(c.text[k]);
        }
        row_print(out, heads, widths);
        for (size_t i = 0; i < j->row_count; i++) {
                cells_fill(j->rows[i], &c);
                cells_print(out, &c, widths);
        }
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

static void given_up_print(FILE *out, const struct row *r)
{
        for (unsigned c = 1; c < CAUSE_COUNT_; c++)
                if (r->given_up[c])
                        (void) fprintf(out, "%s: %" PRIu64 " not run: %s\n", r->task, r->given_up[c],
                                       cause_names[c]);
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
                       path_word(r->path), r->attempts, row_sources(r));
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
                        sums[v] += j->rows[i]->verdicts[v];
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
                table_print(out, j);
        else
                (void) fprintf(out, "no task in these logs\n");
        for (size_t i = 0; i < j->row_count && verbose; i++) {
                if (i == 0)
                        (void) fputc('\n', out);
                verbose_print(out, j->rows[i]);
        }
        for (size_t i = 0; i < j->row_count; i++) {
                findings_print(out, j->rows[i]);
                given_up_print(out, j->rows[i]);
        }
        list_print(out, "What does not fit:", j->notes, j->note_count, j->notes_dropped, verbose);
        list_print(out, "What is wrong with the logs:", e->troubles, e->trouble_count, e->troubles_dropped,
                   verbose);
        for (size_t i = 0; i < e->plans_count; i++)
                if (e->plans[i]->unknown_kind)
                        (void) fprintf(out,
                                       "%s: a schedule of a kind that is not computed here: missed instants "
                                       "do not show\n",
                                       e->plans[i]->task);
        verdict_print(out, e, j);
}
