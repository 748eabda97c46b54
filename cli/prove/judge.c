/* Lines in: each finds its unit and occurrence. Attempts that were not granted are only counted. */
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

static void unit_free(struct unit *u)
{
        free(u->task);
        free(u->key);
        free(u->open);
        spans_done(&u->ran);
        spans_done(&u->covered);
        spans_done(&u->doubled);
        free(u);
}

struct judge *judge_free(struct judge *j)
{
        if (!j)
                return NULL;
        for (size_t i = 0; i < j->row_count; i++)
                row_free(j->rows[i]);
        for (size_t i = 0; i < j->unit_count; i++)
                unit_free(j->units[i]);
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
        char *text;

        if (j->note_count == NOTES_MAX) {
                j->notes_dropped++;
                return 0;
        }
        va_start(ap, format);
        int n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0)
                return -ENOMEM;
        text_clean(text);
        if (!list_room((void **) &j->notes, j->note_count, &j->note_room, sizeof(*j->notes))) {
                free(text);
                return -ENOMEM;
        }
        j->notes[j->note_count++] = text;
        return 0;
}

struct row *judge_row(struct judge *j, const char *task, enum path path)
{
        char name[TASK_NAME_MAX + 8];
        int len = snprintf(name, sizeof(name), "%s%c%d", task, 0, (int) path);

        if (len < 0 || (size_t) len >= sizeof(name))
                return NULL;
        struct row *r = dict_get(&j->rows_by_name, name, (size_t) len);
        if (r)
                return r;
        r = row_new(task, path);
        if (!r)
                return NULL;
        if (!list_room((void **) &j->rows, j->row_count, &j->row_room, sizeof(*j->rows)) ||
            dict_put(&j->rows_by_name, name, (size_t) len, r) < 0)
                return row_free(r);
        j->rows[j->row_count++] = r;
        return r;
}

static struct unit *unit_new(struct judge *j, const char *task, const char *key, unsigned shard)
{
        struct unit *u = calloc(1, sizeof(*u));

        if (!u)
                return NULL;
        u->task = strdup(task);
        u->key = strdup(key);
        u->shard = shard;
        u->ran_from_ms = INT64_MIN;
        u->plans = evidence_plans(j->evidence, task, key);
        if (u->task && u->key && u->plans) {
                const struct plans *p = u->plans;
                u->end_ms = p->count ? evidence_end_ms(j->evidence, key, &p->list[p->count - 1]) : INT64_MIN;
                return u;
        }
        unit_free(u);
        return NULL;
}

static struct unit *unit_of(struct judge *j, struct text task, struct text key, unsigned shard)
{
        char name[TASK_NAME_MAX + NODE_ID_MAX + 16];

        if (task.len >= TASK_NAME_MAX || key.len >= NODE_ID_MAX)
                return NULL;
        memcpy(name, task.at, task.len);
        name[task.len] = '\0';
        char *key_at = name + task.len + 1;
        memcpy(key_at, key.at, key.len);
        key_at[key.len] = '\0';
        size_t len = task.len + key.len + 2;
        name[len++] = (char) (shard & 255);
        name[len++] = (char) (shard >> 8 & 255);
        struct unit *u = dict_get(&j->units_by_name, name, len);
        if (u)
                return u;
        u = unit_new(j, name, key_at, shard);
        if (!u)
                return NULL;
        if (!list_room((void **) &j->units, j->unit_count, &j->unit_room, sizeof(*j->units)) ||
            dict_put(&j->units_by_name, name, len, u) < 0) {
                unit_free(u);
                return NULL;
        }
        j->units[j->unit_count++] = u;
        return u;
}

enum path unit_path(const struct unit *u, int64_t planned_ms, enum path otherwise)
{
        const struct plan *plan = plans_at(u->plans, (struct instant) { planned_ms });

        return plan ? plan->path : otherwise;
}

/* The open occurrence this line is about; made if it is not there. */
static struct occurrence *occurrence_of(struct judge *j, struct unit *u, const struct record *r, bool manual)
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
                        u->open[kept++] = *o;
                }
        }
        u->open_count = kept;
        return r;
}

static uint64_t fence_of(const struct record *r)
{
        struct text t = record_text(r, FIELD_FENCE);
        uint64_t v = 0;

        for (size_t i = 0; i < t.len && i < 19; i++) {
                if (t.at[i] < '0' || t.at[i] > '9')
                        return 0;
                v = v * 10 + (uint64_t) (t.at[i] - '0');
        }
        return v;
}

struct taking {
        struct judge *j;
        const struct process *p;
        const struct record *r;
        struct unit *u;
        struct row *row;
        enum path path;
        bool manual;
        int64_t planned_ms;
};

static int no_room(const struct judge *j)
{
        return j->open == OPEN_MAX ? -E2BIG : -ENOMEM;
}

