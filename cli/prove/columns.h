/* The table of a report: one row a task. */
#ifndef ONCED_PROVE_COLUMNS_H
#define ONCED_PROVE_COLUMNS_H

#include <stdio.h>

#include "common/record/names.h"

struct judge;

void columns_print(FILE *out, const struct judge *j);
const char *columns_path(enum path p);

#endif
