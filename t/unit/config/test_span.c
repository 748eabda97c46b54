/* Durations, sizes, variables, forms: the small texts of a configuration. */
#include "t/unit/cases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/config/form.h"
#include "common/config/node.h"
#include "common/config/utf8.h"
#include "common/config/variables.h"

struct number_case {
        const char *text;
        int result;
        int64_t value;
};

static void check_numbers(const struct number_case *cases, size_t count, int (*parse)(const char *, int64_t *))
{
        for (size_t i = 0; i < count; i++) {
                int64_t value = -7;
                int r = parse(cases[i].text, &value);
                if (r != cases[i].result || (r == 0 && value != cases[i].value))
                        fail_msg("\"%s\": %d, %" PRId64, cases[i].text, r, value);
                if (r < 0)
                        assert_int_equal(value, -7);
        }
}

static void durations_are_a_number_and_one_unit(void **state)
{
        static const struct number_case cases[] = {
                { "250ms", 0, 250 },      { "30s", 0, 30000 },       { "10m", 0, 600000 },
                { "1h", 0, 3600000 },     { "2d", 0, 172800000 },    { "0s", 0, 0 },
                { "007s", 0, 7000 },      { "30", -EINVAL, 0 },      { "", -EINVAL, 0 },
                { "s", -EINVAL, 0 },      { "1h30m", -EINVAL, 0 },   { "1 s", -EINVAL, 0 },
                { "-1s", -EINVAL, 0 },    { "1.5s", -EINVAL, 0 },    { "1S", -EINVAL, 0 },
                { "1w", -EINVAL, 0 },     { " 1s", -EINVAL, 0 },     { "9223372036854775807ms", 0, INT64_MAX },
                { "9223372036854775808ms", -ERANGE, 0 },             { "9223372036854775807s", -ERANGE, 0 },
                { "99999999999999999999999d", -ERANGE, 0 },
        };

        (void) state;
        check_numbers(cases, ARRAY_SIZE(cases), span_parse);
}

static void sizes_count_in_powers_of_1024(void **state)
{
        static const struct number_case cases[] = {
                { "0", 0, 0 },           { "512", 0, 512 },           { "10k", 0, 10240 },
                { "64MiB", 0, 67108864 },{ "2GiB", 0, 2147483648 },   { "1g", 0, 1073741824 },
                { "1KB", 0, 1024 },      { "7B", 0, 7 },              { "MiB", -EINVAL, 0 },
                { "1T", 0, 1LL << 40 },    { "1 M", -EINVAL, 0 },       { "-1", -EINVAL, 0 },
                { "9223372036854775807G", -ERANGE, 0 },
        };

        (void) state;
        check_numbers(cases, ARRAY_SIZE(cases), size_parse);
}

static void durations_are_shown_in_the_largest_unit_and_read_back(void **state)
{
        static const struct { int64_t ms; const char *text; } cases[] = {
                { 0, "0s" }, { 1, "1ms" }, { 999, "999ms" }, { 1000, "1s" }, { 1500, "1500ms" }, { 60000, "1m" },
                { 90000, "90s" }, { 3600000, "1h" }, { 86400000, "1d" }, { 366 * 86400000LL, "366d" },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[32];
                int64_t back;
                span_text(cases[i].ms, text);
                assert_string_equal(text, cases[i].text);
                assert_int_equal(span_parse(text, &back), 0);
                assert_int_equal(back, cases[i].ms);
        }
}

static void variables_are_replaced_and_a_missing_one_is_named(void **state)
{
        static const struct { const char *text, *expanded, *why; } cases[] = {
                { "${ONCED_T_SET}", "value", NULL },
                { "a${ONCED_T_SET}b${ONCED_T_SET}", "avaluebvalue", NULL },
                { "${ONCED_T_NONE:-else}", "else", NULL },
                { "${ONCED_T_EMPTY:-else}", "else", NULL },
                { "${ONCED_T_EMPTY}", "", NULL },
                { "${ONCED_T_SET:-else}", "value", NULL },
                { "${ONCED_T_NONE:-}", "", NULL },
                { "$${ONCED_T_SET}", "${ONCED_T_SET}", NULL },
                { "$HOME $$ $", "$HOME $$ $", NULL },
                { "${ONCED_T_NONE}", NULL, "variable ONCED_T_NONE is not set" },
                { "${ONCED_T_SET", NULL, "without \"}\"" },
                { "${}", NULL, "neither" },
                { "${1X}", NULL, "neither" },
                { "${A B}", NULL, "neither" },
                { "${ONCED_T_SET-x}", NULL, "neither" },
                { "${ONCED_T_LATIN}", NULL, "not UTF-8" },
        };

        (void) state;
        setenv("ONCED_T_SET", "value", 1);
        setenv("ONCED_T_EMPTY", "", 1);
        setenv("ONCED_T_LATIN", "\xe4", 1);
        unsetenv("ONCED_T_NONE");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(buf_done) struct buf out = BUF_EMPTY;
                char why[VARIABLE_WHY] = "";
                int r = variables_expand(cases[i].text, &out, why);
                if (cases[i].why && (r != -EINVAL || !strstr(why, cases[i].why)))
                        fail_msg("%s: %d \"%s\"", cases[i].text, r, why);
                if (!cases[i].why && (r != 0 || strcmp(buf_string(&out), cases[i].expanded) != 0))
                        fail_msg("%s: %d \"%s\" %s", cases[i].text, r, buf_string(&out), why);
        }
}

