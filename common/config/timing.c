/* The nearest level that gives a schedule gives all of it, and what belongs to another kind is dropped, so that a
 * zone among the defaults is no part of what an interval task means. */
#include "common/config/timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/schedule/zone.h"

#define INTERVALS_LOOKED_AT 100
#define EVERY_HOUR 0xffffffU

/* A zone whose clock is not changed within this time silences nothing. */
#define CHANGE_HORIZON_S (2 * 366 * 86400LL)

bool cron_judge(const char *text, struct flaw *ret)
{
        struct cron_error error;
        struct cron cron;

        if (cron_parse(text, &cron, &error) == 0)
                return true;
        ret->at = error.at;
        ret->length = error.length;
        (void) snprintf(ret->text, sizeof(ret->text), "%s", error.text);
        return false;
}

bool zone_judge(const char *text, struct flaw *ret)
{
        const struct zone *zone;

        ret->at = ret->length = 0;
        return zone_get(text, &zone, ret->text, sizeof(ret->text)) == 0;
}

static int64_t now_s(void)
{
        return clock_wall().ns / NS_PER_S;
}

bool timing_comes(const struct schedule *s, char *ret_why, size_t room)
{
        struct instant next;

        if (s->kind != SCHEDULE_CRON || schedule_next(s, (struct instant) { now_s() * MS_PER_S }, &next) == 0)
                return true;
        (void) snprintf(ret_why, room, "never comes in %s: its clock skips all that is named", zone_name(s->zone));
        return false;
}

/* Ends at the first interval that is not: nearly always the first of all, so that 100,000 tasks cost little. */
static bool all_intervals(const struct schedule *s, int64_t ms, bool shorter)
{
        struct instant at, next;

        if (schedule_next(s, (struct instant) { now_s() * MS_PER_S }, &at) < 0)
                return false;
        for (int n = 0; n < INTERVALS_LOOKED_AT && schedule_next(s, at, &next) == 0; n++, at = next) {
                int64_t between = next.ms - at.ms;
                if (shorter ? between >= ms : between <= ms)
                        return false;
                if (s->kind == SCHEDULE_EVERY)
                        break;
        }
        return true;
}

bool timing_all_shorter(const struct schedule *s, int64_t ms)
{
        return all_intervals(s, ms, true);
}

bool timing_all_longer(const struct schedule *s, int64_t ms)
{
        return all_intervals(s, ms, false);
}

/* The next stretch of local time, [ret_from, ret_until), that has instants and comes twice, or with `skipped` not at
 * all. */
static bool next_change(const struct schedule *s, bool skipped, int64_t *ret_from, int64_t *ret_until)
{
        struct zone_span before, after;
        int64_t start = now_s();

        zone_span_at(s->zone, start, &before);
        for (; before.until_s < start + CHANGE_HORIZON_S; before = after) {
                zone_span_at(s->zone, before.until_s, &after);
                *ret_from = before.until_s + (skipped ? before.offset_s : after.offset_s);
                *ret_until = before.until_s + (skipped ? after.offset_s : before.offset_s);
                if (cron_count(&s->cron, *ret_from, *ret_until) > 0)
                        return true;
        }
        return false;
}

/* Somebody who writes an hour means it once. Who writes `*` means all the time, and would be surprised. */
static void warn_of_silence(struct reading *rd, const struct origin *o, const struct node *cron, const struct task *t)
{
        char from[STAMP_TEXT], until[STAMP_TEXT];   /* of a wall clock, not of UTC */
        int64_t from_s, until_s;

        if (t->schedule.fold_both || origin_given(o, "dst_fold"))
                return;
        if (!next_change(&t->schedule, false, &from_s, &until_s))
                return;
        instant_text((struct instant) { from_s * MS_PER_S }, from);
        instant_text((struct instant) { until_s * MS_PER_S }, until);
        read_warning(rd, cron->place, "cron",
                     "is for every hour, but nothing fires the second time that %.10s %.5s-%.5s comes in %s; give "
                     "\"dst_fold: both\", or \"dst_fold: first\" if that is meant", from, from + 11, until + 11,
                     zone_name(t->schedule.zone));
}

