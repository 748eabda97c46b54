/* The interval grid against its vectors, questions about cron schedules at their edges, and schedules as text. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/schedule.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"

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
        size_t run = vectors_each("interval.jsonl", check_interval);
        print_message("%zu cases of interval.jsonl\n", run);
        assert_int_equal(run, 66);
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

static struct schedule cron(const char *expression, const char *tz, bool both)
{
        struct cron_error e;
        struct schedule s;

        if (schedule_cron(expression, tz, both, &s, &e) < 0)
                fail_msg("%s in %s: %s", expression, tz, e.text);
        return s;
}

static void cron_ends_where_its_years_end(void **state)
{
        struct schedule s = cron("* * * * * *", "Pacific/Kiritimati", true);
        struct instant first = { CRON_FIRST_S * 1000 }, last = { CRON_LAST_S * 1000 }, got;

        (void) state;
        assert_int_equal(schedule_next(&s, (struct instant) { INT64_MIN + 1 }, &got), 0);
        assert_int_equal(got.ms, first.ms);
        assert_int_equal(schedule_last(&s, (struct instant) { INT64_MAX }, &got), 0);
        assert_int_equal(got.ms, last.ms);
        assert_int_equal(schedule_next(&s, last, &got), -ENOENT);
        assert_int_equal(schedule_last(&s, (struct instant) { first.ms - 1 }, &got), -ENOENT);
        assert_int_equal(schedule_interval_ms(&s, last), 0);
        assert_true(schedule_has(&s, first) && schedule_has(&s, last));
        assert_false(schedule_has(&s, (struct instant) { first.ms - 1000 }));
        assert_false(schedule_has(&s, (struct instant) { last.ms + 1000 }));
        assert_false(schedule_has(&s, (struct instant) { last.ms - 1 }));
        assert_false(schedule_has(&s, (struct instant) { INT64_MAX }));
        assert_false(schedule_has(&s, INSTANT_NONE));
        assert_int_equal(schedule_count(&s, (struct instant) { INT64_MIN + 1 }, (struct instant) { INT64_MAX }),
                         CRON_LAST_S - CRON_FIRST_S + 1);
}

static void instants_are_whole_seconds_also_before_the_epoch(void **state)
{
        struct schedule s = cron("* * * * * *", "UTC", false);
        struct instant got;

        (void) state;
        assert_int_equal(schedule_next(&s, (struct instant) { -1500 }, &got), 0);
        assert_int_equal(got.ms, -1000);
        assert_int_equal(schedule_last(&s, (struct instant) { -1500 }, &got), 0);
        assert_int_equal(got.ms, -2000);
        assert_int_equal(schedule_count(&s, (struct instant) { -1500 }, (struct instant) { 1999 }), 3);
        assert_int_equal(schedule_count(&s, (struct instant) { -1500 }, (struct instant) { -1500 }), 0);
        assert_int_equal(schedule_interval_ms(&s, (struct instant) { -1000 }), 1000);
}

static struct instant at(const char *text)
{
        struct instant i;

        assert_int_equal(instant_parse(text, &i), 0);
        return i;
}

static void assert_next(const struct schedule *s, const char *from, const char *next)
{
        struct instant got;
        char text[STAMP_TEXT];

        assert_int_equal(schedule_next(s, at(from), &got), 0);
        instant_text(got, text);
        assert_string_equal(text, next);
}

/* Kwajalein changed sides of the date line: 23 hours of 1969-09-30 came twice, 1993-08-21 not at all. */
static void whole_days_are_shown_twice_and_left_out(void **state)
{
        struct schedule first = cron("0 12 * * *", "Pacific/Kwajalein", false);
        struct schedule both = cron("0 12 * * *", "Pacific/Kwajalein", true);
        struct instant got;

        (void) state;
        assert_next(&first, "1969-09-29T12:00:00Z", "1969-09-30T01:00:00.000Z");
        assert_next(&first, "1969-09-30T01:00:00Z", "1969-10-02T00:00:00.000Z");
        assert_next(&both, "1969-09-30T01:00:00Z", "1969-10-01T00:00:00.000Z");
        assert_next(&both, "1969-10-01T00:00:00Z", "1969-10-02T00:00:00.000Z");
        assert_int_equal(schedule_last(&first, at("1969-10-01T23:59:59Z"), &got), 0);
        assert_int_equal(got.ms, at("1969-09-30T01:00:00Z").ms);
        assert_int_equal(schedule_count(&first, at("1969-09-01T00:00:00Z"), at("1969-11-01T00:00:00Z")), 61);
        assert_int_equal(schedule_count(&both, at("1969-09-01T00:00:00Z"), at("1969-11-01T00:00:00Z")), 62);
        assert_next(&both, "1993-08-20T12:00:00Z", "1993-08-21T00:00:00.000Z");
        assert_next(&both, "1993-08-21T00:00:00Z", "1993-08-22T00:00:00.000Z");
}

