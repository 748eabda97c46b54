/* Setting up: a few steps side by side, each of which takes a task, tells the ledgers that it is not in, defines it,
 * registers its units one after another, and takes the next task. A task that moves between ledgers ends in the old one
 * before it begins in the new. Calls of one turn share a transaction, so that many tasks are quick. */
#include "worker/setup.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/delay.h"
#include "worker/ended.h"

#define STEPS 128

#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 1000

/* What becomes of a task, in this order; each of them where it is needed. */
enum stage {
        LEAVE_LOCAL,
        LEAVE_GROUP,
        LEAVE_GROUP_HERE,             /* its units of this node alone, which are defined apart there */
        DEFINE,
        REGISTER,                     /* once for each unit */
        HAND_ON,                      /* the group knows where to begin: the local ledger need not tell again */
        STAGES
};

struct step {
        struct setup *setup;
        struct ledger_call call;
        struct delay wait;
        struct job *job;              /* NULL before the first */
        unsigned stage;               /* enum stage */
        unsigned unit;                /* next to be registered */
        bool registers;               /* this step defined the task */
        unsigned backoff_ms;
};

struct setup {
        struct setup_options o;
        struct instant began;
        size_t next_job;
        unsigned busy;                /* steps at work */
        bool canceled, said_away, said_born;
        struct step steps[STEPS];
};

static void step_send(struct step *st);

static void end(struct setup *su, int error, const char *why)
{
        if (su->canceled)
                return;
        su->canceled = true;
        su->o.done(error, why, su->o.arg);
}

static bool is_of_group(const struct setup *su)
{
        return su->o.ledger == su->o.group;
}

/* The group's steps also define what the local ledger knew to be in the group, once the group was told. */
static bool is_to_be_defined(const struct step *st)
{
        const struct job *j = st->job;

        return j->ledger && (j->ledger == st->setup->o.ledger ? !j->waits || j->asked : j->waits && !j->defined);
}

static bool is_needed(const struct step *st)
{
        const struct setup *su = st->setup;
        const struct job *j = st->job;

        switch ((enum stage) st->stage) {
        case LEAVE_LOCAL:
                return j->ledger != su->o.local && (is_of_group(su) || !j->ledger);
        case LEAVE_GROUP:
        case LEAVE_GROUP_HERE:
                return is_of_group(su) && j->ledger != su->o.group;
        case DEFINE:
                return is_to_be_defined(st);
        case REGISTER:
                return st->registers && j->task->schedule.kind != SCHEDULE_NONE && st->unit < j->unit_count;
        case HAND_ON:
                return is_of_group(su) && j->ledger == su->o.group && j->left.ms != 0;
        default:
                return false;
        }
}

/* False when no task is left: the step rests. */
static bool step_goes_on(struct step *st)
{
        struct setup *su = st->setup;

        for (;;) {
                while (st->job && st->stage < STAGES && !is_needed(st))
                        st->stage++;
                if (st->job && st->stage < STAGES)
                        return true;
                if (su->next_job == su->o.job_count) {
                        su->busy--;
                        return false;
                }
                st->job = &su->o.jobs[su->next_job++];
                st->stage = LEAVE_LOCAL;
                st->unit = 0;
                st->registers = false;
        }
}

static void step_go_on(struct step *st)
{
        st->backoff_ms = 0;
        if (step_goes_on(st))
                step_send(st);
        else if (st->setup->busy == 0)
                end(st->setup, 0, "");
}

static void on_wait_over(struct delay *d)
{
        step_send(container_of(d, struct step, wait));
}

