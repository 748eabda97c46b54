/* No claim at all: every worker runs every instant, the plain timer of a process. Nothing is asked and
 * nothing is remembered; overlap is counted, and a queue kept, in this process alone, and both end with it. The log
 * shows what that comes to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/scoreboard/scoreboard.h"
#include "worker/claim/ask.h"
#include "worker/unit.h"

/* A ring of the instants that wait in this process, oldest first; their number is the unit's `queued`. */
struct own_queue {
        unsigned room, first;
        struct instant at[];
};

#define QUEUE_ROOM_MIN 16

static int none_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        struct claimer *cr = calloc(1, sizeof(*cr));
        (void) l;

        if (!cr)
                return -ENOMEM;
        *cr = (struct claimer) { .kind = &claim_none, .options = o };
        *ret = cr;
        return 0;
}

static bool queue_grow(struct unit *u)
{
        const struct own_queue *old = u->own_queue;
        unsigned room = old ? old->room * 2 : QUEUE_ROOM_MIN;
        struct own_queue *q = malloc(sizeof(*q) + room * sizeof(q->at[0]));

        if (!q)
                return false;
        *q = (struct own_queue) { .room = room };
        for (unsigned i = 0; i < u->queued; i++)
                q->at[i] = old->at[(old->first + i) % old->room];
        free(u->own_queue);
        u->own_queue = q;
        return true;
}

/* False when it is full, or there is no memory for more. */
static bool queue_push(struct unit *u, struct instant planned)
{
        if (u->queued >= u->of->task->overlap.queue_limit)
                return false;
        if ((!u->own_queue || u->queued == u->own_queue->room) && !queue_grow(u))
                return false;

        struct own_queue *q = u->own_queue;
        q->at[(q->first + u->queued) % q->room] = planned;
        u->queued++;
        row_queued(u->of->row, 1);
        return true;
}

static struct instant queue_pop(struct unit *u)
{
        struct own_queue *q = u->own_queue;
        struct instant oldest = q->at[q->first];

        q->first = (q->first + 1) % q->room;
        u->queued--;
        row_queued(u->of->row, -1);
        return oldest;
}

static void end_decided(struct claim *c, enum cause cause)
{
        c->answer.state = STATE_SKIPPED;
        c->answer.cause = cause;
        ask_end(c, OUTCOME_DECIDED, "");
}

static void end_granted(struct claim *c)
{
        (void) snprintf(c->answer.fence, sizeof(c->answer.fence), "0");
        ask_end(c, OUTCOME_GRANTED, "");
}

static void decide(struct claim *c)
{
        struct unit *u = c->unit;
        bool is_taken = u->running >= job_slots(u->of);

        c->answer.cursor = instant_is_none(c->planned) ? c->gap.last : c->planned;
        c->answer.gap_written = c->gap.count > 0;
        if (instant_is_none(c->planned))
                ask_end(c, OUTCOME_DECIDED, "");
        else if (u->of->task->overlap.policy != OVERLAP_QUEUE && is_taken)
                end_decided(c, CAUSE_OVERLAP);
        else if (!is_taken && u->queued == 0)
                end_granted(c);
        else if (queue_push(u, c->planned))
                ask_end(c, OUTCOME_QUEUED, "");
        else
                end_decided(c, CAUSE_QUEUE_FULL);
}

static void take(struct claim *c)
{
        struct unit *u = c->unit;
        const struct job *j = u->of;

        if (u->queued == 0 || u->running >= job_slots(j)) {
                ask_end(c, u->queued ? OUTCOME_BUSY : OUTCOME_DONE, "");
                return;
        }
        c->planned = queue_pop(u);
        occurrence_id(j->scope_key, j->task->name, u->shard, c->planned, c->occ);
        end_granted(c);
}

static void on_decided(struct claim *c)
{
        c->done(c);
}

static void none_ask(struct claimer *cr, struct claim *c)
{
        c->answered = on_decided;
        ask_wait(cr, c, 0, c->take ? take : decide);
}

static void none_hurry(struct claimer *cr, struct claim *c)
{
        (void) cr;   /* the answer comes in this turn or the next */
        (void) c;
}

static void none_close(struct claimer *cr)
{
        free(cr);
}

const struct claim_kind claim_none = {
        .name = "none", .path = PATH_NONE,
        .open = none_open, .ask = none_ask, .hurry = none_hurry, .close = none_close,
};
