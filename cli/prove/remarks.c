/* What one should know of the logs, though nothing is wrong with them: clocks that were set, and zone data that are not
 * those of this machine, by which the instants are computed here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/scan.h"
#include "common/schedule/zone.h"

#define REMARKS_MAX 1000

static int remark(struct evidence *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int remark(struct evidence *e, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        int r = texts_add(&e->remarks, &e->remark_count, &e->remark_room, &e->remarks_dropped, REMARKS_MAX, format, ap);
        va_end(ap);
        return r;
}

static int step_remark(struct evidence *e, const struct step *s)
{
        char from[STAMP_TEXT], to[STAMP_TEXT];

        instant_text((struct instant) { (s->at_us - s->jump_us) / 1000 }, from);
        instant_text((struct instant) { s->at_us / 1000 }, to);
        return remark(e, "%s: its clock was set %s by %.3f s, from %s to %s (noticed by %u process%s)", s->by->node,
                      s->jump_us < 0 ? "back" : "forward", (double) llabs(s->jump_us) / 1e6, from, to, s->processes,
                      s->processes == 1 ? "" : "es");
}

static bool is_zoned(const struct plan *p)
{
        return p->schedule.kind == SCHEDULE_CRON && strcmp(zone_name(p->schedule.zone), "UTC") != 0;
}

static bool any_zoned(const struct evidence *e)
{
        for (size_t i = 0; i < e->plans_count; i++)
                for (size_t k = 0; k < e->plans[i]->count; k++)
                        if (is_zoned(&e->plans[i]->list[k]))
                                return true;
        return false;
}

static bool is_named(const struct process *p)
{
        return (p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE) && *p->tzdata &&
               strcmp(p->tzdata, "unknown") != 0;
}

/* One remark a version that is not this machine's, at its first process. */
static int zone_remark(struct evidence *e, size_t first)
{
        const char *theirs = e->processes[first]->tzdata, *ours = zone_data_version();
        size_t count = 0;

        if (!is_named(e->processes[first]) || strcmp(theirs, ours) == 0)
                return 0;
        for (size_t i = 0; i < e->process_count; i++) {
                if (!is_named(e->processes[i]) || strcmp(e->processes[i]->tzdata, theirs) != 0)
                        continue;
                if (i < first)
                        return 0;
                count++;
        }
        return remark(e, "%zu process%s computed with zone data %s, this proof with %s: where the rules of a zone changed "
                         "between them, instants may differ", count, count == 1 ? "" : "es", theirs, ours);
}

int evidence_remarks(struct evidence *e)
{
        bool zoned = any_zoned(e);
        int r = 0;

        for (size_t i = 0; i < e->step_count && r == 0; i++)
                r = step_remark(e, &e->steps[i]);
        if (r == 0 && e->steps_dropped)
                r = remark(e, "clocks were set more often than that: %zu more", e->steps_dropped);
        for (size_t i = 0; i < e->process_count && r == 0 && zoned; i++)
                r = zone_remark(e, i);
        return r;
}
