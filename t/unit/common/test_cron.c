/* Cron expressions: every vector, what is refused and why, and one text for one meaning. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/schedule.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"
#include "t/unit/common/vectors_schedule.h"

static void check_refused(const json_t *line)
{
        struct schedule s;
        struct cron_error error = { 0 };
        const char *expr = vector_text(line, "expr");

        if (schedule_cron(expr, "UTC", false, &s, &error) != -EINVAL)
                fail_msg("%s: %s is not refused", vector_text(line, "id"), expr);
        assert_true(error.text[0] != '\0' && error.at + error.length <= strlen(expr));
}

static void check_cron(const json_t *line)
{
        const json_t *all = json_object_get(line, "next"), *want;
        struct instant at, got;
        struct schedule s;
        size_t i;

        if (json_is_true(json_object_get(line, "error"))) {
                check_refused(line);
                return;
        }
        int r = vector_schedule(line, &s);
        at = vector_instant(json_object_get(line, "from"));
        if (json_array_size(all) == 0) {
                if (r != -ERANGE && (r != 0 || schedule_next(&s, at, &got) != -ENOENT))
                        fail_msg("%s: it comes", vector_text(line, "id"));
                return;
        }
        if (r != 0)
                fail_msg("%s: refused", vector_text(line, "id"));
        json_array_foreach(all, i, want) {
                struct instant before = at;
                if (schedule_next(&s, at, &got) < 0 || got.ms != vector_instant(want).ms)
                        fail_msg("%s: result %zu is %lld", vector_text(line, "id"), i, (long long) got.ms);
                assert_true(schedule_has(&s, got));
                assert_int_equal(schedule_count(&s, before, got), 1);
                assert_int_equal(schedule_last(&s, got, &at), 0);
                assert_int_equal(at.ms, got.ms);
        }
}

static void cron_vectors_hold(void **state)
{
        (void) state;
        size_t run = vectors_each("cron.jsonl", check_cron);
        print_message("%zu cases of cron.jsonl\n", run);
        assert_int_equal(run, 752);
}

static size_t zones_refused;

static void check_zone_refused(const json_t *line)
{
        struct schedule s;
        struct cron_error error = { 0 };

        if (!json_object_get(line, "tz"))
                return;
        if (schedule_cron("0 9 * * *", vector_text(line, "tz"), false, &s, &error) == 0)
                fail_msg("%s: %s is taken for a zone", vector_text(line, "id"), vector_text(line, "tz"));
        assert_true(error.text[0] != '\0' && error.length == 0);
        zones_refused++;
}

static void refused_zones_are_refused(void **state)
{
        (void) state;
        (void) vectors_each("refused.jsonl", check_zone_refused);
        assert_int_equal(zones_refused, 19);
}

static void what_is_refused_is_said(void **state)
{
        static const struct {
                const char *expr;
                size_t at, length;
                const char *text;
        } cases[] = {
                { "0 0 32 * *", 4, 2, "field 3, day of month: \"32\" is out of range; allowed are 1-31, ?, L, LW and nW" },
                { "0 0 1 * 1,MOO", 10, 3, "field 5, day of week: \"MOO\" cannot be read; allowed are 0-7, SUN-SAT, ?, dL "
                                          "and d#1 to d#5" },
                { "0 22-2 * * *", 2, 4, "field 2, hour: \"22-2\" runs backwards; write 22-23,0-2" },
                { "0 0 * NOV-FEB *", 6, 7, "field 4, month: \"NOV-FEB\" runs backwards; write 11-12,1-2" },
                { "59-0 * * * *", 0, 4, "field 1, minute: \"59-0\" runs backwards; write 59,0" },
                { "0 20-4/2 * * *", 2, 6, "field 2, hour: \"20-4/2\" runs backwards; write 20-23,0-4, with a step in each "
                                          "part" },
                { "0 0 * * SAT-MON", 8, 7, "field 5, day of week: \"SAT-MON\" runs backwards; write 6,0-1" },
                { "0 0 * * 5-0", 8, 3, "field 5, day of week: \"5-0\" runs backwards; write 5-7" },
                { "0 0 * * 7-2", 8, 3, "field 5, day of week: \"7-2\" runs backwards; write 0-2" },
                { "*/90 * * * *", 0, 4, "field 1, minute: \"*/90\" has a step of more than the 60 values of the field, and "
                                        "would match the first alone; \"every\" takes any interval" },
                { "0 0 * */13 *", 6, 4, "field 4, month: \"*/13\" has a step of more than the 12 values of the field, and "
                                        "would match the first alone" },
                { "0 0 * * */8", 8, 3, "field 5, day of week: \"*/8\" has a step of more than the 7 values of the field, "
                                       "and would match the first alone" },
                { "*/0 * * * *", 0, 3, "field 1, minute: \"*/0\" has a step of 0; a step is at least 1" },
                { "1-5x * * * *", 0, 4, "field 1, minute: \"1-5x\" cannot be read; behind * or a range only a step may "
                                        "follow: /n" },
                { "5/15 * * * *", 0, 4, "field 1, minute: \"5/15\" has a step on a single value; a step needs * or a range: "
                                        "5-59/n" },
                { "0 0 * * MON/2", 8, 5, "field 5, day of week: \"MON/2\" has a step on a single value; a step needs * or a "
                                         "range: 1-7/n" },
                { "1,,2 * * * *", 0, 4, "field 1, minute: \"1,,2\" has an empty item; items are separated by one comma" },
                { "0 0 1,15W * *", 4, 5, "field 3, day of month: \"1,15W\" cannot be read; L, LW and nW (15W) stand alone "
                                         "in the field" },
                { "0 0 32W * *", 4, 3, "field 3, day of month: \"32W\" is out of range; allowed are 1W to 31W" },
                { "0 0 L-3 * *", 4, 3, "field 3, day of month: \"L-3\" cannot be read; L, LW and nW (15W) stand alone in "
                                       "the field" },
                { "0 0 * * 5#6", 8, 3, "field 5, day of week: \"5#6\" cannot be read; behind # stands which one of the "
                                       "month, 1 to 5" },
                { "0 0 * * 5LL", 8, 3, "field 5, day of week: \"5LL\" cannot be read; nothing may stand behind L" },
                { "0 0 ?,1 * *", 4, 3, "field 3, day of month: \"?,1\" cannot be read; ? stands alone in the field" },
                { "0 ? * * *", 2, 1, "field 2, hour: \"?\" cannot be read; ? is for the day of month or the day of week" },
                { "0 0 ? * ?", 8, 1, "field 5, day of week: \"?\" is the second ?; one of the two day fields may be ?, the "
                                     "other says which days" },
                { "@dayly", 0, 6, "\"@dayly\" is no macro; there are @hourly @daily @midnight @weekly @monthly @yearly "
                                "@annually" },
                { " @daily 5", 8, 1, "\"5\" is too much: nothing may stand behind @daily" },
                { "@reboot", 0, 7, "\"@reboot\" is no time but the start of a machine, and there are no instants to plan" },
                { "* * * *", 0, 7, "\"* * * *\" has 4 fields; a cron expression has five (minute, hour, day of month, "
                                   "month, day of week), or six with the second in front" },
                { "*", 0, 1, "\"*\" has 1 field; a cron expression has five (minute, hour, day of month, month, day of "
                             "week), or six with the second in front" },
                { "", 0, 0, "\"\" has 0 fields; a cron expression has five (minute, hour, day of month, month, day of "
                            "week), or six with the second in front" },
                { "\t\x01\xff * * * *", 1, 2, "field 1, minute: \"??\" cannot be read; allowed are 0-59" },
                { "0 0 * * aaaaaaaaaabbbbbbbbbbccccccccccdddddddddde", 8, 41,
                  "field 5, day of week: \"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...\" cannot be read; allowed are 0-7, "
                  "SUN-SAT, ?, dL and d#1 to d#5" },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct cron c;
                struct cron_error e = { 0 };
                assert_int_equal(cron_parse(cases[i].expr, &c, &e), -EINVAL);
                assert_string_equal(e.text, cases[i].text);
                assert_int_equal(e.at, cases[i].at);
                assert_int_equal(e.length, cases[i].length);
        }
}

