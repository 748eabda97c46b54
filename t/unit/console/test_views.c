/* The JSON of status, workers and tasks from a scoreboard filled by hand. */
#include "t/unit/cases.h"
#include "t/unit/console/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/answer.h"
#include "console/proc_facts.h"
#include "console/status.h"
#include "console/tasks.h"
#include "console/workers.h"

static const char *text(const json_t *j, const char *name)
{
        const char *t = json_string_value(json_object_get(j, name));

        return t ? t : "(null)";
}

static json_int_t number(const json_t *j, const char *name)
{
        return json_is_integer(json_object_get(j, name)) ? json_integer_value(json_object_get(j, name)) : -999;
}

static json_t *workers_of(struct world *w)
{
        struct workers workers;

        assert_int_equal(workers_read(&w->view, true, &workers), 0);
        json_t *j = workers_json(&workers);
        workers_done(&workers);
        assert_non_null(j);
        return j;
}

/* Why the world is not ready, "" if it is. */
static const char *why_not_ready(struct world *w)
{
        struct workers workers;

        assert_int_equal(workers_read(&w->view, false, &workers), 0);
        const char *why = readiness(&w->view, &workers);
        workers_done(&workers);
        return why ? why : "";
}

static void workers_come_by_slot_and_the_console_last(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 2, 0);
        world_master(&w, true, false);
        world_add(&w, ROLE_CONSOLE, 0, 1, 10);
        world_add(&w, ROLE_WORKER, 1, 1, 10);
        world_add(&w, ROLE_WORKER, 0, 1, 10);
        json_auto_t *list = workers_of(&w);
        assert_int_equal(json_array_size(list), 3);
        assert_int_equal(number(json_array_get(list, 0), "slot"), 0);
        assert_int_equal(number(json_array_get(list, 1), "slot"), 1);
        assert_string_equal(text(json_array_get(list, 2), "role"), "console");
        assert_true(json_is_null(json_object_get(json_array_get(list, 2), "slot")));
        world_done(&w);
}

static void a_worker_without_beats_for_three_seconds_is_stale(void **state)
{
        static const struct { int64_t age_ms; bool stale; } cases[] = { { 0, false }, { 3000, false }, { 3001, true },
                                                                        { 60000, true } };
        (void) state;

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct world w;
                world_init(&w, 1, 0);
                world_master(&w, true, false);
                world_add(&w, ROLE_WORKER, 0, 1, cases[i].age_ms);
                json_auto_t *list = workers_of(&w);
                json_t *one = json_array_get(list, 0);
                assert_int_equal(json_is_true(json_object_get(one, "stale")), cases[i].stale);
                assert_int_equal(number(one, "beat_age_ms"), cases[i].age_ms);
                world_done(&w);
        }
}

static void a_starting_worker_without_a_beat_is_not_stale(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 0);
        world_master(&w, false, false);
        assert_int_equal(board_take(w.board, ROLE_WORKER, 0, 1), 0);
        json_auto_t *list = workers_of(&w);
        json_t *one = json_array_get(list, 0);
        assert_string_equal(text(one, "state"), "starting");
        assert_false(json_is_true(json_object_get(one, "stale")));
        assert_true(json_is_null(json_object_get(one, "beat_age_ms")));
        world_done(&w);
}

static void a_worker_is_shown_with_what_it_runs_and_what_the_kernel_knows(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 2, 1);
        world_master(&w, true, false);
        unsigned place = world_add(&w, ROLE_WORKER, 1, 4, 10);
        place_set_current(board_place(w.board, place), "9f00", "task-0");
        place_set_term(board_place(w.board, place), 7);
        json_auto_t *list = workers_of(&w);
        json_t *one = json_array_get(list, 0);
        assert_int_equal(number(one, "pid"), getpid());
        assert_int_equal(number(one, "generation"), 4);
        assert_int_equal(number(one, "term"), 7);
        assert_int_equal(number(one, "loop_lag_us"), 1500);
        assert_string_equal(text(one, "occurrence"), "9f00");
        assert_string_equal(text(one, "task"), "task-0");
        assert_string_equal(text(one, "last_exit"), "signal 9 (KILL)");
        assert_true(number(one, "rss_bytes") > 100000);
        assert_true(number(one, "fds") >= 3);
        assert_true(number(one, "cpu_ms") >= 0);
        world_done(&w);
}