/* True when the step may go on; else it is tried again, or setting up is over. */
static bool answered(struct step *st)
{
        struct setup *su = st->setup;
        int error = st->call.error;

        if (su->canceled || error == -ECANCELED)
                return false;
        if (error == 0) {
                place_set_up(su->o.place, clock_mono());
                if (su->said_away)
                        place_set_trouble(su->o.place, su->o.trouble, false);
                su->said_away = false;
                return true;
        }
        /* A group's store that halts may be cured while we run; a local ledger that does is not. */
        bool may_pass = error == -EAGAIN || error == -ETIMEDOUT ||
                        (error == -EUCLEAN && su->o.trouble == TROUBLE_GROUP);
        if (!may_pass) {
                end(su, error, ledger_call_text(&st->call));
                return false;
        }
        if (!su->said_away) {
                if (!place_has_trouble(su->o.place, su->o.trouble))   /* else the link has said why */
                        (void) log_warning(0, "ledger %s: task %s waits to be defined: %s", st->call.ledger->kind->name,
                                           st->job->task->name, ledger_call_text(&st->call));
                place_set_trouble(su->o.place, su->o.trouble, true);
        }
        su->said_away = true;
        st->backoff_ms = st->backoff_ms ? st->backoff_ms * 2 : RETRY_MIN_MS;
        if (st->backoff_ms > RETRY_MAX_MS)
                st->backoff_ms = RETRY_MAX_MS;
        delay_set(su->o.delays, &st->wait, st->backoff_ms);
        return false;
}

/* What a changed definition gave up is said by the process whose call put it in force. */
static void log_revised(const struct setup *su, const struct job *j, const char *scope_key,
                        const struct define_out *out)
{
        for (unsigned i = 0; out->changed && out->revised.count > 0 && i < j->unit_count; i++) {
                triglog_range(su->o.log, j->task->name, scope_key, i, out->revised.first, out->revised.last,
                              out->revised.count, STATE_SKIPPED, out->cause);
                row_decided(j->row, STATE_SKIPPED, out->revised.count);
        }
        told_log(su->o.log, su->o.shortfalls, out->told, out->told_count);
        for (size_t i = 0; i < out->told_count; i++)
                row_decided(j->row, out->told[i].state, out->told[i].count);
}

static void on_left(struct ledger_call *call)
{
        struct step *st = call->arg;
        const struct setup *su = st->setup;
        struct job *j = st->job;
        struct define_out out = call->out.define;
        bool all_scope = call->in.define.all_scope;

        bool go_on = answered(st);
        if (go_on)
                log_revised(su, j, all_scope ? su->o.node : "", &out);
        ledger_call_done(call);
        if (!go_on)
                return;
        if (call->why[0])
                (void) log_warning(0, "task %s: %s", j->task->name, call->why);
        if (out.ended)
                log_info("task %s is no longer claimed in the %s ledger; what was planned until now is not run again",
                         j->task->name, call->ledger->kind->name);
        job_left(j, &out);
        j->asked |= st->stage == LEAVE_GROUP_HERE;
        st->stage++;
        step_go_on(st);
}

static void on_handed_on(struct ledger_call *call)
{
        struct step *st = call->arg;

        bool go_on = answered(st);
        ledger_call_done(call);
        if (!go_on)
                return;
        /* Known from here on by the group alone: what begins there later does not begin in the past. */
        st->job->left.ms = 0;
        st->stage++;
        step_go_on(st);
}

static void leave(struct step *st, bool all_scope)
{
        job_departure(st->job, st->setup->o.node, all_scope, &st->call.in.define);
        st->call.in.define.noted = st->stage == LEAVE_LOCAL;
        st->call.in.define.handed = st->stage == HAND_ON;
}

static void wait_for_group(struct step *st)
{
        struct job *j = st->job;

        j->waits = true;
        if (j->asked) {
                step_send(st);
                return;
        }
        log_info("task %s was claimed in redis until now; it begins here as soon as that is told", j->task->name);
        st->stage = STAGES;
        step_go_on(st);
}

