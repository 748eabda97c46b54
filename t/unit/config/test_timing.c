/* Schedules of a configuration: what they come to, where a mistake in them stands, and what is likely a slip. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/schedule/zone.h"

#define TASKS "defaults: { timeout: 30s }\ntasks:\n"

static const struct task *task(const struct fixture *f, const char *name)
{
        if (!f->config)
                print_complaints(f);
        assert_non_null(f->config);
        const struct task *t = config_task(f->config, name);
        assert_non_null(t);
        return t;
}

static void check_schedule(const struct fixture *f, const char *name, const char *expected)
{
        char text[SCHEDULE_TEXT];

        schedule_text(&task(f, name)->schedule, text, sizeof(text));
        assert_string_equal(text, expected);
}

static void a_cron_task_has_its_schedule(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, cron: '30 5 * * MON-FRI', tz: Europe/Berlin, dst_fold: both, noop: }\n"
                              "- { name: b, cron: '@daily', noop: }\n"
                              "- { name: c, cron: '*/10 0 9 1 * ?', tz: Asia/Shanghai, noop: }\n");
        assert_int_equal(f->complaints.count, 0);
        check_schedule(f, "a", "cron 30 5 * * 1-5 tz Europe/Berlin fold both");
        check_schedule(f, "b", "cron 0 0 * * * tz UTC");
        check_schedule(f, "c", "cron */10 0 9 1 * * tz Asia/Shanghai");
        assert_string_equal(task(f, "a")->cron, "30 5 * * MON-FRI");
        assert_string_equal(zone_name(task(f, "a")->schedule.zone), "Europe/Berlin");
        assert_string_equal(task(f, "b")->tz, "UTC");
}

static void the_nearest_level_gives_the_schedule_and_zones_come_from_any(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "defaults: { timeout: 30s, cron: '0 9 * * *', tz: Asia/Shanghai, dst_fold: both, anchor: 5 }\ntasks:\n"
                        "- { name: plain, noop: }\n"
                        "- { name: zone, tz: Europe/Paris, dst_fold: first, noop: }\n"
                        "- { name: own, cron: '0 10 * * *', noop: }\n"
                        "- { name: interval, every: 10m, noop: }\n");
        assert_int_equal(f->complaints.count, 0);
        check_schedule(f, "plain", "cron 0 9 * * * tz Asia/Shanghai fold both");
        check_schedule(f, "zone", "cron 0 9 * * * tz Europe/Paris");
        check_schedule(f, "own", "cron 0 10 * * * tz Asia/Shanghai fold both");
        check_schedule(f, "interval", "every 10m anchor 5");
        assert_null(task(f, "interval")->cron);
        assert_null(task(f, "interval")->tz);

        fixture_load(f, "defaults: { timeout: 30s, every: 1m, anchor: 5 }\ntasks:\n- { name: a, cron: '@hourly', noop: }\n");
        check_schedule(f, "a", "cron 0 * * * * tz UTC");
}

struct place_case {
        const char *task;
        unsigned line, column;
        const char *fragment;
};

static void check_places(struct fixture *f, const struct place_case *cases, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                char text[512];
                (void) snprintf(text, sizeof(text), TASKS "%s\n", cases[i].task);
                fixture_load(f, text);
                if (f->complaints.errors == 1 &&
                    complained(f, SEVERITY_ERROR, cases[i].line, cases[i].column, cases[i].fragment))
                        continue;
                print_complaints(f);
                fail_msg("expected %u:%u \"%s\":\n%s", cases[i].line, cases[i].column, cases[i].fragment, text);
        }
}

static void a_mistake_is_pointed_at_inside_the_value(void **state)
{
        static const struct place_case cases[] = {
                { "- { name: a, cron: '0 25 * * *', noop: }", 3, 23, "task \"a\": cron: field 2, hour: \"25\"" },
                { "- { name: a, cron: \"0 25 * * *\", noop: }", 3, 23, "field 2, hour: \"25\"" },
                { "- name: a\n  noop:\n  cron: 0 9 * * MOON", 5, 17, "field 5, day of week: \"MOON\"" },
                { "- name: a\n  noop:\n  cron:   0   9 1,32 * *  # comment", 5, 19, "field 3, day of month: \"32\"" },
                { "- { name: a, cron: '0 22-2 * * *', noop: }", 3, 23, "22-23,0-2" },
                { "- { name: a, cron: '@dayly', noop: }", 3, 21, "@daily" },
                { "- { name: a, tz: 'Mars Base', cron: '@daily', noop: }", 3, 18, "tz: " },
                { "- { name: a, tz: Europe/Berln, cron: '@daily', noop: }", 3, 18, "Europe/Berlin" },
                { "- { name: a, tz: ../../etc/passwd, cron: '@daily', noop: }", 3, 18, "tz: " },
                { "- { name: a, tz: '', cron: '@daily', noop: }", 3, 18, "tz: " },
                { "- { name: a, cron: '', noop: }", 3, 20, "cron: " },
                { "- { name: a, cron: [0, 9], noop: }", 3, 20, "cron: must be a single value, not a list" },
                { "- { name: a, cron: '@daily', dst_fold: last, noop: }", 3, 40, "is none of first, both" },
        };

        check_places(*state, cases, ARRAY_SIZE(cases));
}