static void a_process_that_is_gone_has_no_facts(void **state)
{
        struct process_id other;
        (void) state;

        assert_int_equal(process_identify(getpid(), &other), 0);
        (void) strcpy(other.start, "1-0000");   /* the same pid, another life */
        struct proc_facts f = proc_facts_read(&other);
        assert_int_equal(f.rss_bytes, -1);
        assert_int_equal(f.fds, -1);
}

static void a_process_name_cannot_shift_the_fields_of_stat(void **state)
{
        struct proc_facts f = PROC_FACTS_NONE;
        (void) state;

        assert_int_equal(proc_stat_parse("7 (a) R 1) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 99 1000 12 18\n",
                                         &f), 0);
        assert_int_equal(f.cpu_ms, 300 * 1000 / sysconf(_SC_CLK_TCK));
        assert_int_equal(f.rss_bytes, 12 * sysconf(_SC_PAGESIZE));
        assert_true(proc_stat_parse("7 a S 1", &f) < 0);
        assert_true(proc_stat_parse("", &f) < 0);
}

static void readiness_names_its_reason(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 0);
        world_master(&w, false, false);
        assert_non_null(strstr(why_not_ready(&w), "starting"));
        world_master(&w, true, false);
        assert_non_null(strstr(why_not_ready(&w), "no timer worker"));
        unsigned place = world_add(&w, ROLE_WORKER, 0, 1, 10);
        board_set_timer_worker(w.board, place, true);
        assert_string_equal(why_not_ready(&w), "");
        board_set_state(w.board, place, PLACE_DRAINING);
        assert_non_null(strstr(why_not_ready(&w), "no timer worker"));
        world_master(&w, true, true);
        assert_non_null(strstr(why_not_ready(&w), "draining"));
        world_done(&w);
}

static void a_cursor_far_ahead_is_not_ready(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 2);
        world_master(&w, true, false);
        unsigned place = world_add(&w, ROLE_WORKER, 0, 1, 10);
        board_set_timer_worker(w.board, place, true);
        struct instant next = task_next(&w.view, &w.config.tasks[1], &(struct task_counts) { 0 });
        struct board_row *row = place_row(board_place(w.board, place), w.config.tasks[1].name);
        w.config.max_future_ms = 3600000;

        row_next(row, (struct instant) { next.ms + 3600000 });
        assert_string_equal(why_not_ready(&w), "");
        row_next(row, (struct instant) { next.ms + 3600001 });
        assert_non_null(strstr(why_not_ready(&w), "onced recover TASK --cursor now -c FILE"));
        world_done(&w);
}

static void a_task_behind_a_cursor_ahead_shows_when_it_goes_on(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 1);
        unsigned place = world_add(&w, ROLE_WORKER, 0, 1, 10);
        struct board_row *row = place_row(board_place(w.board, place), w.config.tasks[0].name);
        struct instant next = task_next(&w.view, &w.config.tasks[0], &(struct task_counts) { 0 });

        row_next(row, (struct instant) { next.ms + 90000 });
        json_auto_t *ahead = tasks_json(&w.view, NULL, TASKS_PAGE);
        assert_string_equal(text(json_array_get(json_object_get(ahead, "tasks"), 0), "next_planned"),
                            "2025-11-30T17:01:31.000Z");
        row_next(row, (struct instant) { next.ms - 90000 });   /* it is late: the clock goes on */
        json_auto_t *late = tasks_json(&w.view, NULL, TASKS_PAGE);
        assert_string_equal(text(json_array_get(json_object_get(late, "tasks"), 0), "next_planned"),
                            "2025-11-30T17:00:01.000Z");
        world_done(&w);
}

static void status_sums_the_node_up(void **state)
{
        struct world w;
        struct workers workers;
        (void) state;

        world_init(&w, 3, 5);
        w.config.tasks[2].enabled = false;
        world_master(&w, true, false);
        world_add(&w, ROLE_WORKER, 0, 1, 10);
        board_set_timer_worker(w.board, world_add(&w, ROLE_WORKER, 1, 1, 10), true);
        world_add(&w, ROLE_WORKER, 2, 1, 9000);
        assert_int_equal(workers_read(&w.view, false, &workers), 0);
        json_auto_t *j = status_json(&w.view, &workers);
        workers_done(&workers);
        assert_non_null(j);
        assert_true(json_is_true(json_object_get(j, "ready")));
        assert_int_equal(number(j, "timer_worker"), 1);
        assert_int_equal(number(json_object_get(j, "workers"), "ready"), 3);
        assert_int_equal(number(json_object_get(j, "workers"), "stale"), 1);
        assert_int_equal(number(json_object_get(j, "tasks"), "enabled"), 4);
        assert_int_equal(number(json_object_get(j, "restarts"), "total"), 3);
        assert_string_equal(text(j, "started"), "2025-11-30T16:00:00.500000Z");
        world_done(&w);
}

