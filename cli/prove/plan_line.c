/* A plan line as a plan. One whose schedule cannot be computed here is kept, with the reason: its task is not judged. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/prove/plans.h"
#include "cli/prove/scan.h"
#include "common/record/ids.h"

#define RUNNING_MAX 1000        /* the most that a configuration may allow */

/* The zone of a cron schedule, as its text has it. */
static struct text zone_of(const char *text)
{
        const char *at = strstr(text, " tz ");

        at = at ? at + 4 : "";
        return (struct text) { at, strcspn(at, " ") };
}

static int doubt_add(struct plans *p, const char *text, int error)
{
        struct text zone = zone_of(text);
        int len;

        if (p->doubt)
                return 0;
        if (error == -EINVAL)
                len = asprintf(&p->doubt, "its schedule is none that can be read here (%.80s)", text);
        else if (error == -ENOENT)
                len = asprintf(&p->doubt, "its zone %.*s is not on this machine", (int) zone.len, zone.at);
        else
                len = asprintf(&p->doubt, "its zone %.*s cannot be read here: %s", (int) zone.len, zone.at,
                               strerror(-error));
        if (len < 0) {
                p->doubt = NULL;
                return -ENOMEM;
        }
        text_clean(p->doubt);
        return 0;
}

/* A schedule that nobody was to run needs no computing. */
static int schedule_read(struct plans *p, const struct record *r, struct plan *plan)
{
        char text[SCHEDULE_TEXT];
        struct text t = record_text(r, FIELD_SCHEDULE);
        int e = -EINVAL;

        if (t.len == 0)
                return -EINVAL;
        if (!plan->competes)
                return 0;
        (void) snprintf(text, sizeof(text), "%.*s", (int) t.len, t.at);
        if (t.len < sizeof(text))
                e = schedule_parse(text, &plan->schedule);
        if (e == 0 || e == -ENOMEM)
                return e;
        plan->schedule = (struct schedule) { .kind = SCHEDULE_NONE };
        plan->computable = false;
        return doubt_add(p, text, e);
}

int plan_read(struct plans *p, const struct record *r, struct plan *ret)
{
        int path = text_index(record_text(r, FIELD_PATH), path_names);
        int64_t shards = record_number(r, FIELD_SHARDS), max_running = record_number(r, FIELD_MAX_RUNNING);
        enum field grace = record_has(r, FIELD_LOOKBACK) ? FIELD_LOOKBACK : FIELD_GRACE;

        if (path < 0 || shards < 1 || shards > SHARDS_MAX || !record_has(r, FIELD_VALID_FROM))
                return -EINVAL;
        *ret = (struct plan) {
                .until = { INT64_MAX },
                .path = (enum path) path,
                .computable = true,
                .competes =
                        record_number(r, FIELD_ENABLED) && !text_is(record_text(r, FIELD_SCOPE), "manual"),
                .concurrent = text_is(record_text(r, FIELD_OVERLAP), "concurrent"),
                .queued = text_is(record_text(r, FIELD_OVERLAP), "queue"),
                .max_running = max_running > 0 && max_running <= RUNNING_MAX ? (unsigned) max_running : RUNNING_MAX,
                .catch_up = text_is(record_text(r, FIELD_MISFIRE), "catch_up"),
                .grace_ms = record_has(r, grace) ? record_number(r, grace) : -1,
                .shards = (unsigned) shards,
                .rev = (uint64_t) record_number(r, FIELD_REV),
                .valid_from = { record_number(r, FIELD_VALID_FROM) },
        };
        return schedule_read(p, r, ret);
}
