/* Reads every line of one process once and checks its number and hash: what is missing, and where. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/reader.h"
#include "cli/prove/scan.h"
#include "common/cleanup.h"
#include "common/record/chain.h"
#include "common/record/ids.h"

struct verifier {
        struct evidence *e;
        struct process *p;
        struct scanner *scanner;
        struct chain chain;
        uint64_t expected;       /* number of the next line */
        size_t fragment;         /* bytes of an unreadable line before this one; 0: none */
        bool torn;               /* the newest file ends inside a line */
};

/* `what` happened at line n: nothing can be said from the last good line until the next good one. */
static int break_here(struct verifier *v, uint64_t n, const char *what)
{
        v->p->damaged = true;
        if (!v->p->broken) {
                v->p->broken = true;
                v->p->broken_from_us = v->p->last_us;
        }
        return evidence_trouble(v->e, "%s: line %llu: %s", v->p->name, (unsigned long long) n, what);
}

/* A line that fits ends what was broken; not so for a master: a birth that it does not tell of lasts. */
static int mend(struct verifier *v, int64_t t_us)
{
        struct process *p = v->p;

        if (!p->broken || p->kind == PROCESS_MASTER)
                return 0;
        p->broken = false;
        return p->kind == PROCESS_OTHER ? 0 : evidence_blind_add(v->e, p->broken_from_us, t_us, p->node);
}

static int text_take(char **at, struct text t)
{
        char *copy = text_copy(t);

        if (!copy)
                return -ENOMEM;
        free(*at);
        *at = copy;
        return 0;
}

static enum process_kind kind_of(struct text role)
{
        if (text_is(role, "master"))
                return PROCESS_MASTER;
        if (text_is(role, "once") || text_is(role, "work"))
                return PROCESS_ALONE;
        return text_is(role, "worker") ? PROCESS_WORKER : PROCESS_OTHER;
}

static int on_start(struct verifier *v, const struct record *r)
{
        struct process *p = v->p;

        p->kind = kind_of(record_text(r, FIELD_ROLE));
        p->synced = record_number(r, FIELD_SYNC);
        if (text_take(&p->tzdata, record_text(r, FIELD_TZDATA)) < 0 ||
            text_take(&p->boot, record_text(r, FIELD_BOOT)) < 0)
                return -ENOMEM;
        if (p->setup != NO_SETUP)
                return 0;               /* said again in a next file */
        if (text_take(&p->config, record_text(r, FIELD_CONFIG)) < 0)
                return -ENOMEM;
        return p->kind == PROCESS_WORKER || p->kind == PROCESS_ALONE ? evidence_setup(v->e, p) : 0;
}

static int on_roster(struct verifier *v, const struct record *r)
{
        _cleanup_(freep) char *slot = text_copy(record_text(r, FIELD_SLOT));
        _cleanup_(freep) char *pstart = text_copy(record_text(r, FIELD_PSTART));
        if (!slot || !pstart)
                return -ENOMEM;
        struct process *c =
                evidence_process(v->e, v->p->node, slot, (int) record_number(r, FIELD_PID), pstart);
        if (!c)
                return -ENOMEM;
        if (text_is(record_text(r, FIELD_WHAT), "born")) {
                if (!c->born || r->b_ns < c->born_b_ns) {
                        c->born_us = r->t_us;
                        c->born_b_ns = r->b_ns;
                }
                c->born = true;
                if (c->file_count == 0)
                        c->kind = kind_of(record_text(r, FIELD_ROLE));
                return 0;
        }
        c->gone = true;
        c->gone_us = r->t_us;
        c->gone_b_ns = r->b_ns;
        c->never_ready = record_has(r, FIELD_READY) && !record_number(r, FIELD_READY);
        c->exit_code = (int) record_number(r, FIELD_EXIT);
        c->signal = (int) record_number(r, FIELD_SIGNAL);
        return 0;
}