/* Between the file and the value there are escapes, a folded line, a variable: then the value as a whole is named. */
static void a_value_that_is_not_as_in_the_file_is_pointed_at_as_a_whole(void **state)
{
        static const struct place_case cases[] = {
                { "- { name: a, cron: \"\\x30 25 * * *\", noop: }", 3, 20, "\"25\"" },
                { "- name: a\n  noop:\n  cron: 0 25\n    * * *", 5, 9, "\"25\"" },
                { "- { name: a, cron: '0 ${ONCED_T_HOUR} * * *', noop: }", 3, 20, "\"25\"" },
                { "- name: a\n  noop:\n  cron: >-\n    0 25 * * *", 5, 9, "\"25\"" },
        };

        setenv("ONCED_T_HOUR", "25", 1);
        check_places(*state, cases, ARRAY_SIZE(cases));
        unsetenv("ONCED_T_HOUR");
}

static void what_never_comes_is_an_error(void **state)
{
        static const struct place_case cases[] = {
                { "- { name: a, cron: '0 0 30 2 *', noop: }", 3, 20, "cron: " },
                { "- { name: a, cron: '0 0 31 4,6,9,11 *', tz: Europe/Berlin, noop: }", 3, 20, "cron: " },
                { "- { name: a, cron: '30 2 * 3 0L', tz: Europe/Berlin, noop: }", 3, 20, "cron: never comes in Europe/Berlin" },
        };
        struct fixture *f = *state;

        check_places(f, cases, ARRAY_SIZE(cases));
        fixture_load(f, TASKS "- { name: a, cron: '0 0 29 2 1', noop: }\n");   /* rare, but it comes */
        check_schedule(f, "a", "cron 0 0 29 2 1 tz UTC");
}

static void all_mistakes_are_said_and_those_of_defaults_once(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, cron: '61 * * * *', tz: Nowhere, dst_fold: never, noop: }\n"
                              "- { name: b, cron: '* * * * 9', noop: }\n");
        assert_int_equal(f->complaints.errors, 4);
        fixture_load(f, "defaults: { timeout: 1s, cron: '0 0 30 2 *' }\n"
                        "tasks:\n- { name: a, noop: }\n- { name: b, noop: }\n- { name: c, every: 1s, noop: }\n");
        assert_int_equal(f->complaints.errors, 1);
        assert_true(complained(f, SEVERITY_ERROR, 1, 32, "task \"a\": cron: "));
        fixture_load(f, "defaults: { timeout: 1s, cron: '0 0 * *', tz: Moon }\n"
                        "tasks:\n- { name: a, noop: }\n- { name: b, noop: }\n");
        assert_int_equal(f->complaints.errors, 2);
        assert_true(complained(f, SEVERITY_ERROR, 1, 33, "defaults.cron: "));
        assert_true(complained(f, SEVERITY_ERROR, 1, 47, "defaults.tz: "));
}

/* 255 bytes are the longest expression; a zone's name is short. */
static void long_texts_are_refused(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        buf_text(&text, TASKS "- { name: a, tz: ");
        for (int i = 0; i < 500; i++)
                buf_text(&text, "x");
        buf_text(&text, ", cron: '0");
        for (int i = 0; i < 500; i++)
                buf_text(&text, ",0");
        buf_text(&text, " * * * *', noop: }\n");
        fixture_load_bytes(f, text.data, text.len);
        assert_int_equal(f->complaints.errors, 2);
}

static void when_hashes_of(struct fixture *f, const char *keys, char ret[17])
{
        char text[256];

        (void) snprintf(text, sizeof(text), TASKS "- { name: a, noop: true, %s }\n", keys);
        fixture_load(f, text);
        memcpy(ret, task(f, "a")->when_hash, 17);
}