static void an_expression_has_an_end(void **state)
{
        char long_one[CRON_MAX + 1];
        struct cron c;
        struct cron_error e;

        (void) state;
        memset(long_one, ' ', CRON_MAX);
        long_one[CRON_MAX] = '\0';
        memcpy(long_one, "* * * * *", 9);
        assert_int_equal(cron_parse(long_one, &c, &e), -EINVAL);
        long_one[CRON_MAX - 1] = '\0';
        assert_int_equal(cron_parse(long_one, &c, &e), 0);
}

static void what_never_comes_is_an_error_of_its_own(void **state)
{
        static const char *const never[] = { "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31W 2 *", "* * 30-31 FEB ?" };
        static const char *const rare[] = { "0 0 29 2 *", "0 0 * 2 1#5", "0 0 30 2 1", "0 0 29W 2 *", "0 0 31W 1 *" };
        struct schedule s;
        struct cron_error e;

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
                assert_int_equal(schedule_cron(never[i], "UTC", false, &s, &e), -ERANGE);
                assert_string_equal(e.text, "never comes: no month that it names has a day that it names");
        }
        for (size_t i = 0; i < ARRAY_SIZE(rare); i++)
                assert_int_equal(schedule_cron(rare[i], "UTC", false, &s, &e), 0);
}

