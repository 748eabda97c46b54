/* Which of two forms a client wants, by its Accept header (RFC 9110, 12.5.1). */
#ifndef ONCED_NEGOTIATE_H
#define ONCED_NEGOTIATE_H

#include <stdbool.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* True when `accept` (NULL: no such header) likes JSON better than text. */
bool prefers_json(const char *accept);

#endif
