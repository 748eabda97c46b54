/* The rule behind a zone's table: every form of it, in all years; libc is the witness for what people write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/schedule/tzrule.h"
#include "common/schedule/zone.h"
#include "t/unit/cases.h"

static struct tzrule rule_of(const char *text)
{
        struct tzrule r;

        if (tzrule_parse(text, strlen(text), &r) < 0)
                fail_msg("refused: %s", text);
        return r;
}

static int64_t second_of(const char *text)
{
        struct instant i;

        assert_int_equal(instant_parse(text, &i), 0);
        return i.ms / MS_PER_S;
}

static bool span_same(const struct zone_span *a, const struct zone_span *b)
{
        return a->from_s == b->from_s && a->until_s == b->until_s && a->offset_s == b->offset_s &&
               a->is_dst == b->is_dst && strcmp(a->abbreviation, b->abbreviation) == 0;
}

static void a_rule_changes_when_it_says(void **state)
{
        (void) state;
        static const struct {
                const char *rule, *from, *until, *name;
                int32_t offset_s;
                bool is_dst;
        } cases[] = {
                /* north, and south over the turn of a year */
                { "CET-1CEST,M3.5.0,M10.5.0/3", "2100-03-28T01:00:00Z", "2100-10-31T01:00:00Z", "CEST", 7200, true },
                { "CET-1CEST,M3.5.0,M10.5.0/3", "2100-10-31T01:00:00Z", "2101-03-27T01:00:00Z", "CET", 3600, false },
                { "EST5EDT,M3.2.0,M11.1.0", "2051-03-12T07:00:00Z", "2051-11-05T06:00:00Z", "EDT", -14400, true },
                { "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45", "2050-09-24T14:00:00Z", "2051-04-01T14:00:00Z",
                  "+1345", 49500, true },
                /* half an hour */
                { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2099-10-03T15:30:00Z", "2100-04-03T15:00:00Z", "+11",
                  39600, true },
                { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2100-04-03T15:00:00Z", "2100-10-02T15:30:00Z", "+1030",
                  37800, false },
                /* summer time is winter, and behind */
                { "IST-1GMT0,M10.5.0,M3.5.0/1", "2051-10-29T01:00:00Z", "2052-03-31T01:00:00Z", "GMT", 0, true },
                { "IST-1GMT0,M10.5.0,M3.5.0/1", "2052-03-31T01:00:00Z", "2052-10-27T01:00:00Z", "IST", 3600, false },
                /* on the day before, and two days after */
                { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2051-03-26T01:00:00Z", "2051-10-29T01:00:00Z", "-01",
                  -3600, true },
                { "EET-2EEST,M3.4.4/50,M10.4.4/50", "2100-03-27T00:00:00Z", "2100-10-29T23:00:00Z", "EEST",
                  10800, true },
                { "AAA0BBB,M1.1.0/-167,M1.1.0/167", "2049-12-26T01:00:00Z", "2050-01-08T22:00:00Z", "BBB",
                  3600, true },
                /* days of the year: 1 March is J60 always, and day 59 in common years */
                { "AAA0BBB,J60/0,J300/0", "2023-03-01T00:00:00Z", "2023-10-26T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,J60/0,J300/0", "2024-03-01T00:00:00Z", "2024-10-26T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,59/0,300/0", "2023-03-01T00:00:00Z", "2023-10-27T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,59/0,300/0", "2024-02-29T00:00:00Z", "2024-10-26T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,J59/0,365/0", "2024-02-28T00:00:00Z", "2024-12-30T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,J59/0,365/0", "2023-02-28T00:00:00Z", "2023-12-31T23:00:00Z", "BBB", 3600, true },
                /* the last of a weekday is the fourth in one year and the fifth in another */
                { "AAA0BBB,M2.5.4/0,M3.1.4/0", "2023-02-23T00:00:00Z", "2023-03-01T23:00:00Z", "BBB", 3600, true },
                { "AAA0BBB,M2.5.4/0,M3.1.4/0", "2024-02-29T00:00:00Z", "2024-03-06T23:00:00Z", "BBB", 3600, true },
                /* offsets with seconds, a sign in front, two hours at once */
                { "AAA+0:0:30BBB-1:59:59,M4.1.0/1:2:3,M9.1.0", "2024-04-07T01:02:33Z", "2024-09-01T00:00:01Z", "BBB",
                  7199, true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct tzrule r = rule_of(cases[i].rule);
                int64_t from_s = second_of(cases[i].from), until_s = second_of(cases[i].until);
                struct zone_span first, last;
                tzrule_span_at(&r, from_s, &first);
                tzrule_span_at(&r, until_s - 1, &last);
                assert_true(span_same(&first, &last));
                if (first.from_s != from_s || first.until_s != until_s)
                        fail_msg("%s: [%lld, %lld) around %s", cases[i].rule, (long long) first.from_s,
                                 (long long) first.until_s, cases[i].from);
                assert_string_equal(first.abbreviation, cases[i].name);
                assert_int_equal(first.offset_s, cases[i].offset_s);
                assert_int_equal(first.is_dst, cases[i].is_dst);
        }
}

