/* From rosters and logs together: how each process ended, and where evidence is wanting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/scan.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct scanner *, scanner_freep, scanner_free)

/* By the steady clock within a boot: the other one may have been set back. */
static bool begins_after(const struct process *m, const struct process *p)
{
        int64_t alive_us = p->last_us > p->born_us ? p->last_us : p->born_us;
        int64_t alive_b_ns = p->last_b_ns > p->born_b_ns ? p->last_b_ns : p->born_b_ns;

        if (*p->boot && strcmp(m->boot, p->boot) == 0)
                return m->first_b_ns > alive_b_ns;
        return m->first_us > alive_us;
}

static bool begins_before(const struct process *m, const struct process *o)
{
        return strcmp(m->boot, o->boot) == 0 ? m->first_b_ns < o->first_b_ns : m->first_us < o->first_us;
}

/* A master, or a process that needs none, begins only when no process of the one before is left (they hold its lock
 * together): its first line ends whatever is older on its node. */
static const struct process *holder_after(const struct evidence *e, const struct process *p)
{
        const struct process *next = NULL;

        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *m = e->processes[i];
                bool holds = m->kind == PROCESS_MASTER || m->kind == PROCESS_ALONE;
                if (holds && m != p && m->file_count && m->from_start &&
                    strcmp(m->node, p->node) == 0 && begins_after(m, p) && (!next || begins_before(m, next)))
                        next = m;
        }
        return next;
}

/* What reached the disk before the power went: all but the newest writes, which the kernel had kept back. */
#define UNSYNCED_US (35 * 1000000LL)

static int power_failed(struct evidence *e, const struct process *p, const struct process *next)
{
        int64_t newest_us = p->last_us, from_us;

        for (size_t i = 0; i < e->process_count; i++) {
                const struct process *o = e->processes[i];
                if (strcmp(o->node, p->node) == 0 && strcmp(o->boot, p->boot) == 0 && o->last_us > newest_us)
                        newest_us = o->last_us;
        }
        from_us = newest_us - UNSYNCED_US > p->last_us ? newest_us - UNSYNCED_US : p->last_us;
        if (evidence_trouble(e, "%s: the machine went down under it, its last lines may be lost", p->name) <
            0)
                return -ENOMEM;
        return evidence_blind_add(e, from_us, next->first_us, p->node);
}

static int how_ended(struct evidence *e, struct process *p)
{
        const struct process *next;

        p->ended = true;
        if (p->stopped) {
                p->ended_us = p->last_us;
                return 0;
        }
        if (p->gone) {
                p->ended_us = p->gone_us;
                return 0;
        }
        next = holder_after(e, p);
        p->ended = next != NULL;
        p->ended_us = next ? next->first_us : FOREVER_US;
        if (!next || p->synced || !*p->boot || strcmp(p->boot, next->boot) == 0 || p->kind == PROCESS_OTHER)
                return 0;
        return power_failed(e, p, next);
}

static int without_log(struct evidence *e, const struct process *p)
{
        if (evidence_trouble(e, "%s: the roster names it, but its log is not here", p->name) < 0)
                return -ENOMEM;
        return evidence_blind_add(e, p->born_us, p->ended_us, p->node);
}

static int without_stop(struct evidence *e, const struct process *p)
{
        if (evidence_trouble(e, "%s: it ended in good order, but its log lacks the stop line", p->name) < 0)
                return -ENOMEM;
        return evidence_blind_add(e, p->last_us > p->born_us ? p->last_us : p->born_us, p->gone_us, p->node);
}

static int without_roster(struct evidence *e, const struct process *p, bool any_roster)
{
        if (any_roster &&
            evidence_trouble(e, "%s: no roster names it, its master's log is not here", p->name) < 0)
                return -ENOMEM;
        return evidence_blind_add(e, p->first_us, p->ended_us, p->node);
}

static int process_judge(struct evidence *e, const struct process *p, bool any_roster)
{
        int r = 0;

        if (p->kind == PROCESS_OTHER)
                return 0;
        if (p->broken)
                r = evidence_blind_add(e, p->broken_from_us, p->ended_us, p->node);
        if (p->kind != PROCESS_WORKER || r < 0)
                return r;
        if (p->file_count == 0)
                return p->born && !p->never_ready ? without_log(e, p) : 0;
        if (!p->born && p->last_us != -FOREVER_US)
                return without_roster(e, p, any_roster);
        if (p->gone && !p->stopped && p->signal == 0 && p->exit_code == 0)
                return without_stop(e, p);
        return 0;
}

static int conclude(struct evidence *e)
{
        bool any_roster = false, any_worker = false;
        int r = 0;

        steps_settle(e);
        for (size_t i = 0; i < e->process_count && r == 0; i++) {
                struct process *p = e->processes[i];
                any_roster |= p->kind == PROCESS_MASTER && p->file_count;
                any_worker |= p->kind == PROCESS_WORKER && p->file_count;
                if (p->first_us < e->from_us)
                        e->from_us = p->first_us;
                if (p->last_us > e->to_us)
                        e->to_us = p->last_us;
                if (p->continues && (p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE) && p->first_us > e->whole_from_us)
                        e->whole_from_us = p->first_us;
                r = how_ended(e, p);
        }
        if (r == 0 && any_worker && !any_roster)
                r = evidence_trouble(
                        e, "no roster: without a master's log nobody can say which processes existed");
        for (size_t i = 0; i < e->process_count && r == 0; i++)
                r = process_judge(e, e->processes[i], any_roster);
        return r;
}

/* A state folder that was replaced, or recovered: the new ledger numbers from the beginning, and knows nothing of
 * what was due before. */
static void ledgers_part(struct evidence *e)
{
        for (size_t i = 0; i < e->plans_count; i++) {
                struct plans *p = e->plans[i];
                for (size_t k = 0; k < p->count; k++)
                        if (plans_restart(p, k)) {
                                int64_t end = evidence_ledger_end_ms(e, p, k);
                                if (end < p->list[k].until.ms)
                                        p->list[k].until.ms = end;
                        }
        }
}

int evidence_read(struct evidence *e)
{
        _cleanup_(scanner_freep) struct scanner *scanner = scanner_new();
        int r = scanner ? 0 : -ENOMEM;

        /* Rosters add processes while this goes on; those have no files. */
        for (size_t i = 0; i < e->process_count && r == 0; i++)
                r = evidence_verify(e, e->processes[i], scanner);
        if (r == 0)
                r = conclude(e);
        for (size_t i = 0; i < e->plans_count && r == 0; i++)
                plans_order(e->plans[i]);
        if (r == 0)
                r = evidence_lives(e);
        if (r == 0)
                ledgers_part(e);
        for (size_t i = 0; i < e->plans_count && r == 0; i++)
                plans_begin_alone(e->plans[i]);
        return r == 0 ? evidence_remarks(e) : r;
}
