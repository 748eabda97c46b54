/* The two outer forms of history: the question as text, a record as JSON. */
#include "console/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complaint.h"
#include "common/record/names.h"
#include "console/answer.h"
#include "console/view.h"
#include "ledger/ledger.h"

/* A list is for looking at: of a long result its beginning is shown, with its length beside it. */
#define TEXT_SHOWN 4096

static int limit_parse(const char *text, unsigned *ret)
{
        char *end;

        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (errno || *end || text[0] < '0' || text[0] > '9' || n < 1 || n > HISTORY_LIMIT_MAX)
                return -EINVAL;
        *ret = (unsigned) n;
        return 0;
}

static void unknown_state(const char *state, char *why, size_t room)
{
        const char *near = nearest_word(state, state_names);
        int n = snprintf(why, room, "state: is none of ");

        for (size_t i = 0; state_names[i] && n >= 0 && (size_t) n < room; i++)
                n += snprintf(why + n, room - (size_t) n, "%s%s", i ? ", " : "", state_names[i]);
        if (near && n >= 0 && (size_t) n < room)
                (void) snprintf(why + n, room - (size_t) n, "; did you mean %s?", near);
}

int history_query_parse(const char *task, const char *state, const char *since, const char *limit,
                        struct history_query *ret, char *why, size_t room)
{
        struct history_query q = { .state = -1, .since = INSTANT_NONE, .limit = HISTORY_LIMIT_DEFAULT };

        if (task && (!*task || strlen(task) > TASK_NAME_MAX)) {
                (void) snprintf(why, room, "task: not a task name");
                return -EINVAL;
        }
        if (task)
                (void) snprintf(q.task, sizeof(q.task), "%s", task);
        if (state && (q.state = name_index(state_names, state)) < 0) {
                unknown_state(state, why, room);
                return -EINVAL;
        }
        if (since && instant_parse(since, &q.since) < 0) {
                (void) snprintf(why, room, "since: not a time like 2026-11-30T17:00:00Z");
                return -EINVAL;
        }
        if (limit && limit_parse(limit, &q.limit) < 0) {
                (void) snprintf(why, room, "limit: not a number from 1 to %d", HISTORY_LIMIT_MAX);
                return -EINVAL;
        }
        *ret = q;
        return 0;
}

static json_t *text_or_null(const char *text)
{
        return text && *text ? json_text(text) : json_null();
}

static json_t *run_ms(const struct history_row *r)
{
        if (r->started.ns == 0 || r->ended.ns < r->started.ns)
                return json_null();
        return json_real((double) (r->ended.ns - r->started.ns) / NS_PER_MS);
}

static int row_add_run(json_t *j, const struct history_row *r)
{
        size_t shown = r->text_len < TEXT_SHOWN ? r->text_len : TEXT_SHOWN;
        json_t *run = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                                "occurrence", json_text(r->occ),
                                "trigger", text_or_null(r->trig),
                                "fence", text_or_null(r->fence),
                                "owner", text_or_null(r->owner),
                                "started", json_stamp(r->started),
                                "ended", json_stamp(r->ended),
                                "run_ms", run_ms(r),
                                "code", r->code < 0 ? json_null() : json_integer(r->code),
                                "text", r->text && shown ? json_bytes(r->text, shown) : json_null(),
                                "text_len", json_count(r->text_len));
        int e = run ? json_object_update(j, run) : -1;
        json_decref(run);
        return e;
}

json_t *history_row_json(const struct history_row *r)
{
        json_t *j = json_pack("{s:o, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
                              "task", json_text(r->task),
                              "shard", (int) r->shard,
                              "scope", text_or_null(r->scope_key),
                              "state", state_names[r->state],
                              "cause", text_or_null(cause_names[r->cause]),
                              "result", text_or_null(result_names[r->result]),
                              "planned", json_instant(r->planned),
                              "last", r->range ? json_instant(r->last) : json_null(),
                              "count", json_count(r->range ? r->count : 1),
                              "error", text_or_null(r->error));
        if (j && !r->range && row_add_run(j, r) < 0) {
                json_decref(j);
                return NULL;
        }
        return j;
}
