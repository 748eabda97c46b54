/* Setting up: a few steps side by side, each of which takes a task, defines it, registers its units one after
 * another, and takes the next task. Calls of one turn share a transaction, so that many tasks are quick. */
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

struct step {
        struct setup *setup;
        struct ledger_call call;
        struct delay wait;
        struct job *job;
        unsigned unit;                /* next to be registered */
        unsigned backoff_ms;
};

struct setup {
        struct setup_options o;
        struct instant began;
        size_t next_job;
        unsigned busy;                /* steps at work */
        bool canceled, said_away;
        struct step steps[STEPS];
};

static void step_define(struct step *st);
static void step_register(struct step *st);

static void end(struct setup *su, int error, const char *why)
{
        if (su->canceled)
                return;
        su->canceled = true;
        su->o.done(error, why, su->o.arg);
}

/* False when no task is left: the step rests, and the last one says so. */
static bool step_next(struct step *st)
{
        struct setup *su = st->setup;

        while (su->next_job < su->o.job_count) {
                struct job *j = &su->o.jobs[su->next_job++];
                if (j->ledger != su->o.ledger)
                        continue;
                st->job = j;
                st->unit = 0;
                step_define(st);
                return true;
        }
        su->busy--;
        return false;
}

static void step_go_on(struct step *st)
{
        struct setup *su = st->setup;

        st->backoff_ms = 0;
        if (st->job->task->schedule.kind != SCHEDULE_NONE && st->unit < st->job->unit_count)
                step_register(st);
        else if (!step_next(st) && su->busy == 0)
                end(su, 0, "");
}

static void on_wait_over(struct delay *d)
{
        struct step *st = container_of(d, struct step, wait);

        if (st->job->defined)
                step_register(st);
        else
                step_define(st);
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
                        (void) log_warning(0, "ledger %s: task %s waits to be defined: %s", su->o.ledger->kind->name,
                                           st->job->task->name, ledger_call_text(&st->call));
                place_set_trouble(su->o.place, su->o.trouble, true);
        }
        su->said_away = true;
        st->backoff_ms = st->backoff_ms ? st->backoff_ms * 2 : RETRY_MIN_MS;
        if (st->backoff_ms > RETRY_MAX_MS)
                st->backoff_ms = RETRY_MAX_MS;
        st->wait.over = on_wait_over;
        delay_set(su->o.delays, &st->wait, st->backoff_ms);
        return false;
}

/* What a changed definition gave up is said by the process whose call put it in force. */
static void log_revised(const struct setup *su, const struct job *j, const struct define_out *out)
{
        for (unsigned i = 0; out->changed && out->revised.count > 0 && i < j->unit_count; i++) {
                triglog_range(su->o.log, j->task->name, j->scope_key, i, out->revised.first, out->revised.last,
                              out->revised.count, STATE_SKIPPED, out->cause);
                row_decided(j->row, STATE_SKIPPED, out->revised.count);
        }
        told_log(su->o.log, su->o.shortfalls, out->told, out->told_count);
        for (size_t i = 0; i < out->told_count; i++)
                row_decided(j->row, out->told[i].state, out->told[i].count);
}

static void on_defined(struct ledger_call *call)
{
        struct step *st = call->arg;
        struct setup *su = st->setup;
        struct define_out out = call->out.define;

        bool go_on = answered(st);
        if (go_on)
                log_revised(su, st->job, &out);
        ledger_call_done(call);
        if (!go_on)
                return;
        if (call->why[0])
                (void) log_warning(0, "task %s: %s", st->job->task->name, call->why);
        st->job->rev = out.rev;
        st->job->valid_from = out.valid_from;
        st->job->defined = true;
        su->o.defined(st->job, su->o.arg);
        step_go_on(st);
}

static void step_define(struct step *st)
{
        const struct setup *su = st->setup;

        st->call = (struct ledger_call) { .op = LEDGER_DEFINE, .done = on_defined, .arg = st };
        job_definition(st->job, su->o.node, &st->call.in.define);
        ledger_send(su->o.ledger, &st->call);
}

static void on_registered(struct ledger_call *call)
{
        struct step *st = call->arg;
        struct setup *su = st->setup;
        struct register_out out = call->out.reg;

        bool go_on = answered(st);
        ledger_call_done(call);
        if (!go_on)
                return;
        struct unit *u = &st->job->units[st->unit++];
        u->cursor = out.cursor;
        u->registered = true;
        su->o.registered(u, su->o.arg);
        step_go_on(st);
}

static void step_register(struct step *st)
{
        st->call = (struct ledger_call) { .op = LEDGER_REGISTER, .done = on_registered, .arg = st };
        st->call.in.reg.unit = unit_key(&st->job->units[st->unit]);
        st->call.in.reg.cursor = job_first_cursor(st->job, stamp_instant(clock_wall()), st->setup->began);
        ledger_send(st->setup->o.ledger, &st->call);
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
                su->steps[i].setup = su;
                su->busy++;
                if (!step_next(&su->steps[i]))
                        break;
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
