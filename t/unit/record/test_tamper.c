/* What `onced prove` says when evidence is wanting: logs deleted, doubled, edited, torn or missing, processes
 * killed, the power gone. A good verdict must not survive it, and kill -9 alone must not spoil it. */
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

/* kill -9 alone makes nothing unknown: a start without its whole line did not happen. */
static void a_killed_worker_with_a_torn_last_line_leaves_no_doubt(void **state)
{
        struct scene *s = *state;
        say_plan(s->second, 50, "mail", "flock", 1000, "\"rev\":1");
        say_once(s->first, "mail", "flock", 1000, 1);
        say_attempt(s->first, 2001, "mail", "flock", 2000, "granted", 2);
        line_tear(s->first, s->first->count - 1);
        say_gone(s->master, 2100, s->first, 9);
        say_finish(s->second, 2110, "mail", 2000, "interrupted",
                   "\"cause\":\"worker_died\",\"run_us\":0,\"of\":\"x\"");
        for (int i = 3; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, i);
        say_stop(s->second, 10600, 10500, true);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 10800, 10800, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 9);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 1);
}

static void a_clean_exit_without_its_stop_line_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_tear(s->first, line_find(s->first, "stop", ""));

        assert_int_equal(prove_it(s), 3);
}

static void a_deleted_line_is_unknown_around_it(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_drop(s->second, line_find(s->second, "run", "mail-4000"));

        assert_int_equal(prove_it(s), 3);
        assert_true(row(s, "mail")->verdicts[VERDICT_UNKNOWN] >= 1);
        assert_true(row(s, "mail")->verdicts[VERDICT_ONCE] >= 6);
        assert_int_equal(s->e->trouble_count, 1);
}

static void a_deleted_attempt_is_unknown_though_nothing_else_changes(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_drop(s->first, line_find(s->first, "attempt", "mail-6000"));

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
}

static void a_line_given_twice_is_unknown_and_no_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_double(s->first, line_find(s->first, "run", "mail-5000"));

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 0);
        assert_non_null(strstr(s->e->troubles[0], "appears again"));
}

static void an_edited_line_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_edit(s->first, line_find(s->first, "finish", "mail-7000"), "\"run_us\":1000", "\"run_us\":2000");

        assert_int_equal(prove_it(s), 3);
        assert_non_null(strstr(s->e->troubles[0], "was changed"));
}

static void a_line_torn_in_the_middle_of_a_file_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        line_tear(s->first, line_find(s->first, "run", "mail-5000"));

        assert_int_equal(prove_it(s), 3);
}

static void tampering_does_not_hide_a_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_run(s->second, 9001, "mail", "flock", 9000, 300);
        all_stop(s);
        line_drop(s->first, line_find(s->first, "attempt", "mail-2000"));

        assert_int_equal(prove_it(s), 1);
}

static void a_missing_log_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        s->second->absent = true;

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 10);
}

/* It was killed before it could open its log; it had not said READY and so had asked for nothing. */
static void the_log_of_a_worker_that_was_never_ready_is_not_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        struct author *stillborn = author_of(&s->book, "n1", "3", 999, "worker", 3000);
        say_born(s->master, 3000, stillborn);
        say_stillborn(s->master, 3010, stillborn);
        all_stop(s);
        stillborn->absent = true;

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 10);
}

static void a_missing_roster_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        s->master->absent = true;

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 10);
}

static void a_worker_that_no_roster_names_is_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        (void) author_of(&s->book, "n1", "7", 777, "worker", 20);
        all_stop(s);

        assert_int_equal(prove_it(s), 3);
}

static void lines_that_could_not_be_written_are_unknown(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say(s->first, 10200, "gap", "\"lines\":3,\"why\":\"No space left on device\"");
        all_stop(s);

        assert_int_equal(prove_it(s), 3);
}

static void a_power_failure_is_unknown_until_the_next_start(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 60; i++)
                say_once(i % 2 ? s->first : s->second, "mail", "flock", i * 1000, i);
        struct author *m = author_after_boot(&s->book, "n1", "m", 200, "master", 90000, "an0ther");
        struct author *w = author_after_boot(&s->book, "n1", "0", 201, "worker", 90010, "an0ther");
        say_born(m, 90005, w);
        say_range(w, 90500, "skip", "mail", 61000, 90000, "misfire");
        for (int i = 91; i <= 99; i++)
                say_once(w, "mail", "flock", i * 1000, i);
        say_stop(w, 99600, 99500, false);
        say_gone(m, 99700, w, 0);

        /* The old master's log may lack what happened within 35 s before the newest line. */
        assert_int_equal(prove_it(s), 3);
        assert_in_range(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 67, 69);
        assert_in_range(row(s, "mail")->verdicts[VERDICT_ONCE], 30, 32);
}

