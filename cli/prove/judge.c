/* The judge: units, rows and notes, and where each line goes. What counts as what:
 * an instant is due when a plan has it and it lies in the judged window, from the first line there is to the time
 * up to which every instant is known to have been somebody's to decide. A run is a run line, unless its end says
 * that nothing was started after all (failed: not_sent, log): that is no run, by whatever runner, and a failure.
 * Each due instant is in one column only: run once, twice, not run for a reason, or missed. */
#include "cli/prove/judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/unit.h"
#include "common/cleanup.h"

#define NOTES_MAX 1000
#define OPEN_MAX  2000000        /* about half a gigabyte: a log with more unfinished runs proves nothing */

struct judge *judge_new(struct evidence *e, const struct judge_options *o)
{
        struct judge *j = calloc(1, sizeof(*j));

        if (!j)
                return NULL;
        j->options = *o;
        j->evidence = e;
        j->from_ms = (e->whole_from_us > e->from_us ? e->whole_from_us : e->from_us) / 1000;
        if (o->since_ms > j->from_ms)
                j->from_ms = o->since_ms;
        j->upto_ms = INT64_MIN;
        return j;
}

static void unit_free(struct judge *j, struct unit *u)
{
        free(u->task);
        free(u->key);
        free(u->open);
        free(u->counted);
        free(u->intervals);
        own_done(j, u);
        spans_done(&u->ran);
        spans_done(&u->covered);
        spans_done(&u->done);
        spans_done(&u->doubled);
        spans_done(&u->queued);
        free(u);
}

struct judge *judge_free(struct judge *j)
{
        if (!j)
                return NULL;
        for (size_t i = 0; i < j->row_count; i++)
                row_free(j->rows[i]);
        for (size_t i = 0; i < j->unit_count; i++)
                unit_free(j, j->units[i]);
        for (size_t i = 0; i < j->note_count; i++)
                free(j->notes[i]);
        free(j->rows);
        free(j->units);
        free(j->notes);
        dict_done(&j->rows_by_name);
        dict_done(&j->units_by_name);
        free(j);
        return NULL;
}

int judge_note(struct judge *j, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        int r = texts_add(&j->notes, &j->note_count, &j->note_room, &j->notes_dropped, NOTES_MAX, format, ap);
        va_end(ap);
        return r;
}

#define ROW_NAME (TASK_NAME_MAX + 8)

static size_t row_name(char ret[ROW_NAME], const char *task, enum path path)
{
        int len = snprintf(ret, ROW_NAME, "%s%c%d", task, 0, (int) path);

        return len < 0 || len >= ROW_NAME ? 0 : (size_t) len;
}

static struct row *row_get(const struct judge *j, const char *task, enum path path)
{
        char name[ROW_NAME];
        size_t len = row_name(name, task, path);

        return len ? dict_get(&j->rows_by_name, name, len) : NULL;
}

/* The only row of a task, for lines that do not say their path; NULL when it has several, or none. */
static struct row *row_only(const struct judge *j, const char *task)
{
        struct row *only = NULL;

        for (unsigned p = 0; p < PATH_COUNT_; p++) {
                struct row *r = row_get(j, task, (enum path) p);
                if (r && only)
                        return NULL;
                only = r ? r : only;
        }
        return only;
}

/* What came before its path was known belongs to the first path that is. */
struct row *judge_row(struct judge *j, const char *task, enum path path)
{
        struct row *r = row_get(j, task, path), *nameless;
        char name[ROW_NAME];
        size_t len = row_name(name, task, path);

        if (r || len == 0)
                return r;
        if (path == PATH_COUNT_ && (r = row_only(j, task)))
                return r;
        nameless = row_get(j, task, PATH_COUNT_);
        if (nameless && nameless->path == PATH_COUNT_) {
                nameless->path = path;
                return dict_put(&j->rows_by_name, name, len, nameless) < 0 ? NULL : nameless;
        }
        r = row_new(task, path);
        if (!r)
                return NULL;
        if (!list_room((void **) &j->rows, j->row_count, &j->row_room, sizeof(*j->rows)) ||
            dict_put(&j->rows_by_name, name, len, r) < 0)
                return row_free(r);
        j->rows[j->row_count++] = r;
        return r;
}

/* The first line there is, of the node if it is one's own: or what was run by a process without a master that began
 * with it, which no line comes before. */
static int64_t unit_begin_ms(const struct judge *j, const struct plans *p, const char *key)
{
        const struct evidence *e = j->evidence;
        int64_t from = *key ? evidence_node_from_us(e, key) / 1000 : j->from_ms;

        if (from < j->from_ms)
                from = j->from_ms;
        if (!p->alone || p->alone_ms >= from || e->whole_from_us > e->from_us)
                return from;
        return p->alone_ms > j->options.since_ms ? p->alone_ms : j->options.since_ms;
}

static struct unit *unit_new(struct judge *j, const char *task, const char *key, bool plain, unsigned shard)
{
        struct unit *u = calloc(1, sizeof(*u));