static void on_defined(struct ledger_call *call)
{
        struct step *st = call->arg;
        struct setup *su = st->setup;
        struct define_out out = call->out.define;

        bool go_on = answered(st);
        if (go_on)
                log_revised(su, st->job, st->job->scope_key, &out);
        ledger_call_done(call);
        if (!go_on)
                return;
        if (out.waits) {
                wait_for_group(st);
                return;
        }
        if (call->why[0])
                (void) log_warning(0, "task %s: %s", st->job->task->name, call->why);
        st->job->rev = out.rev;
        st->job->valid_from = out.valid_from;
        st->job->defined = true;
        su->o.defined(st->job, out.changed, su->o.arg);
        st->registers = true;
        st->stage++;
        step_go_on(st);
}

/* A store begins behind its own making: whether an older one in its place ran what lies before cannot be known. Said
 * once, where the task would have had a window. */
static void say_born(struct step *st, struct instant asked, const struct register_out *out)
{
        const struct task *t = st->job->task;
        struct instant next;

        if (st->setup->said_born || !out->created || t->first != FIRST_WINDOW ||
            schedule_next(&t->schedule, asked, &next) < 0 || next.ms > out->cursor.ms)
                return;
        st->setup->said_born = true;
        log_info("task %s: the group's ledger is new; `first: window` does not reach back before it, since another in "
                 "its place may have run that", t->name);
}

static void on_registered(struct ledger_call *call)
{
        struct step *st = call->arg;
        struct setup *su = st->setup;
        struct register_out out = call->out.reg;
        struct instant asked = call->in.reg.cursor;

        bool go_on = answered(st);
        ledger_call_done(call);
        if (!go_on)
                return;
        say_born(st, asked, &out);
        struct unit *u = &st->job->units[st->unit++];
        u->cursor = out.cursor;
        u->registered = true;
        su->o.registered(u, su->o.arg);
        step_go_on(st);
}

static void step_send(struct step *st)
{
        const struct setup *su = st->setup;
        struct job *j = st->job;
        struct ledger *l = j->ledger;

        st->call = (struct ledger_call) { .op = LEDGER_DEFINE, .done = on_left, .arg = st };
        switch ((enum stage) st->stage) {
        case HAND_ON:
                st->call.done = on_handed_on;
                leave(st, false);
                l = su->o.local;
                break;
        case LEAVE_LOCAL:
                leave(st, false);
                l = su->o.local;
                break;
        case LEAVE_GROUP:
        case LEAVE_GROUP_HERE:
                leave(st, st->stage == LEAVE_GROUP_HERE);
                l = su->o.group;
                break;
        case DEFINE:
                st->call.done = on_defined;
                job_definition(j, su->o.node, &st->call.in.define);
                st->call.in.define.asked |= is_of_group(su) || !su->o.group;
                break;
        default:
                st->call.op = LEDGER_REGISTER;
                st->call.done = on_registered;
                st->call.in.reg.unit = unit_key(&j->units[st->unit]);
                st->call.in.reg.cursor = job_first_cursor(j, stamp_instant(clock_wall()), su->began);
        }
        ledger_send(l, &st->call);
}

static void on_nothing(struct delay *d)
{
        end(container_of(d, struct step, wait)->setup, 0, "");
}

int setup_begin(const struct setup_options *o, struct setup **ret)
{
        struct setup *su = calloc(1, sizeof(*su));
        if (!su)
                return -ENOMEM;

        su->o = *o;
        su->began = stamp_instant(clock_wall());
        for (unsigned i = 0; i < STEPS; i++) {
                struct step *st = &su->steps[i];
                st->setup = su;
                st->wait.over = on_wait_over;
                su->busy++;
                if (!step_goes_on(st))
                        break;
                step_send(st);
        }
        if (su->busy == 0) {
                su->steps[0].wait.over = on_nothing;
                delay_set(su->o.delays, &su->steps[0].wait, 0);
        }
        *ret = su;
        return 0;
}

void setup_cancel(struct setup *su)
{
        if (!su)
                return;
        su->canceled = true;
        for (unsigned i = 0; i < STEPS; i++)
                delay_clear(su->o.delays, &su->steps[i].wait);
}

void setup_free(struct setup *su)
{
        free(su);
}