static void a_task_shows_its_next_instant_only_if_it_competes(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 3);
        w.config.tasks[1].enabled = false;
        w.config.tasks[2].scope = SCOPE_MANUAL;
        json_auto_t *page = tasks_json(&w.view, NULL, TASKS_PAGE);
        json_t *list = json_object_get(page, "tasks");
        assert_string_equal(text(json_array_get(list, 0), "next_planned"), "2025-11-30T17:00:01.000Z");
        assert_true(json_is_null(json_object_get(json_array_get(list, 1), "next_planned")));
        assert_true(json_is_null(json_object_get(json_array_get(list, 2), "next_planned")));
        assert_true(json_is_null(json_object_get(json_array_get(list, 0), "last_planned")));
        world_done(&w);
}

static void pages_of_tasks_join_without_gap(void **state)
{
        struct world w;
        char after[64] = "";
        size_t seen = 0;
        (void) state;

        world_init(&w, 1, 25);
        for (int pages = 0; pages < 10; pages++) {
                json_auto_t *page = tasks_json(&w.view, *after ? after : NULL, 10);
                json_t *list = json_object_get(page, "tasks");
                for (size_t i = 0; i < json_array_size(list); i++, seen++)
                        assert_string_equal(text(json_array_get(list, i), "name"), w.config.tasks[seen].name);
                if (json_is_null(json_object_get(page, "next")))
                        break;
                (void) strcpy(after, text(page, "next"));
        }
        assert_int_equal(seen, 25);
        assert_null(tasks_json(&w.view, "no-such", 10));
        world_done(&w);
}

static void definitions_do_not_show_secrets(void **state)
{
        char *headers[] = { (char[]) { "Authorization: Bearer hush" }, NULL };
        char *env[] = { (char[]) { "TOKEN=hush" }, NULL };
        struct world w;
        (void) state;

        world_init(&w, 1, 2);
        struct task *t = w.config.tasks;
        t[0].runner = RUNNER_HTTP;
        t[0].http.url = (char[]) { "http://me:hush@127.0.0.1:8000/do?x=a@b" };
        t[0].http.headers = (struct text_list) { headers, 1 };
        t[0].http.body = (char[]) { "hush" };
        t[1].runner = RUNNER_EXEC;
        t[1].exec.env = (struct text_list) { env, 1 };
        for (int i = 0; i < 2; i++) {
                json_auto_t *j = task_json(&w.view, &t[i]);
                char *dump = json_dumps(j, 0);
                assert_non_null(dump);
                assert_null(strstr(dump, "hush"));
                assert_non_null(strstr(dump, i == 0 ? "http://127.0.0.1:8000/do?x=a@b" : "TOKEN"));
                free(dump);
        }
        world_done(&w);
}

static void bytes_that_are_no_text_become_valid_json(void **state)
{
        json_auto_t *j = json_bytes("a\xff\0b", 4);
        (void) state;

        assert_non_null(j);
        assert_int_equal(json_string_length(j), 6);
        assert_memory_equal(json_string_value(j), "a\xef\xbf\xbd\0b", 6);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(workers_come_by_slot_and_the_console_last),
                cmocka_unit_test(a_worker_without_beats_for_three_seconds_is_stale),
                cmocka_unit_test(a_starting_worker_without_a_beat_is_not_stale),
                cmocka_unit_test(a_worker_is_shown_with_what_it_runs_and_what_the_kernel_knows),
                cmocka_unit_test(a_process_that_is_gone_has_no_facts),
                cmocka_unit_test(a_process_name_cannot_shift_the_fields_of_stat),
                cmocka_unit_test(readiness_names_its_reason),
                cmocka_unit_test(a_cursor_far_ahead_is_not_ready),
                cmocka_unit_test(a_task_behind_a_cursor_ahead_shows_when_it_goes_on),
                cmocka_unit_test(status_sums_the_node_up),
                cmocka_unit_test(a_task_shows_its_next_instant_only_if_it_competes),
                cmocka_unit_test(pages_of_tasks_join_without_gap),
                cmocka_unit_test(definitions_do_not_show_secrets),
                cmocka_unit_test(bytes_that_are_no_text_become_valid_json),
        };

        return RUN_CASES(argc, argv, "views", tests);
}