/* Who writes an hour may not know that there is a day without it. */
static void note_gap(struct reading *rd, const struct node *cron, const struct task *t)
{
        char from[STAMP_TEXT], until[STAMP_TEXT];   /* of a wall clock, not of UTC */
        int64_t from_s, until_s;

        if (!next_change(&t->schedule, true, &from_s, &until_s))
                return;
        instant_text((struct instant) { from_s * MS_PER_S }, from);
        instant_text((struct instant) { until_s * MS_PER_S }, until);
        read_note(rd, cron->place, "cron", "nothing fires within %.5s-%.5s on %.10s: the clock of %s skips that time",
                  from + 11, until + 11, from, zone_name(t->schedule.zone));
}

static void settle_cron(struct reading *rd, const struct origin *o, const struct node *cron, struct task *t)
{
        bool said = cron == rd->cron_said;
        struct cron_error error;
        char why[NEVER_WHY];

        int r = schedule_cron(t->cron, t->tz, t->dst_fold == DST_FOLD_BOTH, &t->schedule, &error);
        rd->cron_said = cron;
        if (r == -ENOMEM)
                rd->error = r;
        else if (r < 0 && !said)
                read_error(rd, node_place_in(cron, error.at, error.length), "cron", "%s", error.text);
        if (r < 0 || said)
                return;
        if (!timing_comes(&t->schedule, why, sizeof(why)))
                read_error(rd, cron->place, "cron", "%s", why);
        const char *doubt = cron_doubt(&t->schedule.cron);
        if (doubt)
                read_warning(rd, cron->place, "cron", "%s", doubt);
        if (t->schedule.cron.hours == EVERY_HOUR)
                warn_of_silence(rd, o, cron, t);
        else
                note_gap(rd, cron, t);
}

/* Of what the task itself gives, and unless it says what would hold anyhow, as a dump does. */
static void warn_of_no_effect(struct reading *rd, const struct origin *o, const struct task *t, const char *key,
                              const char *beside)
{
        const struct node *n = node_get(o->task, key);

        if (n && !field_is_default(field_find(task_fields, key), t))
                read_warning(rd, n->place, key, "has no effect beside \"%s\"", beside);
}

static void drop_cron(struct task *t)
{
        free(t->cron);
        free(t->tz);
        t->cron = t->tz = NULL;
        t->dst_fold = DST_FOLD_FIRST;
}

void timing_settle(struct reading *rd, const struct origin *o, struct task *t)
{
        const struct node *levels[] = { o->task, o->file_defaults, o->main_defaults };
        const struct node *every = NULL, *cron = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(levels) && !every && !cron; i++) {
                every = node_get(levels[i], "every");
                cron = node_get(levels[i], "cron");
        }
        if (every && cron)
                read_error(rd, cron->key_place, "cron",
                           "second schedule beside \"every\" in line %u; give one of them",
                           every->key_place.line);
        else if (!every && !cron && t->scope != SCOPE_MANUAL)
                read_error(rd, o->task->place, NULL,
                           "no schedule: give \"every\" or \"cron\", or \"scope: manual\"");
        if (every) {
                warn_of_no_effect(rd, o, t, "tz", "every");
                warn_of_no_effect(rd, o, t, "dst_fold", "every");
        } else if (cron) {
                warn_of_no_effect(rd, o, t, "anchor", "cron");
        }
        if (!cron || every)
                drop_cron(t);
        if (every && t->schedule.every_ms > 0)
                (void) schedule_every(t->schedule.every_ms, t->schedule.anchor_ms, &t->schedule);
        else
                t->schedule = (struct schedule) { .kind = SCHEDULE_NONE };
        if (t->cron)
                settle_cron(rd, o, cron, t);
}