/* Each line is one meaning: its text first, then other ways to write it. */
static void one_meaning_has_one_text(void **state)
{
        static const char *const same[][8] = {
                { "0 0 * * *", "@daily", "@MIDNIGHT", "0 0 ? * *", "0 0 * * ?", "0 0 1-31 * 1", "0 0 0 * * 0-7",
                  "00 000 */1 1-12 1#2" },
                { "0 * * * *", "@hourly", "0 0-23 * * *", "0 */1 * * *", "0 0,1-23 * JAN-DEC *" },
                { "0 0 * * 0", "@weekly", "0 0 * * 7", "0 0 * * sun", "0 0 ? * SUN-SUN", "0 0 * * 0,7", "0 0 * * 0-7/7" },
                { "0 0 1 1 *", "@yearly", "@annually", "0 0 1 jan ?", "0 0 01 01 *" },
                { "0 0 1 * *", "@monthly", "\t0 0  1\t* * " },
                { "*/10 * * * *", "0,10,20,30,40,50 * * * *", "0-59/10 * * * *", "0-50/10 * * * *" },
                { "0 0 * * 0,5,6", "0 0 * * FRI-SUN", "0 0 * * 5-7", "0 0 * * fri-7", "0 0 * * SAT-SUN,FRI" },
                { "0 0 * * 0-2", "0 0 * * SUN-TUE", "0 0 * * 0,MON,2", "0 0 * * 7,1-2" },
                { "0 0 * * 1-5/2", "0 0 * * MON-FRI/2", "0 0 * * MON,WED,FRI", "0 0 * * 5,3,1" },
                { "0 0 1 */3 *", "0 0 1 1-10/3 *", "0 0 1 JAN-DEC/3 *", "0 0 1 1,4,7,10 *" },
                { "0 0 * * 1", "0 0 * * MON#1,MON#2,MON#3,MON#4,MON#5", "0 0 * * 1,1#2", "0 0 * * 1L,1" },
                { "0 0 * * 5#3,2L", "0 0 * * tueL,fri#3", "0 0 * * 2l,5#3" },
                { "0 0 1-31/2 * 1", "0 0 */2 * 1" },
                { "0 0 LW * *", "0 0 lw * *", "0 0 lW * ?" },
                { "*/5 * * * * *", "0-55/5 * * * * *" },
                { "0 0 * * 0-6/2", "0 0 * * */2" },
                { "0 0 15W * *", "0 0 015w * *" },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
                struct cron first, c;
                struct cron_error e;
                char text[CRON_TEXT];
                for (size_t k = 0; k < ARRAY_SIZE(same[i]) && same[i][k]; k++) {
                        if (cron_parse(same[i][k], k == 0 ? &first : &c, &e) < 0)
                                fail_msg("%s: %s", same[i][k], e.text);
                        cron_text(k == 0 ? &first : &c, text);
                        assert_string_equal(text, same[i][0]);
                        assert_true(k == 0 || cron_equal(&first, &c));
                }
        }
}

