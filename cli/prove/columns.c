/* A column in which all rows have nothing is left out, but for those that are the point of the proof: a common
 * table fits a terminal. Columns add up: without duplicates DUE is the sum of all from DONE to MISSED. */
#include "cli/prove/columns.h"

#include <inttypes.h>
#include <string.h>

#include "cli/prove/judge.h"
#include "cli/prove/report.h"

#define CELL 160
#define SCHEDULE_CELL 60        /* bytes shown of a schedule; a list of many times is longer */

enum column {
        COLUMN_TASK, COLUMN_PATH, COLUMN_SCHEDULE,
        COLUMN_DUE, COLUMN_RUNS, COLUMN_CROSSING, COLUMN_DONE, COLUMN_NOOP, COLUMN_FAILED, COLUMN_DROPPED, COLUMN_QUEUED,
        COLUMN_SKIPPED, COLUMN_NOT_RUN,
        COLUMN_INTERRUPTED, COLUMN_UNKNOWN, COLUMN_RUNNING, COLUMN_TWICE, COLUMN_MISSED,
        COLUMN_P50, COLUMN_P99, COLUMN_MAX, COLUMN_VERDICT,
        COLUMNS
};

static const char *const heads[COLUMNS] = {
        "TASK", "PATH", "SCHEDULE", "DUE", "RUNS", "CROSSING", "DONE", "NOOP", "FAILED", "DROPPED", "QUEUED", "SKIPPED",
        "NOT RUN", "INTERRUPTED", "UNKNOWN", "RUNNING", "TWICE", "MISSED", "LATE p50", "p99", "max", "VERDICT",
};

struct widths {
        size_t of[COLUMNS];              /* 0: left out */
};

struct cells {
        char text[COLUMNS][CELL];
};

const char *columns_path(enum path p)
{
        return p < PATH_COUNT_ ? path_names[p] : "?";
}

static void late_text(int64_t us, char ret[CELL])
{
        if (us < 0)
                (void) snprintf(ret, CELL, "-");
        else if (us < 1000)
                (void) snprintf(ret, CELL, "%" PRId64 "us", us);
        else if (us < 1000000)
                (void) snprintf(ret, CELL, "%.1fms", (double) us / 1e3);
        else
                (void) snprintf(ret, CELL, "%.1fs", (double) us / 1e6);
}

static void numbers_of(const struct row *r, uint64_t ret[COLUMNS])
{
        ret[COLUMN_DUE] = r->expected;
        ret[COLUMN_RUNS] = r->runs;
        ret[COLUMN_CROSSING] = r->crossing;
        ret[COLUMN_DONE] = r->results[RESULT_DONE];
        ret[COLUMN_NOOP] = r->results[RESULT_NOOP];
        ret[COLUMN_FAILED] = r->finals[STATE_FAILED];
        ret[COLUMN_DROPPED] = r->unrun[UNRUN_DROPPED];
        ret[COLUMN_QUEUED] = r->unrun[UNRUN_QUEUED];
        ret[COLUMN_SKIPPED] = r->unrun[UNRUN_SKIPPED];
        ret[COLUMN_NOT_RUN] = r->unrun[UNRUN_MISSED];
        ret[COLUMN_INTERRUPTED] = r->finals[STATE_INTERRUPTED];
        ret[COLUMN_UNKNOWN] = row_unknown(r);
        ret[COLUMN_RUNNING] = r->running;
        ret[COLUMN_TWICE] = r->verdicts[VERDICT_DUPLICATE] + r->beside[VERDICT_DUPLICATE];
        ret[COLUMN_MISSED] = r->verdicts[VERDICT_MISSED];
}

static void cells_fill(const struct row *r, struct cells *c)
{
        uint64_t numbers[COLUMNS] = { 0 };

        numbers_of(r, numbers);
        (void) snprintf(c->text[COLUMN_TASK], CELL, "%s", r->task);
        (void) snprintf(c->text[COLUMN_PATH], CELL, "%s", columns_path(r->path));
        (void) snprintf(c->text[COLUMN_SCHEDULE], CELL, "%.*s%s", SCHEDULE_CELL, r->when ? r->when : "-",
                        r->when && strlen(r->when) > SCHEDULE_CELL ? "..." : "");
        for (unsigned k = COLUMN_DUE; k <= COLUMN_MISSED; k++)
                (void) snprintf(c->text[k], CELL, "%" PRIu64, numbers[k]);
        late_text(row_late_us(r, 0.5), c->text[COLUMN_P50]);
        late_text(row_late_us(r, 0.99), c->text[COLUMN_P99]);
        late_text(r->late_count ? r->late_max_us : -1, c->text[COLUMN_MAX]);
        report_row_verdict(r, c->text[COLUMN_VERDICT], CELL);
}

static bool is_always_there(unsigned column)
{
        return column <= COLUMN_RUNS || column == COLUMN_TWICE || column >= COLUMN_MISSED;
}

static void widen(struct widths *w, const struct row *r, const struct cells *c)
{
        uint64_t numbers[COLUMNS] = { 0 };

        numbers_of(r, numbers);
        for (unsigned k = 0; k < COLUMNS; k++) {
                if (!w->of[k] && numbers[k] == 0)
                        continue;
                size_t len = strlen(c->text[k]);
                if (!w->of[k])
                        w->of[k] = strlen(heads[k]);
                if (len > w->of[k])
                        w->of[k] = len;
        }
}

static void row_print(FILE *out, const struct cells *c, const struct widths *w)
{
        for (unsigned k = 0; k < COLUMNS; k++) {
                bool left = k <= COLUMN_SCHEDULE || k == COLUMN_VERDICT;
                const char *text = c ? c->text[k] : heads[k];
                if (w->of[k])
                        (void) fprintf(out, left ? "%s%-*s" : "%s%*s", k ? "  " : "",
                                       k == COLUMN_VERDICT ? 0 : (int) w->of[k], text);
        }
        (void) fputc('\n', out);
}

void columns_print(FILE *out, const struct judge *j)
{
        struct widths w = { { 0 } };
        struct cells c;

        for (unsigned k = 0; k < COLUMNS; k++)
                w.of[k] = is_always_there(k) ? strlen(heads[k]) : 0;
        for (size_t i = 0; i < j->row_count; i++) {
                cells_fill(j->rows[i], &c);
                widen(&w, j->rows[i], &c);
        }
        row_print(out, NULL, &w);
        for (size_t i = 0; i < j->row_count; i++) {
                cells_fill(j->rows[i], &c);
                row_print(out, &c, &w);
        }
}
