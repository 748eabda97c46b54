/* Runs of one unit beside each other: crossing, too many at once, in the wrong order. */
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static void say_life(struct author *a, int64_t t_ms, int64_t planned_ms, int fence, int64_t run_ms)
{
        char more[64];

        (void) snprintf(more, sizeof(more), "\"result\":\"done\",\"run_us\":%lld", (long long) run_ms * 1000);
        say_attempt(a, t_ms, "mail", "flock", planned_ms, "granted", fence);
        say_run(a, t_ms, "mail", "flock", planned_ms, fence);
        say_finish(a, t_ms + run_ms, "mail", planned_ms, "succeeded", more);
}

/* 1 by the first until 4.5 s, 2, 3 and 4 by the second, half a second each. */
static void cross(struct scene *s, const char *policy)
{
        say_plan(s->first, 50, "mail", "flock", 1000, policy);
        say_life(s->first, 1001, 1000, 101, 3500);
        for (int i = 2; i <= 4; i++)
                say_life(s->second, i * 1000 + 1, i * 1000, 100 + i, 500);
        for (int i = 5; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, 100 + i);
        all_stop(s);
        (void) prove_it(s);
}

static void runs_that_cross_under_drop_are_reported(void **state)
{
        struct scene *s = *state;
        cross(s, "\"rev\":1,\"overlap\":\"drop\",\"max_running\":10");

        assert_in_range(row(s, "mail")->findings[FINDING_OVERLAP], 1, 3);
        assert_int_equal(row(s, "mail")->crossing, row(s, "mail")->findings[FINDING_OVERLAP]);
}

static void runs_that_cross_under_queue_are_reported(void **state)
{
        struct scene *s = *state;
        cross(s, "\"rev\":1,\"overlap\":\"queue\",\"max_running\":10");

        assert_in_range(row(s, "mail")->findings[FINDING_OVERLAP], 1, 3);
}

static void runs_that_may_cross_are_counted_and_fine(void **state)
{
        struct scene *s = *state;
        cross(s, "\"rev\":1,\"overlap\":\"concurrent\",\"max_running\":2");

        const struct row *r = row(s, "mail");
        assert_in_range(r->crossing, 1, 3);
        assert_int_equal(r->findings[FINDING_OVERLAP] + r->findings[FINDING_CROWD] + r->findings[FINDING_BACK], 0);
        assert_int_equal(s->j->note_count, 0);
}

static void more_at_once_than_may_run_are_reported(void **state)
{
        struct scene *s = *state;
        cross(s, "\"rev\":1,\"overlap\":\"concurrent\",\"max_running\":1");

        assert_in_range(row(s, "mail")->findings[FINDING_CROWD], 1, 3);
}

/* 20 runs of 300 ms, each begun before the one before has ended, beside one long run that ends last: three at once,
 * never four. */
static void beside_a_long_one(struct scene *s, const char *policy)
{
        say_plan(s->first, 50, "mail", "flock", 200, policy);
        say_attempt(s->first, 201, "mail", "flock", 200, "granted", 101);
        say_run(s->first, 201, "mail", "flock", 200, 101);
        for (int i = 2; i <= 21; i++)
                say_life(s->second, i * 200 + 1, i * 200, 100 + i, 300);
        say_attempt(s->first, 5000, "mail", "flock", 5000, "done", 0);
        say_finish(s->first, 5201, "mail", 200, "succeeded", "\"result\":\"done\",\"run_us\":5000000");
        (void) prove_it(s);
}

static void a_crowd_is_counted_at_one_time(void **state)
{
        struct scene *s = *state;
        beside_a_long_one(s, "\"rev\":1,\"overlap\":\"concurrent\",\"max_running\":3");

        assert_int_equal(row(s, "mail")->findings[FINDING_CROWD], 0);
        assert_true(row(s, "mail")->crossing >= 19);
}

