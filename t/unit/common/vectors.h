/* Reads a file of cases from t/vectors, one JSON object a line. An unreadable, empty or broken file fails
 * the running test: a vector that is not read is a case that silently passes. */
#ifndef ONCED_VECTORS_H
#define ONCED_VECTORS_H

#include <jansson.h>

#include "common/clock.h"

/* Calls `each` for every line; returns how many. */
size_t vectors_each(const char *name, void (*each)(const json_t *line));

/* Fields of a case; a missing one fails the test. */
const char *vector_text(const json_t *line, const char *key);
int64_t vector_int(const json_t *line, const char *key);
struct instant vector_instant(const json_t *value);

#endif
