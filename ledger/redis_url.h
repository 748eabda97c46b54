/* Where a Redis server is: redis://[user[:password]@]host[:port][/db] or unix://[user[:password]@]/path[?db=n].
 * Parts are percent-decoded. */
#ifndef ONCED_REDIS_URL_H
#define ONCED_REDIS_URL_H

#include <stdbool.h>

struct redis_url {
        bool unix_socket;
        char host[256];      /* name or literal address, without brackets */
        unsigned port;
        char path[108];      /* unix socket */
        unsigned db;
        char user[128], password[512];   /* "" none */
};

/* 0; -EINVAL malformed, -ERANGE a part is too long or a number too large, -EPROTONOSUPPORT another scheme. */
int redis_url_parse(const char *text, struct redis_url *ret);

#endif
