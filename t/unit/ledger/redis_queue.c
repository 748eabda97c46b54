/* One task on the shared Redis server, and what cases ask about its queue. */
#include "t/unit/ledger/redis_queue.h"

#include "t/unit/cases.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct task queue_task = { .name = (char[]) { WORLD_TASK }, .singleton = PATH_REDIS, .lease_ms = 1000, .shards = 1 };

static const struct ask first = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };

void queue_begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        w->config.tasks = &queue_task;
        w->config.task_count = 1;
        world_open(w);
}

void queue_end(struct world *w)
{
        world_end(w);
        alarm(0);
}

enum outcome queue_claim(struct world *w, int at, struct ask_texts *texts)
{
        struct ledger_call c;

        struct ask a = { .at = at, .expect = at - 1, .overlap = OVERLAP_QUEUE, .catch_up = true };

        ask_claim(w, &a, texts, &c);
        c.in.claim.queue_limit = 1000;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        if (c.out.claim.outcome == OUTCOME_GRANTED)
                (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c.out.claim.fence);
        return c.out.claim.outcome;
}

void queue_fill(struct world *w, int waiting, struct ask_texts *texts)
{
        struct ask_texts more;

        world_task(w, 1, -10);
        assert_int_equal(queue_claim(w, -9, texts), OUTCOME_GRANTED);
        for (int i = 0; i < waiting; i++)
                assert_int_equal(queue_claim(w, -8 + i, &more), OUTCOME_QUEUED);
}

void queue_prepare_finish(struct world *w, struct ask_texts *texts, int n, struct take_texts *words,
                           struct take_in *take, struct ledger_call *ret)
{
        ask_finish(w, &first, texts, STATE_SUCCEEDED, ret);
        if (n == 0)
                return;
        ask_take(w, NULL, n, words, take);
        ret->in.finish.take = take;
}

struct finish_out queue_finish(struct world *w, struct ask_texts *texts, int n)
{
        struct take_texts words;
        struct take_in take;
        struct ledger_call c;

        queue_prepare_finish(w, texts, n, &words, &take, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct finish_out out = c.out.finish;
        ledger_call_done(&c);
        return out;
}

struct take_out queue_take(struct world *w, const char *owner, int n, const char *stale_occ)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;

        ask_take(w, owner, n, &words, &c.in.take);
        (void) snprintf(c.in.take.stale_occ, sizeof(c.in.take.stale_occ), "%s", stale_occ);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct take_out out = c.out.take;
        if (out.claim.ended_count > 0) {
                assert_string_equal(out.claim.ended[0].occ, stale_occ);
                assert_int_equal(out.claim.ended[0].cause, CAUSE_LEASE_LOST);
        }
        ledger_call_done(&c);
        return out;
}

unsigned queue_depth(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.peek.queued;
}

const char *queue_key(const struct world *w, const char *name)
{
        static char text[200];

        (void) snprintf(text, sizeof(text), "onced:{test:%s}:%s", w->config.redis.group, name);
        return text;
}

const char *queue_key_of(const struct world *w, const char *kind, const char *occ)
{
        char name[100];

        (void) snprintf(name, sizeof(name), "%s:%s", kind, occ);
        return queue_key(w, name);
}
