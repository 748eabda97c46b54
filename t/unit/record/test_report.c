/* What a person reads in the report of `onced prove`. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static char *report_of(struct scene *s)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        report_table(out, s->e, s->j, false);
        assert_int_equal(fclose(out), 0);
        return text;
}

static void assert_says(struct scene *s, const char *words)
{
        char *text = report_of(s);

        if (!strstr(text, words))
                fail_msg("no \"%s\" in:\n%s", words, text);
        free(text);
}

/* An exec writes its run line before the command is there to be started, http once a connection stands. */
static void what_could_not_be_started_is_no_run_by_any_runner(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "exec", "flock", 1000, "\"rev\":1");
        say_plan(s->first, 50, "http", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                say_attempt(s->first, i * 1000 + 1, "exec", "flock", i * 1000, "granted", i);
                say_run(s->first, i * 1000 + 1, "exec", "flock", i * 1000, i);
                say_finish(s->first, i * 1000 + 2, "exec", i * 1000, "failed", "\"cause\":\"not_sent\",\"run_us\":80");
                say_attempt(s->second, i * 1000 + 1, "http", "flock", i * 1000, "granted", i);
                say_finish(s->second, i * 1000 + 2, "http", i * 1000, "failed", "\"cause\":\"not_sent\",\"run_us\":0");
        }
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        for (int k = 0; k < 2; k++) {
                const struct row *r = row(s, k ? "exec" : "http");
                assert_int_equal(r->runs, 0);
                assert_int_equal(r->finals[STATE_FAILED], 10);
                assert_int_equal(r->unrun[UNRUN_UNSENT], 10);
                assert_int_equal(r->verdicts[VERDICT_EXPLAINED], 10);
        }
        assert_says(s, "exec: 10 failed: not_sent (not started)\nexec: every run failed\n");
        assert_says(s, "http: 10 failed: not_sent (not started)\nhttp: every run failed\n");
        assert_says(s, "EXPLAINED, every run failed\n");
}

static void a_task_that_always_fails_does_not_look_fine(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                say_run(s->first, i * 1000 + 1, "mail", "flock", i * 1000, i);
                say_finish(s->first, i * 1000 + 2, "mail", i * 1000, "failed",
                           i % 2 ? "\"cause\":\"status\",\"run_us\":1" : "\"cause\":\"timeout\",\"run_us\":1");
        }
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->runs, 10);
        assert_says(s, "mail: 5 failed: timeout\nmail: 5 failed: status\nmail: every run failed\n");
        assert_says(s, "ONCE, every run failed\n");
}

static void one_that_succeeds_now_and_then_is_not_said_to_fail(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_run(s->first, 5001, "mail", "flock", 5000, 105);
        say_finish(s->first, 5002, "mail", 5000, "failed", "\"cause\":\"status\",\"run_us\":1");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_false(row_all_failed(row(s, "mail")));
        assert_says(s, "mail: 1 failed: status\n");
}

static void columns_of_nothing_are_left_out(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_says(s, "\nTASK  PATH   SCHEDULE  DUE  RUNS  DONE  TWICE  MISSED  LATE p50 ");
        assert_says(s, "\nmail  flock  every 1s   10    10    10      0       0 ");
}

static void a_noop_is_a_column_of_its_own(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_run(s->first, 5001, "mail", "flock", 5000, 105);
        say_finish(s->first, 5002, "mail", 5000, "succeeded", "\"result\":\"noop\",\"run_us\":1");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_says(s, "DUE  RUNS  DONE  NOOP  TWICE  MISSED");
        assert_says(s, " 10    10     9     1      0       0 ");
}

static void what_was_granted_twice_is_twice_and_not_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "redis", 4);
        say_attempt(s->first, 4001, "mail", "redis", 4000, "granted", 104);
        say_attempt(s->second, 4001, "mail", "redis", 4000, "granted", 204);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
        assert_says(s, "granted twice, with two fences");
}

/* It counts for the verdict, wherever it lies; columns are of the window. */
static void a_duplicate_behind_the_window_is_one(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_once(s->first, "mail", "flock", 11000, 111);
        say_once(s->second, "mail", "flock", 11000, 112);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->runs, 10);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 10);
        assert_int_equal(r->outside, 2);
        assert_int_equal(r->beside[VERDICT_DUPLICATE], 1);
        assert_says(s, "mail: 2 more runs, before or after what is judged\n");
}

static void runs_of_a_task_without_a_plan_prove_nothing(void **state)
{
        struct scene *s = *state;
        for (int i = 1; i <= 10; i++)
                say_once(s->first, "mail", "flock", i * 1000, i);
        all_stop(s);

        assert_int_equal(prove_it(s), 3);
        assert_says(s, "no log has a plan of it");
}

static void a_range_is_cut_to_the_window(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 5050, "mail", "flock", 1000, "\"rev\":1");
        say_range(s->first, 5100, "skip", "mail", 1000, 30000, "misfire");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 5);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_SKIPPED], 5);
        assert_int_equal(row(s, "mail")->given_up[CAUSE_MISFIRE], 5);
}

