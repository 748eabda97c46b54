/* Asks the ledgers for what happened. A task's history lies in the ledger of its path, so one question may go
 * to both: the local one and that of the group; the answer is merged, newest first.
 * Each question opens a ledger for reading and closes it again: nothing is held while nobody asks, so a ledger
 * that was replaced meanwhile is never shown from an old descriptor. */
#ifndef ONCED_HISTORY_H
#define ONCED_HISTORY_H

#include <jansson.h>
#include <stddef.h>
#include <uv.h>

#include "common/clock.h"
#include "common/record/ids.h"

struct config;
struct history_row;

#define HISTORY_LIMIT_MAX     1000
#define HISTORY_LIMIT_DEFAULT 100

struct history_query {
        char task[TASK_NAME_MAX + 1];  /* "": all */
        int state;                     /* enum state, or -1 */
        struct instant since;          /* INSTANT_NONE: no bound */
        unsigned limit;                /* 1..HISTORY_LIMIT_MAX */
};

struct history_source {
        const struct config *config;   /* borrowed until `done` */
        const char *node, *owner, *boot;
};

/* `occurrences` is the callee's to keep, NULL when no ledger answered. `why`: what is missing and why, ""
 * when the answer is whole. */
typedef void (*history_cb)(json_t *occurrences, const char *why, void *arg);

struct history_ask;

/* `done` runs exactly once, later, on the loop: after `timeout_ms` at the latest. */
int history_ask(uv_loop_t *loop, const struct history_source *source, const struct history_query *q,
                int64_t timeout_ms, history_cb done, void *arg, struct history_ask **ret);

/* Answers at once that the process ends; the ledgers close later, and the loop lives until they have. */
void history_cancel(struct history_ask *a);

/* Fills `ret` from texts, NULL for what was not given. 0, or -EINVAL with `why` filled. */
int history_query_parse(const char *task, const char *state, const char *since, const char *limit,
                        struct history_query *ret, char *why, size_t room);

json_t *history_row_json(const struct history_row *row);

#endif
