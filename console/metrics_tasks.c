/* A family's samples stand together, so all tasks are read first and written family by family. A scraper pays
 * for every series: beyond the first thousand tasks there is one, `_other`, for all the rest. */
#include "console/metrics_tasks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/config/config.h"
#include "console/answer.h"
#include "console/tasks.h"

_Static_assert(sizeof(struct task_counts) % sizeof(uint64_t) == 0, "counters are words alone");

/* What `all` counts beyond `named`. Words of one are read after those of the other, so a difference may come out
 * below zero for a moment. */
static void counts_rest(struct task_counts *ret, const struct task_counts *all, const struct task_counts *named)
{
        uint64_t *rest = (uint64_t *) ret;
        const uint64_t *a = (const uint64_t *) all, *n = (const uint64_t *) named;

        for (size_t i = 0; i < sizeof(*ret) / sizeof(*rest); i++)
                rest[i] = a[i] > n[i] ? a[i] - n[i] : 0;
        ret->last_planned_ms = ret->next_planned_ms = 0;
}

static bool anything(const struct task_counts *c)
{
        uint64_t sum = 0;

        for (int i = 0; i < STATE_COUNT_; i++)
                sum += c->runs[i];
        for (int i = 0; i < OUTCOME_COUNT_; i++)
                sum += c->attempts[i];
        return sum > 0;
}

static void counts_add(struct task_counts *sum, const struct task_counts *c)
{
        uint64_t *to = (uint64_t *) sum;
        const uint64_t *from = (const uint64_t *) c;

        for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
                to[i] += from[i];
}

int tasks_series_read(const struct view *v, struct tasks_series *ret)
{
        const struct config *c = v->config;
        size_t count = c->task_count < BOARD_TASKS ? c->task_count : BOARD_TASKS;
        struct tasks_series s = { calloc(count + 1, sizeof(*s.list)), count, 0 };
        struct task_counts named = { 0 }, all;

        if (!s.list)
                return -ENOMEM;
        for (size_t i = 0; i < count; i++) {
                struct task_series *t = &s.list[i];
                t->name = c->tasks[i].name;
                if (board_task_totals(v->board, t->name, &t->counts))
                        counts_add(&named, &t->counts);
                t->next = task_next(v, &c->tasks[i], &t->counts);
        }
        /* The rest is what all rows hold beyond those: asking for each of a hundred thousand tasks would hold up
         * the loop. */
        board_all_totals(v->board, &all);
        s.running = all.running;
        s.list[count] = (struct task_series) { .name = "_other", .next = INSTANT_NONE };
        counts_rest(&s.list[count].counts, &all, &named);
        s.count += c->task_count > count || anything(&s.list[count].counts);
        *ret = s;
        return 0;
}

void tasks_series_done(struct tasks_series *s)
{
        free(s->list);
        *s = (struct tasks_series) { 0 };
}

static void runs_family(struct exposition *x, const struct tasks_series *s)
{
        exposition_family(x, "onced_task_runs", "counter", "", "Occurrences decided by this node, by final state.");
        for (size_t i = 0; i < s->count; i++)
                for (int state = 0; state < STATE_COUNT_; state++)
                        if (state_is_final((enum state) state))
                                exposition_uint(x, "_total",
                                                LABELS({ "task", s->list[i].name }, { "state", state_names[state] }),
                                                s->list[i].counts.runs[state]);
}

static void attempts_family(struct exposition *x, const struct tasks_series *s)
{
        exposition_family(x, "onced_task_attempts", "counter", "",
                          "Attempts of all processes at the right to run, by outcome.");
        for (size_t i = 0; i < s->count; i++)
                for (int o = 0; o < OUTCOME_COUNT_; o++)
                        if (o != OUTCOME_UNREGISTERED)
                                exposition_uint(x, "_total",
                                                LABELS({ "task", s->list[i].name }, { "outcome", outcome_names[o] }),
                                                s->list[i].counts.attempts[o]);
}

