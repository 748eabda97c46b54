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

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_unit_begins_with_the_window),
                cmocka_unit_test(a_unit_registered_late_begins_with_its_definition),
                cmocka_unit_test(an_old_definition_is_no_past_of_a_new_node),
        };

        return RUN_CASES(argc, argv, "unit", tests);
}
