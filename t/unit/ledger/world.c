/* An opened ledger on a loop of its own, and the calls of one task put together with few words. */
#include "t/unit/ledger/conformance.h"

#include "t/unit/cases.h"

#include <stdio.h>
#include <string.h>

static void on_health(enum ledger_health h, const char *why, void *arg)
{
        struct world *w = arg;

        w->health = h;
        w->health_changes++;
        (void) snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
}

int world_begin(struct world *w, const struct conformance_backend *backend)
{
        *w = (struct world) { .backend = backend, .node = "here-0a1b2c3d", .boot = "b007b007b007b007",
                              .owner = "here-0a1b2c3d.0.100.7-aaaa", .life = 1, .health = LEDGER_DOWN };
        int r = backend->fresh(&w->config, &w->data);
        if (r < 0)
                return r;
        w->base.ms = stamp_instant(clock_wall()).ms / 1000 * 1000;
        assert_int_equal(uv_loop_init(&w->loop), 0);
        return 0;
}

void world_end(struct world *w)
{
        world_close(w);
        (void) uv_run(&w->loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&w->loop), 0);
        w->backend->drop(&w->config, w->data);
}

void world_open(struct world *w)
{
        struct ledger_options o = { .config = &w->config, .node = w->node, .owner = w->owner, .boot = w->boot,
                                    .life = w->read_only ? 0 : w->life, .read_only = w->read_only };

        assert_null(w->ledger);
        assert_int_equal(w->backend->kind->open(&w->loop, &o, on_health, w, &w->ledger), 0);
}

static void on_closed(void *arg)
{
        *(bool *) arg = true;
}

void world_close(struct world *w)
{
        bool closed = false;

        if (!w->ledger)
                return;
        ledger_close(w->ledger, on_closed, &closed);
        w->ledger = NULL;
        while (!closed)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
}

void world_wait_health(struct world *w, enum ledger_health h)
{
        while (w->health != h || w->health_changes == 0)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
}

static void on_done(struct ledger_call *c)
{
        --*(size_t *) c->arg;
}

void world_call_all(struct world *w, struct ledger_call *calls, size_t count)
{
        size_t left = count;

        for (size_t i = 0; i < count; i++) {
                calls[i].done = on_done;
                calls[i].arg = &left;
                ledger_send(w->ledger, &calls[i]);
        }
        assert_int_equal(left, count);   /* never before the loop turns */
        while (left > 0)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
}

void world_call(struct world *w, struct ledger_call *c)
{
        world_call_all(w, c, 1);
}

struct instant world_at(const struct world *w, int s)
{
        return (struct instant) { w->base.ms + s * 1000LL };
}

void world_task(struct world *w, unsigned shards, int cursor_s)
{
        struct ledger_call def = { .op = LEDGER_DEFINE };

        def.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "0123456789abcdef",
                                             .def_hash = "fedcba9876543210", .shards = shards,
                                             .competes = true, .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &def.in.define.schedule), 0);
        world_call(w, &def);
        assert_int_equal(def.error, 0);
        w->rev = def.out.define.rev;
        w->shards = shards;

        for (unsigned i = 0; i < shards; i++) {
                struct ledger_call reg = { .op = LEDGER_REGISTER };
                reg.in.reg = (struct register_in) { .unit = { "", WORLD_TASK, i },
                                                    .cursor = world_at(w, cursor_s) };
                world_call(w, &reg);
                assert_int_equal(reg.error, 0);
        }
}

static void ask_names(struct world *w, const struct ask *a, struct ask_texts *texts)
{
        const char *owner = a->owner ? a->owner : w->owner;

        occurrence_id("", WORLD_TASK, a->shard, world_at(w, a->at), texts->occ);
        claim_token(owner, texts->occ, texts->token);
        (void) snprintf(texts->trig, sizeof(texts->trig), "%s.%d", owner, a->at);
}

void ask_claim(struct world *w, const struct ask *a, struct ask_texts *texts, struct ledger_call *ret)
{
        bool gap = a->gap_first != 0 || a->gap_last != 0;

        ask_names(w, a, texts);
        *ret = (struct ledger_call) { .op = LEDGER_CLAIM };
        ret->in.claim = (struct claim_in) {
                .unit = { "", WORLD_TASK, a->shard },
                .planned = a->gap_alone ? INSTANT_NONE : world_at(w, a->at),
                .occ = texts->occ, .token = texts->token, .trig = texts->trig,
                .owner = a->owner ? a->owner : w->owner, .node = w->node,
                .expect = world_at(w, a->expect),
                .gap_cause = a->gap_cause ? a->gap_cause : CAUSE_MISFIRE,
                .grace_ms = a->grace_ms ? a->grace_ms : GRACE_MS,
                .catch_up = a->catch_up, .overlap = a->overlap,
                .max_running = a->max_running ? a->max_running : 1, .queue_limit = 100,
                .lease_ms = 30000, .timeout_ms = 30000,
                .rev = a->rev ? a->rev : w->rev, .shards = a->shards ? a->shards : w->shards,
                .term = a->term, .tree = a->tree, .life = w->life,
                .not_after = { stamp_instant(clock_wall()).ms + (a->void_after_ms ? a->void_after_ms : 30000) },
        };
        if (gap)
                ret->in.claim.gap = (struct instant_range) { world_at(w, a->gap_first), world_at(w, a->gap_last),
                                                             (uint64_t) (a->gap_last - a->gap_first + 1) };
}

void ask_finish(struct world *w, const struct ask *a, struct ask_texts *texts, enum state state,
                struct ledger_call *ret)
{
        ask_names(w, a, texts);
        *ret = (struct ledger_call) { .op = LEDGER_FINISH };
        ret->in.finish = (struct finish_in) {
                .unit = { "", WORLD_TASK, a->shard }, .occ = texts->occ, .token = texts->token,
                .fence = texts->fence, .trig = texts->trig, .owner = a->owner ? a->owner : w->owner,
                .node = w->node, .planned = world_at(w, a->at), .state = state,
                .result = state == STATE_SUCCEEDED ? RESULT_DONE : RESULT_NONE,
                .started = clock_wall(), .ended = clock_wall(), .text = "", .error = "", .code = -1,
                .keep = { 1000, 0 },
        };
}

void ask_beat(struct world *w, const char *node, const char *token, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_BEAT };
        ret->in.beat = (struct beat_in) { .node = node ? node : w->node, .token = token, .prev = "", .host = "web-1",
                                          .boot = w->boot, .version = "1.2.3", .tzdata = "2024a",
                                          .config = "00112233aabbccdd", .pid = 4711, .offline_ms = OFFLINE_MS,
                                          .main_ms = MAIN_MS };
}

void ask_take(struct world *w, const char *owner, int n, struct take_texts *texts, struct take_in *ret)
{
        char name[32];

        if (!owner)
                owner = w->owner;
        (void) snprintf(name, sizeof(name), "take %d", n);
        claim_token(owner, name, texts->token);
        (void) snprintf(texts->trig, sizeof(texts->trig), "%s.t%d", owner, n);
        *ret = (struct take_in) { .unit = { "", WORLD_TASK, 0 }, .token = texts->token, .trig = texts->trig,
                                  .owner = owner, .node = w->node, .lease_ms = 30000, .rev = w->rev,
                                  .shards = w->shards, .life = w->life,
                                  .not_after = { stamp_instant(clock_wall()).ms + 30000 } };
}