static void what_never_changes_is_one_stretch(void **state)
{
        (void) state;
        static const struct {
                const char *rule, *name;
                int32_t offset_s;
        } cases[] = {
                { "UTC0", "UTC", 0 },
                { "<+0530>-5:30", "+0530", 19800 },
                { "<-00>0", "-00", 0 },
                { "<+01>-24:59:59", "+01", 89999 },
                { "XXX3EDT4,0/0,J365/23", "EDT", -14400 },                /* summer from each year's end to the next */
                { "EST5EDT,0/0,J365/25", "EDT", -14400 },
                { "XXX-2<+01>-1,0/0,J365/23", "+01", 3600 },
                { "EST5EDT,0/0,J365/167", "EDT", -14400 },                /* summers overlap */
                { "AAA0BBB,J1/0,J1/1", "AAA", 0 },                        /* empty summers */
                { "AAA0BBB,M3.2.0/0,M3.2.0/1", "AAA", 0 },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                static const int64_t at_s[] = { INT64_MIN, -1, 0, 1700000000, INT64_MAX };
                struct tzrule r = rule_of(cases[i].rule);
                for (size_t k = 0; k < ARRAY_SIZE(at_s); k++) {
                        struct zone_span s;
                        tzrule_span_at(&r, at_s[k], &s);
                        assert_true(s.from_s == INT64_MIN && s.until_s == INT64_MAX);
                        assert_string_equal(s.abbreviation, cases[i].name);
                        assert_int_equal(s.offset_s, cases[i].offset_s);
                }
        }
}

static void a_rule_that_cannot_be_read_is_refused(void **state)
{
        (void) state;
        static const char *const rules[] = {
                "", "CET", "CET-", "CE-1", "-1", "<+1>-1", "<+01-1", "<+0 1>-1", "ABCDEFGHIJKL0", "CET-25", "CET-1:60",
                "CET-1:00:60", "CET-1:", "CET-0001", "CET-1 ", "CET-1,M3.5.0,M10.5.0", "CET-1CEST", "CET-1CEST,M3.5.0",
                "CET-1CE,M3.5.0,M10.5.0", "CET-1CEST-25,M3.5.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0,",
                "CET-1CEST,M3.5.0,M10.5.0/168", "CET-1CEST,M3.5.0,M10.5.0/-168", "CET-1CEST,M3.5.0,M10.5.0/",
                "CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0",
                "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5,M10.5.0",
                "CET-1CEST,M3,M10.5.0", "CET-1CEST,J0,J300", "CET-1CEST,J366,J300", "CET-1CEST,366,300",
                "CET-1CEST,-1,300", "CET-1CEST,,", "CET-1CEST;M3.5.0;M10.5.0", "CET-1CEST,M3.5.0,M10.5.0\n",
        };
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
                struct tzrule r;
                if (tzrule_parse(rules[i], strlen(rules[i]), &r) != -EBADMSG)
                        fail_msg("not refused: %s", rules[i]);
        }
}

static void libc_agrees(void **state)
{
        (void) state;
        static const char *const rules[] = {
                "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1",
                "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45",
                "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "EET-2EEST,M3.4.4/50,M10.4.4/50", "IST-2IDT,M3.4.4/26,M10.5.0",
                "EET-2EEST,M4.5.5/0,M10.5.4/24", "<-04>4<-03>,M9.1.6/24,M4.1.6/24", "CST5CDT,M3.2.0/0,M11.1.0/1",
                "AAA0BBB,J60/0,J300/0", "AAA0BBB,59/0,300/0", "AAA-3BBB-5,M2.5.6/4,J65/1", "AAA10BBB9:30,J180,20",
                "AAA0BBB,M12.5.0,M1.1.0", "AAA0BBB,M2.1.1,M2.5.1",
        };
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
                struct tzrule r = rule_of(rules[i]);
                assert_int_equal(setenv("TZ", rules[i], 1), 0);
                tzset();
                for (int64_t at_s = 0, end_s = second_of("2150-01-01T00:00:00Z"); at_s < end_s; at_s += 19 * 3600 + 7) {
                        struct tm tm;
                        struct zone_span s;
                        tzrule_span_at(&r, at_s, &s);
                        assert_non_null(localtime_r(&at_s, &tm));
                        if (tm.tm_gmtoff != s.offset_s || (tm.tm_isdst > 0) != s.is_dst)
                                fail_msg("%s at %lld: %d, libc: %ld", rules[i], (long long) at_s, s.offset_s,
                                         tm.tm_gmtoff);
                }
        }
}

