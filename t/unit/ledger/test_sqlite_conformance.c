/* The local ledger against the table that every ledger must pass. */
#include "t/unit/ledger/sqlite_backend.h"

int main(int argc, char **argv)
{
        return conformance_main(argc, argv, &sqlite_backend);
}
