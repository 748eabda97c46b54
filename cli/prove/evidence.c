/* Processes, plans and blind stretches: what the first pass collects, and the questions asked about it. */
#include "cli/prove/evidence.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/scan.h"
#include "common/cleanup.h"
#include "common/record/ids.h"

#define TROUBLES_MAX 1000
#define BLINDS_MAX 1000         /* beyond it everything is blind: such logs prove nothing anyway */

struct evidence *evidence_new(void)
{
        struct evidence *e = calloc(1, sizeof(*e));

        if (e) {
                e->from_us = FOREVER_US;
                e->to_us = -FOREVER_US;
                e->whole_from_us = -FOREVER_US;
        }
        return e;
}

static void process_free(struct process *p)
{
        for (size_t i = 0; i < p->file_count; i++)
                free(p->files[i].path);
        free(p->files);
        free(p->name);
        free(p->node);
        free(p->boot);
        free(p->tzdata);
        free(p->config);
        free(p);
}

struct evidence *evidence_free(struct evidence *e)
{
        if (!e)
                return NULL;
        for (size_t i = 0; i < e->process_count; i++)
                process_free(e->processes[i]);
        for (size_t i = 0; i < e->plans_count; i++)
                plans_free(e->plans[i]);
        for (size_t i = 0; i < e->trouble_count; i++)
                free(e->troubles[i]);
        for (size_t i = 0; i < e->remark_count; i++)
                free(e->remarks[i]);
        free(e->processes);
        free(e->plans);
        free(e->steps);
        free(e->remarks);
        free(e->troubles);
        free(e->blinds);
        free(e->setups);
        dict_done(&e->by_name);
        dict_done(&e->plans_by_unit);
        free(e);
        return NULL;
}

bool list_room(void **list, size_t count, size_t *room, size_t size)
{
        if (count < *room)
                return true;
        size_t more = *room ? *room * 2 : 16;
        void *bigger = reallocarray(*list, more, size);
        if (!bigger)
                return false;
        *list = bigger;
        *room = more;
        return true;
}

int texts_add(char ***list, size_t *count, size_t *room, size_t *dropped, size_t most, const char *format, va_list ap)
{
        char *text;

        if (*count == most) {
                (*dropped)++;
                return 0;
        }
        if (vasprintf(&text, format, ap) < 0)
                return -ENOMEM;
        text_clean(text);
        if (!list_room((void **) list, *count, room, sizeof(**list))) {
                free(text);
                return -ENOMEM;
        }
        (*list)[(*count)++] = text;
        return 0;
}

int evidence_trouble(struct evidence *e, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        int r = texts_add(&e->troubles, &e->trouble_count, &e->trouble_room, &e->troubles_dropped, TROUBLES_MAX,
                          format, ap);
        va_end(ap);
        return r;
}

int evidence_blind_add(struct evidence *e, int64_t from_us, int64_t to_us, const char *node)
{
        if (e->blind_count == BLINDS_MAX) {
                e->blinds[0] = (struct blind) { -FOREVER_US, FOREVER_US, NULL };
                return 0;
        }
        if (!list_room((void **) &e->blinds, e->blind_count, &e->blind_room, sizeof(*e->blinds)))
                return -ENOMEM;
        e->blinds[e->blind_count++] = (struct blind) { from_us, to_us < from_us ? from_us : to_us, node };
        return 0;
}

