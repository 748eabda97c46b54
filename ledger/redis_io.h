/* hiredis on a libuv loop. The adapter that comes with hiredis 0.14 swallows connect errors, since libuv reports
 * them as a failed poll; here every end of a connection is told, once. */
#ifndef ONCED_REDIS_IO_H
#define ONCED_REDIS_IO_H

#include <uv.h>

struct redisAsyncContext;
struct redis_io;

/* `ac` has ended (its `errstr` says why) and must not be used when this returns; its callbacks have all run. */
typedef void (*redis_gone_cb)(struct redisAsyncContext *ac, void *arg);

/* Attaches `ac`, a context that hiredis made without error and that no one attached before. */
int redis_io_attach(uv_loop_t *loop, struct redisAsyncContext *ac, redis_gone_cb gone, void *arg,
                    struct redis_io **ret);

/* Frees the context without telling; `io` is gone for the caller. `closed` runs later, once, on the loop. */
void redis_io_drop(struct redis_io *io, void (*closed)(void *arg), void *arg);

#endif
