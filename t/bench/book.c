/* Calls as a worker makes them; what is awaited is awaited here. */
#include "t/bench/book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/node_id.h"
#include "t/bench/bare_redis.h"

#define UNITS_AT_ONCE 50
#define TRIES_MAX     100
#define TRY_AGAIN_US  50000

static void on_health(enum ledger_health h, const char *why, void *arg)
{
        (void) arg;
        if (h == LEDGER_HALTED)
                (void) fprintf(stderr, "ledger: %s\n", why);
}

static int place_take(struct book *b, const struct book_place *place, const struct ledger_kind **ret_kind)
{
        if (strcmp(place->store, "sqlite") == 0) {
                b->config.state_dir = strdup(place->where);
                b->config.run_dir = strdup(place->where);
                *ret_kind = &ledger_sqlite;
                return b->config.state_dir && b->config.run_dir ? 0 : -ENOMEM;
        }
        if (strcmp(place->store, "redis") != 0)
                return -EINVAL;
        b->config.redis.url = strdup(place->where);
        b->config.redis.app = strdup(place->app);
        *ret_kind = &ledger_redis;
        return b->config.redis.url && b->config.redis.app ? 0 : -ENOMEM;
}

int book_open(struct book *b, const struct book_place *place)
{
        const struct ledger_options o = { .config = &b->config, .node = DUE_NODE, .owner = DUE_NODE ".0.100.1-aaaa",
                                          .boot = DUE_BOOT, .life = DUE_LIFE };
        const struct ledger_kind *kind = NULL;

        *b = (struct book) { .config = { .durability = place->full ? DURABILITY_FULL : DURABILITY_PROCESS } };
        int r = place_take(b, place, &kind);
        if (r == 0)
                r = uv_loop_init(&b->loop);
        return r < 0 ? r : kind->open(&b->loop, &o, on_health, b, &b->ledger);
}

static void on_closed(void *arg)
{
        *(bool *) arg = true;
}

void book_close(struct book *b)
{
        bool closed = false;

        ledger_close(b->ledger, on_closed, &closed);
        while (!closed)
                (void) uv_run(&b->loop, UV_RUN_ONCE);
        (void) uv_loop_close(&b->loop);
        free(b->config.state_dir);
        free(b->config.run_dir);
        free(b->config.redis.url);
        free(b->config.redis.app);
}

static void on_done(struct ledger_call *c)
{
        --*(size_t *) c->arg;
}

static bool wants_again(const struct ledger_call *c)
{
        return c->error == -EAGAIN || c->error == -ETIMEDOUT;
}

/* One turn: all of them, or those that must be sent again. */
static void turn(struct book *b, struct ledger_call *calls, size_t count, bool again)
{
        size_t left = 0;

        for (size_t i = 0; i < count; i++) {
                if (again && !wants_again(&calls[i]))
                        continue;
                left++;
                calls[i].done = on_done;
                calls[i].arg = &left;
                ledger_send(b->ledger, &calls[i]);
        }
        while (left > 0)
                (void) uv_run(&b->loop, UV_RUN_ONCE);
}

static bool one_wants_again(const struct ledger_call *calls, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (wants_again(&calls[i]))
                        return true;
        return false;
}

int book_call(struct book *b, struct ledger_call *calls, size_t count)
{
        turn(b, calls, count, false);
        for (int tries = 0; tries < TRIES_MAX && one_wants_again(calls, count); tries++) {
                (void) usleep(TRY_AGAIN_US);
                turn(b, calls, count, true);
        }
        for (size_t i = 0; i < count; i++)
                if (calls[i].error < 0) {
                        (void) fprintf(stderr, "%s: %s\n", ledger_op_names[calls[i].op], calls[i].why);
                        return calls[i].error;
                }
        return 0;
}

static int units_prepare(struct book *b, const struct due *dues, size_t count)
{
        struct ledger_call calls[UNITS_AT_ONCE] = { 0 };

        for (size_t i = 0; i < count; i++) {
                calls[i].op = LEDGER_DEFINE;
                calls[i].in.define = (struct define_in) { .task = dues[i].task, .when_hash = "0123456789abcdef",
                                                          .def_hash = "fedcba9876543210", .shards = 1,
                                                          .competes = true, .node = DUE_NODE };
                (void) schedule_every(DUE_EVERY, 0, &calls[i].in.define.schedule);
        }
        int r = book_call(b, calls, count);
        for (size_t i = 0; i < count; i++) {
                calls[i].op = LEDGER_REGISTER;
                calls[i].in.reg = (struct register_in) { { "", dues[i].task, 0 }, dues[i].planned };
        }
        return r < 0 ? r : book_call(b, calls, count);
}

static int place_prepare(const struct book_place *place)
{
        const struct node_id n = { .node = DUE_NODE };

        return strcmp(place->store, "sqlite") == 0 ? node_id_write(place->where, &n)
                                                   : bare_redis_make(place->where, place->app);
}

int book_prepare(const struct book_place *place, int processes, int units, struct instant first)
{
        struct due dues[UNITS_AT_ONCE];
        struct book b;
        size_t n = 0;

        int r = place_prepare(place);
        if (r == 0)
                r = book_open(&b, place);
        if (r < 0)
                return r;
        /* Answered as soon as the store is open; a Redis that still says hello has its calls wait. */
        for (int p = 0; p < processes && r == 0; p++)
                for (int u = 0; u < units && r == 0; u++) {
                        due_begin(&dues[n++], p, u, first);
                        if (n == UNITS_AT_ONCE || (p == processes - 1 && u == units - 1)) {
                                r = units_prepare(&b, dues, n);
                                n = 0;
                        }
                }
        book_close(&b);
        return r;
}

void book_claim(const struct due *d, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_CLAIM };
        ret->in.claim = (struct claim_in) {
                .unit = { "", d->task, 0 }, .planned = d->planned, .occ = d->occ, .token = d->token, .trig = d->trig,
                .owner = d->owner, .node = DUE_NODE, .expect = d->expect, .gap_cause = CAUSE_MISFIRE,
                .grace_ms = 59000, .catch_up = true, .overlap = OVERLAP_DROP, .max_running = 1, .queue_limit = 100,
                .lease_ms = 30000, .timeout_ms = 30000, .rev = 1, .shards = 1, .life = DUE_LIFE,
                .not_after = INSTANT_NONE,
        };
}

void book_finish(const struct due *d, struct ledger_call *ret)
{
        struct stamp now = clock_wall();

        *ret = (struct ledger_call) { .op = LEDGER_FINISH };
        ret->in.finish = (struct finish_in) {
                .unit = { "", d->task, 0 }, .occ = d->occ, .token = d->token, .fence = d->fence, .trig = d->trig,
                .owner = d->owner, .node = DUE_NODE, .planned = d->planned, .state = STATE_SUCCEEDED,
                .result = RESULT_NOOP, .started = now, .ended = now, .text = "", .error = "", .code = -1,
                .keep = { 1000, 0 },
        };
}
