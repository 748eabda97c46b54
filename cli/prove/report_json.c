/* The same report as one JSON object. */
#include <inttypes.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/report.h"
#include "common/buf.h"
#include "common/clock.h"

static void text(struct buf *b, const char *key, const char *value)
{
        buf_format(b, "\"%s\":", key);
        buf_json(b, value, strlen(value));
}

static void counts(struct buf *b, const char *key, const char *const *names, const uint64_t *numbers,
                   size_t count)
{
        const char *separator = "";

        buf_format(b, ",\"%s\":{", key);
        for (size_t i = 0; i < count; i++) {
                if (!*names[i] || !numbers[i])
                        continue;
                buf_format(b, "%s\"%s\":%" PRIu64, separator, names[i], numbers[i]);
                separator = ",";
        }
        buf_char(b, '}');
}

static void per_instant(struct buf *b, const struct row *r)
{
        unsigned low = 0, high = 0;

        for (unsigned n = 1; n <= PER_INSTANT_MAX; n++)
                if (r->per_instant[n]) {
                        low = low ? low : n;
                        high = n;
                }
        buf_format(b, ",\"runs_per_instant\":{\"min\":%u,\"max\":%u,\"multiple\":%u}", low, high,
                   row_multiple(r));
}

static void span(struct buf *b, const char *key, int64_t from_ms, int64_t upto_ms)
{
        char when[STAMP_TEXT];

        buf_format(b, ",\"%s\":{", key);
        instant_text((struct instant) { from_ms }, when);
        text(b, "from", when);
        buf_char(b, ',');
        instant_text((struct instant) { upto_ms }, when);
        text(b, "to", when);
}

static void not_judged(struct buf *b, const struct row *r)
{
        if (r->unjudged) {
                span(b, "not_judged", r->unjudged_from_ms, r->unjudged_upto_ms);
                buf_char(b, ',');
                text(b, "why", unjudged_names[r->unjudged]);
                buf_char(b, '}');
        }
        if (r->between.count) {
                span(b, "between_ledgers", r->between.from_ms, r->between.upto_ms);
                buf_format(b, ",\"instants\":%" PRIu64 "}", r->between.count);
        }
        if (r->away.count) {
                span(b, "removed", r->away.from_ms, r->away.upto_ms);
                buf_format(b, ",\"instants\":%" PRIu64 "}", r->away.count);
        }
}

static void row_json(struct buf *b, const struct row *r)
{
        char verdict[160];
        bool any;
        enum verdict v = row_verdict(r, &any);

        buf_char(b, '{');
        text(b, "task", r->task);
        buf_char(b, ',');
        text(b, "path", r->path < PATH_COUNT_ ? path_names[r->path] : "");
        buf_char(b, ',');
        text(b, "schedule", r->when ? r->when : "");
        buf_char(b, ',');
        text(b, "verdict", r->path == PATH_NONE ? "NOT SINGLE" : any ? verdict_names[v] : "NOTHING");
        report_row_verdict(r, verdict, sizeof(verdict));
        buf_char(b, ',');
        text(b, "summary", verdict);
        buf_format(b,
                   ",\"expected\":%" PRIu64 ",\"once\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"outside\":%" PRIu64
                   ",\"executions\":%" PRIu64 ",\"manual\":%" PRIu64 ",\"done\":%" PRIu64 ",\"noop\":%" PRIu64,
                   r->expected, r->once, r->runs, r->outside, r->runs + r->outside, r->manual,
                   r->results[RESULT_DONE], r->results[RESULT_NOOP]);
        buf_format(b,
                   ",\"failed\":%" PRIu64 ",\"failed_unstarted\":%" PRIu64 ",\"interrupted_unstarted\":%" PRIu64
                   ",\"unsure\":%" PRIu64 ",\"every_run_failed\":%s",
                   r->finals[STATE_FAILED], r->unrun[UNRUN_UNSENT], r->unrun[UNRUN_CUT], r->unrun[UNRUN_UNSURE],
                   row_all_failed(r) ? "true" : "false");
        buf_format(b,
                   ",\"dropped\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"recorded_missed\":%" PRIu64
                   ",\"interrupted\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"duplicates\":%" PRIu64
                   ",\"missed\":%" PRIu64 ",\"running\":%" PRIu64 ",\"attempts\":%" PRIu64
                   ",\"processes\":%u",
                   r->unrun[UNRUN_DROPPED], r->unrun[UNRUN_SKIPPED], r->unrun[UNRUN_MISSED],
                   r->finals[STATE_INTERRUPTED], row_unknown(r),
                   r->verdicts[VERDICT_DUPLICATE] + r->beside[VERDICT_DUPLICATE], r->verdicts[VERDICT_MISSED],
                   r->running, r->attempts, row_sources(r));
        buf_format(b,
                   ",\"queued\":%" PRIu64 ",\"crossing\":%" PRIu64 ",\"waited\":{\"runs\":%" PRIu64 ",\"max_us\":%" PRId64
                   "}",
                   r->unrun[UNRUN_QUEUED], r->crossing, r->waited, r->wait_max_us);
        counts(b, "verdicts", verdict_names, r->verdicts, VERDICT_COUNT_);
        counts(b, "findings", finding_names, r->findings, FINDING_COUNT_);
        counts(b, "states", state_names, r->finals, STATE_COUNT_);
        counts(b, "outcomes", outcome_names, r->outcomes, OUTCOME_COUNT_);
        counts(b, "given_up", cause_names, r->given_up, CAUSE_COUNT_);
        counts(b, "failed_by", cause_names, r->failed_by, CAUSE_COUNT_);
        counts(b, "beside", verdict_names, r->beside, VERDICT_COUNT_);
        not_judged(b, r);
        per_instant(b, r);
        if (r->late_count)
                buf_format(b, ",\"late_us\":{\"p50\":%" PRId64 ",\"p99\":%" PRId64 ",\"max\":%" PRId64 "}",
                           row_late_us(r, 0.5), row_late_us(r, 0.99), r->late_max_us);
        buf_format(b, ",\"fences_in_order\":%s}", r->findings[FINDING_FENCE] ? "false" : "true");
}

