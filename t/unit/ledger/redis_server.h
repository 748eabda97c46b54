/* A real redis-server of the test's own: a free port, a temporary folder, ended by its pid. Without an
 * installed redis-server the test fails, since skipping would prove nothing. */
#ifndef ONCED_T_REDIS_SERVER_H
#define ONCED_T_REDIS_SERVER_H

#include <sys/types.h>

#include "t/unit/ledger/conformance.h"

struct redis_server {
        pid_t pid;
        unsigned port;
        char dir[64];
        const char *extra[9];    /* further arguments, kept over a restart; NULL ends them */
        char url[64];
};

/* Starts it with append-only file and no snapshots, unless `extra` says otherwise, and waits until it answers. */
void redis_server_start(struct redis_server *s, const char *const *extra);
void redis_server_kill(struct redis_server *s);      /* SIGKILL, as a crash; the data stays */
void redis_server_again(struct redis_server *s);     /* on the same port and data */
void redis_server_stop(struct redis_server *s);      /* and everything is removed */

/* Makes the store of a group as if long ago, so that instants of the past can be decided in it. */
void redis_store_of_old(const struct redis_server *s, const char *group);

/* One command, its reply as text ("" for what has none), valid until the next. */
const char *redis_say(const struct redis_server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A store without units for each case, made long ago, on one server for the whole test binary; and a node of its
 * own. */
extern struct redis_server redis_shared;
extern const struct conformance_backend redis_backend;

#endif