static int take_attempt(struct taking *t)
{
        int out = text_index(record_text(t->r, FIELD_OUT), outcome_names);

        t->row->attempts++;
        if (out < 0 || out >= OUTCOME_COUNT_)
                return 0;
        t->row->outcomes[out]++;
        if (out != OUTCOME_GRANTED || t->path == PATH_NONE)
                return 0;
        uint64_t fence = fence_of(t->r);
        t->row->fences += fence > 0;
        enum past past = t->manual ? PAST_NONE : unit_past(t->u, t->planned_ms);
        if (past == PAST_FORGOTTEN)
                return 0;
        if (past == PAST_RAN)
                return judge_note(
                        t->j, "%s: instant %lld was granted again to %s (line %llu) after it had run",
                        t->u->task, (long long) t->planned_ms, t->p->name, (unsigned long long) t->r->n);
        struct occurrence *o = occurrence_of(t->j, t->u, t->r, t->manual);
        if (!o)
                return no_room(t->j);
        o->two_fences |= o->granted && o->fence != fence;
        o->granted = true;
        o->fence = fence;
        o->path = t->path;
        o->last_process = t->p->index;
        return 0;
}

static int take_run(struct taking *t)
{
        struct run_ref ref = { t->p->index, t->r->n, t->r->t_us, t->r->b_ns };

        if (t->manual)
                t->row->manual++;
        else
                t->row->runs++;
        if (row_source(t->row, t->p->index) < 0 ||
            (!t->manual && row_late(t->row, t->r->t_us - t->planned_ms * 1000) < 0))
                return -ENOMEM;
        if (!t->manual && unit_past(t->u, t->planned_ms) != PAST_NONE)
                return t->path == PATH_NONE ? 0 : unit_ran_again(t->j, t->u, t->row, t->p, t->r);
        struct occurrence *o = occurrence_of(t->j, t->u, t->r, t->manual);
        if (!o)
                return no_room(t->j);
        if (++o->runs == 1)
                o->first = ref;
        else
                o->second = ref;
        o->path = t->path;
        o->last_process = t->p->index;
        return 0;
}

/* An end that was told in place of a dead process, of what is settled already without a run: by another who told
 * it, or by the dead one itself. */
static bool told_again(const struct taking *t)
{
        if (!record_has(t->r, FIELD_OF) || !spans_has(&t->u->covered, t->planned_ms))
                return false;
        for (size_t i = t->u->open_count; i > 0 && t->u->open[i - 1].planned_ms >= t->planned_ms; i--)
                if (t->u->open[i - 1].planned_ms == t->planned_ms)
                        return false;
        return true;
}

static int take_finish(struct taking *t)
{
        int state = text_index(record_text(t->r, FIELD_STATE), state_names);
        int cause = text_index(record_text(t->r, FIELD_CAUSE), cause_names);
        int result = text_index(record_text(t->r, FIELD_RESULT), result_names);

        if (state < 0 || state >= STATE_COUNT_)
                return 0;
        bool settled = !t->manual && unit_past(t->u, t->planned_ms) != PAST_NONE;
        if (settled && t->path != PATH_NONE)
                return 0;               /* a second end: the first one is what the ledger keeps */
        if (!t->manual && told_again(t))
                return 0;
        struct occurrence *o = settled ? NULL : occurrence_of(t->j, t->u, t->r, t->manual);
        if (!settled && !o)
                return no_room(t->j);
        if (o && o->final && t->path != PATH_NONE)
                return 0;
        t->row->finals[state]++;
        if (result > 0 && result < RESULT_COUNT_)
                t->row->results[result]++;
        if (!o)
                return 0;
        if (o->runs == 0)
                o->path = t->path;
        o->final = true;
        o->state = (enum state) state;
        o->cause = cause > 0 && cause < CAUSE_COUNT_ ? (enum cause) cause : CAUSE_NONE;
        o->by_other = record_has(t->r, FIELD_OF);
        o->run_us = record_number(t->r, FIELD_RUN_US);
        o->last_process = t->p->index;
        return 0;
}

/* Instants of `s` in (after, upto]. */
static uint64_t count_in(const struct unit *u, const struct spans *s, int64_t after_ms, int64_t upto_ms)
{
        uint64_t count = 0;

        for (size_t i = spans_find(s, after_ms + 1); i < s->count && s->list[i].first <= upto_ms; i++) {
                const struct span *p = &s->list[i];
                count += plans_count(u->plans, u->shard,
                                     (struct instant) { p->first - 1 > after_ms ? p->first - 1 : after_ms },
                                     (struct instant) { p->last < upto_ms ? p->last : upto_ms });
        }
        return count;
}

/* Instants in (after, upto] that no record has given up before. One range may be told twice, by its author and by
 * those who feared that he had died before he could: that is one fact. */
