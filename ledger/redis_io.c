/* The five hooks of hiredis by one uv_poll_t. hiredis frees its context by itself, also in the middle of our own
 * callbacks; the poll handle therefore lives in memory of its own, until libuv has closed it. */
#include "ledger/redis_io.h"

#include <errno.h>
#include <stdlib.h>

#include <hiredis/async.h>

struct redis_io {
        uv_poll_t poll;
        struct redisAsyncContext *ac;   /* hiredis' own; NULL once it has ended */
        int events;
        redis_gone_cb gone;             /* NULL: dropped, nobody is told */
        void (*closed)(void *arg);      /* NULL: nobody waits */
        void *arg;
};

static void on_closed(uv_handle_t *h)
{
        struct redis_io *io = h->data;

        if (io->closed)
                io->closed(io->arg);
        free(io);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
        struct redis_io *io = poll->data;

        if (status < 0) {
                /* libuv has stopped the poll on a socket error; hiredis finds the error when it looks. */
                io->events = 0;
                if (io->ac->c.flags & REDIS_CONNECTED)
                        redisAsyncHandleRead(io->ac);
                else
                        redisAsyncHandleWrite(io->ac);
                if (io->ac)
                        redisAsyncFree(io->ac);
                return;
        }
        if (events & (UV_READABLE | UV_DISCONNECT))
                redisAsyncHandleRead(io->ac);
        if (io->ac && (events & UV_WRITABLE))
                redisAsyncHandleWrite(io->ac);
}

static void watch(struct redis_io *io, int events)
{
        if (events == io->events)
                return;
        io->events = events;
        if (events == 0)
                (void) uv_poll_stop(&io->poll);
        else
                (void) uv_poll_start(&io->poll, events, on_poll);
}

static void add_read(void *data)
{
        struct redis_io *io = data;
        watch(io, io->events | UV_READABLE);
}

static void del_read(void *data)
{
        struct redis_io *io = data;
        watch(io, io->events & ~UV_READABLE);
}

static void add_write(void *data)
{
        struct redis_io *io = data;
        watch(io, io->events | UV_WRITABLE);
}

static void del_write(void *data)
{
        struct redis_io *io = data;
        watch(io, io->events & ~UV_WRITABLE);
}

static void on_cleanup(void *data)
{
        struct redis_io *io = data;
        struct redisAsyncContext *ac = io->ac;
        redis_gone_cb gone = io->gone;
        void *arg = io->arg;

        io->ac = NULL;
        io->gone = NULL;
        uv_close((uv_handle_t *) &io->poll, on_closed);
        if (gone)
                gone(ac, arg);
}

int redis_io_attach(uv_loop_t *loop, struct redisAsyncContext *ac, redis_gone_cb gone, void *arg,
                    struct redis_io **ret)
{
        struct redis_io *io = calloc(1, sizeof(*io));

        if (!io)
                return -ENOMEM;
        int r = uv_poll_init(loop, &io->poll, ac->c.fd);
        if (r < 0) {
                free(io);
                return r;
        }
        io->poll.data = io;
        io->ac = ac;
        io->gone = gone;
        io->arg = arg;
        ac->ev.data = io;
        ac->ev.addRead = add_read;
        ac->ev.delRead = del_read;
        ac->ev.addWrite = add_write;
        ac->ev.delWrite = del_write;
        ac->ev.cleanup = on_cleanup;
        *ret = io;
        return 0;
}

void redis_io_drop(struct redis_io *io, void (*closed)(void *arg), void *arg)
{
        io->gone = NULL;
        io->closed = closed;
        io->arg = arg;
        redisAsyncFree(io->ac);
}
