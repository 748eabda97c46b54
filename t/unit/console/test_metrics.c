/* /metrics: every page must pass a reader that knows the grammar and not the writer. */
#include "t/unit/cases.h"
#include "t/unit/console/openmetrics.h"
#include "t/unit/console/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "console/exposition.h"
#include "console/metrics.h"

/* The page of the world, checked. To be freed. */
static char *page_of(struct world *w)
{
        struct buf text = BUF_EMPTY;
        struct workers workers;
        char why[256] = "";

        assert_int_equal(workers_read(&w->view, true, &workers), 0);
        assert_int_equal(metrics_text(&w->view, &workers, &text), 0);
        workers_done(&workers);
        if (!openmetrics_check(text.data, why, sizeof(why)))
                fail_msg("%s", why);
        return buf_take(&text);
}

static void expect(const char *page, const char *sample, const char *value)
{
        char found[64];

        if (!openmetrics_value(page, sample, found, sizeof(found)))
                fail_msg("no sample %s", sample);
        assert_string_equal(found, value);
}

static void expect_none(const char *page, const char *sample)
{
        char found[64];

        assert_false(openmetrics_value(page, sample, found, sizeof(found)));
}

static void the_fixed_set_is_there_with_nothing_counted(void **state)
{
        static const char *const names[] = {
                "onced_ready", "onced_draining", "onced_stopped", "onced_in_flight", "onced_tick_limit",
                "onced_triggered_total", "onced_failed_total", "onced_interrupted_total",
                "onced_lease_conflicts_total", "onced_storage_failures_total", "onced_cleanup_failures_total",
                "onced_limit_reached_total", "onced_stop_rejections_total", "onced_ledger_calls_total",
                "onced_ledger_latency_seconds_total",
        };
        struct world w;
        char found[64];
        (void) state;

        world_init(&w, 2, 0);
        world_master(&w, false, false);
        char *page = page_of(&w);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (!openmetrics_value(page, names[i], found, sizeof(found)))
                        fail_msg("no %s", names[i]);
        expect(page, "onced_ready", "0");
        expect(page, "onced_stopped", "1");
        expect(page, "onced_tick_limit", "100");
        free(page);
        world_done(&w);
}

static void counters_of_all_processes_are_added(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 2, 1);
        world_master(&w, true, false);
        struct board_place *a = board_place(w.board, world_add(&w, ROLE_WORKER, 0, 1, 100));
        struct board_place *b = board_place(w.board, world_add(&w, ROLE_WORKER, 1, 1, 100));
        board_set_timer_worker(w.board, 0, true);
        place_add(a, COUNT_TRIGGERED, 2);
        place_add(b, COUNT_TRIGGERED, 3);
        place_add(b, COUNT_LEDGER_US, 1500000);

        char *page = page_of(&w);
        expect(page, "onced_triggered_total", "5");
        expect(page, "onced_ledger_latency_seconds_total", "1.5");
        expect(page, "onced_ready", "1");
        expect(page, "onced_process_events_total{slot=\"1\",place=\"1\",counter=\"triggered\"}", "3");
        expect(page, "onced_process_timer{slot=\"0\",place=\"0\"}", "1.0");
        expect(page, "onced_process_state{slot=\"0\",place=\"0\",state=\"ready\"}", "1");
        expect(page, "onced_process_state{slot=\"0\",place=\"0\",state=\"draining\"}", "0");
        expect(page, "onced_process_stale{slot=\"0\",place=\"0\"}", "0.0");
        free(page);
        world_done(&w);
}

static void totals_of_a_reaped_process_stay(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 1);
        world_master(&w, true, false);
        unsigned place = world_add(&w, ROLE_WORKER, 0, 1, 100);
        struct board_place *a = board_place(w.board, place);
        place_add(a, COUNT_FAILED, 4);
        row_finished(place_row(a, "task-0"), STATE_FAILED, RESULT_NONE, 1000);
        board_release(w.board, place);

        char *page = page_of(&w);
        expect(page, "onced_failed_total", "4");
        expect(page, "onced_task_runs_total{task=\"task-0\",state=\"failed\"}", "1");
        expect_none(page, "onced_process_pid{slot=\"0\",place=\"0\"}");
        free(page);
        world_done(&w);
}