static void histograms(struct exposition *x, const struct tasks_series *s)
{
        exposition_family(x, "onced_task_lateness_seconds", "histogram", "seconds",
                          "From the planned instant to the start.");
        for (size_t i = 0; i < s->count; i++)
                exposition_histogram(x, LABELS({ "task", s->list[i].name }), board_bucket_us, BOARD_BUCKETS,
                                     s->list[i].counts.lateness, s->list[i].counts.lateness_sum_us);
        exposition_family(x, "onced_task_run_seconds", "histogram", "seconds", "From the start to the end of a run.");
        for (size_t i = 0; i < s->count; i++)
                exposition_histogram(x, LABELS({ "task", s->list[i].name }), board_bucket_us, BOARD_BUCKETS,
                                     s->list[i].counts.run_time, s->list[i].counts.run_time_sum_us);
}

static void other_families(struct exposition *x, const struct tasks_series *s)
{
        exposition_family(x, "onced_task_noop_runs", "counter", "", "Runs that succeeded without a business result.");
        for (size_t i = 0; i < s->count; i++)
                exposition_uint(x, "_total", LABELS({ "task", s->list[i].name }), s->list[i].counts.noop);
        exposition_family(x, "onced_task_running", "gauge", "", "Runs under way.");
        for (size_t i = 0; i < s->count; i++)
                exposition_uint(x, "", LABELS({ "task", s->list[i].name }), s->list[i].counts.running);
        exposition_family(x, "onced_task_queued", "gauge", "", "Instants that wait for a run to end.");
        for (size_t i = 0; i < s->count; i++)
                exposition_uint(x, "", LABELS({ "task", s->list[i].name }), s->list[i].counts.queued);
        exposition_family(x, "onced_task_last_planned_timestamp_seconds", "gauge", "seconds",
                          "The newest planned instant that was started.");
        for (size_t i = 0; i < s->count; i++)
                if (s->list[i].counts.last_planned_ms > 0)
                        exposition_real(x, "", LABELS({ "task", s->list[i].name }),
                                        (double) s->list[i].counts.last_planned_ms / 1e3);
        exposition_family(x, "onced_task_next_planned_timestamp_seconds", "gauge", "seconds",
                          "The next planned instant of the schedule.");
        for (size_t i = 0; i < s->count; i++)
                if (!instant_is_none(s->list[i].next))
                        exposition_real(x, "", LABELS({ "task", s->list[i].name }),
                                        (double) s->list[i].next.ms / 1e3);
}

void tasks_families(struct exposition *x, const struct tasks_series *s)
{
        runs_family(x, s);
        attempts_family(x, s);
        histograms(x, s);
        other_families(x, s);
}

static json_t *histogram_json(const uint64_t *counts, uint64_t sum_us)
{
        json_t *buckets = json_array();
        uint64_t total = 0;

        for (size_t i = 0; i <= BOARD_BUCKETS; i++) {
                total += counts[i];
                (void) json_array_append_new(
                        buckets, json_pack("{s:o, s:o}", "le_us",
                                           i < BOARD_BUCKETS ? json_integer(board_bucket_us[i]) : json_null(), "count",
                                           json_count(total)));
        }
        return json_pack("{s:o, s:o, s:o}", "buckets", buckets, "sum_us", json_count(sum_us), "count",
                         json_count(total));
}

json_t *tasks_series_json(const struct tasks_series *s)
{
        json_t *list = json_array();

        for (size_t i = 0; i < s->count; i++) {
                const struct task_series *t = &s->list[i];
                struct instant last = { t->counts.last_planned_ms ? t->counts.last_planned_ms : INT64_MIN };
                (void) json_array_append_new(
                        list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "task", json_text(t->name), "counts",
                                        task_counts_json(&t->counts), "lateness",
                                        histogram_json(t->counts.lateness, t->counts.lateness_sum_us), "run_time",
                                        histogram_json(t->counts.run_time, t->counts.run_time_sum_us),
                                        "last_planned", json_instant(last), "next_planned", json_instant(t->next)));
        }
        return list;
}