/* Rules that no parliament has made: summers that come once in decades, or last an hour at the turn of a year. */
static const char *const odd_rules[] = {
        "AAA0BBB,59/0,J60/1",
        "AAA0BBB0,J59/24,M2.5.0/24",
        "AAA0BBB,M2.5.0/24,J59/24",
        "AAA0BBB,J365/167,J1/-167",
        "AAA0BBB,365/23,0/1",
        "AAA-24:59:59BBB24:59:59,M1.1.0/-167,M12.5.0/167",
        "AAA24:59:59BBB-24:59:59,M12.5.6/167,M1.1.0/-167",
        "AAA0BBB,M3.1.0,J65",
        "AAA0BBB,J365/140,J365/100",   /* ends in the second January after the year that it belongs to */
        "AAA0BBB0,0/0,365/0",          /* goes on over a common year's end, not over a leap year's */
};

static void the_stretches_of_any_rule_follow_each_other(void **state)
{
        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(odd_rules); i++) {
                struct tzrule r = rule_of(odd_rules[i]);
                struct zone_span s, last, next;
                tzrule_span_at(&r, second_of("1890-01-01T00:00:00Z"), &s);
                for (unsigned k = 0; k < 500 && s.until_s < INT64_MAX; k++, s = next) {
                        tzrule_span_at(&r, s.until_s - 1, &last);
                        tzrule_span_at(&r, s.until_s, &next);
                        if (!span_same(&s, &last) || next.from_s != s.until_s || next.is_dst == s.is_dst)
                                fail_msg("%s: at %lld", odd_rules[i], (long long) s.until_s);
                }
        }
}

static void a_summer_may_come_once_in_decades(void **state)
{
        (void) state;
        struct tzrule r = rule_of("AAA0BBB0,59/0,J60/0");   /* 29 February, if there is one; 1900 had none */
        struct zone_span s;
        tzrule_span_at(&r, second_of("1900-01-01T00:00:00Z"), &s);
        assert_int_equal(s.from_s, second_of("1896-03-01T00:00:00Z"));
        assert_int_equal(s.until_s, second_of("1904-02-29T00:00:00Z"));
}

static void the_ends_of_time_do_not_overflow(void **state)
{
        (void) state;
        struct tzrule r = rule_of("CET-1CEST,M3.5.0,M10.5.0/3");
        struct zone_span s, near;
        tzrule_span_at(&r, INT64_MIN, &s);
        assert_true(s.from_s == INT64_MIN && s.until_s > INT64_MIN && s.until_s < INT64_MIN + 366 * 86400LL);
        tzrule_span_at(&r, s.until_s, &near);
        assert_int_equal(near.from_s, s.until_s);
        tzrule_span_at(&r, INT64_MAX, &s);
        assert_true(s.until_s == INT64_MAX && s.from_s > INT64_MAX - 366 * 86400LL);
        tzrule_span_at(&r, s.from_s - 1, &near);
        assert_int_equal(near.until_s, s.from_s);
}

static void a_rule_repeats_after_400_years(void **state)
{
        (void) state;
        struct tzrule r = rule_of("CET-1CEST,M3.5.0,M10.5.0/3");
        int64_t cycle_s = 146097 * 86400LL;
        for (int64_t cycles = -1000000; cycles <= 1000000; cycles += 125000) {
                struct zone_span a, b;
                tzrule_span_at(&r, 1000000000, &a);
                tzrule_span_at(&r, 1000000000 + cycles * cycle_s, &b);
                assert_int_equal(b.from_s - a.from_s, cycles * cycle_s);
                assert_int_equal(b.until_s - a.until_s, cycles * cycle_s);
        }
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_rule_changes_when_it_says),
                cmocka_unit_test(what_never_changes_is_one_stretch),
                cmocka_unit_test(a_rule_that_cannot_be_read_is_refused),
                cmocka_unit_test(libc_agrees),
                cmocka_unit_test(the_stretches_of_any_rule_follow_each_other),
                cmocka_unit_test(a_summer_may_come_once_in_decades),
                cmocka_unit_test(the_ends_of_time_do_not_overflow),
                cmocka_unit_test(a_rule_repeats_after_400_years),
        };
        return RUN_CASES(argc, argv, "tzrule", tests);
}
