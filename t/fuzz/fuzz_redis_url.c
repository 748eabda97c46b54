/* The address of a Redis server, from the configuration. */
#include "t/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/redis_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct redis_url u;
        char *text = strndup((const char *) data, size);

        CLAIM(text != NULL);
        if (redis_url_parse(text, &u) == 0) {
                CLAIM(strnlen(u.user, sizeof(u.user)) < sizeof(u.user));
                CLAIM(strnlen(u.password, sizeof(u.password)) < sizeof(u.password));
                if (u.unix_socket) {
                        CLAIM(u.path[0] == '/' && strnlen(u.path, sizeof(u.path)) < sizeof(u.path));
                } else {
                        CLAIM(*u.host && strnlen(u.host, sizeof(u.host)) < sizeof(u.host));
                        CLAIM(u.port > 0 && u.port <= 65535);
                }
        }
        free(text);
        return 0;
}
