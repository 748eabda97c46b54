/* One call and one delay a ledger. What a look finds is as old as its answer: it is where to try, and no more. */
#include "worker/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/claim/claim.h"
#include "worker/spine.h"

/* Siblings look at different times, since their clocks have come to different microseconds. */
#define LOOK_MS   800
#define JITTER_MS 400

/* Between tries at a unit whose holder may be dead on another node: it is watched by the answers. */
#define LEASE_PARTS 3

struct queues {
        struct queues_options o;
        struct ledger_call call;
        struct delay wait;
        bool needed;             /* a task of this ledger may queue */
        bool shows;              /* counts of the last look are on the scoreboard */
        bool canceled;
        void (*looked)(void *arg);
        void *looked_arg;
};

static void on_due(struct delay *d);

static void wait_for_next(struct queues *q)
{
        int64_t jitter_ms = clock_mono().ns / NS_PER_US % JITTER_MS;

        if (q->o.by_hand)
                return;
        q->wait.over = on_due;
        delay_set(q->o.delays, &q->wait, LOOK_MS + jitter_ms);
}

static struct job *find_job(const struct queues *q, const struct queued_unit *found)
{
        const struct config *c = q->o.claims->config;
        const struct task *t = config_task(c, found->task);
        struct job *j = t ? &q->o.jobs[t - c->tasks] : NULL;

        if (!j || j->ledger != q->o.ledger || found->shard >= j->unit_count)
                return NULL;
        return strcmp(j->scope_key, found->scope_key) == 0 ? j : NULL;
}

/* A slot that is taken is free before its run ends only when its holder died. On this node the master hears of that;
 * of another node's death nobody does who does not watch the holder. */
static bool is_worth_a_try(struct unit *u, unsigned running)
{
        const struct job *j = u->of;
        struct mono now = clock_mono();

        if (running < job_slots(j))
                return true;
        if (j->task->singleton != PATH_REDIS || u->running > 0)
                return false;
        if (u->asked.ns && mono_since_ms(u->asked, now) < j->task->lease_ms / LEASE_PARTS)
                return false;
        u->asked = now;
        return true;
}

static void start_found(struct queues *q, const struct queued_out *found)
{
        unsigned room = q->o.claims->config->tick_limit;

        for (size_t i = 0; room > 0 && i < found->count; i++) {
                struct job *j = find_job(q, &found->units[i]);
                struct unit *u = j ? &j->units[found->units[i].shard] : NULL;

                if (!u || !is_worth_a_try(u, found->units[i].running))
                        continue;
                spine_take(q->o.spine, u);
                room--;
        }
}

static void start_own(struct queues *q)
{
        for (size_t i = 0; i < q->o.job_count; i++) {
                struct job *j = &q->o.jobs[i];

                for (unsigned k = 0; !j->ledger && k < j->unit_count; k++)
                        if (j->units[k].queued > 0)
                                spine_take(q->o.spine, &j->units[k]);
        }
}

/* The timer worker shows what all workers see, so that their sum is what waits. */
static void show(struct queues *q, const struct queued_out *found)
{
        bool leads = q->o.claims->term != 0;
        size_t count = leads ? found->count : 0;

        if (count == 0 && !q->shows)
                return;
        for (size_t i = 0; i < q->o.job_count; i++)
                q->o.jobs[i].queued = 0;
        for (size_t i = 0; i < count; i++) {
                struct job *j = find_job(q, &found->units[i]);
                if (j)
                        j->queued += found->units[i].count;
        }
        for (size_t i = 0; i < q->o.job_count; i++) {
                struct job *j = &q->o.jobs[i];
                if (j->ledger != q->o.ledger || j->queued == j->queued_shown)
                        continue;
                row_queued(j->row, (int64_t) j->queued - (int64_t) j->queued_shown);
                j->queued_shown = j->queued;
        }
        q->shows = count > 0;
}

static void on_looked(struct ledger_call *call)
{
        struct queues *q = call->arg;
        bool go_on = q->needed || call->error < 0 || call->out.queued.count > 0;

        if (call->error == 0 && !q->canceled) {
                show(q, &call->out.queued);
                start_found(q, &call->out.queued);
        }
        ledger_call_done(call);
        if (go_on && !q->canceled)
                wait_for_next(q);
        if (q->looked && !q->canceled)
                q->looked(q->looked_arg);
}

static void send_look(struct queues *q)
{
        q->call = (struct ledger_call) { .op = LEDGER_QUEUED, .done = on_looked, .arg = q };
        q->call.in.queued.node = q->o.claims->node;
        ledger_send(q->o.ledger, &q->call);
}

static void on_due(struct delay *d)
{
        struct queues *q = container_of(d, struct queues, wait);

        if (q->o.spine->phase != SPINE_WORKING) {
                show(q, &(struct queued_out) { 0 });   /* the next timer worker shows them */
                return;
        }
        if (!q->o.ledger) {
                start_own(q);
                wait_for_next(q);
                return;
        }
        send_look(q);
}

void queues_look(struct queues *q, void (*looked)(void *arg), void *arg)
{
        if (!q->o.ledger) {
                start_own(q);
                looked(arg);
                return;
        }
        q->looked = looked;
        q->looked_arg = arg;
        send_look(q);
}

int queues_begin(const struct queues_options *o, struct queues **ret)
{
        struct queues *q = calloc(1, sizeof(*q));
        if (!q)
                return -ENOMEM;

        q->o = *o;
        for (size_t i = 0; i < o->job_count && !q->needed; i++)
                q->needed = o->jobs[i].ledger == o->ledger && o->jobs[i].task->overlap.policy == OVERLAP_QUEUE;
        /* What another configuration left waiting is still to be started. */
        if (q->needed || o->ledger)
                wait_for_next(q);
        *ret = q;
        return 0;
}

void queues_cancel(struct queues *q)
{
        if (!q)
                return;
        q->canceled = true;
        delay_clear(q->o.delays, &q->wait);
}

void queues_free(struct queues *q)
{
        free(q);
}
