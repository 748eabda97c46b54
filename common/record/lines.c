/* What each line of a trigger log says. Fields with nothing to say are left out; the order never changes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/record/ids.h"
#include "common/record/line.h"
#include "common/record/triglog.h"
#include "common/record/writer.h"

static void finish_line(struct triglog *t, const struct line_mark *m)
{
        if (writer_end(t, m))
                writer_gathered(t);
}

void triglog_start(struct triglog *t, const char *role, uint32_t generation, const char *version,
                   const char *config_hash, const char *tzdata)
{
        struct buf *b = &t->pending;
        struct line_mark m;

        if (!writer_begin(t, "start", &m))
                return;
        free(t->role);
        t->role = strdup(role);
        line_text(b, "node", t->node);
        line_text(b, "slot", t->slot);
        line_int(b, "pid", t->pid);
        line_text(b, "pstart", t->pstart);
        line_text(b, "boot", t->boot);
        line_text(b, "role", role);
        line_int(b, "generation", generation);
        line_text(b, "version", version);
        line_text(b, "config", config_hash);
        line_text(b, "tzdata", tzdata);
        line_bool(b, "sync", t->sync);
        finish_line(t, &m);
}

static void ceased(struct buf *b, const struct cease_line *c)
{
        line_int(b, "ceased", c->local.ms);
        if (c->group.ms != c->local.ms)
                line_int(b, "ceased_group", c->group.ms);
        line_bool(b, "led", c->led);
}

void triglog_cease(struct triglog *t, const struct cease_line *c)
{
        struct line_mark m;

        if (!writer_begin(t, "cease", &m))
                return;
        ceased(&t->pending, c);
        finish_line(t, &m);
}

void triglog_stop(struct triglog *t, const char *reason, const struct cease_line *c)
{
        struct buf *b = &t->pending;
        struct line_mark m;

        if (!writer_begin(t, "stop", &m))
                return;
        line_text(b, "reason", reason);
        if (c)
                ceased(b, c);
        finish_line(t, &m);
        (void) writer_out(t, NULL);
}

/* Ends a line whose own fields are to be said again in every later file. */
static void finish_standing(struct triglog *t, const struct line_mark *m, const char *key, const char *e)
{
        struct buf *b = &t->pending;

        if (!b->failed)
                (void) standing_keep(&t->standing, key, e, b->data + m->fields, b->len - m->fields);
        finish_line(t, m);
}

#define KEY_TEXT (TASK_NAME_MAX + NODE_ID_MAX + 64)

static void child_key(char key[KEY_TEXT], int pid, const char *pstart)
{
        (void) snprintf(key, KEY_TEXT, "child %d %s", pid, pstart);
}

void triglog_born(struct triglog *t, const char *role, const char *slot, int pid, const char *pstart)
{
        struct buf *b = &t->pending;
        struct line_mark m;
        char key[KEY_TEXT];

        if (!writer_begin(t, "roster", &m))
                return;
        line_text(b, "what", "born");
        line_text(b, "role", role);
        line_text(b, "slot", slot);
        line_int(b, "pid", pid);
        line_text(b, "pstart", pstart);
        child_key(key, pid, pstart);
        finish_standing(t, &m, key, "roster");
}

void triglog_gone(struct triglog *t, const char *slot, int pid, const char *pstart, bool was_ready, int exit_code,
                  int signal)
{
        struct buf *b = &t->pending;
        struct line_mark m;
        char key[KEY_TEXT];

        child_key(key, pid, pstart);
        standing_drop(&t->standing, key);
        if (!writer_begin(t, "roster", &m))
                return;
        line_text(b, "what", "gone");
        line_text(b, "slot", slot);
        line_int(b, "pid", pid);
        line_text(b, "pstart", pstart);
        line_bool(b, "ready", was_ready);
        if (signal > 0)
                line_int(b, "signal", signal);
        else
                line_int(b, "exit", exit_code);
        finish_line(t, &m);
}

void triglog_plan(struct triglog *t, const struct plan_line *p)
{
        struct buf *b = &t->pending;
        struct line_mark m;
        char key[KEY_TEXT];

        if (!writer_begin(t, "plan", &m))
                return;
        line_text(b, "task", p->task);
        line_text(b, "key", p->scope_key);
        line_text(b, "path", path_names[p->path]);
        line_plain(b, "schedule", p->schedule);
        line_text(b, "misfire", p->misfire);
        if (p->limit > 0) {
                line_int(b, "limit", p->limit);
                line_int(b, "lookback", p->lookback_ms);
        } else {
                line_int(b, "grace", p->grace_ms);
        }
        line_text(b, "overlap", p->overlap);
        line_int(b, "max_running", p->max_running);
        line_text(b, "scope", p->scope);
        line_int(b, "shards", p->shards);
        line_bool(b, "enabled", p->enabled);
        line_int(b, "timeout", p->timeout_ms);
        line_int(b, "rev", (int64_t) p->rev);
        line_int(b, "valid_from", p->valid_from.ms);
        (void) snprintf(key, sizeof(key), "plan %s %s", p->task, p->scope_key ? p->scope_key : "");
        finish_standing(t, &m, key, "plan");
}

/* Which occurrence: the same fields in the same order in all lines that have a subject. */
static void subject(struct buf *b, const struct line_subject *s)
{
        line_text(b, "trig", s->trig);
        line_text(b, "occ", s->occ);
        line_text(b, "task", s->task);
        line_text(b, "key", s->scope_key);
        line_int(b, "shard", s->shard);
        line_int(b, "planned", s->planned.ms);
        line_text(b, "by", s->manual ? "manual" : "schedule");
}