struct process *evidence_process(struct evidence *e, const char *node, const char *slot, int pid,
                                 const char *pstart)
{
        _cleanup_(freep) char *name = NULL;

        if (asprintf(&name, "%s.%s.%d.%s", node, slot, pid, pstart) < 0) {
                name = NULL;
                return NULL;
        }
        struct process *p = dict_get(&e->by_name, name, strlen(name));
        if (p)
                return p;
        p = calloc(1, sizeof(*p));
        if (!p)
                return NULL;
        p->node = strdup(node);
        p->boot = strdup("");
        p->tzdata = strdup("");
        p->config = strdup("");
        p->setup = NO_SETUP;
        p->led_from_us = FOREVER_US;
        p->kind = strcmp(slot, "m") == 0   ? PROCESS_MASTER
                  : strcmp(slot, "c") == 0 ? PROCESS_OTHER
                                           : PROCESS_WORKER;
        p->first_us = FOREVER_US;
        p->last_us = p->peak_us = -FOREVER_US;
        if (!p->node || !p->boot || !p->tzdata || !p->config ||
            !list_room((void **) &e->processes, e->process_count, &e->process_room, sizeof(*e->processes)) ||
            dict_put(&e->by_name, name, strlen(name), p) < 0) {
                process_free(p);
                return NULL;
        }
        p->name = TAKE(name);
        p->index = e->process_count;
        e->processes[e->process_count++] = p;
        return p;
}

#define UNIT_NAME (TASK_NAME_MAX + NODE_ID_MAX + 4)

/* 0: one of the names is too long to be one. */
static size_t unit_name(char ret[UNIT_NAME], const char *task, const char *key, bool plain)
{
        int len = snprintf(ret, UNIT_NAME, "%s%c%s%c%d", task, 0, key, 0, plain);

        return len < 0 || len >= UNIT_NAME ? 0 : (size_t) len;
}

struct plans *evidence_plans_there(const struct evidence *e, const char *task, const char *key, bool plain)
{
        char unit[UNIT_NAME];
        size_t len = unit_name(unit, task, key, plain);

        return len ? dict_get(&e->plans_by_unit, unit, len) : NULL;
}

struct plans *evidence_plans(struct evidence *e, const char *task, const char *key, bool plain)
{
        struct plans *p = evidence_plans_there(e, task, key, plain);
        char unit[UNIT_NAME];
        size_t len = unit_name(unit, task, key, plain);

        if (p)
                return p;
        p = plans_new(task, key, plain);
        if (!p)
                return NULL;
        if (!list_room((void **) &e->plans, e->plans_count, &e->plans_room, sizeof(*e->plans)) ||
            dict_put(&e->plans_by_unit, unit, len, p) < 0)
                return plans_free(p);
        e->plans[e->plans_count++] = p;
        return p;
}

/* Of a setup whose leader's log is not here nobody can tell. */
bool evidence_could_run(const struct evidence *e, const struct process *p, const struct plans *plans,
                        const struct plan *plan)
{
        if (p->kind != PROCESS_WORKER && p->kind != PROCESS_ALONE)
                return false;
        if (*plans->key && strcmp(p->node, plans->key) != 0)
                return false;
        if (p->setup != NO_SETUP && e->setups[p->setup].whole && !plans_told_by(plans, p->setup))
                return false;
        return p->file_count > 0 && (plan->path != PATH_DEDICATED || p->led || p->kind == PROCESS_ALONE);
}

/* Lines wait for the end of a turn, and answers of a ledger for each other. */
#define SLACK_MS 1000

static int64_t decided_ms(const struct plans *plans, const struct plan *plan, int64_t at_us)
{
        struct instant at = { at_us / 1000 };

        return at.ms - plans_grace_ms(plans, plan, at) - SLACK_MS;
}

/* A process that takes nothing more says itself how far it came. One that was killed at work, or goes on, came as
 * far as its last line, and what was due just before that may have been left to be decided within its grace. What was
 * decided when the clock was set back stays so. */
int64_t evidence_came_ms(const struct process *p, const struct plans *plans, const struct plan *plan)
{
        if (!p->ceased)
                return decided_ms(plans, plan, p->last_us);
        int64_t ceased = plan->path == PATH_REDIS ? p->ceased_group_ms : p->ceased_ms;
        int64_t before = p->peak_us == -FOREVER_US ? ceased : decided_ms(plans, plan, p->peak_us);
        return before > ceased ? before : ceased;
}

/* While some go on, the instants are judged that all of them have seen: logs copied one after the other do not
 * lie then. */
