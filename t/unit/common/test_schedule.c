/* The interval grid and the misfire rule against the vectors, and what the vectors do not reach. */
#include <errno.h>
#include <string.h>

#include "common/schedule/misfire.h"
#include "common/schedule/schedule.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"

static size_t skipped_cron;

static void check_interval(const json_t *line)
{
        struct schedule s;
        struct instant at = vector_instant(json_object_get(line, "from")), got;
        const json_t *want;
        size_t i;

        assert_int_equal(schedule_every(vector_int(line, "every_ms"), vector_int(line, "anchor_ms"), &s), 0);
        json_array_foreach(json_object_get(line, "next"), i, want) {
                struct instant before = at;
                assert_int_equal(schedule_next(&s, at, &got), 0);
                if (got.ms != vector_instant(want).ms)
                        fail_msg("%s: result %zu is %lld", vector_text(line, "id"), i, (long long) got.ms);
                assert_true(schedule_has(&s, got));
                assert_int_equal(schedule_count(&s, before, got), 1);
                assert_int_equal(schedule_last(&s, got, &at), 0);
                assert_int_equal(at.ms, got.ms);
        }
        assert_int_equal(i, 5);
}

static void interval_vectors_hold(void **state)
{
        (void) state;
        assert_int_equal(vectors_each("interval.jsonl", check_interval), 66);
}

static size_t refused_seen;

static void check_refused(const json_t *line)
{
        struct schedule s;

        if (!json_object_get(line, "every_ms"))
                return;
        refused_seen++;
        assert_int_equal(schedule_every(vector_int(line, "every_ms"), 0, &s), -ERANGE);
}

static void refused_intervals_are_refused(void **state)
{
        (void) state;
        (void) vectors_each("refused.jsonl", check_refused);
        assert_int_equal(refused_seen, 5);
}

static void check_misfire(const json_t *line)
{
        const json_t *schedule = json_object_get(line, "schedule"), *want;
        const json_t *grace = json_object_get(line, "grace");
        struct schedule s;
        struct misfire_plan plan;
        size_t i;

        if (!json_object_get(schedule, "every_ms")) {
                skipped_cron++;   /* schedules by cron have their own engine and their own test */
                return;
        }
        assert_int_equal(schedule_every(vector_int(schedule, "every_ms"), vector_int(schedule, "anchor_ms"), &s), 0);
        struct misfire m = { .grace_ms = grace ? (int64_t) (json_number_value(grace) * 1000) : -1 };
        if (strcmp(vector_text(line, "policy"), "catch-up") == 0) {
                m.policy = MISFIRE_CATCH_UP;
                m.limit = (unsigned) vector_int(line, "limit");
                m.lookback_ms = vector_int(line, "lookback") * 1000;
        }
        misfire_decide(&m, &s, vector_instant(json_object_get(line, "cursor")),
                       vector_instant(json_object_get(line, "now")), &plan);
        if (json_array_size(json_object_get(line, "run")) != plan.run_count)
                fail_msg("%s: runs %llu", vector_text(line, "id"), (unsigned long long) plan.run_count);
        json_array_foreach(json_object_get(line, "run"), i, want) {
                if (vector_instant(want).ms != plan.run.ms)
                        fail_msg("%s: run %zu is %lld", vector_text(line, "id"), i, (long long) plan.run.ms);
                (void) schedule_next(&s, plan.run, &plan.run);
        }
        if ((uint64_t) vector_int(line, "skipped") != plan.given_up.count)
                fail_msg("%s: gives up %llu", vector_text(line, "id"), (unsigned long long) plan.given_up.count);
}

static void misfire_vectors_hold(void **state)
{
        (void) state;
        size_t all = vectors_each("misfire.jsonl", check_misfire);
        assert_true(all - skipped_cron > 0);
}

static void late_polls_keep_the_grid(void **state)
{
        struct schedule s;
        struct instant next;

        (void) state;
        assert_int_equal(schedule_every(250, 7, &s), 0);
        for (int64_t late = 0; late < 250; late++) {
                assert_int_equal(schedule_next(&s, (struct instant) { 1000007 + late }, &next), 0);
                assert_int_equal(next.ms, 1000257);
        }
}

static void next_of_a_moment_before_is_the_instant_itself(void **state)
{
        struct schedule s;
        struct instant next;

        (void) state;
        assert_int_equal(schedule_every(1000, 0, &s), 0);
        assert_int_equal(schedule_next(&s, (struct instant) { 4999 }, &next), 0);
        assert_int_equal(next.ms, 5000);
        assert_int_equal(schedule_next(&s, next, &next), 0);
        assert_int_equal(next.ms, 6000);   /* never the same instant twice */
}

static void extremes_do_not_overflow(void **state)
{
        struct schedule s;
        struct instant i;

        (void) state;
        assert_int_equal(schedule_every(EVERY_MAX_MS, INT64_MIN, &s), 0);
        assert_int_equal(schedule_next(&s, (struct instant) { INT64_MAX }, &i), -ENOENT);
        assert_int_equal(schedule_every(10, INT64_MAX, &s), 0);
        assert_int_equal(schedule_next(&s, (struct instant) { -1 }, &i), 0);
        assert_true(i.ms >= 0 && i.ms < 10);
        assert_true(schedule_count(&s, (struct instant) { INT64_MIN + 1 }, (struct instant) { INT64_MAX }) > 0);
}

static void first_cursor_is_just_before_the_window(void **state)
{
        struct schedule s;
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct misfire_plan plan;
        struct instant now = { 100050 }, cursor;

        (void) state;
        assert_int_equal(schedule_every(1000, 0, &s), 0);
        cursor = misfire_first_cursor(&m, &s, now, false);
        assert_int_equal(cursor.ms, 100050 - 1000 - 1);
        misfire_decide(&m, &s, cursor, now, &plan);
        assert_int_equal(plan.run.ms, 100000);
        assert_int_equal(misfire_first_cursor(&m, &s, now, true).ms, now.ms);
        m = (struct misfire) { .policy = MISFIRE_CATCH_UP, .limit = 3, .lookback_ms = 60000 };
        assert_int_equal(misfire_first_cursor(&m, &s, now, false).ms, now.ms - 60000);
}

static void a_year_is_counted_not_enumerated(void **state)
{
        struct schedule s;
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct misfire_plan plan;

        (void) state;
        assert_int_equal(schedule_every(10, 0, &s), 0);
        misfire_decide(&m, &s, (struct instant) { 0 }, (struct instant) { EVERY_MAX_MS }, &plan);
        assert_int_equal(plan.run.ms, EVERY_MAX_MS);
        assert_int_equal(plan.given_up.count, EVERY_MAX_MS / 10 - 1);
        assert_int_equal(plan.given_up.first.ms, 10);
        assert_int_equal(plan.given_up.last.ms, EVERY_MAX_MS - 10);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(interval_vectors_hold),
                cmocka_unit_test(refused_intervals_are_refused),
                cmocka_unit_test(misfire_vectors_hold),
                cmocka_unit_test(late_polls_keep_the_grid),
                cmocka_unit_test(next_of_a_moment_before_is_the_instant_itself),
                cmocka_unit_test(extremes_do_not_overflow),
                cmocka_unit_test(first_cursor_is_just_before_the_window),
                cmocka_unit_test(a_year_is_counted_not_enumerated),
        };
        return RUN_CASES(argc, argv, "schedule", tests);
}