void triglog_attempt(struct triglog *t, const struct line_subject *s, enum path path, enum outcome out,
                     const char *fence, const char *token, int64_t late_us, enum cause cause,
                     struct stamp store_time)
{
        struct buf *b = &t->pending;
        struct line_mark m;
        char tok8[9];

        if (!writer_begin(t, "attempt", &m))
                return;
        (void) snprintf(tok8, sizeof(tok8), "%.8s", token ? token : "");
        subject(b, s);
        line_text(b, "path", path_names[path]);
        line_text(b, "out", outcome_names[out]);
        line_text(b, "fence", fence);
        line_text(b, "tok8", tok8);
        line_int(b, "late_us", late_us);
        line_text(b, "cause", cause_names[cause]);
        if (store_time.ns)
                line_int(b, "store_ns", store_time.ns);
        finish_line(t, &m);
}

/* A run line that reached the file in part stays there as a fragment, and this line behind it says how long
 * it is: the reader then knows that it was no start, and no tampering. The fragment ends with a mark, or one that
 * lacks nothing but its newline would be a whole line. */
static void torn_line(struct triglog *t, size_t bytes)
{
        struct line_mark m;

        t->cut = 0;
        buf_text(&t->pending, "~\n");
        if (!writer_begin(t, "torn", &m))
                return;
        line_int(&t->pending, "bytes", (int64_t) bytes + 1);
        (void) writer_end(t, &m);
}

/* After a failed write: the run line was the last of `pending`, beginning at m->start before `written` bytes
 * left. Chain and number go back to before it, whatever part of it is in the file. */
static void run_taken_back(struct triglog *t, struct line_mark m, size_t written)
{
        t->n--;
        if (written <= m.start) {
                m.start -= written;
                writer_undo(t, &m);
                return;
        }
        size_t bytes = written - m.start;
        m.start = 0;
        writer_undo(t, &m);
        torn_line(t, bytes);
}

int triglog_run(struct triglog *t, const struct line_subject *s, enum path path, const char *fence,
                const char *runner)
{
        struct buf *b = &t->pending;
        struct line_mark m;
        uint64_t lost = t->lost;
        size_t written;

        if (!writer_begin(t, "run", &m)) {
                t->lost = lost;      /* the caller knows, and nothing has happened that would be missing */
                return -ENOBUFS;
        }
        subject(b, s);
        line_text(b, "path", path_names[path]);
        line_text(b, "fence", fence);
        line_text(b, "runner", runner);
        if (!writer_end(t, &m)) {
                t->lost = lost;
                return -ENOMEM;
        }
        int r = writer_out(t, &written);
        if (r < 0) {
                run_taken_back(t, m, written);
                return r;
        }
        if (t->sync && fdatasync(t->fd) < 0)
                t->error = -errno;
        return t->error;
}

void triglog_child(struct triglog *t, const struct line_subject *s, int keeper_pid, int pid)
{
        struct buf *b = &t->pending;
        struct line_mark m;

        if (!writer_begin(t, "child", &m))
                return;
        line_text(b, "trig", s->trig);
        line_int(b, "keeper", keeper_pid);
        line_int(b, "pid", pid);
        finish_line(t, &m);
}

void triglog_finish(struct triglog *t, const struct line_subject *s, enum state state, enum cause cause,
                    enum result result, int64_t run_us, const char *of, const char *error)
{
        struct buf *b = &t->pending;
        struct line_mark m;

        if (!writer_begin(t, "finish", &m))
                return;
        subject(b, s);
        line_text(b, "state", state_names[state]);
        line_text(b, "cause", cause_names[cause]);
        line_text(b, "result", result_names[result]);
        line_int(b, "run_us", run_us);
        line_text(b, "of", of);
        line_text(b, "error", error);
        finish_line(t, &m);
}

void triglog_told(struct triglog *t, const char *of, const char *task, const char *scope_key, unsigned shard,
                  struct instant first, struct instant last, uint64_t count, enum state state, enum cause cause)
{
        struct buf *b = &t->pending;
        struct line_mark m;

        if (!writer_begin(t, state == STATE_SKIPPED ? "skip" : "miss", &m))
                return;
        line_text(b, "task", task);
        line_text(b, "key", scope_key);
        line_int(b, "shard", shard);
        line_int(b, "first", first.ms);
        line_int(b, "last", last.ms);
        line_int(b, "count", (int64_t) count);
        line_text(b, "state", state_names[state]);
        line_text(b, "cause", cause_names[cause]);
        line_text(b, "of", of);
        finish_line(t, &m);
}

void triglog_range(struct triglog *t, const char *task, const char *scope_key, unsigned shard,
                   struct instant first, struct instant last, uint64_t count, enum state state,
                   enum cause cause)
{
        triglog_told(t, NULL, task, scope_key, shard, first, last, count, state, cause);
}

void triglog_lease(struct triglog *t, const struct line_subject *s, const char *what)
{
        struct line_mark m;

        if (!writer_begin(t, "lease", &m))
                return;
        subject(&t->pending, s);
        line_text(&t->pending, "what", what);
        finish_line(t, &m);
}

void triglog_step(struct triglog *t, int64_t jump_ns)
{
        struct line_mark m;

        if (!writer_begin(t, "step", &m))
                return;
        line_int(&t->pending, "jump_ns", jump_ns);
        finish_line(t, &m);
}
