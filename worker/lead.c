/* Leading: one call to each ledger to become the timer worker, one to each for every death. The local ledger's
 * answers are what the master waits for; the group's are tried for as long as it takes. */
#include "worker/lead.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "worker/delay.h"
#include "worker/ended.h"

#define RETRY_LOCAL_MS 100
#define RETRY_GROUP_MS 1000
#define GONES_MAX      1024

struct gone {
        struct lead *lead;
        struct gone *prev, *next;
        struct ledger_call local, group;
        struct delay local_wait, group_wait;
        bool local_open, group_open;       /* not answered for good */
        bool local_waits, group_waits;     /* of those, not asked yet */
        bool trees_gone;
        char owner[OWNER_TEXT];
};

/* A LEDGER_SAID on its way; while one is, another may go unsent: then the same is told again. */
struct said {
        struct ledger_call call;
        bool open;
};

struct lead {
        struct lead_options o;
        struct ledger_call local, group;
        struct delay local_wait, group_wait;
        bool local_open, group_open;
        struct said local_said, group_said;
        bool canceled, yielded, said_away;
        struct gone *gones;                /* owned */
        unsigned gone_count;
};

int lead_open(const struct lead_options *o, struct lead **ret)
{
        struct lead *l = calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;

        l->o = *o;
        *ret = l;
        return 0;
}

/* True when the ledger may answer the same call otherwise later. */
static bool is_worth_a_retry(const struct lead *l, int error)
{
        return !l->canceled && (error == -EAGAIN || error == -ETIMEDOUT || error == -EUCLEAN);
}

/* Writes the lines of what an answer told. True when they have left and the ledger may forget it: lines that go
 * with the rest of the turn would be lost with this process, after the ledger was told that they were written. */
static bool log_told(struct lead *l, const struct ended_record *ended, size_t ended_count,
                     const struct told_range *told, size_t told_count)
{
        ended_log(l->o.log, l->o.place, l->o.shortfalls, ended, ended_count);
        told_log(l->o.log, l->o.shortfalls, told, told_count);
        return ended_count + told_count > 0 && triglog_flush(l->o.log) == 0;
}

static void send_said(struct lead *l, struct ledger *to, struct ledger_call *call, const char *owner,
                      void (*done)(struct ledger_call *), void *arg)
{
        *call = (struct ledger_call) { .op = LEDGER_SAID, .done = done, .arg = arg };
        call->in.said = (struct said_in) { .owner = owner, .node = l->o.node, .life = l->o.life };
        ledger_send(to, call);
}

static void on_lead_said(struct ledger_call *call)
{
        struct said *s = call->arg;

        ledger_call_done(call);
        s->open = false;
}

static void log_lead(struct lead *l, const struct lead_out *out, struct ledger *from, struct said *s)
{
        if (!log_told(l, out->ended, out->ended_count, out->told, out->told_count) || s->open)
                return;
        s->open = true;
        send_said(l, from, &s->call, NULL, on_lead_said, s);
}

static void send_lead_local(struct lead *l);
static void send_lead_group(struct lead *l);

static void on_local_wait(struct delay *d)
{
        send_lead_local(container_of(d, struct lead, local_wait));
}

static void on_group_wait(struct delay *d)
{
        send_lead_group(container_of(d, struct lead, group_wait));
}

static void on_lead_local(struct ledger_call *call)
{
        struct lead *l = call->arg;
        int error = call->error;
        uint64_t term = call->out.lead.term;

        if (error == 0 && !l->canceled)
                log_lead(l, &call->out.lead, l->o.local, &l->local_said);
        ledger_call_done(call);
        l->local_open = false;
        if (error == 0 && !l->canceled && !l->yielded) {
                l->said_away = false;
                l->o.led(term, l->o.arg);
                return;
        }
        if (l->yielded || !is_worth_a_retry(l, error))
                return;
        if (!l->said_away)
                (void) log_warning(0, "leading: asking the ledger for a term: %s", ledger_call_text(call));
        l->said_away = true;
        l->local_open = true;
        l->local_wait.over = on_local_wait;
        delay_set(l->o.delays, &l->local_wait, RETRY_LOCAL_MS);
}

