/* Where a unit begins. */
#include "t/unit/cases.h"
#include "worker/unit.h"

#define NOW 1000000LL

static struct task task = { .name = "t", .misfire = { .grace_ms = -1 }, .first = FIRST_WINDOW };
static struct job job;

static void defined(int64_t valid_from_ms, enum scope scope)
{
        assert_int_equal(schedule_every(10, 0, &task.schedule), 0);
        task.scope = scope;
        job = (struct job) { .task = &task, .defined = true, .valid_from = { valid_from_ms } };
}

static int64_t first_cursor(int64_t since_ms)
{
        return job_first_cursor(&job, (struct instant) { NOW }, (struct instant) { since_ms }).ms;
}

static void a_new_unit_begins_with_the_window(void **state)
{
        (void) state;
        defined(NOW, SCOPE_AUTO);
        assert_int_equal(first_cursor(NOW - 5000), NOW - 1);
}

/* The instants in between would be in the plan, and nobody would ever decide them. */
static void a_unit_registered_late_begins_with_its_definition(void **state)
{
        (void) state;
        defined(NOW - 500, SCOPE_AUTO);
        assert_int_equal(first_cursor(NOW - 5000), NOW - 500);
        task.first = FIRST_NEXT;
        assert_int_equal(first_cursor(NOW - 5000), NOW - 500);
        task.first = FIRST_WINDOW;
}

static void an_old_definition_is_no_past_of_a_new_node(void **state)
{
        (void) state;
        defined(NOW - 500000, SCOPE_ALL);
        assert_int_equal(first_cursor(NOW - 5000), NOW - 1);
        defined(NOW - 500, SCOPE_ALL);
        assert_int_equal(first_cursor(NOW - 5000), NOW - 500);
}

/* What lies before ran there, or is named there. */
static void a_unit_that_moved_begins_where_it_was_left(void **state)
{
        (void) state;
        defined(NOW - 500, SCOPE_AUTO);
        job.left.ms = NOW - 500;
        task.misfire = (struct misfire) { .policy = MISFIRE_CATCH_UP, .limit = 1000, .lookback_ms = 60000 };
        assert_int_equal(first_cursor(NOW - 5000), NOW - 500);
        job.valid_from.ms = NOW;
        assert_int_equal(first_cursor(NOW - 5000), NOW - 500);
        task.misfire = (struct misfire) { .grace_ms = -1 };
}

/* The ledger that it was never in may answer after the one that it was in. */
static void the_newest_departure_counts(void **state)
{
        struct define_in in;

        (void) state;
        defined(NOW, SCOPE_AUTO);
        task.singleton = PATH_REDIS;
        job_left(&job, &(struct define_out) { .left = { NOW - 500 }, .fence = "99" });
        job_left(&job, &(struct define_out) { .fence = "100" });
        job_left(&job, &(struct define_out) { .left = { NOW - 900 }, .fence = "7" });
        job_definition(&job, "n1", &in);
        assert_int_equal(in.left.ms, NOW - 500);
        assert_string_equal(in.fence, "100");
        task.singleton = PATH_NONE;
}

/* Where it is noted to be, what the group knows of an older life is no past of it. */
static void a_local_task_that_waited_for_nobody_takes_nothing_over(void **state)
{
        struct define_in in;

        (void) state;
        defined(NOW, SCOPE_AUTO);
        task.singleton = PATH_FLOCK;
        job.left.ms = NOW - 500;
        job_definition(&job, "n1", &in);
        assert_int_equal(in.left.ms, 0);
        job.waits = true;
        job_definition(&job, "n1", &in);
        assert_int_equal(in.left.ms, NOW - 500);
        task.singleton = PATH_NONE;
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_unit_begins_with_the_window),
                cmocka_unit_test(a_unit_registered_late_begins_with_its_definition),
                cmocka_unit_test(an_old_definition_is_no_past_of_a_new_node),
                cmocka_unit_test(a_unit_that_moved_begins_where_it_was_left),
                cmocka_unit_test(the_newest_departure_counts),
                cmocka_unit_test(a_local_task_that_waited_for_nobody_takes_nothing_over),
        };

        return RUN_CASES(argc, argv, "unit", tests);
}
