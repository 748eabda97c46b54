/* Which start it is: each has a token of its own, and knows those before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/start_token.h"
#include "t/unit/cases.h"

static char dir[] = "/tmp/onced-test-XXXXXX";

static int up(void **state)
{
        (void) state;
        memcpy(strrchr(dir, '-'), "-XXXXXX", 7);
        return mkdtemp(dir) ? 0 : -1;
}

static int down(void **state)
{
        char command[64];
        (void) state;

        (void) snprintf(command, sizeof(command), "rm -r %s", dir);
        return system(command);
}

static void put(const char *text)
{
        _cleanup_(freep) char *path = path_join(dir, "start");

        assert_int_equal(file_replace(path, text, strlen(text), 0600), 0);
}

static void each_start_has_its_own_token_and_knows_those_before(void **state)
{
        struct start_token one, two, three;
        char both[2 * START_TOKEN_TEXT];

        (void) state;
        assert_int_equal(start_token_make(dir, &one), 0);
        assert_string_equal(one.before, "");
        assert_int_equal(strlen(one.token), START_TOKEN_TEXT - 1);
        assert_int_equal(start_token_make(dir, &two), 0);
        assert_string_equal(two.before, one.token);
        assert_string_not_equal(two.token, one.token);
        assert_int_equal(start_token_make(dir, &three), 0);
        (void) snprintf(both, sizeof(both), "%s %s", two.token, one.token);
        assert_string_equal(three.before, both);
}

static void of_very_many_starts_the_newest_are_known(void **state)
{
        struct start_token t, newest = { 0 };

        (void) state;
        for (unsigned i = 0; i < STARTS_BEFORE + 3; i++) {
                newest = i ? t : newest;
                assert_int_equal(start_token_make(dir, &t), 0);
        }
        assert_int_equal(strlen(t.before), STARTS_BEFORE * START_TOKEN_TEXT - 1);
        assert_int_equal(strncmp(t.before, newest.token, START_TOKEN_TEXT - 1), 0);
}

static void what_is_no_list_of_tokens_is_replaced(void **state)
{
        static const char *const texts[] = {
                "", "\n", "hello\n", "0123456789abcdef0123456789abcdeF\n",
                "0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdef0\n",
        };
        struct start_token t, next;

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                put(texts[i]);
                assert_int_equal(start_token_make(dir, &t), 0);
                assert_string_equal(t.before, "");
                assert_int_equal(start_token_make(dir, &next), 0);
                assert_string_equal(next.before, t.token);
        }
        _cleanup_(freep) char *much = calloc(1, 8192);
        memset(much, 'a', 8191);
        put(much);
        assert_int_equal(start_token_make(dir, &t), 0);
        assert_string_equal(t.before, "");
}

static void a_folder_that_cannot_be_written_gives_no_token(void **state)
{
        struct start_token t = { .token = "kept" };

        (void) state;
        assert_true(start_token_make("/proc/self", &t) < 0);
        assert_string_equal(t.token, "kept");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(each_start_has_its_own_token_and_knows_those_before),
                CASE(of_very_many_starts_the_newest_are_known),
                CASE(what_is_no_list_of_tokens_is_replaced),
                CASE(a_folder_that_cannot_be_written_gives_no_token),
        };

        return RUN_CASES(argc, argv, "start_token", tests);
}
