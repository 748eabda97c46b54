/* Tasks that came and went. A leader tells the plans of all tasks that its configuration has, so that a plan which is
 * not among them is no longer in force on its node: it ended with the last process that had the task, and comes into
 * force again with the first one that has it again. It is in force as long as it is on any node that had it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/spans.h"

/* Who has led so long has told all plans: those of the local ledger are told in one turn, those of the group's as it
 * answers. */
#define TELLING_US 1000000LL

int evidence_setup(struct evidence *e, struct process *p)
{
        for (size_t i = 0; i < e->setup_count && *p->config; i++)
                if (strcmp(e->setups[i].config, p->config) == 0 && strcmp(e->setups[i].node, p->node) == 0) {
                        p->setup = i;
                        return 0;
                }
        if (!list_room((void **) &e->setups, e->setup_count, &e->setup_room, sizeof(*e->setups)))
                return -ENOMEM;
        e->setups[e->setup_count] = (struct setup) { .node = p->node, .config = p->config };
        p->setup = e->setup_count++;
        return 0;
}

/* One that says it leads and told no plan has no task at all. */
static bool has_led(const struct process *p)
{
        return p->setup != NO_SETUP && (p->led_from_us != FOREVER_US || (p->ceased && p->led));
}

static bool has_told_all(const struct process *p)
{
        if (!has_led(p) || p->damaged)
                return false;
        return p->ceased || !p->ended || p->last_us - p->led_from_us >= TELLING_US;
}

static int by_start(const void *a, const void *b)
{
        const struct process *const *x = a, *const *y = b;
        int order = strcmp((*x)->node, (*y)->node);

        if (order)
                return order;
        return (*x)->first_us < (*y)->first_us ? -1 : (*x)->first_us > (*y)->first_us;
}

static bool has_task(const struct process *p, const struct plans *plans)
{
        return plans_told_by(plans, p->setup);
}

static bool lacks_task(const struct evidence *e, const struct process *p, const struct plans *plans)
{
        return e->setups[p->setup].whole && !has_task(p, plans);
}

/* How far those of the node came who had the task, when `leader` began who does not. */
static int64_t end_before_ms(const struct evidence *e, const struct plans *plans, const struct process *leader)
{
        const struct plan *plan = plans_at(plans, (struct instant) { leader->first_us / 1000 });
        int64_t end = SPANS_FIRST, begin = leader->led_from_us;

        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *p = e->processes[i];
                if (strcmp(p->node, leader->node) != 0 || p->first_us >= leader->first_us ||
                    p->last_us == -FOREVER_US || !evidence_could_run(e, p, plans, plan))
                        continue;
                int64_t came = evidence_came_ms(p, plans, plan);
                if (came > end)
                        end = came;
        }
        return begin != FOREVER_US && end > begin / 1000 ? begin / 1000 : end;
}

static bool touching(int64_t after, int64_t before, const void *arg)
{
        (void) arg;
        return before - after <= 1;
}

static int in_force(struct spans *force, int64_t first, int64_t last)
{
        return first <= last ? spans_add(force, first, last, touching, NULL) : 0;
}

/* The lives of one node, by their leaders in order. */
static int node_lives(const struct evidence *e, const struct plans *plans, struct process *const *leaders,
                      size_t count, struct spans *force)
{
        int64_t from = SPANS_FIRST;
        bool is_on = true, ever = false;
        int r = 0;

        for (size_t i = 0; i < count; i++)
                ever |= has_task(leaders[i], plans);
        for (size_t i = 0; i < count && ever && r == 0; i++) {
                const struct process *l = leaders[i];

                if (is_on && lacks_task(e, l, plans)) {
                        r = in_force(force, from, end_before_ms(e, plans, l) - 1);
                        is_on = false;
                } else if (!is_on && has_task(l, plans)) {
                        from = l->first_us / 1000;
                        is_on = true;
                }
        }
        return r == 0 && ever && is_on ? in_force(force, from, SPANS_LAST) : r;
}

static int plans_live(const struct evidence *e, struct plans *plans, struct process *const *leaders, size_t count)
{
        struct spans force = { 0 };
        bool is_lacking = false;
        int r = 0;

        for (size_t i = 0; i < count && !is_lacking; i++)
                is_lacking = lacks_task(e, leaders[i], plans);
        if (!is_lacking)
                return 0;
        for (size_t i = 0, n; i < count && r == 0; i += n) {
                for (n = 1; i + n < count && strcmp(leaders[i]->node, leaders[i + n]->node) == 0; n++)
                        ;
                r = node_lives(e, plans, leaders + i, n, &force);
        }
        if (r == 0)
                r = plans_limit(plans, &force);
        spans_done(&force);
        return r;
}

int evidence_lives(struct evidence *e)
{
        struct process **leaders = calloc(e->process_count + 1, sizeof(*leaders));
        size_t count = 0;
        int r = 0;

        if (!leaders)
                return -ENOMEM;
        for (size_t i = 0; i < e->process_count; i++) {
                struct process *p = e->processes[i];
                if (has_told_all(p))
                        e->setups[p->setup].whole = true;
                if (has_led(p))
                        leaders[count++] = p;
        }
        qsort(leaders, count, sizeof(struct process *), by_start);
        for (size_t i = 0; i < e->plans_count && r == 0; i++)
                r = plans_live(e, e->plans[i], leaders, count);
        free(leaders);
        return r;
}
