/* The misfire rule against its vectors, and what the vectors do not reach. */
#include <string.h>

#include "common/schedule/misfire.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"
#include "t/unit/common/vectors_schedule.h"

static void check_misfire(const json_t *line)
{
        const json_t *want;
        const json_t *grace = json_object_get(line, "grace");
        struct schedule s;
        struct misfire_plan plan;
        size_t i;

        assert_int_equal(vector_schedule(json_object_get(line, "schedule"), &s), 0);
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
        size_t run = vectors_each("misfire.jsonl", check_misfire);
        print_message("%zu cases of misfire.jsonl\n", run);
        assert_int_equal(run, 98);
}

static void first_cursor_is_just_before_what_is_run_first(void **state)
{
        struct schedule s;
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct misfire_plan plan;
        struct instant now = { 100050 }, cursor;

        (void) state;
        assert_int_equal(schedule_every(1000, 0, &s), 0);
        cursor = misfire_first_cursor(&m, &s, now, false);
        assert_int_equal(cursor.ms, 100000 - 1);
        misfire_decide(&m, &s, cursor, now, &plan);
        assert_int_equal(plan.run.ms, 100000);
        assert_int_equal(misfire_first_cursor(&m, &s, now, true).ms, now.ms);
        m = (struct misfire) { .policy = MISFIRE_CATCH_UP, .limit = 3, .lookback_ms = 60000 };
        assert_int_equal(misfire_first_cursor(&m, &s, now, false).ms, 98000 - 1);
        assert_int_equal(schedule_every(3600000, 0, &s), 0);
        assert_int_equal(misfire_first_cursor(&m, &s, (struct instant) { 3700000 }, false).ms, 3640000);
}

static void a_first_start_gives_nothing_up(void **state)
{
        static const struct misfire policies[] = {
                { .policy = MISFIRE_SKIP, .grace_ms = 3600000 },
                { .policy = MISFIRE_CATCH_UP, .limit = 2, .lookback_ms = 3600000 },
        };
        struct instant now = { 7200050 };
        struct schedule s;

        (void) state;
        assert_int_equal(schedule_every(1000, 0, &s), 0);
        for (unsigned i = 0; i < 2; i++) {
                struct misfire_plan plan;
                misfire_decide(&policies[i], &s, misfire_first_cursor(&policies[i], &s, now, false), now, &plan);
                assert_int_equal(plan.given_up.count, 0);
                assert_int_equal(plan.run_count, i + 1);
        }
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

static struct schedule cron(const char *expression, const char *tz)
{
        struct cron_error e;
        struct schedule s;

        if (schedule_cron(expression, tz, false, &s, &e) < 0)
                fail_msg("%s in %s: %s", expression, tz, e.text);
        return s;
}

static struct instant at(const char *text)
{
        struct instant i;

        assert_int_equal(instant_parse(text, &i), 0);
        return i;
}

static void grace_is_no_longer_than_the_interval_that_follows(void **state)
{
        struct schedule s = cron("0,5,50 * * * * *", "UTC"), minutes = cron("*/5 * * * *", "UTC");
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };

        (void) state;
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-05-01T00:00:00Z")), 5000);
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-05-01T00:00:05Z")), 45000);
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-05-01T00:00:50Z")), 10000);
        assert_int_equal(misfire_grace_ms(&m, &minutes, at("2026-05-01T00:00:00Z")), 59000);
        m.grace_ms = 7;
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-05-01T00:00:00Z")), 7);
        m = (struct misfire) { .policy = MISFIRE_CATCH_UP, .lookback_ms = 60000, .limit = 1 };
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-05-01T00:00:00Z")), 60000);
}

/* The minute that follows in the clock's order comes an hour later: grace stays what it is. */
static void the_last_instant_before_a_fold_has_an_hour_behind_it(void **state)
{
        struct schedule s = cron("*/10 * * * * *", "Europe/Berlin");
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct misfire_plan plan;

        (void) state;
        assert_int_equal(schedule_interval_ms(&s, at("2026-10-25T00:59:50Z")), 3610000);
        misfire_decide(&m, &s, at("2026-10-25T00:59:40Z"), at("2026-10-25T01:00:30Z"), &plan);
        assert_int_equal(plan.run.ms, at("2026-10-25T00:59:50Z").ms);
        misfire_decide(&m, &s, plan.run, at("2026-10-25T01:59:59Z"), &plan);
        assert_int_equal(plan.run_count, 0);
        assert_int_equal(plan.given_up.count, 0);
}

static void a_year_of_seconds_is_caught_up_without_enumeration(void **state)
{
        struct schedule s = cron("* * * * * *", "Europe/Berlin");
        struct misfire m = { .policy = MISFIRE_CATCH_UP, .limit = 1000, .lookback_ms = EVERY_MAX_MS };
        struct instant now = at("2026-11-30T22:47:00Z"), cursor = { now.ms - EVERY_MAX_MS };
        struct misfire_plan plan;

        (void) state;
        misfire_decide(&m, &s, cursor, now, &plan);
        assert_int_equal(plan.run_count, 1000);
        assert_int_equal(plan.run.ms, now.ms - 999000);
        assert_int_equal(plan.given_up.count, EVERY_MAX_MS / 1000 - 1000 - 3600);   /* an hour comes twice */
        assert_int_equal(plan.given_up.first.ms, cursor.ms + 1000);
        assert_int_equal(plan.given_up.last.ms, plan.run.ms - 1000);
}

static void what_never_comes_again_is_neither_run_nor_given_up(void **state)
{
        struct schedule s = cron("30 2 * 3 0#2", "America/New_York");
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct misfire_plan plan;

        (void) state;
        misfire_decide(&m, &s, at("2020-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"), &plan);
        assert_true(plan.run_count == 0 && instant_is_none(plan.run) && plan.given_up.count == 0);
        misfire_decide(&m, &s, INSTANT_NONE, at("2026-01-01T00:00:00Z"), &plan);
        assert_true(plan.run_count == 0 && plan.given_up.count == 0);
        assert_int_equal(misfire_grace_ms(&m, &s, at("2026-01-01T00:00:00Z")), GRACE_DEFAULT_MS);
}

static void without_a_schedule_nothing_is_due(void **state)
{
        struct schedule none = { .kind = SCHEDULE_NONE };
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct instant now = { 100000 };
        struct misfire_plan plan;

        (void) state;
        misfire_decide(&m, &none, (struct instant) { 0 }, now, &plan);
        assert_true(plan.run_count == 0 && plan.given_up.count == 0);
        assert_int_equal(misfire_first_cursor(&m, &none, now, false).ms, now.ms);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(misfire_vectors_hold),
                cmocka_unit_test(grace_is_no_longer_than_the_interval_that_follows),
                cmocka_unit_test(the_last_instant_before_a_fold_has_an_hour_behind_it),
                cmocka_unit_test(first_cursor_is_just_before_what_is_run_first),
                cmocka_unit_test(a_first_start_gives_nothing_up),
                cmocka_unit_test(a_year_is_counted_not_enumerated),
                cmocka_unit_test(a_year_of_seconds_is_caught_up_without_enumeration),
                cmocka_unit_test(what_never_comes_again_is_neither_run_nor_given_up),
                cmocka_unit_test(without_a_schedule_nothing_is_due),
        };
        return RUN_CASES(argc, argv, "misfire", tests);
}
