/* An empty state folder for one case, and node_id in it: the local ledger as the conformance table and the
 * tests of its own open it. */
#ifndef ONCED_SQLITE_BACKEND_H
#define ONCED_SQLITE_BACKEND_H

#include "t/unit/ledger/conformance.h"

extern const struct conformance_backend sqlite_backend;

/* For cmocka: *state is a world on a ledger that is not open yet, and its end; a case has a minute. */
int sqlite_case(void **state);
int sqlite_case_end(void **state);

/* A file of the state folder; valid until the next call. */
const char *state_path(const struct world *w, const char *name);

/* By another connection, as sqlite3(1) would: a statement, or the number it gives. */
void file_sql(const struct world *w, const char *file, const char *sql);
int64_t file_number(const struct world *w, const char *file, const char *sql);

#endif
