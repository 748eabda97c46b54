/* The console's whole life: API on the unix socket, metrics. Reads the scoreboard and the ledger, changes
 * neither; what an operator asks goes to the master as a verb. */
#ifndef ONCED_CONSOLE_H
#define ONCED_CONSOLE_H

#include "common/birth.h"

int console_main(const struct birth *b);

extern const struct child_kind console_kind;

#endif