static void one_more_than_that_is_found(void **state)
{
        struct scene *s = *state;
        beside_a_long_one(s, "\"rev\":1,\"overlap\":\"concurrent\",\"max_running\":2");

        assert_true(row(s, "mail")->findings[FINDING_CROWD] > 0);
}

/* `ran_at`: when 3 was started; 4 was at 5.1 s. */
static void backlog(struct scene *s, const char *policy, int64_t ran_at)
{
        say_plan(s->first, 50, "mail", "flock", 1000, policy);
        say_once(s->first, "mail", "flock", 1000, 101);
        say_life(s->second, 5000, 2000, 102, 10);
        if (ran_at < 5100)
                say_life(s->first, ran_at, 3000, 103, 10);
        say_life(s->second, 5100, 4000, 104, 10);
        if (ran_at > 5100)
                say_life(s->first, ran_at, 3000, 103, 10);
        for (int i = 6; i <= 10; i++)
                say_once(s->first, "mail", "flock", i * 1000, 100 + i);
        say_range(s->first, 10100, "skip", "mail", 5000, 5000, "misfire");
        all_stop(s);
        (void) prove_it(s);
}

static void a_backlog_in_order_is_fine(void **state)
{
        struct scene *s = *state;
        backlog(s, "\"rev\":1,\"misfire\":\"catch_up\",\"limit\":9,\"lookback\":60000,\"overlap\":\"queue\"", 5050);

        assert_int_equal(row(s, "mail")->findings[FINDING_BACK], 0);
        assert_int_equal(row(s, "mail")->findings[FINDING_LATE], 0);
        assert_int_equal(row(s, "mail")->once, 9);
}

static void a_backlog_out_of_order_is_reported(void **state)
{
        struct scene *s = *state;
        backlog(s, "\"rev\":1,\"misfire\":\"catch_up\",\"limit\":9,\"lookback\":60000,\"overlap\":\"queue\"", 5150);

        assert_int_equal(row(s, "mail")->findings[FINDING_BACK], 1);
        assert_int_equal(row(s, "mail")->once, 9);
}

static void runs_that_may_cross_have_no_order(void **state)
{
        struct scene *s = *state;
        backlog(s, "\"rev\":1,\"misfire\":\"catch_up\",\"limit\":9,\"lookback\":60000,\"overlap\":\"concurrent\"", 5150);

        assert_int_equal(row(s, "mail")->findings[FINDING_BACK], 0);
}

/* Policies change within a revision; what any line of it allowed is allowed. */
static void a_policy_that_changed_within_a_revision_is_no_finding(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1,\"overlap\":\"drop\"");
        say(s->first, 60, "plan",
            "\"task\":\"mail\",\"path\":\"flock\",\"schedule\":\"every 1s\",\"overlap\":\"concurrent\",\"max_running\":2,"
            "\"shards\":1,\"enabled\":true,\"rev\":1,\"valid_from\":%lld", BASE_MS + 50);
        say_life(s->first, 1001, 1000, 101, 1500);
        say_life(s->second, 2001, 2000, 102, 500);
        (void) prove_it(s);

        assert_int_equal(row(s, "mail")->crossing, 1);
        assert_int_equal(row(s, "mail")->findings[FINDING_OVERLAP], 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(runs_that_cross_under_drop_are_reported),
                CASE(runs_that_cross_under_queue_are_reported),
                CASE(runs_that_may_cross_are_counted_and_fine),
                CASE(more_at_once_than_may_run_are_reported),
                CASE(a_crowd_is_counted_at_one_time),
                CASE(one_more_than_that_is_found),
                CASE(a_backlog_in_order_is_fine),
                CASE(a_backlog_out_of_order_is_reported),
                CASE(runs_that_may_cross_have_no_order),
                CASE(a_policy_that_changed_within_a_revision_is_no_finding),
        };
        return RUN_CASES(argc, argv, "neighbours", tests);
}