static uint64_t count_given_up(const struct unit *u, int64_t after_ms, int64_t upto_ms)
{
        struct instant after = { after_ms }, upto = { upto_ms };
        uint64_t all = plans_count(u->plans, u->shard, after, upto);

        if (unit_path(u, upto_ms, PATH_COUNT_) == PATH_NONE)
                return all;              /* each process gives up its own */
        uint64_t covered = count_in(u, &u->covered, after_ms, upto_ms);
        uint64_t ran = count_in(u, &u->ran, after_ms, upto_ms);
        return all - (covered > ran ? covered - ran : 0);
}

/* A range record: it covers its instants, those of the window are counted. */
static int take_range(struct judge *j, struct unit *u, const struct record *r)
{
        struct instant first = { record_number(r, FIELD_FIRST) }, last = { record_number(r, FIELD_LAST) };
        int cause = text_index(record_text(r, FIELD_CAUSE), cause_names);

        if (first.ms < j->options.since_ms)
                first.ms = j->options.since_ms;
        if (last.ms >= j->options.until_ms)
                last.ms = j->options.until_ms - 1;
        if (first.ms > last.ms)
                return 0;
        struct row *row = judge_row(j, u->task, unit_path(u, last.ms, PATH_COUNT_));
        if (!row)
                return -ENOMEM;
        int64_t after, upto;
        uint64_t count = 0;
        if (unit_window(j, u, &after, &upto) && last.ms > after)
                count = count_given_up(u, first.ms - 1 > after ? first.ms - 1 : after, last.ms);
        if (cause > 0 && cause < CAUSE_COUNT_)
                row->given_up[cause] += count;
        if (r->e == EVENT_MISS)
                row->recorded_missed += count;
        else if (cause == CAUSE_OVERLAP || cause == CAUSE_QUEUE_FULL)
                row->dropped += count;
        else
                row->skipped += count;
        int e = unit_count(j, u, first.ms - 1, last.ms, VERDICT_EXPLAINED);
        return e < 0 ? e : spans_add(&u->covered, first.ms, last.ms, unit_empty_between, u);
}

static bool wanted(const struct judge *j, struct text task)
{
        bool found = j->options.task_count == 0;

        for (size_t i = 0; i < j->options.task_count; i++)
                found |= text_is(task, j->options.tasks[i]);
        return found && task.len > 0;
}

int judge_take(struct judge *j, const struct process *p, const struct record *r, int64_t frontier_ms)
{
        struct taking t = { .j = j, .p = p, .r = r, .planned_ms = record_number(r, FIELD_PLANNED) };
        bool range = r->e == EVENT_SKIP || r->e == EVENT_MISS;
        int64_t shard = record_number(r, FIELD_SHARD);
        struct text task = record_text(r, FIELD_TASK), key = record_text(r, FIELD_KEY);
        int e = 0;

        if (!wanted(j, task) || task.len >= TASK_NAME_MAX || key.len >= NODE_ID_MAX || shard < 0 ||
            shard >= SHARDS_MAX)
                return 0;
        if (!range && (t.planned_ms < j->options.since_ms || t.planned_ms >= j->options.until_ms))
                return 0;
        t.u = unit_of(j, task, key, (unsigned) shard);
        if (!t.u)
                return -ENOMEM;
        if (range)
                return take_range(j, t.u, r);
        int path = text_index(record_text(r, FIELD_PATH), path_names);
        t.path = path >= 0 ? (enum path) path : unit_path(t.u, t.planned_ms, PATH_COUNT_);
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
                        if (!unit_of(j, task, key, s))
                                return -ENOMEM;
        }
        return 0;
}

int judge_end(struct judge *j)
{
        int r = units_planned(j);

        for (size_t i = 0; i < j->unit_count && r == 0; i++) {
                struct unit *u = j->units[i];
                for (size_t k = 0; k < u->open_count && r == 0; k++)
                        r = occurrence_settle(j, u, &u->open[k]);
                u->open_count = 0;
                if (r == 0)
                        r = unit_sweep(j, u);
        }
        if (j->row_count)
                qsort(j->rows, j->row_count, sizeof(struct row *), by_name);
        return r;
}

enum verdict judge_verdict(const struct judge *j, bool *ret_any)
{
        enum verdict worst = VERDICT_ONCE;
        bool once = false, explained = false;

        for (size_t i = 0; i < j->row_count; i++) {
                bool any;
                enum verdict v = row_verdict(j->rows[i], &any);

                if (!any || j->rows[i]->path == PATH_NONE)
                        continue;
                once |= v == VERDICT_ONCE;
                explained |= v == VERDICT_EXPLAINED;
                if (v > VERDICT_EXPLAINED && v > worst)
                        worst = v;
        }
        *ret_any = once || explained || worst > VERDICT_EXPLAINED;
        if (worst == VERDICT_ONCE && explained && !once)
                return VERDICT_EXPLAINED;
        return worst;
}
