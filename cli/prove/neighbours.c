/* Runs of one unit beside each other: at the same time, too many of them, in the wrong order. Looked for among the
 * newest runs, so that memory stays what it is; a run that is settled late is compared with those before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"

#define KEPT_MIN 8

/* Under `concurrent` enough are kept to find one more than may run at once. */
static size_t kept_room(const struct unit *u)
{
        size_t room = KEPT_MIN;

        for (size_t i = 0; i < u->plans->count; i++) {
                const struct plan *p = &u->plans->list[i];
                if (p->concurrent && KEPT_MIN + 2 * (size_t) p->max_running > room)
                        room = KEPT_MIN + 2 * (size_t) p->max_running;
        }
        return room;
}

/* One steady clock for both, or two wall clocks that were not set meanwhile. */
static bool is_comparable(const struct judge *j, const struct interval *a, const struct interval *b, bool *ret_steady)
{
        const struct process *p = j->evidence->processes[a->process], *q = j->evidence->processes[b->process];

        *ret_steady = *p->boot && strcmp(p->boot, q->boot) == 0 && strcmp(p->node, q->node) == 0;
        return *ret_steady || (!p->was_set && !q->was_set);
}

static bool overlaps(const struct judge *j, const struct interval *a, const struct interval *b)
{
        bool steady;

        if (!is_comparable(j, a, b, &steady))
                return false;
        if (steady)
                return a->from_b_ns < b->to_b_ns && b->from_b_ns < a->to_b_ns;
        return a->from_us + ERROR_US < b->to_us && b->from_us + ERROR_US < a->to_us;
}

/* True when `a` was going on at the start of `b`. */
static bool is_on_at_start(const struct judge *j, const struct interval *a, const struct interval *b)
{
        bool steady;

        if (!is_comparable(j, a, b, &steady))
                return false;
        if (steady)
                return a->from_b_ns <= b->from_b_ns && b->from_b_ns < a->to_b_ns;
        return a->from_us + ERROR_US < b->from_us && b->from_us + ERROR_US < a->to_us;
}

/* A run by hand has the time it was asked for, and no place in the order. */
static bool is_back(const struct judge *j, const struct interval *a, const struct interval *b)
{
        const struct interval *older = a->planned_ms < b->planned_ms ? a : b, *newer = older == a ? b : a;
        bool steady;

        if (a->manual || b->manual || a->planned_ms == b->planned_ms || !is_comparable(j, a, b, &steady))
                return false;
        return steady ? older->from_b_ns > newer->from_b_ns : older->from_us > newer->from_us + ERROR_US;
}

/* How many went on at once when `i` did, itself among them: most are on when one of them starts. */
static unsigned crowd_of(const struct judge *j, const struct unit *u, const struct interval *i, size_t count)
{
        unsigned most = 0;

        for (size_t k = 0; k <= count; k++) {
                const struct interval *start = k < count ? &u->intervals[k] : i;
                unsigned on = 1;

                if (k < count && !is_on_at_start(j, i, start))
                        continue;
                for (size_t o = 0; o < count; o++)
                        on += o == k || is_on_at_start(j, &u->intervals[o], start);
                if (on > most)
                        most = on;
        }
        return most;
}

/* The run's own measured length counts, not the time of its finish line: that is written after the unit was
 * free again, when the next run may have begun already. Of what another process ended, no length is known. */
static struct interval interval_of(const struct occurrence *o)
{
        int64_t length_us = o->end_count > 0 && !o->ends[0].by_other ? o->ends[0].run_us : 0;

        return (struct interval) {
                .planned_ms = o->planned_ms, .manual = o->manual, .process = o->first.process,
                .from_us = o->first.t_us, .to_us = o->first.t_us + length_us,
                .from_b_ns = o->first.b_ns, .to_b_ns = o->first.b_ns + length_us * NS_PER_US,
        };
}

int unit_neighbours(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { o->planned_ms });
        bool concurrent = plan && plan->concurrent, back = false;
        struct interval i = interval_of(o);
        unsigned crossing = 0;
        int r = 0;

        if (!u->intervals) {
                u->interval_room = kept_room(u);
                u->intervals = calloc(u->interval_room, sizeof(*u->intervals));
        }
        if (!u->intervals)
                return -ENOMEM;
        size_t count = u->interval_next < u->interval_room ? u->interval_next : u->interval_room;
        for (size_t k = 0; k < count; k++) {
                crossing += overlaps(j, &i, &u->intervals[k]);
                back |= is_back(j, &i, &u->intervals[k]);
        }
        row->crossing += crossing > 0;
        if (crossing > 0 && !concurrent)
                r = occurrence_finding(j, u, row, o, FINDING_OVERLAP, "ran while another run of the unit went on");
        else if (concurrent && crossing >= plan->max_running && crowd_of(j, u, &i, count) > plan->max_running)
                r = occurrence_finding(j, u, row, o, FINDING_CROWD, "more runs of the unit at once than max_running");
        if (r == 0 && back && !concurrent)
                r = occurrence_finding(j, u, row, o, FINDING_BACK, "an older instant was started after a newer one");
        u->intervals[u->interval_next++ % u->interval_room] = i;
        return r;
}
