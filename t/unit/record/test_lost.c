/* `onced prove` on logs of which lines are wanting that nobody took away: a full disk, a file that retention deleted,
 * a process that died before it could say how its run ended. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

/* Instants 4 to 7 have no line of anybody; `third` wrote its last one at 3 s and is gone at 8 s. */
static struct author *silent(struct scene *s, int64_t last_ms)
{
        struct author *third = author_of(&s->book, "n1", "2", 103, "worker", 12);

        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++)
                if (i < 4 || i > 7)
                        say_once(s->first, "mail", "flock", i * 1000, 100 + i);
        say_born(s->master, 7, third);
        say_attempt(third, last_ms, "mail", "flock", 3000, "done", 0);
        return third;
}

static void who_was_killed_in_silence_may_have_taken_records_with_it(void **state)
{
        struct scene *s = *state;
        say_gone(s->master, 7900, silent(s, 3002), 9);
        all_stop(s);

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 4);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 6);
        assert_non_null(strstr(s->j->notes[0], "the last lines of a process that ended without its stop line may be lost"));
}

static void who_was_killed_at_work_took_nothing_but_its_last_turn(void **state)
{
        struct scene *s = *state;
        say_gone(s->master, 7900, silent(s, 7500), 9);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 4);
}

/* The master's own lines were lost with the disk: the next master's start ends all of them. */
static void whom_nobody_saw_go_may_have_lost_lines(void **state)
{
        struct scene *s = *state;
        (void) silent(s, 3002);
        say_stop(s->first, 10600, 10500, true);
        (void) author_of(&s->book, "n1", "m", 200, "master", 12000);

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
}

static void another_nodes_death_excuses_nothing_here(void **state)
{
        struct scene *s = *state;
        struct author *m = author_of(&s->book, "n2", "m", 300, "master", 0);
        struct author *w = author_of(&s->book, "n2", "0", 301, "worker", 10);
        say_born(m, 5, w);
        say_gone(m, 9000, w, 9);
        say_stop(m, 10800, 10800, false);
        say_plan(s->first, 50, "here", "flock", 1000, "\"rev\":1,\"key\":\"n1\"");
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "here")->verdicts[VERDICT_MISSED], 10);
}

/* It was born on a full disk and wrote nothing: what was before it stands. */
static void an_empty_log_blinds_only_its_own_time(void **state)
{
        struct scene *s = *state;
        struct author *third = author_new(&s->book, "n1", "2", 103);
        ten_seconds(s, "flock", 0);
        say_born(s->master, 8100, third);
        say_gone(s->master, 8900, third, 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 7);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 3);
}

/* The newest lines of a log, taken away, look like a death: the chain cannot tell. */
static void killed_in_its_run(struct scene *s, bool told)
{
        ten_seconds(s, "flock", 10);
        say_attempt(s->second, 10001, "mail", "flock", 10000, "granted", 110);
        say_run(s->second, 10001, "mail", "flock", 10000, 110);
        say_gone(s->master, 10050, s->second, 9);
        if (told)
                say_finish(s->first, 10100, "mail", 10000, "interrupted",
                           "\"cause\":\"worker_died\",\"of\":\"n1.1.102.77-ab12.31\"");
        say_stop(s->first, 10600, 10500, true);
        say_gone(s->master, 10700, s->first, 0);
}

static void a_run_whose_end_nobody_tells_is_unknown(void **state)
{
        struct scene *s = *state;
        killed_in_its_run(s, false);

        assert_int_equal(prove_it(s), 3);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->findings[FINDING_UNFINISHED], 1);
        assert_int_equal(r->verdicts[VERDICT_UNKNOWN], 1);
        assert_int_equal(r->runs, r->results[RESULT_DONE] + row_unknown(r));
        assert_string_equal(report_verdict(s->e, s->j), "UNKNOWN");
}

static void a_run_that_was_told_to_be_interrupted_was_once(void **state)
{
        struct scene *s = *state;
        killed_in_its_run(s, true);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->findings[FINDING_UNFINISHED], 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 10);
}

static void a_run_that_may_go_on_is_running(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 10);
        say_attempt(s->second, 10001, "mail", "flock", 10000, "granted", 110);
        say_run(s->second, 10001, "mail", "flock", 10000, 110);
        say_attempt(s->first, 12501, "mail", "flock", 12500, "done", 0);
        say_attempt(s->second, 12501, "mail", "flock", 12500, "done", 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->running, 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], row(s, "mail")->expected);
}

/* The log goes on in a second file, and the first one was deleted for its age, with all that came before 4 s. */
static void first_file_is_gone(struct scene *s)
{
        char before[CHAIN_TEXT];

        say_run(s->first, 2001, "mail", "flock", 2000, 102);
        memcpy(before, s->first->chain.h, sizeof(before));
        while (s->first->count)
                line_drop(s->first, 0);
        say(s->first, 4000, "rotate",
            "\"node\":\"n1\",\"slot\":\"0\",\"pid\":101,\"pstart\":\"77-ab12\",\"boot\":\"b00t\",\"role\":\"worker\","
            "\"prev_h\":\"%.16s\"", before);
        say_plan(s->first, 4001, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 5; i <= 10; i++)
                say_once(s->first, "mail", "flock", i * 1000, 100 + i);
}

static void what_began_in_a_deleted_file_is_no_orphan(void **state)
{
        struct scene *s = *state;
        first_file_is_gone(s);
        say_finish(s->first, 10400, "mail", 2000, "succeeded", "\"result\":\"done\",\"run_us\":8399000");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->findings[FINDING_ORPHAN], 0);
        assert_int_equal(s->j->note_count, 0);
        assert_int_equal(row(s, "mail")->expected, 6);
}

static void what_began_in_the_file_that_is_left_is_one(void **state)
{
        struct scene *s = *state;
        first_file_is_gone(s);
        say_finish(s->first, 10400, "mail", 3000, "succeeded", "\"result\":\"done\",\"run_us\":3000000");
        all_stop(s);

        (void) prove_it(s);
        assert_int_equal(row(s, "mail")->findings[FINDING_ORPHAN], 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(who_was_killed_in_silence_may_have_taken_records_with_it),
                CASE(who_was_killed_at_work_took_nothing_but_its_last_turn),
                CASE(whom_nobody_saw_go_may_have_lost_lines),
                CASE(another_nodes_death_excuses_nothing_here),
                CASE(an_empty_log_blinds_only_its_own_time),
                CASE(a_run_whose_end_nobody_tells_is_unknown),
                CASE(a_run_that_was_told_to_be_interrupted_was_once),
                CASE(a_run_that_may_go_on_is_running),
                CASE(what_began_in_a_deleted_file_is_no_orphan),
                CASE(what_began_in_the_file_that_is_left_is_one),
        };

        return RUN_CASES(argc, argv, "lost", tests);
}