        if (!u)
                return NULL;
        u->task = strdup(task);
        u->key = strdup(key);
        u->plain = plain;
        u->shard = shard;
        u->ran_from_ms = u->passed_ms = INT64_MIN;
        u->plans = evidence_plans(j->evidence, task, key, plain);
        if (u->task && u->key && u->plans) {
                const struct plans *p = u->plans;
                u->end_ms = p->count ? evidence_end_ms(j->evidence, p) : INT64_MIN;
                u->from_ms = unit_begin_ms(j, p, key);
                u->down_ms = INT64_MIN;
                return u;
        }
        unit_free(j, u);
        return NULL;
}

static struct unit *unit_of(struct judge *j, struct text task, struct text key, bool plain, unsigned shard)
{
        char name[TASK_NAME_MAX + NODE_ID_MAX + 16];

        if (task.len > TASK_NAME_MAX || key.len >= NODE_ID_MAX)
                return NULL;
        memcpy(name, task.at, task.len);
        name[task.len] = '\0';
        char *key_at = name + task.len + 1;
        memcpy(key_at, key.at, key.len);
        key_at[key.len] = '\0';
        size_t len = task.len + key.len + 2;
        name[len++] = (char) (shard & 255);
        name[len++] = (char) (shard >> 8 & 255);
        name[len++] = (char) plain;
        struct unit *u = dict_get(&j->units_by_name, name, len);
        if (u)
                return u;
        u = unit_new(j, name, key_at, plain, shard);
        if (!u)
                return NULL;
        if (!list_room((void **) &j->units, j->unit_count, &j->unit_room, sizeof(*j->units)) ||
            dict_put(&j->units_by_name, name, len, u) < 0) {
                unit_free(j, u);
                return NULL;
        }
        j->units[j->unit_count++] = u;
        return u;
}

enum path unit_path(const struct unit *u, int64_t planned_ms, enum path otherwise)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { planned_ms });

        return plan ? plan->path : u->plain ? PATH_NONE : otherwise;
}

/* The open occurrence this line is about; made if it is not there. */
struct occurrence *unit_occurrence(struct judge *j, struct unit *u, const struct record *r, bool manual)
{
        int64_t planned = record_number(r, FIELD_PLANNED);
        struct text occ = record_text(r, FIELD_OCC);
        size_t i = u->open_count;

        for (; i > 0 && u->open[i - 1].planned_ms >= planned; i--) {
                struct occurrence *o = &u->open[i - 1];
                if (o->planned_ms == planned && o->manual == manual && (!manual || text_is(occ, o->occ)))
                        return o;
        }
        if (j->open == OPEN_MAX ||
            !list_room((void **) &u->open, u->open_count, &u->open_room, sizeof(*u->open)))
                return NULL;
        memmove(&u->open[i + 1], &u->open[i], (u->open_count - i) * sizeof(*u->open));
        u->open[i] = (struct occurrence) { .planned_ms = planned, .manual = manual };
        if (manual && occ.len < OCC_TEXT)
                memcpy(u->open[i].occ, occ.at, occ.len);
        u->open_count++;
        if (++j->open > j->open_max)
                j->open_max = j->open;
        return &u->open[i];
}

int judge_no_room(const struct judge *j)
{
        return j->open == OPEN_MAX ? -E2BIG : -ENOMEM;
}

static int fold(struct judge *j, struct unit *u, int64_t frontier_ms)
{
        size_t kept = 0;
        int r = 0;

        for (size_t i = 0; i < u->open_count; i++) {
                struct occurrence *o = &u->open[i];
                if (r == 0 && occurrence_settled(u, o, frontier_ms)) {
                        r = occurrence_settle(j, u, o);
                        j->open--;
                } else {
                        if (kept < i)
                                u->open[kept] = *o;
                        kept++;
                }
        }
        u->open_count = kept;
        return r;
}

static bool wanted(const struct judge *j, struct text task)
{
        bool found = j->options.task_count == 0;

        for (size_t i = 0; i < j->options.task_count; i++)
                found |= text_is(task, j->options.tasks[i]);
        return found && task.len > 0;
}

static bool has_plans(const struct judge *j, const char *task, const char *key, bool plain, size_t setup)
{
        const struct plans *p = evidence_plans_there(j->evidence, task, key, plain);

        return p && p->count > 0 && (setup == NO_SETUP || plans_told_by(p, setup));
}

/* Lines that do not name a path are of what their process was configured to run; where no plan tells that, of what
 * the logs have of the task. */
static bool is_plain(const struct judge *j, const struct process *p, const struct record *r, struct text task,
                     struct text key)
{
        char name[TASK_NAME_MAX + 1], node[NODE_ID_MAX];
        size_t setups[] = { p->setup, NO_SETUP };