static void what_was_recorded_as_missed_has_its_column(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_range(s->second, 5500, "miss", "mail", 5000, 5000, "ledger_down");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_says(s, "DONE  NOT RUN  TWICE  MISSED");
        assert_says(s, "   9        1      0       0 ");
        assert_says(s, "mail: 1 not run: ledger_down\n");
        assert_says(s, "  EXPLAINED\n");
        assert_says(s, "verdict: EXPLAINED\n");
}

static void one_explained_instant_among_tasks_explains_all(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_plan(s->first, 50, "other", "flock", 1000, "\"rev\":1");
        say_range(s->second, 9500, "skip", "other", 1000, 10000, "overlap");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(judge_verdict(s->j, &(bool) { false }), VERDICT_EXPLAINED);
        assert_says(s, "ONCE\n");
}

static void what_judges_nothing_proves_nothing(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);

        assert_int_equal(prove_with(s, &(struct judge_options) { BASE_MS + 3600000, INT64_MAX, NULL, 0 }), 3);
        assert_says(s, "verdict: NOTHING\n");
        assert_int_equal(prove_with(s, &(struct judge_options) { INT64_MIN, BASE_MS - 3600000, NULL, 0 }), 3);
        assert_says(s, "verdict: NOTHING\n");
}

/* The store of the other path begins with the window, and knows nothing of what ran under the first. */
static void a_duplicate_of_two_paths_is_called_a_change_of_path(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 5; i++)
                say_once(s->first, "mail", "flock", i * 1000, i);
        say_plan(s->second, 5050, "mail", "redis", 1000, "\"rev\":1");
        for (int i = 2; i <= 5; i++) {
                say_attempt(s->second, 5060 + i, "mail", "redis", i * 1000, "granted", 100 + i);
                say_run(s->second, 5060 + i, "mail", "redis", i * 1000, 100 + i);
                say_finish(s->second, 5060 + i, "mail", i * 1000, "succeeded", "\"result\":\"done\",\"run_us\":900");
        }
        for (int i = 6; i <= 10; i++)
                say_once(s->second, "mail", "redis", i * 1000, 100 + i);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_says(s, "; its singleton was changed: flock for one, redis for the other");
        assert_says(s, "DUPLICATE x2 (its singleton was changed)");
}

static void plain_timers_alone_are_something(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "plain", "none", 1000, "\"rev\":0");
        for (int i = 1; i <= 10; i++) {
                say_once(s->first, "plain", "none", i * 1000, 0);
                say_once(s->second, "plain", "none", i * 1000, 0);
        }
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_says(s, "verdict: NOT SINGLE\n");
        assert_int_equal(prove_with(s, &(struct judge_options) { BASE_MS + 3600000, INT64_MAX, NULL, 0 }), 3);
}

/* Two nodes, each with its own lock. */
static void a_lock_of_one_machine_is_once_per_node(void **state)
{
        struct scene *s = *state;
        struct author *m = author_of(&s->book, "n2", "m", 300, "master", 0);
        struct author *w = author_of(&s->book, "n2", "0", 301, "worker", 10);
        say_born(m, 5, w);
        ten_seconds(s, "flock", 0);
        for (int i = 1; i <= 10; i++)
                say_once(w, "mail", "flock", i * 1000, 100 + i);
        say_stop(w, 10600, 10500, true);
        say_gone(m, 10700, w, 0);
        say_stop(m, 10800, 10800, false);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_says(s, "  DUPLICATE x2 (runs once per node: singleton flock is for one machine)\n");
}

static void who_was_killed_with_its_master_may_go_on(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 7; i++)
                say_once(s->first, "mail", "flock", i * 1000, i);
        say_attempt(s->first, 10001, "mail", "flock", 10000, "busy", 0);

        (void) prove_it(s);
        assert_says(s, " (processes go on, or were killed with their master)\n");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_could_not_be_started_is_no_run_by_any_runner),
                CASE(a_task_that_always_fails_does_not_look_fine),
                CASE(one_that_succeeds_now_and_then_is_not_said_to_fail),
                CASE(columns_of_nothing_are_left_out),
                CASE(a_noop_is_a_column_of_its_own),
                CASE(what_was_granted_twice_is_twice_and_not_missed),
                CASE(a_duplicate_behind_the_window_is_one),
                CASE(runs_of_a_task_without_a_plan_prove_nothing),
                CASE(a_range_is_cut_to_the_window),
                CASE(what_was_recorded_as_missed_has_its_column),
                CASE(one_explained_instant_among_tasks_explains_all),
                CASE(what_judges_nothing_proves_nothing),
                CASE(a_duplicate_of_two_paths_is_called_a_change_of_path),
                CASE(plain_timers_alone_are_something),
                CASE(a_lock_of_one_machine_is_once_per_node),
                CASE(who_was_killed_with_its_master_may_go_on),
        };

        return RUN_CASES(argc, argv, "report", tests);
}
