/* What a person is told of the server's errors. */
#include "t/unit/cases.h"

#include "ledger/redis_refusal.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "onced:{a:b}:"
#define COMMANDS " (the user needs +info +role +time beside the data commands)"
#define KEYS " (the user needs the keys ~onced:{a:b}:*)"

static void error_loses_where_it_came_from_and_gains_its_cure(void **state)
{
        static const struct { const char *error, *text; } table[] = {
                { "OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:222.",
                  "OOM command not allowed when used memory > 'maxmemory'." },
                { "ERR Error running script (call to f_abc): @user_script:12: OOM command not allowed",
                  "OOM command not allowed" },
                { "WRONGPASS invalid username-password pair", "WRONGPASS invalid username-password pair" },
                { "NOPERM User app has no permissions to run the 'role' command",
                  "NOPERM User app has no permissions to run the 'role' command" COMMANDS },
                { "ERR The user executing the script can't run this command or subcommand script: abc, "
                  "on @user_script:4.",
                  "ERR The user executing the script can't run this command or subcommand" COMMANDS },
                { "NOPERM No permissions to access a key", "NOPERM No permissions to access a key" KEYS },
                { "ERR The user executing the script can't access at least one of the keys mentioned in the command "
                  "script: abc, on @user_script:4.",
                  "ERR The user executing the script can't access at least one of the keys mentioned in the command"
                  KEYS },
                { "", "" },
        };
        char text[256];

        for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
                redis_refusal(table[i].error, PREFIX, text, sizeof(text));
                assert_string_equal(text, table[i].text);
        }
        (void) state;
}

static void error_is_cut_between_words_and_keeps_its_cure(void **state)
{
        char text[100];

        redis_refusal("NOPERM User somebody has no permissions to run the 'role' command", PREFIX, text, sizeof(text));
        assert_string_equal(text, "NOPERM User somebody has no permissions" COMMANDS);
        redis_refusal("ERR one two three", PREFIX, text, 10);
        assert_string_equal(text, "ERR one");
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(error_loses_where_it_came_from_and_gains_its_cure),
                cmocka_unit_test(error_is_cut_between_words_and_keeps_its_cure),
        };

        return RUN_CASES(argc, argv, "redis_refusal", cases);
}