static void list_json(struct buf *b, const char *key, char *const *texts, size_t count, size_t dropped)
{
        buf_format(b, ",\"%s\":[", key);
        for (size_t i = 0; i < count; i++) {
                if (i)
                        buf_char(b, ',');
                buf_json(b, texts[i], strlen(texts[i]));
        }
        buf_format(b, "],\"%s_dropped\":%zu", key, dropped);
}

/* The clocks that were set, the times of day before and after it. */
static void steps_json(struct buf *b, const struct evidence *e)
{
        char when[STAMP_TEXT];

        buf_text(b, ",\"steps\":[");
        for (size_t i = 0; i < e->step_count; i++) {
                const struct step *s = &e->steps[i];
                buf_text(b, i ? ",{" : "{");
                text(b, "node", s->by->node);
                buf_char(b, ',');
                instant_text((struct instant) { (s->at_us - s->jump_us) / 1000 }, when);
                text(b, "from", when);
                buf_char(b, ',');
                instant_text((struct instant) { s->at_us / 1000 }, when);
                text(b, "to", when);
                buf_format(b, ",\"jump_ms\":%" PRId64 ",\"processes\":%u}", s->jump_us / 1000, s->processes);
        }
        buf_format(b, "],\"steps_dropped\":%zu", e->steps_dropped);
}

void report_json(struct buf *b, const struct evidence *e, const struct judge *j)
{
        char when[STAMP_TEXT];

        buf_char(b, '{');
        text(b, "verdict", report_verdict(e, j));
        buf_format(b, ",\"exit\":%d,\"files\":%zu,\"lines\":%" PRIu64 ",\"processes\":%zu,\"open_max\":%zu,",
                   report_exit(e, j), e->files, e->lines, e->process_count, j->open_max);
        instant_text((struct instant) { j->from_ms }, when);
        text(b, "from", e->from_us > e->to_us ? "" : when);
        buf_char(b, ',');
        instant_text((struct instant) { j->upto_ms > j->from_ms ? j->upto_ms : j->from_ms }, when);
        text(b, "to", e->from_us > e->to_us ? "" : when);
        buf_text(b, ",\"tasks\":[");
        for (size_t i = 0; i < j->row_count; i++) {
                if (i)
                        buf_char(b, ',');
                row_json(b, j->rows[i]);
        }
        buf_char(b, ']');
        list_json(b, "notes", j->notes, j->note_count, j->notes_dropped);
        list_json(b, "remarks", e->remarks, e->remark_count, e->remarks_dropped);
        steps_json(b, e);
        list_json(b, "troubles", e->troubles, e->trouble_count, e->troubles_dropped);
        buf_text(b, "}\n");
}
