/* Jobs and units: made once, at the start of a worker. */
#include "worker/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ledger/rules.h"
#include "worker/claim/watch.h"

#define BACK_OFF_MIN_MS 20
#define BACK_OFF_MAX_MS 1000

int job_init(struct job *j, const struct task *task, const char *node)
{
        *j = (struct job) {
                .task = task,
                .scope_key = task->scope == SCOPE_ALL ? node : "",
                .competes = task->enabled && task->scope != SCOPE_MANUAL && task->schedule.kind != SCHEDULE_NONE,
                .valid_from = INSTANT_NONE,
        };
        j->units = calloc(task->shards, sizeof(*j->units));
        if (!j->units)
                return -ENOMEM;

        j->unit_count = task->shards;
        for (unsigned i = 0; i < j->unit_count; i++)
                j->units[i] = (struct unit) {
                        .of = j, .shard = i, .cursor = INSTANT_NONE, .handed = INSTANT_NONE,
                        .said_down = INSTANT_NONE, .held = INSTANT_NONE,
                };
        return 0;
}

void job_done(struct job *j)
{
        for (unsigned i = 0; i < j->unit_count; i++) {
                free(j->units[i].lock_name);
                watch_free(j->units[i].watch);
                free(j->units[i].own_queue);
        }
        free(j->units);
        j->units = NULL;
        j->unit_count = 0;
}

void job_definition(const struct job *j, const char *node, struct define_in *ret)
{
        *ret = (struct define_in) {
                .task = j->task->name,
                .when_hash = j->task->when_hash, .def_hash = j->task->def_hash,
                .shards = j->task->shards,
                .competes = j->competes,
                .all_scope = j->task->scope == SCOPE_ALL,
                .node = node,
                .schedule = j->task->schedule,
                .asked = j->asked,
                .left = j->waits || j->task->singleton == PATH_REDIS ? j->left : (struct instant) { 0 },
                .fence = j->left_fence,
        };
}

void job_departure(const struct job *j, const char *node, bool all_scope, struct define_in *ret)
{
        *ret = (struct define_in) {
                .task = j->task->name,
                .when_hash = rules_place(j->task->singleton), .def_hash = "",
                .shards = j->task->shards,
                .all_scope = all_scope,
                .node = node,
                .schedule = { .kind = SCHEDULE_NONE },
                .away = true,
                .left = j->left,
        };
}

void job_left(struct job *j, const struct define_out *out)
{
        if (out->left.ms > j->left.ms)
                j->left = out->left;
        if (strtoull(out->fence, NULL, 10) > strtoull(j->left_fence, NULL, 10))
                (void) snprintf(j->left_fence, sizeof(j->left_fence), "%s", out->fence);
}

struct instant job_first_cursor(const struct job *j, struct instant now, struct instant since)
{
        const struct task *t = j->task;
        struct instant c = misfire_first_cursor(&t->misfire, &t->schedule, now, t->first == FIRST_NEXT);
        bool is_older = t->scope == SCOPE_ALL && j->valid_from.ms < since.ms;

        if (j->defined && !is_older && j->valid_from.ms < c.ms)
                c = j->valid_from;
        return j->left.ms > c.ms ? j->left : c;
}

struct instant unit_handed(const struct unit *u)
{
        return u->handed.ms > u->cursor.ms ? u->handed : u->cursor;
}

void unit_advance(struct unit *u, struct instant cursor)
{
        if (cursor.ms <= u->cursor.ms)
                return;
        u->cursor = cursor;
        u->trouble = CAUSE_NONE;
        u->backoff_ms = u->early_ms = 0;
}

unsigned unit_back_off(struct unit *u)
{
        u->backoff_ms = u->backoff_ms ? u->backoff_ms * 2 : BACK_OFF_MIN_MS;
        if (u->backoff_ms > BACK_OFF_MAX_MS)
                u->backoff_ms = BACK_OFF_MAX_MS;
        return u->backoff_ms;
}
