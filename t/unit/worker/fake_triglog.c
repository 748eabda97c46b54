/* The trigger log as a list in memory. Linked before the real one, which then stays out. */
#include <stdio.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

struct rig_log rig_log;

unsigned rig_lines(const char *e)
{
        unsigned n = 0;

        for (unsigned i = 0; i < rig_log.count; i++)
                n += strcmp(rig_log.lines[i].e, e) == 0;
        return n;
}

const struct rig_line *rig_line(const char *e, unsigned n)
{
        for (unsigned i = 0; i < rig_log.count; i++)
                if (strcmp(rig_log.lines[i].e, e) == 0 && n-- == 0)
                        return &rig_log.lines[i];
        fail_msg("no line %s", e);
        return NULL;
}

static struct rig_line *add(const char *e, const struct line_subject *s)
{
        struct rig_line *l = &rig_log.lines[rig_log.count < RIG_MAX - 1 ? rig_log.count++ : RIG_MAX - 1];

        memset(l, 0, sizeof(*l));
        (void) snprintf(l->e, sizeof(l->e), "%s", e);
        if (s) {
                (void) snprintf(l->occ, sizeof(l->occ), "%s", s->occ);
                (void) snprintf(l->trig, sizeof(l->trig), "%s", s->trig);
                l->planned = s->planned;
        }
        return l;
}

int triglog_open(const struct triglog_options *o, struct triglog **ret)
{
        (void) o;
        (void) ret;
        return -1;
}

struct triglog *triglog_close(struct triglog *t)
{
        (void) t;
        return NULL;
}

int triglog_flush(struct triglog *t)
{
        (void) t;
        return rig_log.state;
}

int triglog_rotate(struct triglog *t)
{
        (void) t;
        return 0;
}

int triglog_state(const struct triglog *t)
{
        (void) t;
        return rig_log.state;
}

const char *triglog_name(const struct triglog *t)
{
        (void) t;
        return "fake.jsonl";
}

void triglog_start(struct triglog *t, const char *role, uint32_t generation, const char *version,
                   const char *config_hash, const char *tzdata)
{
        (void) t, (void) role, (void) generation, (void) version, (void) config_hash, (void) tzdata;
}

void triglog_stop(struct triglog *t, const char *reason, const struct cease_line *c)
{
        (void) t, (void) reason, (void) c;
}

void triglog_cease(struct triglog *t, const struct cease_line *c)
{
        (void) t;
        rig_log.ceased = *c;
        (void) add("cease", NULL);
}

void triglog_born(struct triglog *t, const char *role, const char *slot, int pid, const char *pstart)
{
        (void) t, (void) role, (void) slot, (void) pid, (void) pstart;
}

void triglog_gone(struct triglog *t, const char *slot, int pid, const char *pstart, bool was_ready, int exit_code,
                  int signal)
{
        (void) t, (void) slot, (void) pid, (void) pstart, (void) was_ready, (void) exit_code, (void) signal;
}

void triglog_plan(struct triglog *t, const struct plan_line *p)
{
        (void) t, (void) p;
        (void) add("plan", NULL);
}

void triglog_attempt(struct triglog *t, const struct line_subject *s, enum path path, enum outcome out,
                     const char *fence, const char *token, int64_t late_us, enum cause cause, struct stamp store_time)
{
        (void) t, (void) path, (void) fence, (void) token, (void) late_us, (void) store_time;
        struct rig_line *l = add("attempt", s);
        l->out = out;
        l->cause = cause;
}

int triglog_run(struct triglog *t, const struct line_subject *s, enum path path, const char *fence,
                const char *runner)
{
        (void) t, (void) path, (void) fence, (void) runner;
        if (rig_log.run_error == 0)
                (void) add("run", s);
        return rig_log.run_error;
}

void triglog_child(struct triglog *t, const struct line_subject *s, int keeper_pid, int pid)
{
        (void) t, (void) keeper_pid, (void) pid;
        (void) add("child", s);
}

void triglog_finish(struct triglog *t, const struct line_subject *s, enum state state, enum cause cause,
                    enum result result, int64_t run_us, const char *of, const char *error)
{
        (void) t, (void) result, (void) run_us, (void) error;
        struct rig_line *l = add("finish", s);
        l->state = state;
        l->cause = cause;
        (void) snprintf(l->what, sizeof(l->what), "%s", of ? "of" : "");
}

void triglog_range(struct triglog *t, const char *task, const char *scope_key, unsigned shard,
                   struct instant first, struct instant last, uint64_t count, enum state state, enum cause cause)
{
        (void) t, (void) task, (void) scope_key, (void) shard;
        struct rig_line *l = add("range", NULL);
        l->first = first;
        l->last = last;
        l->count = count;
        l->state = state;
        l->cause = cause;
}

void triglog_told(struct triglog *t, const char *of, const char *task, const char *scope_key, unsigned shard,
                  struct instant first, struct instant last, uint64_t count, enum state state, enum cause cause)
{
        triglog_range(t, task, scope_key, shard, first, last, count, state, cause);
        (void) snprintf(rig_log.lines[rig_log.count - 1].trig, TRIG_TEXT, "%s", of);
}

void triglog_lease(struct triglog *t, const struct line_subject *s, const char *what)
{
        (void) t;
        (void) snprintf(add("lease", s)->what, sizeof(rig_log.lines[0].what), "%s", what);
}

void triglog_step(struct triglog *t, int64_t jump_ns)
{
        (void) t, (void) jump_ns;
        (void) add("step", NULL);
}