        if (record_has(r, FIELD_PATH))
                return text_is(record_text(r, FIELD_PATH), path_names[PATH_NONE]);
        (void) snprintf(name, sizeof(name), "%.*s", (int) task.len, task.at);
        (void) snprintf(node, sizeof(node), "%.*s", (int) key.len, key.at);
        for (unsigned i = 0; i < 2; i++) {
                bool once = has_plans(j, name, node, false, setups[i]);
                if (once != has_plans(j, name, node, true, setups[i]))
                        return !once;
        }
        return row_get(j, name, PATH_NONE) && row_only(j, name);
}

int judge_take(struct judge *j, const struct process *p, const struct record *r, int64_t frontier_ms)
{
        struct taking t = { .j = j, .p = p, .r = r, .planned_ms = record_number(r, FIELD_PLANNED) };
        bool range = r->e == EVENT_SKIP || r->e == EVENT_MISS;
        int64_t shard = record_number(r, FIELD_SHARD);
        struct text task = record_text(r, FIELD_TASK), key = record_text(r, FIELD_KEY);
        int e = 0;

        if (!wanted(j, task) || task.len > TASK_NAME_MAX || key.len >= NODE_ID_MAX || shard < 0 ||
            shard >= SHARDS_MAX)
                return 0;
        if (!range && (t.planned_ms < j->options.since_ms || t.planned_ms >= j->options.until_ms))
                return 0;
        t.u = unit_of(j, task, key, is_plain(j, p, r, task, key), (unsigned) shard);
        if (!t.u)
                return -ENOMEM;
        if (range)
                return take_range(j, t.u, r);
        int path = text_index(record_text(r, FIELD_PATH), path_names);
        t.said_path = path >= 0 ? (enum path) path : PATH_COUNT_;
        t.path = unit_path(t.u, t.planned_ms, t.said_path);
        t.row = judge_row(j, t.u->task, t.path);
        if (!t.row)
                return -ENOMEM;
        t.manual = text_is(record_text(r, FIELD_BY), "manual");
        if (r->e == EVENT_ATTEMPT)
                e = take_attempt(&t);
        else if (r->e == EVENT_RUN)
                e = take_run(&t);
        else if (r->e == EVENT_FINISH)
                e = take_finish(&t);
        return e < 0 ? e : fold(j, t.u, frontier_ms);
}

static int by_name(const void *a, const void *b)
{
        const struct row *const *x = a, *const *y = b;
        int order = strcmp((*x)->task, (*y)->task);

        return order ? order : (int) (*x)->path - (int) (*y)->path;
}

static int units_planned(struct judge *j)
{
        for (size_t i = 0; i < j->evidence->plans_count; i++) {
                const struct plans *p = j->evidence->plans[i];
                unsigned shards = 0;

                for (size_t k = 0; k < p->count; k++)
                        if (p->list[k].shards > shards && p->list[k].competes)
                                shards = p->list[k].shards;
                struct text task = { p->task, strlen(p->task) }, key = { p->key, strlen(p->key) };
                for (unsigned s = 0; s < shards && wanted(j, task); s++)
                        if (!unit_of(j, task, key, p->plain, s))
                                return -ENOMEM;
        }
        return 0;
}

static void count_nodes(const struct evidence *e, struct row *r)
{
        for (size_t i = 0; i < e->process_count; i++) {
                bool is_new = row_has_source(r, i);

                for (size_t k = 0; k < i && is_new; k++)
                        is_new = !row_has_source(r, k) || strcmp(e->processes[k]->node, e->processes[i]->node) != 0;
                r->nodes += is_new;
        }
}

int judge_end(struct judge *j)
{
        int r = units_planned(j);

        for (size_t i = 0; i < j->unit_count; i++)
                if (j->units[i]->from_ms < j->from_ms)
                        j->from_ms = j->units[i]->from_ms;
        for (size_t i = 0; i < j->unit_count && r == 0; i++) {
                struct unit *u = j->units[i];
                for (size_t k = 0; k < u->open_count && r == 0; k++)
                        r = occurrence_settle(j, u, &u->open[k]);
                u->open_count = 0;
                if (r == 0)
                        r = unit_waits(u);
                j->strangers |= r == 0 && unit_has_strangers(j, u);
        }
        for (size_t i = 0; i < j->unit_count && r == 0; i++)
                r = unit_sweep(j, j->units[i]);
        for (size_t i = 0; i < j->row_count && r == 0; i++)
                if (row_multiple(j->rows[i]))
                        count_nodes(j->evidence, j->rows[i]);
        if (j->row_count)
                qsort(j->rows, j->row_count, sizeof(struct row *), by_name);
        return r;
}

enum verdict judge_verdict(const struct judge *j, bool *ret_any)
{
        enum verdict worst = VERDICT_ONCE;

        *ret_any = false;
        for (size_t i = 0; i < j->row_count; i++) {
                bool any;
                enum verdict v = row_verdict(j->rows[i], &any);

                if (!any || j->rows[i]->path == PATH_NONE)
                        continue;
                *ret_any = true;
                if (v > worst)
                        worst = v;
        }
        return worst;
}
