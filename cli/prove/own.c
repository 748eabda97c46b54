/* Under `none` each process is by itself: it has a queue of its own, and nobody tells the end of a run whose process was
 * killed. So each process has its own count of what began, and what it kept waiting. */
#include <errno.h>
#include <stdlib.h>

#include "cli/prove/unit.h"

static struct own *own_of(struct taking *t)
{
        struct unit *u = t->u;

        if (!u->own)
                u->own = calloc(t->j->evidence->process_count, sizeof(*u->own));
        return u->own ? &u->own[t->p->index] : NULL;
}

int own_queued(struct taking *t)
{
        struct own *own = own_of(t);

        return own ? spans_add(&own->queued, t->planned_ms, t->planned_ms, unit_empty_between, t->u) : -ENOMEM;
}

/* How long it waited in the queue is no lateness. */
static int count_late(struct taking *t, struct own *own)
{
        int64_t late_us = t->r->t_us - t->planned_ms * 1000;
        bool waited = spans_has(&own->queued, t->planned_ms);
        int r = waited ? spans_cut(&own->queued, t->planned_ms, t->planned_ms) : 0;

        if (r < 0 || steps_near(t->j->evidence, t->p, t->r->b_ns, 0))
                return r;
        if (!waited)
                return row_late(t->row, late_us);
        row_waited(t->row, late_us);
        return 0;
}

int own_run(struct taking *t)
{
        if (!unit_expects(t->j, t->u, t->planned_ms)) {
                t->row->outside++;
                return 0;
        }
        struct own *own = own_of(t);
        if (!own)
                return -ENOMEM;
        t->row->runs++;
        own->open++;
        int r = row_source(t->row, t->p->index);
        return r < 0 ? r : count_late(t, own);
}

void own_ended(struct taking *t)
{
        struct own *own = t->u->own ? &t->u->own[t->p->index] : NULL;

        if (own && own->open > 0)
                own->open--;
}

static uint64_t waiting(const struct judge *j, const struct unit *u, const struct spans *queued)
{
        int64_t after, upto;
        uint64_t sum = 0;

        if (!unit_window(j, u, &after, &upto))
                return 0;
        for (size_t i = 0; i < queued->count; i++) {
                int64_t first = queued->list[i].first > after ? queued->list[i].first : after + 1;
                int64_t last = queued->list[i].last < upto ? queued->list[i].last : upto;
                sum += first <= last ? unit_instants(u, first - 1, last) : 0;
        }
        return sum;
}

void own_settle(struct judge *j, struct unit *u, struct row *row)
{
        for (size_t i = 0; u->own && i < j->evidence->process_count; i++) {
                const struct own *own = &u->own[i];
                uint64_t *open = j->evidence->processes[i]->ended ? &row->unfinished : &row->running;
                *open += own->open;
                row->unrun[UNRUN_QUEUED] += waiting(j, u, &own->queued);
        }
}

void own_done(struct judge *j, struct unit *u)
{
        for (size_t i = 0; u->own && i < j->evidence->process_count; i++)
                spans_done(&u->own[i].queued);
        free(u->own);
}
