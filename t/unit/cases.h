/* Runs cmocka cases chosen by a pattern, so that one command runs one case; nothing matched is a failure
 * (cmocka alone reports success then). */
#ifndef ONCED_CASES_H
#define ONCED_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* argv[1]: a pattern with * and ?, default all. Returns the exit code of main. */
int run_cases(int argc, char **argv, const char *group, const struct CMUnitTest *tests, size_t count);

#define RUN_CASES(argc, argv, group, tests) run_cases(argc, argv, group, tests, sizeof(tests) / sizeof((tests)[0]))

#endif