/* Another hash ends the schedule that is in force, so the same meaning must have the same. */
static void the_same_schedule_in_other_words_has_the_same_hash(void **state)
{
        static const struct { const char *a, *b; bool same; } cases[] = {
                { "cron: '30 5 * * 1-5'", "cron: ' 30  05 ? * mon-fri '", true },
                { "cron: '@daily'", "cron: '0 0 * * *'", true },
                { "cron: '@daily'", "cron: '0 0 0 * * *'", true },
                { "cron: '@daily'", "cron: '@daily', tz: UTC, dst_fold: first, anchor: 0", true },
                { "cron: '@daily'", "cron: '@daily', anchor: 7", true },
                { "every: 1h", "every: 60m, tz: Europe/Berlin, dst_fold: both", true },
                { "cron: '@daily'", "cron: '@daily', tz: Europe/Berlin", false },
                { "cron: '@daily', tz: Europe/Berlin", "cron: '@daily', tz: Europe/Berlin, dst_fold: both", false },
                { "cron: '@daily'", "cron: '@hourly'", false },
                { "cron: '@daily'", "cron: '@daily', enabled: false", false },
                { "cron: '@daily'", "cron: '@daily', shards: 2", false },
        };
        struct fixture *f = *state;
        char a[17], b[17];

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                when_hashes_of(f, cases[i].a, a);
                when_hashes_of(f, cases[i].b, b);
                if ((strcmp(a, b) == 0) != cases[i].same)
                        fail_msg("%s: %s, %s: %s", cases[i].a, a, cases[i].b, b);
        }
}

static void likely_slips_are_warned_about(void **state)
{
        static const struct { const char *keys; unsigned column; const char *fragment; } cases[] = {
                { "cron: '0 4 * * *', tz: Europe/Berlin", 0, NULL },
                { "cron: '* * * * *', tz: UTC", 0, NULL },
                { "cron: '* * * * *', tz: Asia/Shanghai", 0, NULL },       /* no summer time any more */
                { "cron: '* * * * *', tz: Europe/Berlin, dst_fold: both", 0, NULL },
                { "cron: '* * * * *', tz: Europe/Berlin, dst_fold: first", 0, NULL },   /* said, so meant */
                { "cron: '* * * 6 *', tz: Europe/Berlin", 0, NULL },       /* the clock is not put back in June */
                { "cron: '*/5 * * * *', tz: Europe/Berlin", 32, "cron: is for every hour, but nothing fires the second time" },
                { "cron: '15 0 * * * *', tz: America/New_York", 32, "01:00-02:00 comes in America/New_York" },
                { "cron: '0 45 * * * *', tz: Australia/Lord_Howe", 32, "01:30-02:00 comes in Australia/Lord_Howe" },
                { "cron: '15 * * * *', tz: Australia/Lord_Howe", 0, NULL },   /* 01:15 comes once there */
                { "cron: '0 0 */2 * 1'", 32, "cron: " },                   /* daemons differ */
                { "every: 1s, tz: Europe/Berlin", 41, "tz: has no effect beside \"every\"" },
                { "every: 1s, dst_fold: both", 47, "dst_fold: has no effect beside \"every\"" },
                { "every: 1s, tz: UTC, dst_fold: first", 0, NULL },
                { "cron: '@daily', anchor: 5", 50, "anchor: has no effect beside \"cron\"" },
                { "cron: '@daily', anchor: 0", 0, NULL },
                { "cron: '*/10 * * * *', misfire: { grace: 10m }", 0, NULL },
                { "cron: '*/10 * * * *', misfire: { grace: 11m }", 66, "misfire.grace: is longer than the interval" },
                { "cron: '*/10 9-17 * * *', misfire: { grace: 11m }", 0, NULL },   /* at 17:50 it is not */
                { "cron: '*/10 * * * *', window: 11m", 56, "window: is longer than the interval" },
                { "cron: '0 9 * * *', misfire: catch_up", 54, "catch_up looks back 1h" },
                { "cron: '0 9 * * *', misfire: { policy: catch_up, lookback: 1h }", 0, NULL },   /* said, so meant */
                { "cron: '0 9 * * *', misfire: { policy: catch_up, lookback: 2d }", 0, NULL },
                { "every: 2h, misfire: catch_up", 46, "shorter than the interval" },
                { "every: 1h, misfire: catch_up", 0, NULL },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[256];
                (void) snprintf(text, sizeof(text), TASKS "- { name: a, noop: true, %s }\n", cases[i].keys);
                fixture_load(f, text);
                bool fine = f->config && f->complaints.count == (cases[i].fragment ? 1 : 0) &&
                            (!cases[i].fragment || complained(f, SEVERITY_WARNING, 3, cases[i].column, cases[i].fragment));
                if (fine)
                        continue;
                print_complaints(f);
                fail_msg("expected %s at %u:\n%s", cases[i].fragment ? cases[i].fragment : "no warning", cases[i].column,
                         text);
        }
}

