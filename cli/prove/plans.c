/* Plans of one task in order. The same plan is said by several processes and again in every file: it is kept
 * once. One revision that is valid from two times comes from two ledgers, as when a state folder was replaced. A task
 * that was removed and came back has the same plan twice, and a gap between. */
#include "cli/prove/plans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/scan.h"
#include "cli/prove/spans.h"
#include "common/schedule/misfire.h"

struct plans *plans_new(const char *task, const char *key, bool plain)
{
        struct plans *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->task = strdup(task);
        p->key = strdup(key);
        p->plain = plain;
        p->alone_ms = INT64_MAX;
        p->near = calloc(1, sizeof(*p->near));
        return p->task && p->key && p->near ? p : plans_free(p);
}

struct plans *plans_free(struct plans *p)
{
        if (!p)
                return NULL;
        free(p->task);
        free(p->key);
        free(p->list);
        free(p->setups);
        free(p->near);
        free(p->doubt);
        free(p);
        return NULL;
}

static bool same_definition(const struct plan *a, const struct plan *b)
{
        return a->path == b->path && schedule_equal(&a->schedule, &b->schedule) && a->computable == b->computable &&
               a->competes == b->competes && a->shards == b->shards;
}

static int64_t longest(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

/* How a task overlaps and catches up may change within a revision, and nothing says when: what any of its lines
 * allowed is allowed. */
static void policies_join(struct plan *p, const struct plan *other)
{
        p->concurrent |= other->concurrent;
        p->queued |= other->queued;
        p->catch_up |= other->catch_up;
        if (other->max_running > p->max_running)
                p->max_running = other->max_running;
        if (p->grace_ms != other->grace_ms)
                p->grace_ms = longest(longest(p->grace_ms, other->grace_ms), GRACE_DEFAULT_MS);
}

static int make_room(struct plans *p)
{
        if (p->count == p->room) {
                size_t room = p->room ? p->room * 2 : 2;
                struct plan *list = realloc(p->list, room * sizeof(*list));
                if (!list)
                        return -ENOMEM;
                p->list = list;
                p->room = room;
        }
        return 0;
}

/* Places `n` by valid_from, then revision. */
static int place(struct plans *p, const struct plan *n)
{
        if (make_room(p) < 0)
                return -ENOMEM;
        *p->near = (struct near) { 0 };   /* it knows schedules by their place */
        size_t i = p->count++;
        for (; i > 0 && (p->list[i - 1].valid_from.ms > n->valid_from.ms ||
                         (p->list[i - 1].valid_from.ms == n->valid_from.ms && p->list[i - 1].rev > n->rev));
             i--)
                p->list[i] = p->list[i - 1];
        p->list[i] = *n;
        return 0;
}

void plans_move(struct plans *p, size_t i, struct instant valid_from)
{
        struct plan moved = p->list[i];

        moved.valid_from = valid_from;
        memmove(&p->list[i], &p->list[i + 1], (--p->count - i) * sizeof(*p->list));
        (void) place(p, &moved);        /* there is room: one was taken out */
}

static void first_said(struct plan *p, const struct plan *other)
{
        if (other->said_b_ns >= p->said_b_ns || strcmp(other->said_by->boot, p->said_by->boot) != 0)
                return;
        p->said_by = other->said_by;
        p->said_us = other->said_us;
        p->said_b_ns = other->said_b_ns;
}

int plans_add(struct plans *p, const struct record *r, const struct process *by)
{
        struct plan n;

        int e = plan_read(p, r, &n);
        if (e < 0)
                return e;
        n.said_by = by;
        n.said_us = r->t_us;
        n.said_b_ns = r->b_ns;
        for (size_t i = 0; i < p->count; i++) {
                struct plan *o = &p->list[i];
                if (o->rev != n.rev)
                        continue;
                if (same_definition(o, &n) && n.valid_from.ms == o->valid_from.ms) {
                        policies_join(o, &n);
                        first_said(o, &n);
                        return 0;
                }
                /* Under none nothing numbers the revisions: a changed plan is just the next one. */
                if (o->path == n.path && !p->plain && o->valid_from.ms == n.valid_from.ms)
                        p->split = true;
        }
        return place(p, &n);
}

static bool is_said_before(const struct plan *a, const struct plan *b)
{
        if (*a->said_by->boot && strcmp(a->said_by->boot, b->said_by->boot) == 0)
                return a->said_b_ns < b->said_b_ns;
        return a->said_us < b->said_us;
}

/* One that says the same as the one before it is the same: each leader begins it with a window of its own. Another one
 * is in force from when it was said: until then its window is of instants that the one before had run. */
void plans_order(struct plans *p)
{
        size_t kept = 0;

        for (size_t i = 1; i < p->count && p->plain; i++) {
                struct plan n = p->list[i];
                size_t k = i;
                for (; k > 0 && is_said_before(&n, &p->list[k - 1]); k--)
                        p->list[k] = p->list[k - 1];
                p->list[k] = n;
        }
        for (size_t i = 1; i < p->count && p->plain; i++) {
                struct plan *last = &p->list[kept], *n = &p->list[i];
                if (same_definition(last, n)) {
                        policies_join(last, n);
                        continue;
                }
                n->valid_from.ms = longest(longest(n->valid_from.ms, n->said_us / 1000), last->valid_from.ms);
                p->list[++kept] = *n;
        }
        if (p->plain && p->count > 0)
                p->count = kept + 1;
        *p->near = (struct near) { 0 };
}

void plans_begin_alone(struct plans *p)
{
        p->alone = p->count > 0 && p->list[0].rev <= 1 && p->alone_ms <= p->list[0].valid_from.ms;
        if (p->alone)
                p->list[0].valid_from.ms = p->alone_ms - 1;
}

const struct plan *plans_at(const struct plans *p, struct instant i)
{
        size_t at = p->count;

        while (at > 1 && p->list[at - 1].valid_from.ms >= i.ms)
                at--;
        return at > 0 ? &p->list[at - 1] : NULL;
}

int plans_next(const struct plans *p, const struct plan *plan, struct instant after, struct instant *ret)
{
        return near_next(p->near, &plan->schedule, after, ret);
}

uint64_t plans_plan_count(const struct plans *p, const struct plan *plan, struct instant after, struct instant upto)
{
        return near_count(p->near, &plan->schedule, after, upto);
}

/* From the newest instant up to `i` to its successor; earlier ones have been given up by then, or been started. */
static int64_t interval_ms(const struct plans *p, const struct plan *plan, struct instant i)
{
        struct instant last = i, next;

        if (plan->schedule.kind == SCHEDULE_EVERY)
                return plan->schedule.every_ms;
        if (near_count(p->near, &plan->schedule, (struct instant) { i.ms - 1 }, i) == 0 &&
            schedule_last(&plan->schedule, i, &last) < 0)
                return 0;
        return plans_next(p, plan, last, &next) < 0 ? 0 : next.ms - last.ms;
}

int64_t plans_grace_ms(const struct plans *p, const struct plan *plan, struct instant i)
{
        if (plan->grace_ms >= 0)
                return plan->grace_ms;
        int64_t interval = interval_ms(p, plan, i);
        return interval > 0 && interval < GRACE_DEFAULT_MS ? interval : GRACE_DEFAULT_MS;
}

int plans_told(struct plans *p, size_t setup)
{
        size_t word = setup / 64;

        if (word >= p->setup_words) {
                uint64_t *setups = reallocarray(p->setups, word + 1, sizeof(*setups));
                if (!setups)
                        return -ENOMEM;
                memset(setups + p->setup_words, 0, (word + 1 - p->setup_words) * sizeof(*setups));
                p->setups = setups;
                p->setup_words = word + 1;
        }
        p->setups[word] |= 1ULL << setup % 64;
        return 0;
}

bool plans_told_by(const struct plans *p, size_t setup)
{
        return setup / 64 < p->setup_words && p->setups[setup / 64] >> setup % 64 & 1;
}

/* Plan i for the ranges of `force` alone: it ends with the first one, and comes again for each one more. Gives how
 * many were added, or -ENOMEM. */
static int plan_limit(struct plans *p, size_t i, const struct spans *force)
{
        const struct plan whole = p->list[i];
        int64_t end = i + 1 < p->count ? p->list[i + 1].valid_from.ms : INT64_MAX;
        int more = 0;

        *p->near = (struct near) { 0 };
        p->list[i].until = whole.valid_from;
        for (size_t k = spans_find(force, whole.valid_from.ms + 1); k < force->count; k++) {
                const struct span *s = &force->list[k];
                if (s->first > end)
                        break;
                struct instant until = s->last < SPANS_LAST ? (struct instant) { s->last } : whole.until;
                if (s->first <= whole.valid_from.ms + 1) {
                        p->list[i].until = until;
                        continue;
                }
                if (make_room(p) < 0)
                        return -ENOMEM;
                size_t at = i + (size_t) ++more;
                memmove(&p->list[at + 1], &p->list[at], (p->count - at) * sizeof(*p->list));
                p->list[at] = whole;
                p->list[at].valid_from.ms = s->first - 1;
                p->list[at].until = until;
                p->list[at].resumed = true;
                p->count++;
        }
        return more;
}

int plans_limit(struct plans *p, const struct spans *force)
{
        for (size_t i = 0; i < p->count; i++) {
                int more = plan_limit(p, i, force);
                if (more < 0)
                        return more;
                i += (size_t) more;
        }
        return 0;
}

bool plans_restart(const struct plans *p, size_t i)
{
        return !p->plain && i + 1 < p->count && !p->list[i + 1].resumed && p->list[i + 1].rev <= p->list[i].rev &&
               p->list[i + 1].valid_from.ms > p->list[i].valid_from.ms;
}

bool plans_part(const struct plans *p, size_t i, struct instant *after, struct instant *upto)
{
        const struct plan *plan = &p->list[i];

        if (plan->valid_from.ms > after->ms)
                *after = plan->valid_from;
        if (i + 1 < p->count && p->list[i + 1].valid_from.ms < upto->ms)
                *upto = p->list[i + 1].valid_from;
        if (plan->until.ms < upto->ms)
                *upto = plan->until;
        return after->ms < upto->ms;
}

uint64_t plans_count(const struct plans *p, unsigned shard, struct instant after, struct instant upto)
{
        uint64_t sum = 0;

        for (size_t i = p->count; i-- > 0;) {
                const struct plan *plan = &p->list[i];
                struct instant from = after, to = upto;

                if (plans_part(p, i, &from, &to) && plan->competes && plan->computable && shard < plan->shards)
                        sum += near_count(p->near, &plan->schedule, from, to);
                if (plan->valid_from.ms <= after.ms)
                        break;
        }
        return sum;
}

bool plans_adjacent(const struct plans *p, struct instant earlier, struct instant later)
{
        const struct plan *plan = plans_at(p, later);
        struct instant next;

        if (later.ms - earlier.ms <= 1)
                return true;
        if (!plan || plan != plans_at(p, earlier) || plan->schedule.kind == SCHEDULE_NONE)
                return false;
        return plans_next(p, plan, earlier, &next) < 0 || next.ms >= later.ms;
}

bool plans_has(const struct plans *p, unsigned shard, struct instant i)
{
        const struct plan *plan = plans_at(p, i);

        if (!plan || !plan->computable)
                return true;
        if (plan == p->list && i.ms <= plan->valid_from.ms && plan->rev > 1)
                return true;    /* of an earlier plan, whose line is no longer there */
        return plan->competes && shard < plan->shards &&
               near_count(p->near, &plan->schedule, (struct instant) { i.ms - 1 }, i) > 0;
}