static void escaped_text_expands_to_itself(void **state)
{
        static const char *const texts[] = { "", "plain", "${X}", "$${X}", "$$${X}", "$", "$$", "a${", "${${" };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                _cleanup_(buf_done) struct buf escaped = BUF_EMPTY, back = BUF_EMPTY;
                char why[VARIABLE_WHY];
                variables_escape(texts[i], &escaped);
                assert_int_equal(variables_expand(buf_string(&escaped), &back, why), 0);
                assert_string_equal(buf_string(&back), texts[i]);
        }
}

static void utf8_is_what_rfc_3629_says(void **state)
{
        static const struct { const char *bytes; size_t len; int bad; } cases[] = {
                { "abc", 3, -1 },          { "\xc3\xa4", 2, -1 },         { "\xe2\x82\xac", 3, -1 },
                { "\xf0\x9f\x98\x80", 4, -1 }, { "a\0b", 3, 1 },          { "\xe4", 1, 0 },
                { "\xc0\xaf", 2, 0 },      { "\xed\xa0\x80", 3, 0 },      { "\xf4\x90\x80\x80", 4, 0 },
                { "ab\xe2\x82", 4, 2 },    { "\x80", 1, 0 },              { "\xe0\x80\x80", 3, 0 },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                size_t bad = 99;
                bool valid = utf8_valid(cases[i].bytes, cases[i].len, &bad);
                if (valid != (cases[i].bad < 0) || (!valid && bad != (size_t) cases[i].bad))
                        fail_msg("case %zu: %d at %zu", i, valid, bad);
        }
}

struct form_case {
        const char *(*form)(const char *);
        const char *good[16], *bad[20];
};

static void forms_take_what_works_and_refuse_what_would_fail_at_night(void **state)
{
        static const struct form_case cases[] = {
                { form_task_name, { "a", "A9_.:-" }, { "", "-a", "a b", "a/b", "\xc3\xa4" } },
                { form_http_url, { "/x", "/x?a=b", "http://h", "https://h:443/x", "http://[::1]:80/" },
                  { "x", "ftp://h/", "//h/x", "http://", "http:///x", "http://h:0/", "http://h:99999/", "http://h:/",
                    "http://u:p@h/", "/a b", "http://h/\n", "javascript:x" } },
                { form_http_base, { "http://h:8000", "HTTPS://h/base" }, { "/x", "h:80", "http://:80" } },
                { form_redis_url, { "redis://h", "redis://h:6379/0", "redis://u:p@h/3", "unix:///run/r.sock", "rediss://h" },
                  { "h:6379", "http://h", "redis://", "redis://h/x", "redis://h/0/1", "unix://r.sock" } },
                { form_method, { "GET", "PROPFIND" }, { "get", "", "G T" } },
                { form_header, { "A: b", "X-Y:z" },
                  { "A", ": b", "A b: c", "A: b\r\nC: d", "X-Onced-Fence: 1", "content-length: 3", "Idempotency-Key: x" } },
                { form_env, { "A=", "A=b=c", "_x=1" }, { "A", "=b", "1A=x", "A-B=c", "ONCED_TASK=x" } },
                { form_command, { "/bin/true", "true" }, { "./true", "bin/true", "" } },
                { form_exit, { "1", "255" }, { "0", "256", "-1", "x", "" } },
                { form_address, { "127.0.0.1:80", "[::1]:8080", "h:1" }, { "h", ":80", "h:", "h:0", "[::1]" } },
                { form_call, { "p.so:f", "/a/b.so:go_1" }, { "p.so", ":f", "p.so:", "p.so:a-b" } },
        };

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                for (const char *const *t = cases[i].good; *t; t++)
                        if (cases[i].form(*t))
                                fail_msg("row %zu refuses \"%s\": %s", i, *t, cases[i].form(*t));
                for (const char *const *t = cases[i].bad; *t; t++)
                        if (!cases[i].form(*t))
                                fail_msg("row %zu takes \"%s\"", i, *t);
        }
}

static void names_of_secrets_hide_their_value(void **state)
{
        (void) state;
        assert_int_equal(form_shown("Authorization: Bearer x"), strlen("Authorization: "));
        assert_int_equal(form_shown("DB_PASSWORD=x"), strlen("DB_PASSWORD="));
        assert_int_equal(form_shown("X-Api-Token:x"), strlen("X-Api-Token:"));
        assert_int_equal(form_shown("LANG=C"), strlen("LANG=C"));
}

static void quotes_are_cut_between_characters(void **state)
{
        char q[QUOTE_TEXT], text[200] = "x";
        size_t bad;

        (void) state;
        assert_string_equal(quote("a\nb", q), "\"a?b\"");
        for (size_t i = 0; i + 1 < 80; i++)
                memcpy(text + 1 + 2 * i, "\xc3\xa4", 3);
        quote(text, q);
        assert_true(utf8_valid(q, strlen(q), &bad));
        assert_non_null(strstr(q, "...\""));
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(durations_are_a_number_and_one_unit),
                cmocka_unit_test(sizes_count_in_powers_of_1024),
                cmocka_unit_test(durations_are_shown_in_the_largest_unit_and_read_back),
                cmocka_unit_test(variables_are_replaced_and_a_missing_one_is_named),
                cmocka_unit_test(escaped_text_expands_to_itself),
                cmocka_unit_test(utf8_is_what_rfc_3629_says),
                cmocka_unit_test(forms_take_what_works_and_refuse_what_would_fail_at_night),
                cmocka_unit_test(names_of_secrets_hide_their_value),
                cmocka_unit_test(quotes_are_cut_between_characters),
        };

        return RUN_CASES(argc, argv, "span", tests);
}