/* The group's ledger keeps no dedicated tasks: its term is not used, but an earlier life of this node may have left
 * records there. */
static void on_lead_group(struct ledger_call *call)
{
        struct lead *l = call->arg;
        int error = call->error;

        if (error == 0 && !l->canceled)
                log_lead(l, &call->out.lead, l->o.group, &l->group_said);
        ledger_call_done(call);
        l->group_open = false;
        if (l->yielded || !is_worth_a_retry(l, error))
                return;
        l->group_open = true;
        l->group_wait.over = on_group_wait;
        delay_set(l->o.delays, &l->group_wait, RETRY_GROUP_MS);
}

static void send_lead(struct lead *l, struct ledger *to, struct ledger_call *call,
                      void (*done)(struct ledger_call *))
{
        *call = (struct ledger_call) { .op = LEDGER_LEAD, .done = done, .arg = l };
        call->in.lead = (struct lead_in) {
                .node = l->o.node, .owner = l->o.owner, .boot = l->o.boot, .life = l->o.life,
        };
        ledger_send(to, call);
}

static void send_lead_local(struct lead *l)
{
        send_lead(l, l->o.local, &l->local, on_lead_local);
}

static void send_lead_group(struct lead *l)
{
        send_lead(l, l->o.group, &l->group, on_lead_group);
}

void lead_take(struct lead *l)
{
        if (!l->local_open) {
                l->local_open = true;
                send_lead_local(l);
        }
        if (l->o.group && !l->group_open) {
                l->group_open = true;
                send_lead_group(l);
        }
}

bool lead_is_asking(const struct lead *l)
{
        return l->local_open || l->group_open;
}

void lead_yield(struct lead *l)
{
        l->yielded = true;
        if (delay_is_set(&l->local_wait)) {
                delay_clear(l->o.delays, &l->local_wait);
                l->local_open = false;
        }
        if (delay_is_set(&l->group_wait)) {
                delay_clear(l->o.delays, &l->group_wait);
                l->group_open = false;
        }
}

/* Deaths. */

static void gone_free(struct gone *g)
{
        struct lead *l = g->lead;

        if (g->next)
                g->next->prev = g->prev;
        if (g->prev)
                g->prev->next = g->next;
        else
                l->gones = g->next;
        l->gone_count--;
        free(g);
}

static void send_gone(struct gone *g, struct ledger *to, struct ledger_call *call);

static void on_gone_local_wait(struct delay *d)
{
        struct gone *g = container_of(d, struct gone, local_wait);

        send_gone(g, g->lead->o.local, &g->local);
}

static void on_gone_group_wait(struct delay *d)
{
        struct gone *g = container_of(d, struct gone, group_wait);

        send_gone(g, g->lead->o.group, &g->group);
}

/* One death is told in two steps, the worker's and that of its trees. The second waits until the ledger heard that the
 * first was said, or the same records would be told, and counted, twice. */
static bool is_being_told(const struct gone *g, bool is_local)
{
        for (const struct gone *o = g->lead->gones; o; o = o->next)
                if (o != g && strcmp(o->owner, g->owner) == 0 &&
                    (is_local ? o->local_open && !o->local_waits : o->group_open && !o->group_waits))
                        return true;
        return false;
}

static void ask_waiting(struct lead *l, const char *owner, bool is_local)
{
        for (struct gone *g = l->gones; g && !l->canceled; g = g->next) {
                bool *waits = is_local ? &g->local_waits : &g->group_waits;
                if (!*waits || strcmp(g->owner, owner) != 0 || is_being_told(g, is_local))
                        continue;
                *waits = false;
                send_gone(g, is_local ? l->o.local : l->o.group, is_local ? &g->local : &g->group);
        }
}

static void gone_answered(struct gone *g, bool is_local, int error)
{
        struct lead *l = g->lead;
        bool again = is_worth_a_retry(l, error);

        if (again && is_local) {
                g->local_wait.over = on_gone_local_wait;
                delay_set(l->o.delays, &g->local_wait, RETRY_LOCAL_MS);
                return;
        }
        if (again) {
                g->group_wait.over = on_gone_group_wait;
                delay_set(l->o.delays, &g->group_wait, RETRY_GROUP_MS);
                return;
        }
        if (error < 0 && !l->canceled)
                (void) log_warning(error, "ending the records of %s", g->owner);
        if (is_local)
                g->local_open = false;
        else
                g->group_open = false;
        ask_waiting(l, g->owner, is_local);
        if (is_local && error == 0 && !l->canceled)
                l->o.settled(g->owner, g->trees_gone, l->o.arg);
        if (!g->local_open && !g->group_open)
                gone_free(g);
}

