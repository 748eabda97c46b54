/* A strict reader of OpenMetrics text, written from the grammar of version 1.0 and not from the code that writes
 * it: a page it takes is one that scrapers take. */
#ifndef ONCED_TEST_OPENMETRICS_H
#define ONCED_TEST_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

/* True when the page is correct; else `why` says what is wrong where. */
bool openmetrics_check(const char *page, char *why, size_t room);

/* The value of the sample that begins with exactly `name` (labels included), as text; false: no such sample. */
bool openmetrics_value(const char *page, const char *name, char *ret, size_t room);

#endif
