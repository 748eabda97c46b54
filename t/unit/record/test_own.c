/* Under `none` each process is by itself: its own queue, and its own runs, of which nobody tells the end when it was
 * killed. */
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define DONE "\"result\":\"done\",\"run_us\":900"

static uint64_t ends_of_starts(const struct row *r)
{
        return r->finals[STATE_SUCCEEDED] + r->finals[STATE_FAILED] + r->finals[STATE_INTERRUPTED] +
               r->finals[STATE_UNKNOWN] - r->unrun[UNRUN_UNSENT] - r->unrun[UNRUN_CUT];
}

/* Three instants wait in the first process, while the second one runs them when they are due. */
static void what_waited_in_a_process_is_not_late_in_it(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "plain", "none", 1000, "\"rev\":0,\"overlap\":\"queue\"");
        say_run(s->first, 1001, "plain", "none", 1000, 0);
        for (int i = 2; i <= 4; i++)
                say_attempt(s->first, i * 1000 + 1, "plain", "none", i * 1000, "queued", 0);
        say_finish(s->first, 4500, "plain", 1000, "succeeded", DONE);
        for (int i = 2; i <= 3; i++) {
                say_run(s->first, 4500 + i, "plain", "none", i * 1000, 0);
                say_finish(s->first, 4500 + i, "plain", i * 1000, "succeeded", DONE);
        }
        for (int i = 1; i <= 10; i++)
                say_once(s->second, "plain", "none", i * 1000, 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "plain");
        assert_int_equal(r->runs, 13);
        assert_int_equal(r->waited, 2);
        assert_int_equal(r->wait_max_us, 2502000);
        assert_int_equal(r->late_count, 11);
        assert_true(r->late_max_us < 10000);
        assert_int_equal(r->unrun[UNRUN_QUEUED], 1);
        assert_int_equal(ends_of_starts(r), r->runs);
}

static void five_and_killed(struct scene *s)
{
        say_plan(s->first, 50, "plain", "none", 1000, "\"rev\":0");
        for (int i = 1; i <= 5; i++)
                say_once(s->second, "plain", "none", i * 1000, 0);
        say_run(s->second, 6001, "plain", "none", 6000, 0);
        say_gone(s->master, 6300, s->second, 9);
        for (int i = 1; i <= 10; i++)
                say_once(s->first, "plain", "none", i * 1000, 0);
}

static void a_run_that_was_killed_has_its_place_in_the_row(void **state)
{
        struct scene *s = *state;
        five_and_killed(s);
        say_stop(s->first, 10600, 10500, true);
        say_gone(s->master, 10700, s->first, 0);

        (void) prove_it(s);
        const struct row *r = row(s, "plain");
        assert_int_equal(r->runs, 16);
        assert_int_equal(r->unfinished, 1);
        assert_int_equal(r->running, 0);
        assert_int_equal(row_unknown(r), 1);
        assert_int_equal(ends_of_starts(r) + r->running + r->unfinished, r->runs);
}

static void a_run_of_a_process_that_goes_on_is_running(void **state)
{
        struct scene *s = *state;
        five_and_killed(s);
        say_run(s->first, 11001, "plain", "none", 11000, 0);
        say_run(s->first, 12001, "plain", "none", 12000, 0);
        say_finish(s->first, 13900, "plain", 12000, "succeeded", DONE);

        (void) prove_it(s);
        const struct row *r = row(s, "plain");
        assert_int_equal(r->running, 1);
        assert_int_equal(r->unfinished, 1);
        assert_int_equal(ends_of_starts(r) + r->running + r->unfinished, r->runs);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_waited_in_a_process_is_not_late_in_it),
                CASE(a_run_that_was_killed_has_its_place_in_the_row),
                CASE(a_run_of_a_process_that_goes_on_is_running),
        };

        return RUN_CASES(argc, argv, "own", tests);
}
