/* The agenda: a heap of units by the instant at which they are looked at. */
#include "worker/agenda.h"

#include <errno.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/exits.h"
#include "common/log.h"
#include "worker/unit.h"

static bool wakes_earlier(const struct heap_node *a, const struct heap_node *b)
{
        return container_of_const(a, struct unit, node)->wake.ms < container_of_const(b, struct unit, node)->wake.ms;
}

void agenda_init(struct agenda *a, int64_t delay_ms)
{
        heap_init(&a->heap, wakes_earlier);
        a->delay_ms = delay_ms;
}

void agenda_done(struct agenda *a)
{
        heap_done(&a->heap);
}

void agenda_put(struct agenda *a, struct unit *u, struct instant wake)
{
        u->wake = wake;
        if (u->node.index) {
                heap_moved(&a->heap, &u->node);
                return;
        }
        if (heap_insert(&a->heap, &u->node) < 0) {
                /* A worker that forgets a unit would miss instants in silence; the master replaces it. */
                (void) log_error(ENOMEM, "agenda: planning unit %u of task %s", u->shard, u->of->task->name);
                _exit(EXIT_OS);
        }
}

void agenda_remove(struct agenda *a, struct unit *u)
{
        if (u->node.index)
                heap_remove(&a->heap, &u->node);
}

struct unit *agenda_take(struct agenda *a, struct instant now)
{
        struct heap_node *top = heap_top(&a->heap);
        if (!top)
                return NULL;
        struct unit *u = container_of(top, struct unit, node);
        if (u->wake.ms + a->delay_ms > now.ms)
                return NULL;

        heap_remove(&a->heap, top);
        return u;
}

struct instant agenda_next(const struct agenda *a)
{
        const struct heap_node *top = heap_top(&a->heap);
        if (!top)
                return INSTANT_NONE;
        return (struct instant) { container_of_const(top, struct unit, node)->wake.ms + a->delay_ms };
}
