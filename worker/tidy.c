/* One timer and at most one piece of work. */
#include "worker/tidy.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/record/prune.h"

/* The first piece of work makes the threads of libuv's pool and waits until they run: milliseconds on the loop, which a
 * new timer worker needs for what became due while nobody led. */
#define FIRST_MS (1 * 1000)

/* A small partition must not fill between two rounds. */
#define TIDY_MS (60 * 1000)

struct tidy {
        uv_timer_t timer;
        uv_work_t work;
        const char *dir;
        int64_t keep_ms, max_bytes;
        int result;                  /* of the newest work: files deleted, or -errno */
        bool busy, again;            /* again: asked for while busy */
        void (*closed)(void *arg);   /* not NULL: closing */
        void *arg;
};

int tidy_open(uv_loop_t *loop, const char *dir, int64_t keep_ms, int64_t max_bytes, struct tidy **ret)
{
        struct tidy *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;

        t->dir = dir;
        t->keep_ms = keep_ms;
        t->max_bytes = max_bytes;
        (void) uv_timer_init(loop, &t->timer);
        t->timer.data = t;
        uv_unref((uv_handle_t *) &t->timer);
        *ret = t;
        return 0;
}

static void on_closed(uv_handle_t *h)
{
        struct tidy *t = h->data;
        void (*closed)(void *) = t->closed;
        void *arg = t->arg;

        free(t);
        closed(arg);
}

static void on_work(uv_work_t *w)
{
        struct tidy *t = container_of(w, struct tidy, work);

        t->result = triglog_prune(t->dir, t->keep_ms, t->max_bytes, clock_wall());
}

static void work(struct tidy *t);

static void on_done(uv_work_t *w, int status)
{
        struct tidy *t = container_of(w, struct tidy, work);
        (void) status;

        t->busy = false;
        if (t->closed) {
                uv_close((uv_handle_t *) &t->timer, on_closed);
                return;
        }
        if (t->result < 0)
                (void) log_warning(t->result, "log.dir: deleting old trigger files in %s", t->dir);
        else if (t->result > 0)
                log_info("%d old trigger files were deleted (log.keep, log.max_bytes)", t->result);
        if (t->again)
                work(t);
}

static void work(struct tidy *t)
{
        t->again = t->busy;
        if (!t->busy)
                t->busy = uv_queue_work(t->timer.loop, &t->work, on_work, on_done) == 0;
}

static void on_due(uv_timer_t *timer)
{
        work(timer->data);
}

void tidy_begin(struct tidy *t)
{
        (void) uv_timer_start(&t->timer, on_due, FIRST_MS, TIDY_MS);
}

void tidy_soon(struct tidy *t)
{
        if (uv_is_active((uv_handle_t *) &t->timer))
                work(t);
}

void tidy_close(struct tidy *t, void (*closed)(void *arg), void *arg)
{
        t->closed = closed;
        t->arg = arg;
        (void) uv_timer_stop(&t->timer);
        if (!t->busy)
                uv_close((uv_handle_t *) &t->timer, on_closed);
}