static int on_plan(struct verifier *v, const struct record *r)
{
        _cleanup_(freep) char *task = text_copy(record_text(r, FIELD_TASK));
        _cleanup_(freep) char *key = text_copy(record_text(r, FIELD_KEY));
        if (!task || !key)
                return -ENOMEM;
        bool plain = text_is(record_text(r, FIELD_PATH), path_names[PATH_NONE]);
        bool named = *task && strlen(task) <= TASK_NAME_MAX && strlen(key) < NODE_ID_MAX;
        struct plans *plans = named ? evidence_plans(v->e, task, key, plain) : NULL;
        if (named && !plans)
                return -ENOMEM;
        v->p->led = true;
        if (v->p->led_from_us == FOREVER_US)
                v->p->led_from_us = r->t_us;
        if (plans && v->p->setup != NO_SETUP && plans_told(plans, v->p->setup) < 0)
                return -ENOMEM;
        int e = plans ? plans_add(plans, r, v->p) : -EINVAL;
        return e == -EINVAL ? break_here(v, r->n, "a plan that makes no sense") : e;
}

/* What was due before its begin, and run by it, is all that a round is for. */
static int on_run(struct verifier *v, const struct record *r)
{
        _cleanup_(freep) char *task = NULL, *key = NULL;
        bool plain = text_is(record_text(r, FIELD_PATH), path_names[PATH_NONE]);
        int64_t planned_ms = record_number(r, FIELD_PLANNED);

        if (v->p->kind != PROCESS_ALONE || planned_ms > v->p->first_us / 1000 ||
            text_is(record_text(r, FIELD_BY), "manual"))
                return 0;
        task = text_copy(record_text(r, FIELD_TASK));
        key = text_copy(record_text(r, FIELD_KEY));
        if (!task || !key)
                return -ENOMEM;
        struct plans *plans = evidence_plans_there(v->e, task, key, plain);
        if (plans && planned_ms < plans->alone_ms)
                plans->alone_ms = planned_ms;
        return 0;
}

static void on_occurrence(struct process *p, int64_t planned_ms)
{
        if (!p->occurrences || planned_ms < p->first_planned_ms)
                p->first_planned_ms = planned_ms;
        p->occurrences = true;
}

/* The newest line holds. Who led once and leads no more is not answerable for dedicated tasks. */
static void on_ceased(struct process *p, const struct record *r)
{
        if (!record_has(r, FIELD_CEASED))
                return;
        p->ceased = true;
        p->ceased_ms = record_number(r, FIELD_CEASED);
        p->ceased_group_ms = record_has(r, FIELD_CEASED_GROUP) ? record_number(r, FIELD_CEASED_GROUP) : p->ceased_ms;
        p->led = record_number(r, FIELD_LED) != 0;
}

static int line_use(struct verifier *v, const struct record *r)
{
        switch (r->e) {
        case EVENT_START:
        case EVENT_ROTATE:
                return record_has(r, FIELD_ROLE) ? on_start(v, r) : 0;
        case EVENT_ROSTER:
                return on_roster(v, r);
        case EVENT_PLAN:
                return on_plan(v, r);
        case EVENT_ATTEMPT:
        case EVENT_RUN:
        case EVENT_FINISH:
                on_occurrence(v->p, record_number(r, FIELD_PLANNED));
                return r->e == EVENT_RUN ? on_run(v, r) : 0;
        case EVENT_SKIP:
        case EVENT_MISS:
                on_occurrence(v->p, record_number(r, FIELD_LAST));
                return 0;
        case EVENT_STOP:
                v->p->stopped = true;
                on_ceased(v->p, r);
                return 0;
        case EVENT_CEASE:
                on_ceased(v->p, r);
                return 0;
        case EVENT_STEP:
                return steps_add(v->e, v->p, r);
        case EVENT_GAP:
                if (record_number(r, FIELD_LINES) == 0)
                        return 0;
                if (break_here(v, r->n, "lines before it could not be written") < 0)
                        return -ENOMEM;
                return mend(v, r->t_us);
        default:
                return 0;
        }
}

/* The first line of a log whose older files are gone carries the hash before it. */
static void chain_begin(struct verifier *v, const struct record *r)
{
        struct text h = record_text(r, FIELD_PREV_H);

        v->expected = 1;
        v->p->from_start = r->n == 1;
        if (r->e == EVENT_ROTATE && h.len == CHAIN_TEXT - 1) {
                memcpy(v->chain.h, h.at, h.len);
                v->expected = r->n;
                v->p->continues = true;
        }
}

