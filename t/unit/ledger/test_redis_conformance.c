/* The table that every ledger must pass, against a real Redis server. */
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

int main(int argc, char **argv)
{
        int failed = conformance_main(argc, argv, &redis_backend);

        redis_server_stop(&redis_shared);
        return failed;
}
