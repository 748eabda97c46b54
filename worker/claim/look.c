/* A peek each third of a lease, one at a time for each unit. */
#include "worker/claim/look.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "worker/claim/claim.h"
#include "worker/claim/watch.h"
#include "worker/unit.h"

#define PARTS 3

struct look {
        struct looks *all;
        struct look *next, **link;   /* in all->first */
        struct unit *unit;           /* borrowed, outlives us */
        struct ledger_call call;
        struct delay wait;
};

static void look_end(struct look *k)
{
        delay_clear(k->all->claimer->options->delays, &k->wait);
        *k->link = k->next;
        if (k->next)
                k->next->link = k->link;
        free(k);
}

static void on_due(struct delay *d);

static void look_wait(struct look *k)
{
        k->wait.over = on_due;
        delay_set(k->all->claimer->options->delays, &k->wait, k->unit->of->task->lease_ms / PARTS);
}

static void on_seen(struct ledger_call *call)
{
        struct look *k = call->arg;
        struct watch **watch = &k->unit->watch;
        struct peek_out out = call->out.peek;
        bool is_seen = call->error == 0;

        ledger_call_done(call);
        if (k->all->claimer->options->ending || (is_seen && strcmp(out.slot_occ, watch_occ(*watch)) != 0)) {
                look_end(k);
                return;
        }
        if (is_seen)
                watch_note(watch, out.slot_occ, out.seq, k->unit->of->task->lease_ms, clock_mono());
        look_wait(k);
}

static void on_due(struct delay *d)
{
        struct look *k = container_of(d, struct look, wait);
        struct claimer *cr = k->all->claimer;

        if (cr->options->ending || !watch_occ(k->unit->watch)[0]) {
                look_end(k);
                return;
        }
        k->call = (struct ledger_call) { .op = LEDGER_PEEK, .done = on_seen, .arg = k };
        k->call.in.peek.unit = unit_key(k->unit);
        ledger_send(cr->ledger, &k->call);
}

void look_begin(struct looks *all, struct unit *u)
{
        for (struct look *k = all->first; k; k = k->next)
                if (k->unit == u)
                        return;
        struct look *k = calloc(1, sizeof(*k));
        if (!k)
                return;   /* claims alone watch then, each at its own time */
        *k = (struct look) { .all = all, .next = all->first, .link = &all->first, .unit = u };
        if (k->next)
                k->next->link = &k->next;
        all->first = k;
        look_wait(k);
}

void looks_done(struct looks *all)
{
        while (all->first)
                look_end(all->first);
}