/* A fifth Monday of February is 28 years away, and 40 where a century has no leap day. */
static void rare_instants_are_found_both_ways(void **state)
{
        struct schedule s = cron("0 12 * 2 1#5", "America/New_York", false);
        struct instant got;

        (void) state;
        assert_next(&s, "2016-02-29T17:00:00Z", "2044-02-29T17:00:00.000Z");
        assert_next(&s, "2072-02-29T17:00:00Z", "2112-02-29T17:00:00.000Z");
        assert_int_equal(schedule_last(&s, at("2112-02-29T16:59:59Z"), &got), 0);
        assert_int_equal(got.ms, at("2072-02-29T17:00:00Z").ms);
        assert_int_equal(schedule_count(&s, at("2016-02-29T17:00:00Z"), at("2112-02-29T17:00:00Z")), 3);
}

static void what_is_left_out_each_year_is_not_searched_for_ever(void **state)
{
        struct schedule s = cron("30 2 * 3 0#2", "America/New_York", false);
        struct instant now, got;

        (void) state;
        assert_int_equal(instant_parse("2026-01-01T00:00:00Z", &now), 0);
        assert_int_equal(schedule_next(&s, now, &got), -ENOENT);
        assert_int_equal(schedule_interval_ms(&s, now), 0);
        assert_int_equal(schedule_last(&s, now, &got), 0);   /* summer time began in April up to 2006 */
        assert_true(schedule_has(&s, got));
}

static void text_reads_back(void **state)
{
        static const char *const texts[] = {
                "none", "every 250ms", "every 90m", "every 1h anchor 60000", "every 10ms anchor -5", "every 366d",
                "every 1s anchor -9223372036854775808", "every 1s anchor 9223372036854775807",
                "cron 30 5 * * 1-5 tz Europe/Berlin", "cron */5 0 0 L * * tz UTC fold both",
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                struct schedule s, again;
                char text[SCHEDULE_TEXT];
                assert_int_equal(schedule_parse(texts[i], &s), 0);
                schedule_text(&s, text, sizeof(text));
                assert_string_equal(text, texts[i]);
                assert_int_equal(schedule_parse(text, &again), 0);
                assert_true(schedule_equal(&s, &again));
        }
}

