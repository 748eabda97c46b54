#include "t/unit/cases.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int run_cases(int argc, char **argv, const char *group, const struct CMUnitTest *tests, size_t count)
{
        const char *pattern = argc > 1 ? argv[1] : "*";
        struct CMUnitTest *chosen = calloc(count + 1, sizeof(*chosen));
        size_t n = 0;

        if (!chosen)
                return 1;
        for (size_t i = 0; i < count; i++)
                if (fnmatch(pattern, tests[i].name, 0) == 0)
                        chosen[n++] = tests[i];
        if (n == 0) {
                fprintf(stderr, "%s: no case matches '%s'\n", group, pattern);
                free(chosen);
                return 1;
        }
        int failed = _cmocka_run_group_tests(group, chosen, n, NULL, NULL);
        free(chosen);
        return failed ? 1 : 0;
}
