/* An empty state folder for one case, and node_id in it: the local ledger as the conformance table and the
 * tests of its own open it. */
#ifndef ONCED_SQLITE_BACKEND_H
#define ONCED_SQLITE_BACKEND_H

#include "t/unit/ledger/conformance.h"

extern const struct conformance_backend sqlite_backend;

#endif
