/* One question to two ledgers under a deadline: one answer in every case, and everything closed at the end. */
#include "t/unit/cases.h"
#include "t/unit/console/fake_ledgers.h"
#include "t/unit/console/world.h"

#include <errno.h>
#include <string.h>

#include "console/history.h"

struct asked {
        int answers;
        json_t *occurrences;
        char why[256];
};

static void on_history(json_t *occurrences, const char *why, void *arg)
{
        struct asked *a = arg;

        a->answers++;
        a->occurrences = occurrences;
        (void) strncpy(a->why, why, sizeof(a->why) - 1);
}

/* Asks both ledgers; with `cancel` it does not wait for them. All ledgers must be closed when the loop ends. */
static struct asked ask(const char *task, int64_t timeout_ms, bool cancel)
{
        struct history_query q;
        struct history_ask *h;
        struct asked a = { 0 };
        struct world w;
        uv_loop_t loop;
        char why[160];

        world_init(&w, 1, 3);
        w.config.redis.url = (char[]) { "redis://127.0.0.1:1/0" };
        w.config.tasks[1].singleton = PATH_REDIS;
        const struct history_source source = { &w.config, "node", "owner", "boot" };
        assert_int_equal(history_query_parse(task, NULL, NULL, NULL, &q, why, sizeof(why)), 0);
        assert_int_equal(uv_loop_init(&loop), 0);
        assert_int_equal(history_ask(&loop, &source, &q, timeout_ms, on_history, &a, &h), 0);
        assert_int_equal(a.answers, 0);
        if (cancel)
                history_cancel(h);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
        assert_int_equal(a.answers, 1);
        assert_int_equal(fake_ledgers_open, 0);
        world_done(&w);
        return a;
}

static int setup(void **state)
{
        (void) state;
        fake_sqlite = (struct fake_ledger) { .rows = 2 };
        fake_redis = (struct fake_ledger) { .rows = 3, .offset_ms = 1 };
        return 0;
}

static void both_answers_are_one(void **state)
{
        struct asked a = ask(NULL, 20000, false);
        (void) state;

        assert_int_equal(json_array_size(a.occurrences), 5);
        assert_string_equal(a.why, "");
        json_decref(a.occurrences);
}

static void a_task_is_asked_of_the_ledger_of_its_path_alone(void **state)
{
        static const struct { const char *task; size_t rows; } cases[] = { { "task-0", 2 }, { "task-1", 3 },
                                                                           { "was-removed", 5 } };
        (void) state;

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct asked a = ask(cases[i].task, 20000, false);
                assert_int_equal(json_array_size(a.occurrences), cases[i].rows);
                json_decref(a.occurrences);
        }
}

static void at_the_deadline_the_half_that_came_is_given(void **state)
{
        fake_redis.silent = true;
        struct asked a = ask(NULL, 50, false);
        (void) state;

        assert_int_equal(json_array_size(a.occurrences), 2);
        assert_string_equal(a.why, "redis: no answer in time");
        json_decref(a.occurrences);
}

static void at_the_deadline_nothing_is_no_list(void **state)
{
        fake_redis.silent = fake_sqlite.silent = true;
        struct asked a = ask(NULL, 20, false);
        (void) state;

        assert_null(a.occurrences);
        assert_string_equal(a.why, "sqlite: no answer in time; redis: no answer in time");
}

static void a_ledger_that_cannot_be_opened_is_named(void **state)
{
        fake_sqlite.open_error = fake_redis.open_error = -EACCES;
        struct asked a = ask(NULL, 20000, false);
        (void) state;

        assert_null(a.occurrences);
        assert_string_equal(a.why, "sqlite: Permission denied; redis: Permission denied");
}

static void errors_of_both_leave_no_list(void **state)
{
        fake_sqlite.error = -EUCLEAN;
        fake_sqlite.why = "damaged";
        fake_redis.error = -EAGAIN;
        fake_redis.why = "";
        struct asked a = ask(NULL, 20000, false);
        (void) state;

        assert_null(a.occurrences);
        assert_non_null(strstr(a.why, "sqlite: damaged"));
        assert_non_null(strstr(a.why, "redis: Resource temporarily unavailable"));
}

static void the_text_of_a_file_system_is_not_a_ledgers(void **state)
{
        fake_sqlite.error = fake_redis.error = -EUCLEAN;
        fake_sqlite.why = fake_redis.why = "";
        struct asked a = ask(NULL, 20000, false);
        (void) state;

        assert_null(strstr(a.why, "cleaning"));
        assert_non_null(strstr(a.why, "sqlite: it is halted"));
}

static void who_is_cancelled_is_answered_once(void **state)
{
        struct asked a = ask(NULL, 20000, true);
        (void) state;

        assert_null(a.occurrences);
        assert_non_null(strstr(a.why, "ends"));
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(both_answers_are_one, setup),
                cmocka_unit_test_setup(a_task_is_asked_of_the_ledger_of_its_path_alone, setup),
                cmocka_unit_test_setup(at_the_deadline_the_half_that_came_is_given, setup),
                cmocka_unit_test_setup(at_the_deadline_nothing_is_no_list, setup),
                cmocka_unit_test_setup(a_ledger_that_cannot_be_opened_is_named, setup),
                cmocka_unit_test_setup(errors_of_both_leave_no_list, setup),
                cmocka_unit_test_setup(the_text_of_a_file_system_is_not_a_ledgers, setup),
                cmocka_unit_test_setup(who_is_cancelled_is_answered_once, setup),
        };

        return RUN_CASES(argc, argv, "history", tests);
}
