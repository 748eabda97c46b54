/* Tasks as configured, with what all processes together counted of them. */
#ifndef ONCED_TASKS_H
#define ONCED_TASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/clock.h"
#include "console/view.h"

struct task;
struct task_counts;

#define TASKS_PAGE 1000   /* most tasks one answer holds */

/* {"tasks": [...], "next": NAME or null}: up to `limit` tasks in the order of the configuration, from the one
 * after `after` (NULL: the first). NULL: there is no task of that name, or no memory. */
json_t *tasks_json(const struct view *v, const char *after, size_t limit);

/* One task with its whole definition. Values that may be secrets (headers, body, environment) are left out. */
json_t *task_json(const struct view *v, const struct task *t);

/* True when the schedule makes the task run by itself. */
bool task_competes(const struct task *t);

/* The next planned instant that may run: after `v->wall`, and after what was decided, by what the workers plan (`c`;
 * nothing is known there: zeros). INSTANT_NONE when it never runs by itself. */
struct instant task_next(const struct view *v, const struct task *t, const struct task_counts *c);

/* True when a unit of a task counts instants as decided that lie more than max_future ahead: it does not start. */
bool tasks_stand_ahead(const struct view *v);

/* {"runs": {state: n}, "attempts": {outcome: n}, "noop": n, "running": n, "queued": n} */
json_t *task_counts_json(const struct task_counts *c);

#endif