static void a_time_that_the_clock_skips_is_noted(void **state)
{
        static const struct { const char *keys, *fragment; } cases[] = {
                { "cron: '30 2 * * *', tz: Europe/Berlin", "cron: nothing fires within 02:00-03:00 on 20" },
                { "cron: '0 2 * * SUN', tz: Europe/Berlin", "the clock of Europe/Berlin skips that time" },
                { "cron: '15 2 1-31 3 *', tz: America/New_York", "-03-" },
                { "cron: '15 2 * * *', tz: Australia/Lord_Howe", "nothing fires within 02:00-02:30 on 20" },
                { "cron: '30 2 * * *'", NULL },                                 /* UTC */
                { "cron: '30 2 * * MON', tz: Europe/Berlin", NULL },            /* it is always a Sunday */
                { "cron: '30 2 * 7 *', tz: Europe/Berlin", NULL },
                { "cron: '0 3 * * *', tz: Europe/Berlin", NULL },
                { "cron: '45 2 * * *', tz: Australia/Lord_Howe", NULL },
                { "cron: '*/5 * * * *', tz: Europe/Berlin, dst_fold: both", NULL },   /* all the time goes on */
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[256];
                (void) snprintf(text, sizeof(text), TASKS "- { name: a, noop: true, %s }\n", cases[i].keys);
                fixture_load(f, text);
                assert_non_null(f->config);
                assert_int_equal(f->complaints.warnings + f->complaints.errors, 0);
                assert_int_equal(f->complaints.count, cases[i].fragment ? 1 : 0);
                if (cases[i].fragment && !complained(f, SEVERITY_NOTE, 3, 32, cases[i].fragment)) {
                        print_complaints(f);
                        fail_msg("expected a note with \"%s\": %s", cases[i].fragment, cases[i].keys);
                }
        }
}

static void what_is_likely_a_slip_in_defaults_is_said_once(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "defaults: { timeout: 1s, cron: '* * * * *', tz: Europe/Berlin }\n"
                        "tasks:\n- { name: a, noop: }\n- { name: b, noop: }\n- { name: c, every: 1s, noop: }\n");
        assert_int_equal(f->complaints.warnings, 1);
        assert_true(complained(f, SEVERITY_WARNING, 1, 32, "is for every hour"));
}

static void a_dump_shows_what_holds_and_loads_without_a_word(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf dump = BUF_EMPTY;

        fixture_load(f, "defaults: { timeout: 1s, tz: Europe/Berlin, dst_fold: first }\ntasks:\n"
                        "- { name: a, cron: '* * * * MON-FRI', noop: }\n- { name: b, every: 1h, noop: }\n");
        (void) task(f, "a");
        config_dump(f->config, &dump);
        assert_non_null(strstr(dump.data, "    cron: \"* * * * MON-FRI\"\n"));
        assert_non_null(strstr(dump.data, "    tz: \"Europe/Berlin\"\n    dst_fold: first\n"));
        assert_null(strstr(strstr(dump.data, "\"b\""), "tz:"));
        fixture_load_bytes(f, dump.data, dump.len);
        assert_int_equal(f->complaints.count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(a_cron_task_has_its_schedule),
                CASE(the_nearest_level_gives_the_schedule_and_zones_come_from_any),
                CASE(a_mistake_is_pointed_at_inside_the_value),
                CASE(a_value_that_is_not_as_in_the_file_is_pointed_at_as_a_whole),
                CASE(what_never_comes_is_an_error),
                CASE(all_mistakes_are_said_and_those_of_defaults_once),
                CASE(long_texts_are_refused),
                CASE(the_same_schedule_in_other_words_has_the_same_hash),
                CASE(likely_slips_are_warned_about),
                CASE(a_time_that_the_clock_skips_is_noted),
                CASE(what_is_likely_a_slip_in_defaults_is_said_once),
                CASE(a_dump_shows_what_holds_and_loads_without_a_word),
        };

        return RUN_CASES(argc, argv, "config timing", tests);
}