static void histograms_are_cumulative_and_in_seconds(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 1);
        world_master(&w, true, false);
        struct board_row *row = place_row(board_place(w.board, world_add(&w, ROLE_WORKER, 0, 1, 100)), "task-0");
        const struct instant planned = { WORLD_NOW_MS - 500 };
        row_started(row, planned, 50);
        row_started(row, planned, 700);
        row_started(row, planned, 90000000);   /* 90 s: beyond the last bound */
        row_finished(row, STATE_SUCCEEDED, RESULT_NOOP, 2500);
        row_queued(row, 4);

        char *page = page_of(&w);
        expect(page, "onced_task_lateness_seconds_bucket{task=\"task-0\",le=\"0.0001\"}", "1");
        expect(page, "onced_task_lateness_seconds_bucket{task=\"task-0\",le=\"0.001\"}", "2");
        expect(page, "onced_task_lateness_seconds_bucket{task=\"task-0\",le=\"60.0\"}", "2");
        expect(page, "onced_task_lateness_seconds_bucket{task=\"task-0\",le=\"+Inf\"}", "3");
        expect(page, "onced_task_lateness_seconds_count{task=\"task-0\"}", "3");
        expect(page, "onced_task_lateness_seconds_sum{task=\"task-0\"}", "90.00075");
        expect(page, "onced_task_run_seconds_sum{task=\"task-0\"}", "0.0025");
        expect(page, "onced_task_noop_runs_total{task=\"task-0\"}", "1");
        expect(page, "onced_in_flight", "2");
        expect(page, "onced_task_queued{task=\"task-0\"}", "4");
        expect(page, "onced_task_last_planned_timestamp_seconds{task=\"task-0\"}", "1764522000.0");
        expect(page, "onced_task_next_planned_timestamp_seconds{task=\"task-0\"}", "1764522001.0");
        free(page);
        world_done(&w);
}

static void tasks_beyond_a_thousand_share_one_series(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 1200);
        world_master(&w, true, false);
        struct board_place *a = board_place(w.board, world_add(&w, ROLE_WORKER, 0, 1, 100));
        row_finished(place_row(a, "task-1"), STATE_SUCCEEDED, RESULT_DONE, 10);
        row_finished(place_row(a, "task-1100"), STATE_SUCCEEDED, RESULT_DONE, 10);
        row_finished(place_row(a, "task-1199"), STATE_SUCCEEDED, RESULT_DONE, 10);

        char *page = page_of(&w);
        expect(page, "onced_task_runs_total{task=\"task-1\",state=\"succeeded\"}", "1");
        expect(page, "onced_task_runs_total{task=\"_other\",state=\"succeeded\"}", "2");
        expect(page, "onced_task_runs_total{task=\"task-999\",state=\"succeeded\"}", "0");
        expect_none(page, "onced_task_runs_total{task=\"task-1000\",state=\"succeeded\"}");
        free(page);
        world_done(&w);
}

static void two_processes_of_one_slot_are_two_series(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 2, 0);
        world_master(&w, true, false);
        world_add(&w, ROLE_WORKER, 0, 1, 100);
        world_add(&w, ROLE_WORKER, 0, 2, 100);
        world_add(&w, ROLE_CONSOLE, 0, 1, 100);
        char *page = page_of(&w);
        expect(page, "onced_process_generation{slot=\"0\",place=\"1\"}", "2.0");
        expect(page, "onced_process_generation{slot=\"c\",place=\"2\"}", "1.0");
        free(page);
        world_done(&w);
}