static void what_daemons_read_differently_is_doubted(void **state)
{
        static const char *const doubted[] = { "0 0 */2 * 1", "0 0 1 * */2", "0 0 *,5 * 1", "0 0 */1 * 1", "0 0 1 * 1,*" };
        static const char *const plain[] = { "0 0 * * 1", "0 0 */2 * *", "0 0 ? * */2", "0 0 1-31/2 * 1", "*/5 */2 * */3 *",
                                             "0 0 13 * 5" };
        struct cron c;
        struct cron_error e;

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(doubted); i++) {
                assert_int_equal(cron_parse(doubted[i], &c, &e), 0);
                assert_non_null(cron_doubt(&c));
        }
        for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
                assert_int_equal(cron_parse(plain[i], &c, &e), 0);
                assert_null(cron_doubt(&c));
        }
}

static void a_sentence_says_the_schedule(void **state)
{
        static const struct {
                const char *expr, *sentence;
        } cases[] = {
                { "35 5 * * 1-5", "at 05:35 on Monday to Friday" },
                { "* * * * *", "every minute" },
                { "* * * * * *", "every second" },
                { "*/10 8-17 * * *", "every 10 minutes of hours 8 to 17 every day" },
                { "5,35 * * * *", "at minutes 5 and 35 of every hour" },
                { "0 9,17 * * SAT-SUN", "at 09:00 and 17:00 on Saturday and Sunday" },
                { "0 0 * * FRI-SUN", "at 00:00 on Friday to Sunday" },
                { "15 30 8 1,2,3,15 1-3,12 *", "at 08:30:15 on days 1 to 3 and 15 of the month in January to March and "
                                               "December" },
                { "0 0 13 * 5", "at 00:00 on day 13 of the month or on Friday" },
                { "0 12 L 2 *", "at 12:00 on the last day of the month in February" },
                { "0 12 LW * *", "at 12:00 on the last Monday to Friday of the month" },
                { "0 12 15W * *", "at 12:00 on the Monday to Friday nearest day 15 of the month" },
                { "0 12 * * 1#1,FRIL,3", "at 12:00 on Wednesday, the first Monday and the last Friday of the month" },
                { "10 * * * * *", "at second 10 of every minute" },
                { "*/20 5 * * * *", "every 20 seconds of minute 5 of every hour" },
                { "7 5,6 1-9 * * *", "at second 7 of minutes 5 and 6 of hours 1 to 9 every day" },
                { "*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour" },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct cron c;
                struct cron_error e;
                char text[512], cut[10];
                assert_int_equal(cron_parse(cases[i].expr, &c, &e), 0);
                cron_sentence(&c, text, sizeof(text));
                assert_string_equal(text, cases[i].sentence);
                cron_sentence(&c, cut, sizeof(cut));
                assert_memory_equal(cut, text, sizeof(cut) - 1);
                assert_int_equal(cut[sizeof(cut) - 1], '\0');
        }
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(cron_vectors_hold),
                cmocka_unit_test(refused_zones_are_refused),
                cmocka_unit_test(what_is_refused_is_said),
                cmocka_unit_test(an_expression_has_an_end),
                cmocka_unit_test(what_never_comes_is_an_error_of_its_own),
                cmocka_unit_test(one_meaning_has_one_text),
                cmocka_unit_test(what_daemons_read_differently_is_doubted),
                cmocka_unit_test(a_sentence_says_the_schedule),
        };
        return RUN_CASES(argc, argv, "cron", tests);
}
