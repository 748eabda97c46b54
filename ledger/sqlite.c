/* The local ledger as the loop sees it: a store of one SQLite connection behind a thread of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/file.h"
#include "ledger/sqlite_store.h"
#include "ledger/thread.h"

/* How often a store that is not open is tried again, and how often the size of the WAL is looked at. */
#define RETRY_MS  1000
#define UPKEEP_MS 1000

struct sqlite_ledger {
        struct ledger base;
        struct ledger_thread *thread;
        struct sqlite_store store;
        void (*closed)(void *arg);
        void *closed_arg;
};

static void on_report(void *arg, enum ledger_health h, const char *why)
{
        struct sqlite_ledger *l = arg;

        ledger_thread_report(l->thread, h, why);
}

static void on_serve(void *store, struct ledger_call *calls)
{
        store_serve(store, calls);
}

static int64_t on_tend(void *store)
{
        struct sqlite_store *s = store;

        if (s->halted)
                return -1;
        if (!s->db && store_open(s) < 0)
                return s->halted ? -1 : RETRY_MS;
        store_checkpoint_if_due(s);
        return s->led ? UPKEEP_MS : -1;
}

static void on_end(void *store)
{
        store_end(store);
}

static const struct thread_work work = { on_serve, on_tend, on_end };

static void ledger_free(struct sqlite_ledger *l)
{
        free(l->store.node);
        free(l->store.owner);
        free(l->store.boot);
        free(l->store.path);
        free(l->store.wal_path);
        free(l->store.lock_path);
        free(l);
}

static int store_init(struct sqlite_ledger *l, const struct ledger_options *o)
{
        struct sqlite_store *s = &l->store;

        *s = (struct sqlite_store) { .config = o->config, .life = o->life, .read_only = o->read_only || o->life == 0,
                                     .lock_fd = -1, .report = on_report, .report_arg = l };
        s->node = strdup(o->node ? o->node : "");
        s->owner = strdup(o->owner ? o->owner : "");
        s->boot = strdup(o->boot ? o->boot : "");
        s->path = path_join(o->config->state_dir, "ledger.db");
        s->wal_path = path_join(o->config->state_dir, "ledger.db-wal");
        s->lock_path = path_join(o->config->state_dir, "ledger.lock");
        return s->node && s->owner && s->boot && s->path && s->wal_path && s->lock_path ? 0 : -ENOMEM;
}

static int sqlite_open(uv_loop_t *loop, const struct ledger_options *o, ledger_health_cb health, void *arg,
                       struct ledger **ret)
{
        struct sqlite_ledger *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        l->base = (struct ledger) { .kind = &ledger_sqlite, .place = o->place };
        int r = store_init(l, o);
        if (r == 0)
                r = ledger_thread_start(loop, &work, &l->store, SQLITE_BATCH_MAX, health, arg, &l->thread);
        if (r < 0) {
                ledger_free(l);
                return r;
        }
        *ret = &l->base;
        return 0;
}

static void sqlite_send(struct ledger *base, struct ledger_call *call)
{
        ledger_thread_send(container_of(base, struct sqlite_ledger, base)->thread, call);
}

static void on_thread_closed(void *arg)
{
        struct sqlite_ledger *l = arg;
        void (*closed)(void *) = l->closed;
        void *closed_arg = l->closed_arg;

        ledger_free(l);
        if (closed)
                closed(closed_arg);
}

static void sqlite_close(struct ledger *base, void (*closed)(void *arg), void *arg)
{
        struct sqlite_ledger *l = container_of(base, struct sqlite_ledger, base);

        l->closed = closed;
        l->closed_arg = arg;
        ledger_thread_close(l->thread, on_thread_closed, l);
}

const struct ledger_kind ledger_sqlite = { "sqlite", sqlite_open, sqlite_send, sqlite_close };