static void label_values_are_escaped(void **state)
{
        struct buf out = BUF_EMPTY;
        struct exposition x = { .out = &out };
        char why[128] = "";
        (void) state;

        exposition_family(&x, "a", "gauge", "", "help");
        exposition_uint(&x, "", LABELS({ "l", "back\\slash \"quoted\"\nnext" }), 1);
        exposition_uint(&x, "", LABELS({ "l", "" }, { "m", "{}," }), 2);
        exposition_real(&x, "", NO_LABELS, -0.25);
        exposition_end(&x);
        assert_string_equal(out.data, "# TYPE a gauge\n# HELP a help\n"
                                      "a{l=\"back\\\\slash \\\"quoted\\\"\\nnext\"} 1\n"
                                      "a{l=\"\",m=\"{},\"} 2\na -0.25\n# EOF\n");
        assert_true(openmetrics_check(out.data, why, sizeof(why)));
        buf_done(&out);
}

/* The reader itself: a check that takes everything proves nothing. */
static void broken_pages_are_refused(void **state)
{
        static const char *const pages[] = {
                "",
                "# TYPE a gauge\na 1\n",
                "# TYPE a gauge\na 1\n# EOF\na 2\n",
                "# TYPE a counter\na 1\n# EOF\n",
                "# TYPE a gauge\na 1\na 1\n# EOF\n",
                "# TYPE a gauge\na{l=\"x} 1\n# EOF\n",
                "# TYPE a gauge\na{l=\"\\t\"} 1\n# EOF\n",
                "# TYPE a gauge\na 1,5\n# EOF\n",
                "# TYPE a gauge\nb 1\n# EOF\n",
                "# TYPE a gauge\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n",
                "# TYPE a_s gauge\n# UNIT a_s seconds\n# EOF\n",
                "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\na_count 1\n# EOF\n",
                "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_sum 2\na_count 2\n# EOF\n",
                "# TYPE a histogram\na_bucket{le=\"1.0\"} 1\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n# EOF\n",
        };
        char why[128];
        (void) state;

        for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
                if (openmetrics_check(pages[i], why, sizeof(why)))
                        fail_msg("taken: %s", pages[i]);
        assert_true(openmetrics_check("# EOF\n", why, sizeof(why)));
}

static void json_holds_the_same(void **state)
{
        struct world w;
        struct workers workers;
        (void) state;

        world_init(&w, 1, 2);
        world_master(&w, true, false);
        struct board_row *row = place_row(board_place(w.board, world_add(&w, ROLE_WORKER, 0, 1, 100)), "task-1");
        row_attempt(row, OUTCOME_GRANTED);
        row_started(row, (struct instant) { WORLD_NOW_MS - 500 }, 70);
        row_queued(row, 2);

        assert_int_equal(workers_read(&w.view, false, &workers), 0);
        json_auto_t *j = metrics_json(&w.view, &workers);
        assert_non_null(j);
        json_t *task = json_array_get(json_object_get(j, "tasks"), 1), *counts = json_object_get(task, "counts");
        assert_string_equal(json_string_value(json_object_get(task, "task")), "task-1");
        assert_int_equal(json_integer_value(json_object_get(counts, "running")), 1);
        assert_int_equal(json_integer_value(json_object_get(counts, "queued")), 2);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(counts, "attempts"), "granted")), 1);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(task, "lateness"), "sum_us")), 70);
        assert_int_equal(json_integer_value(json_object_get(j, "in_flight")), 1);
        workers_done(&workers);
        world_done(&w);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_fixed_set_is_there_with_nothing_counted),
                cmocka_unit_test(counters_of_all_processes_are_added),
                cmocka_unit_test(totals_of_a_reaped_process_stay),
                cmocka_unit_test(histograms_are_cumulative_and_in_seconds),
                cmocka_unit_test(tasks_beyond_a_thousand_share_one_series),
                cmocka_unit_test(two_processes_of_one_slot_are_two_series),
                cmocka_unit_test(label_values_are_escaped),
                cmocka_unit_test(broken_pages_are_refused),
                cmocka_unit_test(json_holds_the_same),
        };

        return RUN_CASES(argc, argv, "metrics", tests);
}
