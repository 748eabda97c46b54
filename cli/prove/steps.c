/* Clocks that were set. What is due has its place on the wall clock, and after a step back that shows times which had
 * come before: whoever begins or ends then has begun or ended as late as the clock had got, since all that was due
 * until there was decided already. */
#include "cli/prove/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/scan.h"

#define STEPS_MAX 1000

/* All processes of a node notice one step, each in its turn, and each measures it. */
#define SAME_B_NS (60 * NS_PER_S)
#define SAME_US   100000LL

/* A clock that was set by more told no time before or after that others can be compared with. */
#define SMALL_US 100000LL

/* A line may lie so long behind the clock reading it is about. */
#define STALE_NS (2 * NS_PER_S)

static bool is_same(const struct step *s, const struct process *p, int64_t b_ns, int64_t jump_us)
{
        return s->last_process != p->index && strcmp(s->by->node, p->node) == 0 && strcmp(s->by->boot, p->boot) == 0 &&
               llabs(s->b_ns - b_ns) < SAME_B_NS && llabs(s->jump_us - jump_us) < SAME_US;
}

int steps_add(struct evidence *e, const struct process *p, const struct record *r)
{
        int64_t jump_us = record_number(r, FIELD_JUMP_NS) / NS_PER_US;

        for (size_t i = 0; i < e->step_count; i++) {
                struct step *s = &e->steps[i];
                if (!is_same(s, p, r->b_ns, jump_us))
                        continue;
                s->processes++;
                s->last_process = p->index;
                if (r->b_ns < s->b_ns) {
                        s->b_ns = r->b_ns;
                        s->at_us = r->t_us;
                }
                return 0;
        }
        if (e->step_count == STEPS_MAX) {
                e->steps_dropped++;
                return 0;
        }
        if (!list_room((void **) &e->steps, e->step_count, &e->step_room, sizeof(*e->steps)))
                return -ENOMEM;
        e->steps[e->step_count++] = (struct step) {
                .by = p, .b_ns = r->b_ns, .at_us = r->t_us, .jump_us = jump_us,
                .processes = 1, .last_process = p->index,
        };
        return 0;
}

static bool is_of(const struct step *s, const struct process *p)
{
        return strcmp(s->by->node, p->node) == 0 && (!*p->boot || strcmp(s->by->boot, p->boot) == 0);
}

/* What the clock showed just before. */
static int64_t peak_us(const struct step *s)
{
        return s->at_us - s->jump_us;
}

static void raise(const struct step *s, int64_t b_ns, int64_t *us)
{
        if (b_ns >= s->b_ns && *us >= s->at_us && *us < peak_us(s))
                *us = peak_us(s);
}

static void step_back(const struct step *s, struct process *p)
{
        if (p->file_count > 0 && p->last_b_ns >= s->b_ns && peak_us(s) > p->peak_us)
                p->peak_us = peak_us(s);
        raise(s, p->first_b_ns, &p->first_us);
        raise(s, p->first_b_ns, &p->led_from_us);
        raise(s, p->last_b_ns, &p->last_us);
        raise(s, p->born_b_ns, &p->born_us);
        raise(s, p->gone_b_ns, &p->gone_us);
}

/* All lines of a boot are put in order by its steady clock, set by its first line. */
static void order_of(const struct evidence *e, struct process *p)
{
        const struct process *first = p;

        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *o = e->processes[i];
                if (o->file_count > 0 && o->first_b_ns < first->first_b_ns && strcmp(o->node, p->node) == 0 &&
                    strcmp(o->boot, p->boot) == 0)
                        first = o;
        }
        p->is_steady = true;
        p->steady_us = first->first_us - first->first_b_ns / NS_PER_US;
}

static void steps_of(const struct evidence *e, struct process *p)
{
        for (size_t i = 0; i < e->step_count; i++) {
                const struct step *s = &e->steps[i];
                if (!is_of(s, p))
                        continue;
                if (!p->is_steady)
                        order_of(e, p);
                p->was_set |= llabs(s->jump_us) > SMALL_US;
        }
}

/* A plan that was made after a step back is valid from a time that had come before: it follows what was in force. */
static void plans_step(const struct evidence *e, const struct step *s)
{
        for (size_t i = 0; i < e->plans_count; i++) {
                struct plans *p = e->plans[i];
                for (size_t k = p->count; k-- > 0;) {
                        const struct plan *plan = &p->list[k];
                        int64_t from_us = plan->valid_from.ms * 1000;
                        if (is_of(s, plan->said_by) && plan->said_b_ns >= s->b_ns &&
                            from_us >= s->at_us - 1000 && from_us < peak_us(s))
                                plans_move(p, k, (struct instant) { peak_us(s) / 1000 });
                }
        }
}

static int by_time(const void *a, const void *b)
{
        const struct step *x = a, *y = b;
        int order = strcmp(x->by->node, y->by->node);

        if (order)
                return order;
        return x->b_ns < y->b_ns ? -1 : x->b_ns > y->b_ns;
}

void steps_settle(struct evidence *e)
{
        if (e->step_count == 0)
                return;
        qsort(e->steps, e->step_count, sizeof(*e->steps), by_time);
        for (size_t k = 0; k < e->process_count; k++)
                if (e->processes[k]->file_count > 0)
                        steps_of(e, e->processes[k]);
        for (size_t i = 0; i < e->step_count; i++) {
                const struct step *s = &e->steps[i];
                if (s->jump_us >= 0)
                        continue;
                for (size_t k = 0; k < e->process_count; k++)
                        if (is_of(s, e->processes[k]))
                                step_back(s, e->processes[k]);
                plans_step(e, s);
        }
}

bool steps_near(const struct evidence *e, const struct process *p, int64_t b_ns, int64_t before_ns)
{
        for (size_t i = 0; i < e->step_count; i++) {
                const struct step *s = &e->steps[i];
                if (is_of(s, p) && s->b_ns >= b_ns - before_ns - STALE_NS && s->b_ns <= b_ns + STALE_NS)
                        return true;
        }
        return false;
}