static int line_verify(struct verifier *v, const struct record *r, const char *line, size_t len)
{
        static const char tail[] = ",\"h\":\"";
        char before[CHAIN_TEXT];
        const struct text *h = &r->texts[FIELD_H];

        if (v->expected == 0)
                chain_begin(v, r);
        if (r->n < v->expected)
                return break_here(v, r->n, "appears again");
        memcpy(before, v->chain.h, CHAIN_TEXT);
        if (len <= CHAIN_TAIL || memcmp(line + len - CHAIN_TAIL, tail, sizeof(tail) - 1) != 0)
                return break_here(v, r->n, "has no hash at its end");
        if (chain_next(&v->chain, line, len - CHAIN_TAIL) < 0)
                return -ENOMEM;
        bool same = memcmp(v->chain.h, h->at, h->len) == 0;
        uint64_t missing = r->n - v->expected;
        memcpy(v->chain.h, h->at, CHAIN_TEXT - 1);   /* whatever follows is judged by what stands here */
        v->expected = r->n + 1;
        if (missing)
                return break_here(v, r->n,
                                  missing == 1 ? "the line before it is missing"
                                               : "lines before it are missing");
        if (!same)
                return break_here(v, r->n, "was changed, or the line before it was");
        return mend(v, r->t_us);
}

static void line_time(struct process *p, const struct record *r)
{
        if (p->first_us == FOREVER_US) {
                p->first_us = r->t_us;
                p->first_b_ns = r->b_ns;
        }
        if (r->t_us > p->last_us)
                p->last_us = r->t_us;
        if (r->b_ns > p->last_b_ns)
                p->last_b_ns = r->b_ns;
}

static int line_take(struct verifier *v, const char *line, size_t len)
{
        struct record r;
        int e = 0;

        if (scan_line(v->scanner, line, len, &r) < 0) {
                if (v->fragment)
                        e = break_here(v, v->expected, "cannot be read");
                v->fragment = len ? len : 1;
                return e;
        }
        if (v->fragment && (r.e != EVENT_TORN || record_number(&r, FIELD_BYTES) != (int64_t) v->fragment))
                e = break_here(v, r.n, "the line before it cannot be read");
        v->fragment = 0;
        if (e == 0)
                e = line_verify(v, &r, line, len);
        if (e == 0)
                e = line_use(v, &r);
        line_time(v->p, &r);
        v->e->lines++;
        return e;
}

static int file_verify(struct verifier *v, const struct log_file *f)
{
        struct reader reader;
        const char *line;
        size_t len;
        bool whole;

        if (v->torn) {
                v->torn = false;
                if (break_here(v, v->expected, "its file ends inside it") < 0)
                        return -ENOMEM;
        }
        int e = reader_open(&reader, f->path, f->size);
        while (e >= 0 && (e = reader_line(&reader, &line, &len, &whole)) > 0) {
                if (whole)
                        e = line_take(v, line, len);
                else if (len <= SCAN_LINE_MAX)
                        v->torn = true;
                else
                        e = break_here(v, v->expected, "is longer than any line of ours");
        }
        reader_close(&reader);
        if (e < 0 && e != -ENOMEM) {
                v->e->unreadable = true;
                e = evidence_trouble(v->e, "%s: %s", f->path, strerror(-e));
        }
        return e < 0 ? e : 0;
}

int evidence_verify(struct evidence *e, struct process *p, struct scanner *s)
{
        struct verifier v = { .e = e, .p = p, .scanner = s };
        int r = chain_init(&v.chain);

        for (size_t i = 0; i < p->file_count && r == 0; i++)
                r = file_verify(&v, &p->files[i]);
        if (r == 0 && v.fragment)
                r = break_here(&v, v.expected, "cannot be read");
        if (r == 0 && v.torn && p->stopped)
                r = break_here(&v, v.expected, "stands behind the stop line");
        chain_done(&v.chain);
        return r;
}
