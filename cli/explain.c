/* onced explain: what a schedule and the policies of its task come to, in words, so that a person can say whether they
 * are what was meant. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/explain.h"
#include "cli/instants.h"
#include "cli/timetable.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/schedule/zone.h"

__attribute__((format(printf, 2, 3))) static void say(const char *label, const char *format, ...)
{
        va_list ap;

        printf("%-9s ", label);
        va_start(ap, format);
        vprintf(format, ap);
        va_end(ap);
        putchar('\n');
}

static void say_every(const struct schedule *s)
{
        struct instant anchor = { s->anchor_ms };
        char every[32], text[STAMP_TEXT];

        span_text(s->every_ms, every);
        say("when", "every %s, on a grid through %s", every, instant_plain(anchor, anchor.ms % MS_PER_S != 0, text));
}

/* Folds and gaps are nothing to speak of where the clock is never changed any more. */
static bool clock_changes(const struct zone *z)
{
        struct zone_span span;

        zone_span_at(z, clock_wall().ns / NS_PER_S, &span);
        return span.until_s != INT64_MAX;
}

static void say_cron(const struct schedule *s)
{
        char sentence[SENTENCE_MAX], text[CRON_TEXT];

        cron_sentence(&s->cron, sentence, sizeof(sentence));
        cron_text(&s->cron, text);
        say("when", "%s", sentence);
        say("clock", "%s, time zone data %s", zone_name(s->zone), zone_data_version());
        if (clock_changes(s->zone))
                say("", "a local time that the clock skips does not fire; one that comes twice fires %s",
                    s->fold_both ? "both times" : "the first time only");
        say("cron", "%s", text);
}

static void say_schedule(const struct schedule *s)
{
        if (s->kind == SCHEDULE_EVERY)
                say_every(s);
        else if (s->kind == SCHEDULE_CRON)
                say_cron(s);
        else
                say("when", "never by itself");
}

static void say_path(const struct task *t)
{
        static const char *const paths[] = {
                [PATH_NONE] = "none: every worker runs it for itself, as a plain timer",
                [PATH_DEDICATED] = "dedicated: the elected timer worker of the node runs it; settled in the local ledger",
                [PATH_FLOCK] = "flock: the worker that gets the file lock runs it; settled in the local ledger",
                [PATH_REDIS] = "redis: the worker that gets the claim in Redis runs it",
        };
        static const char *const scopes[] = {
                [SCOPE_AUTO] = "once in the group", [SCOPE_MAIN] = "by the main node", [SCOPE_ALL] = "once on every node",
                [SCOPE_MANUAL] = "only when told",
        };
        bool local = t->singleton == PATH_DEDICATED || t->singleton == PATH_FLOCK;

        say("path", "%s", paths[t->singleton]);
        if (t->singleton != PATH_NONE)
                say("once", "%s%s", local && t->scope == SCOPE_AUTO ? "once on this machine" : scopes[t->scope],
                    t->shards > 1 ? ", for each shard" : "");
        if (t->shards > 1)
                say("shards", "%u at each instant, each told its number", t->shards);
}

static void say_misfire(const struct task *t)
{
        const struct misfire *m = &t->misfire;
        char span[32];

        if (m->policy == MISFIRE_CATCH_UP) {
                span_text(m->lookback_ms, span);
                say("misfire", "catch_up: of what was missed, the newest %u of the last %s %s run, oldest first; the others "
                    "are recorded as skipped", m->limit, span, m->limit == 1 ? "is" : "are");
        } else {
                if (m->grace_ms >= 0)
                        span_text(m->grace_ms, span);
                say("misfire", "skip: of what was missed, only the newest is run, and only within %s of its time; the others "
                    "are recorded as skipped",
                    m->grace_ms >= 0 ? span : "59 s, or the interval if that is less,");
        }
        say("first", "%s", t->first == FIRST_NEXT ? "next: at the very first start nothing counts as missed"
                                                  : "window: at the very first start that window counts as missed");
}

static void say_overlap(const struct task *t)
{
        const struct overlap *o = &t->overlap;

        if (o->policy == OVERLAP_QUEUE)
                say("overlap", "queue: what is due while a run goes on waits, up to %u of them; beyond that it is recorded "
                    "as skipped (queue_full)", o->queue_limit);
        else if (o->policy == OVERLAP_CONCURRENT)
                say("overlap", "concurrent: up to %u run at once; beyond that it is recorded as skipped (overlap)",
                    o->max_running);
        else
                say("overlap", "drop: what is due while a run goes on is recorded as skipped (overlap)");
}

static void say_task(const struct task *t)
{
        char timeout[32];

        say_path(t);
        say_misfire(t);
        say_overlap(t);
        span_text(t->timeout_ms, timeout);
        say("timeout", "a run is ended after %s", timeout);
}

static void say_next(const struct schedule *s)
{
        struct instant before = stamp_instant(clock_wall()), i;

        for (int n = 0; n < INSTANTS_SHOWN && schedule_next(s, before, &i) == 0; n++, before = i) {
                if (n == 0) {
                        puts("next");
                        instants_print_heads(s, "  ");
                }
                changes_print(s, before, i, "  ");
                instant_print(s, i, "  ");
        }
}

int command_explain(int argc, char **argv)
{
        bool json = false;
        const struct argument options[] = { { "--json", NULL, &json }, { NULL, NULL, NULL } };
        struct timetable t;

        int r = timetable_begin(&t, argc, argv, options);
        if (r == 0 && json) {
                explain_print_json(&t.schedule, t.task);
        } else if (r == 0) {
                if (t.task)
                        say("task", "%s", t.task->name);
                say_schedule(&t.schedule);
                if (t.task)
                        say_task(t.task);
                say_next(&t.schedule);
        }
        timetable_done(&t);
        return r;
}
