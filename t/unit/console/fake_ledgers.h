/* Two ledgers that answer what the test says: they take the names of the real ones, which are not linked. */
#ifndef ONCED_TEST_FAKE_LEDGERS_H
#define ONCED_TEST_FAKE_LEDGERS_H

#include <stdbool.h>

struct fake_ledger {
        int error;           /* of the answer, with `why`; 0: rows */
        const char *why;
        int rows;            /* planned 1000, 2000, ... ms after the epoch, plus `offset_ms`, newest first */
        int offset_ms;
        bool silent;         /* never answers until it is closed */
        int open_error;
};

extern struct fake_ledger fake_sqlite, fake_redis;

/* Ledgers that were opened and not closed again. */
extern int fake_ledgers_open;

#endif