int64_t evidence_end_ms(const struct evidence *e, const struct plans *plans)
{
        const struct plan *plan = &plans->list[plans->count - 1];
        int64_t end = INT64_MIN, open_end = INT64_MAX;

        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *p = e->processes[i];
                if (!evidence_could_run(e, p, plans, plan) || p->last_us == -FOREVER_US)
                        continue;
                int64_t came = evidence_came_ms(p, plans, plan);
                if (came > end)
                        end = came;
                if (!p->ended && !p->ceased && plan->path != PATH_DEDICATED && came < open_end)
                        open_end = came;
        }
        return open_end < end ? open_end : end;
}

/* Who used the first ledger ended before the second one's plan was made, or belongs to another node. When others
 * saw both, a ledger was emptied under them. */
int64_t evidence_ledger_end_ms(const struct evidence *e, const struct plans *plans, size_t at)
{
        const struct plan *plan = &plans->list[at], *next = plan + 1;
        int64_t end = INT64_MIN;

        for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < e->process_count; i++) {
                        const struct process *p = e->processes[i];
                        bool before = p->last_us / 1000 < next->valid_from.ms || strcmp(p->node, next->said_by->node) != 0;
                        if (!evidence_could_run(e, p, plans, plan) || p->last_us == -FOREVER_US)
                                continue;
                        if (pass == 0 && before && evidence_came_ms(p, plans, plan) > end)
                                end = evidence_came_ms(p, plans, plan);
                        if (pass == 1 && !before && (end == INT64_MIN || p->first_us / 1000 <= end))
                                return next->valid_from.ms;
                }
        return end < next->valid_from.ms ? end : next->valid_from.ms;
}

int64_t evidence_node_from_us(const struct evidence *e, const char *node)
{
        int64_t from = FOREVER_US;

        for (size_t i = 0; i < e->process_count; i++)
                if (strcmp(e->processes[i]->node, node) == 0 && e->processes[i]->first_us < from)
                        from = e->processes[i]->first_us;
        return from;
}

int64_t evidence_node_to_us(const struct evidence *e, const char *node)
{
        int64_t to = -FOREVER_US;

        for (size_t i = 0; i < e->process_count; i++)
                if (strcmp(e->processes[i]->node, node) == 0 && e->processes[i]->last_us > to)
                        to = e->processes[i]->last_us;
        return to;
}

bool evidence_goes_on(const struct evidence *e, const char *key)
{
        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *p = e->processes[i];
                if ((p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE) && p->file_count && !p->ended &&
                    (!*key || strcmp(p->node, key) == 0))
                        return true;
        }
        return false;
}

bool evidence_died(const struct evidence *e, int64_t from_us, int64_t to_us)
{
        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *p = e->processes[i];
                int64_t last_us = p->last_us > p->born_us ? p->last_us : p->born_us;
                if ((p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE) && !p->stopped && last_us <= to_us &&
                    p->ended_us >= from_us)
                        return true;
        }
        return false;
}

/* Who is at work writes more often than that, once something is due. */
#define SILENT_US (2 * 1000000LL)

bool evidence_silent(const struct process *p, const char *key)
{
        return (p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE) && p->last_us != -FOREVER_US && p->ended &&
               !p->stopped && p->ended_us - p->last_us > SILENT_US && (!*key || strcmp(p->node, key) == 0);
}

int64_t evidence_blind_end_us(const struct evidence *e, const char *key)
{
        int64_t end = -FOREVER_US;

        for (size_t i = 0; i < e->blind_count; i++) {
                const struct blind *b = &e->blinds[i];
                if (b->to_us > end && (!*key || !b->node || strcmp(b->node, key) == 0))
                        end = b->to_us;
        }
        return end;
}

bool evidence_blind(const struct evidence *e, const char *key, int64_t from_us, int64_t to_us)
{
        for (size_t i = 0; i < e->blind_count; i++) {
                const struct blind *b = &e->blinds[i];
                if (b->from_us <= to_us && b->to_us >= from_us &&
                    (!*key || !b->node || strcmp(b->node, key) == 0))
                        return true;
        }
        return false;
}
