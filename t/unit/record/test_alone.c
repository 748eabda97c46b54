/* Processes without a master: what one finds due at its begin was planned before its first line, and is all that it
 * is for. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static struct scene scene;

static int up(void **state)
{
        memset(&scene, 0, sizeof(scene));
        logbook_open(&scene.book);
        *state = &scene;
        return 0;
}

static int down(void **state)
{
        struct scene *s = *state;

        judge_free(s->j);
        evidence_free(s->e);
        logbook_close(&s->book);
        return 0;
}

/* A first start at 60.2 s, of a task that is due each minute. */
static struct author *round_of(struct scene *s, const char *role)
{
        struct author *a = author_of(&s->book, "n1", "0", 101, role, 60200);

        say_plan(a, 60210, "mail", "flock", 60000, "\"rev\":1");
        return a;
}

static void ran(struct author *a, int64_t t_ms, int64_t planned_ms, int fence)
{
        say_attempt(a, t_ms, "mail", "flock", planned_ms, "granted", fence);
        say_run(a, t_ms, "mail", "flock", planned_ms, fence);
        say_finish(a, t_ms + 2, "mail", planned_ms, "succeeded", "\"result\":\"done\",\"run_us\":900");
}

static void what_the_first_round_ran_is_judged(void **state)
{
        struct scene *s = *state;
        struct author *a = round_of(s, "once");
        ran(a, 60220, 60000, 1);
        say_stop(a, 60300, 60290, true);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 1);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 1);
        assert_int_equal(r->outside, 0);
        assert_int_equal(s->j->from_ms, BASE_MS + 60000);
        assert_string_equal(report_verdict(s->e, s->j), "ONCE");
}

static void a_first_round_that_runs_twice_is_found_out(void **state)
{
        struct scene *s = *state;
        struct author *a = round_of(s, "once"), *b = author_of(&s->book, "n1", "0", 102, "once", 60400);
        ran(a, 60220, 60000, 1);
        say_stop(a, 60300, 60290, true);
        ran(b, 60420, 60000, 2);
        say_stop(b, 60500, 60490, true);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
}

/* It caught up with two, and what lies between its runs was to be decided as well. */
static void what_lies_between_its_runs_is_judged_too(void **state)
{
        struct scene *s = *state;
        struct author *a = round_of(s, "once");
        ran(a, 60220, -120000, 1);
        ran(a, 60230, 60000, 2);
        say_stop(a, 60300, 60290, true);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->expected, 4);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 2);
}

static void since_bounds_what_it_ran_as_well(void **state)
{
        struct scene *s = *state;
        struct author *a = round_of(s, "once");
        ran(a, 60220, 0, 1);
        ran(a, 60230, 60000, 2);
        say_stop(a, 60300, 60290, true);

        assert_int_equal(prove_with(s, &(struct judge_options) { .since_ms = BASE_MS + 30000, .until_ms = INT64_MAX }), 0);
        assert_int_equal(row(s, "mail")->expected, 1);
}

/* Of a worker it is not known how many others there were before the first line. */
static void what_a_worker_ran_at_its_begin_stays_outside(void **state)
{
        struct scene *s = *state;
        struct author *m = author_of(&s->book, "n1", "m", 100, "master", 60190), *a = round_of(s, "worker");
        say_born(m, 60195, a);
        ran(a, 60220, 60000, 1);
        say_stop(a, 60300, 60290, true);
        say_gone(m, 60310, a, 0);

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->outside, 1);
        assert_string_equal(report_verdict(s->e, s->j), "NOTHING");
}

/* Its first plan is not the task's first: an older one, which is not here, may have had the instant as well. */
static void of_a_later_revision_nothing_before_its_plan_is_judged(void **state)
{
        struct scene *s = *state;
        struct author *a = author_of(&s->book, "n1", "0", 101, "once", 60200);
        say_plan(a, 60210, "mail", "flock", 60000, "\"rev\":2");
        ran(a, 60220, 60000, 1);
        say_stop(a, 60300, 60290, true);

        assert_int_equal(prove_it(s), 3);
        assert_int_equal(row(s, "mail")->outside, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_the_first_round_ran_is_judged),
                CASE(a_first_round_that_runs_twice_is_found_out),
                CASE(what_lies_between_its_runs_is_judged_too),
                CASE(since_bounds_what_it_ran_as_well),
                CASE(what_a_worker_ran_at_its_begin_stays_outside),
                CASE(of_a_later_revision_nothing_before_its_plan_is_judged),
        };

        return RUN_CASES(argc, argv, "alone", tests);
}