static void no_other_text_is_read(void **state)
{
        static const char *const texts[] = {
                "", "nonee", "every", "every ", "every 5", "every s", "every 5x", "every 9ms", "every 367d", "every -5s",
                "every 5s anchor", "every 5s anchor ", "every 5s anchor x", "every 5s anchor 1 ", "every 5s ",
                "every 9223372036854775807d", "every 99999999999999999999s", "every 5s anchor 9223372036854775808",
                "every 5s anchor -9223372036854775809", "cron", "cron 0 0 * * *", "cron 0 0 * * * tz", "cron 0 0 * * * tz ",
                "cron tz UTC", "cron 0 0 * * x tz UTC", "cron 0 0 30 2 * tz UTC", "cron 0 0 * * * tz UTC fold",
                "cron 0 0 * * * tz UTC fold both ", "cron 0 0 * * * tz UTC fold first",
        };
        struct schedule s;
        char long_one[CRON_TEXT + 64];

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (schedule_parse(texts[i], &s) != -EINVAL)
                        fail_msg("%s is read", texts[i]);
        assert_int_equal(schedule_parse("cron 0 0 * * * tz Mars/Phobos", &s), -ENOENT);
        memset(long_one, ' ', sizeof(long_one));
        memcpy(long_one, "cron", 4);
        memcpy(long_one + sizeof(long_one) - 8, " tz UTC", 8);
        assert_int_equal(schedule_parse(long_one, &s), -EINVAL);
        memset(long_one, 'A', sizeof(long_one));
        memcpy(long_one, "cron 0 0 * * * tz ", 18);
        long_one[sizeof(long_one) - 1] = '\0';
        assert_int_equal(schedule_parse(long_one, &s), -EINVAL);
}

static void a_text_is_cut_at_its_room(void **state)
{
        struct schedule s = cron("30 5 * * 1-5", "Europe/Berlin", true);
        char text[12];

        (void) state;
        schedule_text(&s, text, sizeof(text));
        assert_string_equal(text, "cron 30 5 *");
}

static void equal_is_the_same_instants_by_the_same_rule(void **state)
{
        struct schedule a, b, none = { .kind = SCHEDULE_NONE };

        (void) state;
        assert_int_equal(schedule_every(1000, 250, &a), 0);
        assert_int_equal(schedule_every(1000, -5750, &b), 0);
        assert_true(schedule_equal(&a, &b));
        assert_int_equal(schedule_every(1000, 251, &b), 0);
        assert_false(schedule_equal(&a, &b));
        assert_int_equal(schedule_every(2000, 250, &b), 0);
        assert_false(schedule_equal(&a, &b));
        assert_false(schedule_equal(&a, &none));
        assert_true(schedule_equal(&none, &none));
        a = cron("@daily", "Europe/Berlin", false);
        b = cron("0 0 ? * *", "Europe/Berlin", false);
        assert_true(schedule_equal(&a, &b));
        b.fold_both = true;
        assert_false(schedule_equal(&a, &b));
        b = cron("0 0 * * *", "Europe/Paris", false);
        assert_false(schedule_equal(&a, &b));
        b = cron("1 0 * * *", "Europe/Berlin", false);
        assert_false(schedule_equal(&a, &b));
}

static void no_schedule_has_no_instants(void **state)
{
        struct schedule none = { .kind = SCHEDULE_NONE };
        struct instant got = { 0 };

        (void) state;
        assert_int_equal(schedule_next(&none, got, &got), -ENOENT);
        assert_int_equal(schedule_last(&none, got, &got), -ENOENT);
        assert_int_equal(schedule_count(&none, got, (struct instant) { 1000 }), 0);
        assert_false(schedule_has(&none, got));
        assert_int_equal(schedule_interval_ms(&none, got), 0);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(interval_vectors_hold),
                cmocka_unit_test(refused_intervals_are_refused),
                cmocka_unit_test(late_polls_keep_the_grid),
                cmocka_unit_test(next_of_a_moment_before_is_the_instant_itself),
                cmocka_unit_test(extremes_do_not_overflow),
                cmocka_unit_test(cron_ends_where_its_years_end),
                cmocka_unit_test(instants_are_whole_seconds_also_before_the_epoch),
                cmocka_unit_test(whole_days_are_shown_twice_and_left_out),
                cmocka_unit_test(rare_instants_are_found_both_ways),
                cmocka_unit_test(what_is_left_out_each_year_is_not_searched_for_ever),
                cmocka_unit_test(text_reads_back),
                cmocka_unit_test(no_other_text_is_read),
                cmocka_unit_test(a_text_is_cut_at_its_room),
                cmocka_unit_test(equal_is_the_same_instants_by_the_same_rule),
                cmocka_unit_test(no_schedule_has_no_instants),
        };
        return RUN_CASES(argc, argv, "schedule", tests);
}
