#include "t/unit/console/fake_ledgers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger.h"

struct fake_ledger fake_sqlite, fake_redis;
int fake_ledgers_open;

struct fake {
        struct ledger ledger;
        const struct fake_ledger *says;
        struct ledger_call *call;
        uv_timer_t later;
        void (*closed)(void *arg);
        void *arg;
};

static int fake_open(uv_loop_t *loop, const struct ledger_kind *kind, const struct fake_ledger *says,
                     struct ledger **ret)
{
        struct fake *f = calloc(1, sizeof(*f));

        if (says->open_error) {
                free(f);
                return says->open_error;
        }
        f->ledger.kind = kind;
        f->says = says;
        f->later.data = f;
        (void) uv_timer_init(loop, &f->later);
        fake_ledgers_open++;
        *ret = &f->ledger;
        return 0;
}

static int open_sqlite(uv_loop_t *loop, const struct ledger_options *o, ledger_health_cb health, void *arg,
                       struct ledger **ret)
{
        (void) health;
        (void) arg;
        return o->read_only ? fake_open(loop, &ledger_sqlite, &fake_sqlite, ret) : -EPERM;
}

static int open_redis(uv_loop_t *loop, const struct ledger_options *o, ledger_health_cb health, void *arg,
                      struct ledger **ret)
{
        (void) health;
        (void) arg;
        return o->read_only ? fake_open(loop, &ledger_redis, &fake_redis, ret) : -EPERM;
}

static void answer(uv_timer_t *timer)
{
        struct fake *f = timer->data;
        struct ledger_call *c = f->call;
        struct history_out *out = &c->out.history;
        size_t n = (size_t) f->says->rows < c->in.history.limit ? (size_t) f->says->rows : c->in.history.limit;

        f->call = NULL;
        c->error = f->says->error;
        if (c->error) {
                (void) snprintf(c->why, sizeof(c->why), "%s", f->says->why);
        } else {
                out->rows = calloc(n + 1, sizeof(*out->rows));
                out->count = n;
                for (size_t i = 0; i < n; i++) {
                        struct history_row *r = &out->rows[i];
                        r->planned.ms = (int64_t) (f->says->rows - (int) i) * 1000 + f->says->offset_ms;
                        r->state = STATE_SUCCEEDED;
                        r->result = RESULT_DONE;
                        r->code = -1;
                        (void) snprintf(r->task, sizeof(r->task), "%s", f->ledger.kind->name);
                        r->text = strdup("said \xff");
                        r->text_len = strlen(r->text);
                }
        }
        c->done(c);
}

static void fake_send(struct ledger *l, struct ledger_call *call)
{
        struct fake *f = (struct fake *) l;

        f->call = call;
        if (!f->says->silent)
                (void) uv_timer_start(&f->later, answer, 1, 0);
}

static void on_closed(uv_handle_t *h)
{
        struct fake *f = h->data;
        void (*closed)(void *) = f->closed;
        void *arg = f->arg;

        fake_ledgers_open--;
        free(f);
        closed(arg);
}

static void fake_close(struct ledger *l, void (*closed)(void *arg), void *arg)
{
        struct fake *f = (struct fake *) l;
        struct ledger_call *c = f->call;

        f->closed = closed;
        f->arg = arg;
        f->call = NULL;
        if (c) {
                c->error = -ECANCELED;
                c->done(c);
        }
        uv_close((uv_handle_t *) &f->later, on_closed);
}

const struct ledger_kind ledger_sqlite = { "sqlite", open_sqlite, fake_send, fake_close };
const struct ledger_kind ledger_redis = { "redis", open_redis, fake_send, fake_close };
