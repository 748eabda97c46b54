/* Small readers and writers: the Accept header, the question for history, the table for people. */
#include "t/unit/cases.h"

#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/table.h"
#include "common/buf.h"
#include "common/record/names.h"
#include "console/history.h"
#include "console/negotiate.h"

static void json_is_given_only_to_who_likes_it_better(void **state)
{
        static const struct { const char *accept; bool json; } cases[] = {
                { NULL, false },
                { "", false },
                { "*/*", false },
                { "application/json", true },
                { "APPLICATION/JSON ; q=0.5", true },
                { "application/json;q=0", false },
                { "application/json, */*;q=0.1", true },
                { "application/json;q=0.5, text/plain", false },
                { "application/json;q=0.5, text/plain;q=0.25", true },
                { "application/json;q=0.500,application/openmetrics-text;q=0.501", false },
                { "text/html, application/json;q=0.9, */*;q=0.8", true },
                { "application/*", false },
                { "application/*, application/openmetrics-text;q=0.1, text/plain;q=0.1", true },
                { "application/openmetrics-text;version=1.0.0;q=0.9,application/json;q=0.2,text/plain;q=0.3", false },
                { "application/jsonp", false },
                { ",,,;q=;,application/json;q=x", true },
                { "application/json;q", true },
                { "application/json;q=0.", false },
        };
        (void) state;

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (prefers_json(cases[i].accept) != cases[i].json)
                        fail_msg("Accept: %s", cases[i].accept);
}

static void a_question_for_history_is_read_or_refused(void **state)
{
        static const struct { const char *task, *state, *since, *limit; bool good; } cases[] = {
                { NULL, NULL, NULL, NULL, true },
                { "mail", "failed", "2026-11-30T17:00:00Z", "7", true },
                { "", NULL, NULL, NULL, false },
                { NULL, "faild", NULL, NULL, false },
                { NULL, NULL, "yesterday", NULL, false },
                { NULL, NULL, NULL, "0", false },
                { NULL, NULL, NULL, "1001", false },
                { NULL, NULL, NULL, "+5", false },
                { NULL, NULL, NULL, "5x", false },
                { NULL, NULL, NULL, "99999999999999999999", false },
        };
        (void) state;

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct history_query q;
                char why[160] = "";
                int r = history_query_parse(cases[i].task, cases[i].state, cases[i].since, cases[i].limit, &q, why,
                                            sizeof(why));
                assert_int_equal(r == 0, cases[i].good);
                assert_int_equal(why[0] == '\0', cases[i].good);
        }
        struct history_query q;
        char why[160];
        assert_int_equal(history_query_parse("mail", "failed", NULL, "7", &q, why, sizeof(why)), 0);
        assert_string_equal(q.task, "mail");
        assert_int_equal(q.state, STATE_FAILED);
        assert_int_equal(q.limit, 7);
        assert_true(instant_is_none(q.since));
        assert_true(history_query_parse(NULL, "faild", NULL, NULL, &q, why, sizeof(why)) < 0);
        assert_non_null(strstr(why, "did you mean failed"));
}

/* What a table prints. To be freed. */
static char *printed(struct table *t)
{
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        assert_int_equal(table_print(t, out), 0);
        (void) fclose(out);
        return text;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
        static const char *const heads[] = { "NAME", ">N", "END", NULL };
        struct table *t = table_new(heads);
        (void) state;

        table_cell(t, "a");
        table_cell(t, "1");
        table_cell(t, "x");
        table_cell(t, "b\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
        table_format(t, "%d", 1000);
        table_cell(t, NULL);
        char *text = printed(t);
        assert_string_equal(text, "NAME      N  END\n"
                                  "a         1  x\n"
                                  "b\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4  1000  -\n");
        free(text);
        table_free(t);
}

static void what_steers_a_terminal_is_replaced(void **state)
{
        static const char *const heads[] = { "", "", NULL };
        struct table *t = table_new(heads);
        (void) state;

        table_cell(t, "a\x1b[31mred\n");
        table_cell(t, "c1\xc2\x9b" "31m");
        table_cell(t, "two\nlines\r\n");
        table_cell(t, "\n");
        char *text = printed(t);
        assert_string_equal(text, "a?[31mred  c1??31m\ntwo lines  -\n");
        free(text);
        table_free(t);
}

static void a_long_cell_is_cut_between_characters(void **state)
{
        static const char *const heads[] = { "X", NULL };
        struct table *t = table_new(heads);
        char longer[2000] = "";
        (void) state;

        for (int i = 0; i < 300; i++)
                (void) strcat(longer, "\xc3\xa4");
        table_cell(t, longer);
        char *text = printed(t);
        assert_true(strlen(text) < 220);
        assert_non_null(strstr(text, "\xc3\xa4...\n"));
        free(text);
        table_free(t);
}

static void times_and_spans_are_short(void **state)
{
        char time[TIME_SHOWN], span[SPAN_SHOWN];
        (void) state;

        assert_string_equal(time_shown("2026-11-30T17:00:00.000213Z", false, time), "2026-11-30 17:00:00Z");
        assert_string_equal(time_shown("2026-11-30T17:00:00.250Z", true, time), "2026-11-30 17:00:00.250Z");
        assert_string_equal(time_shown("2026-11-30T17:00:00Z", true, time), "2026-11-30 17:00:00Z");
        assert_string_equal(time_shown("", false, time), "");
        assert_string_equal(time_shown("nonsense that is much longer than any time", false, time),
                            "nonsense that is much longer th");
        assert_string_equal(span_shown(250, span), "0.2 s");
        assert_string_equal(span_shown(61000, span), "61 s");
        assert_string_equal(span_shown(7380000, span), "2 h 3 min");
        assert_string_equal(span_shown(90000000000, span), "1041 d 16 h");
}

static void urls_are_encoded(void **state)
{
        struct buf url = BUF_EMPTY;
        (void) state;

        url_add(&url, "a-b:c d&\xc3\xa4+");
        assert_string_equal(url.data, "a-b%3Ac%20d%26%C3%A4%2B");
        buf_done(&url);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(json_is_given_only_to_who_likes_it_better),
                cmocka_unit_test(a_question_for_history_is_read_or_refused),
                cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
                cmocka_unit_test(what_steers_a_terminal_is_replaced),
                cmocka_unit_test(a_long_cell_is_cut_between_characters),
                cmocka_unit_test(times_and_spans_are_short),
                cmocka_unit_test(urls_are_encoded),
        };

        return RUN_CASES(argc, argv, "forms", tests);
}