/* Whether the ledger heard it matters little: what it did not forget is told again to who asks again. */
static void on_gone_said(struct ledger_call *call)
{
        struct gone *g = call->arg;

        ledger_call_done(call);
        gone_answered(g, call == &g->local, 0);
}

static void on_gone(struct ledger_call *call)
{
        struct gone *g = call->arg;
        struct lead *l = g->lead;
        const struct interrupt_out *out = &call->out.interrupt;
        int error = call->error;
        bool is_local = call == &g->local;

        bool is_said = error == 0 && !l->canceled &&
                       log_told(l, out->ended, out->ended_count, out->told, out->told_count);
        ledger_call_done(call);
        if (is_said)
                send_said(l, is_local ? l->o.local : l->o.group, call, g->owner, on_gone_said, g);
        else
                gone_answered(g, is_local, error);
}

static void send_gone(struct gone *g, struct ledger *to, struct ledger_call *call)
{
        *call = (struct ledger_call) { .op = LEDGER_INTERRUPT, .done = on_gone, .arg = g };
        call->in.interrupt = (struct interrupt_in) { .owner = g->owner, .trees_gone = g->trees_gone };
        ledger_send(to, call);
}

int lead_gone(struct lead *l, const char *owner, bool trees_gone)
{
        if (l->gone_count >= GONES_MAX)
                return -ENOBUFS;
        struct gone *g = calloc(1, sizeof(*g));
        if (!g)
                return -ENOMEM;

        g->lead = l;
        g->trees_gone = trees_gone;
        (void) snprintf(g->owner, sizeof(g->owner), "%s", owner);
        g->next = l->gones;
        if (l->gones)
                l->gones->prev = g;
        l->gones = g;
        l->gone_count++;

        g->local_open = true;
        g->group_open = l->o.group != NULL;
        g->local_waits = true;
        g->group_waits = g->group_open;
        ask_waiting(l, g->owner, true);
        ask_waiting(l, g->owner, false);
        return 0;
}

void lead_cancel(struct lead *l)
{
        if (!l)
                return;
        l->canceled = true;
        delay_clear(l->o.delays, &l->local_wait);
        delay_clear(l->o.delays, &l->group_wait);
        for (struct gone *g = l->gones, *next; g; g = next) {
                next = g->next;
                g->local_open = g->local_open && !g->local_waits && !delay_is_set(&g->local_wait);
                g->group_open = g->group_open && !g->group_waits && !delay_is_set(&g->group_wait);
                delay_clear(l->o.delays, &g->local_wait);
                delay_clear(l->o.delays, &g->group_wait);
                if (!g->local_open && !g->group_open)
                        gone_free(g);
        }
}

void lead_free(struct lead *l)
{
        while (l && l->gones)
                gone_free(l->gones);
        free(l);
}

void lead_log_plan(struct triglog *log, const struct job *j)
{
        const struct task *t = j->task;
        bool catch_up = t->misfire.policy == MISFIRE_CATCH_UP;
        char schedule[SCHEDULE_TEXT];
        struct plan_line p = {
                .task = t->name,
                .path = t->singleton,
                .schedule = schedule,
                .misfire = misfire_names[t->misfire.policy],
                .grace_ms = t->misfire.grace_ms,
                .limit = catch_up ? t->misfire.limit : 0,
                .lookback_ms = catch_up ? t->misfire.lookback_ms : 0,
                .overlap = overlap_names[t->overlap.policy],
                .scope = scope_names[t->scope],
                .scope_key = j->scope_key,
                .shards = t->shards, .max_running = t->overlap.max_running,
                .enabled = t->enabled,
                .rev = j->rev,
                .valid_from = j->valid_from,
                .timeout_ms = t->timeout_ms,
        };

        schedule_text(&t->schedule, schedule, sizeof(schedule));
        triglog_plan(log, &p);
}