/* Killed master and workers, then a new master: it could not have begun while any of them lived. */
static void a_new_master_ends_what_was_killed_before(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        struct author *m = author_of(&s->book, "n1", "m", 200, "master", 20000);
        struct author *w = author_of(&s->book, "n1", "0", 201, "worker", 20010);
        say_born(m, 20005, w);
        say_range(w, 20500, "skip", "mail", 11000, 20000, "misfire");
        say_once(w, "mail", "flock", 21000, 500);
        say_stop(w, 21600, 21500, false);
        say_gone(m, 21700, w, 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 11);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 10);
}

/* Read while everything runs: what is due at the very end may still be decided. */
static void a_living_daemon_is_judged_up_to_its_last_lines(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_attempt(s->first, 11001, "mail", "flock", 11000, "granted", 111);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->verdicts[VERDICT_ONCE], 8);
        assert_int_equal(r->expected, 8);
        assert_int_equal(r->runs, 8);
        assert_int_equal(r->outside, 2);
        assert_int_equal(r->unjudged, UNJUDGED_RUNNING);
}

/* A log may come from anywhere, and its words end up on somebody's terminal. */
static void words_of_a_log_reach_no_terminal_as_controls(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say(s->first, 5000, "run",
            "\"task\":\"\\u001b[2Jx\",\"shard\":0,\"planned\":%lld,\"by\":\"schedule\",\"path\":\"flock\"",
            BASE_MS + 5000);
        all_stop(s);

        (void) prove_it(s);
        assert_int_equal(row(s, "?[2Jx")->outside, 1);
}

/* Instants of the year 300 million, a shard beyond all, negative numbers: read, bounded, and no crash. */
static void absurd_numbers_do_no_harm(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say(s->first, 5000, "run",
            "\"task\":\"mail\",\"shard\":0,\"planned\":9223372036854775807,\"path\":\"flock\"");
        say(s->first, 5000, "run", "\"task\":\"mail\",\"shard\":-1,\"planned\":0,\"path\":\"flock\"");
        say(s->first, 5000, "finish",
            "\"task\":\"mail\",\"shard\":0,\"planned\":-9223372036854775807,\"state\":\"failed\",\"run_us\":"
            "9223372036854775807");
        say(s->first, 5000, "skip",
            "\"task\":\"mail\",\"shard\":0,\"first\":-9223372036854775807,\"last\":-9223372036854775806,"
            "\"count\":9223372036854775807");
        say(s->first, 5000, "plan",
            "\"task\":\"odd\",\"path\":\"flock\",\"schedule\":\"every 9223372036854775807ms\",\"shards\":"
            "1,\"enabled\":true,\"valid_from\":-9223372036854775807");
        say(s->first, 5000, "plan",
            "\"task\":\"odd2\",\"path\":\"flock\",\"schedule\":\"every 10ms anchor -"
            "9223372036854775807\",\"grace\":9223372036854775807,\"shards\":1,\"enabled\":true,\"valid_from\":-"
            "9223372036854775807");
        all_stop(s);

        (void) prove_it(s);
        assert_true(row(s, "mail")->verdicts[VERDICT_ONCE] + row(s, "mail")->verdicts[VERDICT_UNKNOWN] >= 10);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(a_killed_worker_with_a_torn_last_line_leaves_no_doubt),
                CASE(a_clean_exit_without_its_stop_line_is_unknown),
                CASE(a_deleted_line_is_unknown_around_it),
                CASE(a_deleted_attempt_is_unknown_though_nothing_else_changes),
                CASE(a_line_given_twice_is_unknown_and_no_duplicate),
                CASE(an_edited_line_is_unknown),
                CASE(a_line_torn_in_the_middle_of_a_file_is_unknown),
                CASE(tampering_does_not_hide_a_duplicate),
                CASE(a_missing_log_is_unknown),
                CASE(the_log_of_a_worker_that_was_never_ready_is_not_missed),
                CASE(a_missing_roster_is_unknown),
                CASE(a_worker_that_no_roster_names_is_unknown),
                CASE(lines_that_could_not_be_written_are_unknown),
                CASE(a_power_failure_is_unknown_until_the_next_start),
                CASE(a_new_master_ends_what_was_killed_before),
                CASE(a_living_daemon_is_judged_up_to_its_last_lines),
                CASE(words_of_a_log_reach_no_terminal_as_controls),
                CASE(absurd_numbers_do_no_harm),
        };

        return RUN_CASES(argc, argv, "tamper", tests);
}
