/* The flock way: a lock of the kernel lets one worker of the machine ask at a time, the ledger decides. The lock
 * is the gate and proves nothing by itself: the holder may not have committed yet, so a loser looks again
 * instead of judging, and only the ledger, by its run slot, ever says that a run overlaps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "worker/claim/ask.h"
#include "worker/claim/runlock.h"
#include "worker/unit.h"

struct flock_claimer {
        struct claimer base;
        bool said_replaced;
};

static int flock_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        struct flock_claimer *fc = calloc(1, sizeof(*fc));
        if (!fc)
                return -ENOMEM;

        fc->base = (struct claimer) { .kind = &claim_flock, .options = o, .ledger = l };
        int r = runlock_folder(o->config->run_dir);
        if (r < 0) {
                free(fc);
                return r;
        }
        *ret = &fc->base;
        return 0;
}

static void lock_close(struct claim *c)
{
        if (c->lock_fd >= 0)
                (void) close(TAKE_FD(c->lock_fd));
}

/* Asked under no lock of its own (this worker or a dead one's replaced file held it) and granted
 * nevertheless: the lock is taken now if it is free, so that siblings see the unit as taken. */
static void lock_late(struct claimer *cr, struct claim *c)
{
        if (c->lock_fd < 0)
                c->lock_fd = runlock_take(cr->options->config->run_dir, c->unit, NULL);
        if (c->lock_fd < 0)
                c->lock_fd = -1;
}

/* Answers by which this claim decided the instant, for all. */
static bool is_decided(enum outcome out)
{
        return out == OUTCOME_GRANTED || out == OUTCOME_DECIDED || out == OUTCOME_QUEUED;
}

/* An older instant that waited in the queue is no news. */
static void note(const struct claimer *cr, const struct claim *c)
{
        if (c->lock_fd >= 0 && !c->take && is_decided(c->answer.outcome))
                runlock_write(c->lock_fd, &(struct runlock_note) { c->planned, cr->options->master });
}

static bool is_noted(const struct claimer *cr, const struct claim *c, const struct runlock_note *n)
{
        const struct process_id *master = &cr->options->master;

        return !c->take && n->decided.ms == c->planned.ms && n->master.pid > 0 && n->master.pid == master->pid &&
               strncmp(n->master.start, master->start, sizeof(master->start)) == 0;
}

static void on_answered(struct claim *c)
{
        struct claimer *cr = c->unit->of->claimer;

        note(cr, c);
        if (c->answer.outcome != OUTCOME_GRANTED || c->unit->of->task->overlap.policy == OVERLAP_CONCURRENT)
                lock_close(c);
        else
                lock_late(cr, c);
        c->done(c);
}

static void try_lock(struct claimer *cr, struct claim *c);

static void on_looked(struct ledger_call *call)
{
        struct claim *c = call->arg;
        struct claimer *cr = c->unit->of->claimer;
        int error = call->error;
        struct peek_out out = call->out.peek;

        c->in_flight = false;
        ledger_call_done(call);
        if (error == -EUCLEAN) {
                ask_end(c, OUTCOME_HALTED, call->why);
        } else if (error == -ECANCELED) {
                ask_end(c, OUTCOME_LOST_LOCAL, "");
        } else if (error == 0 && out.registered && out.cursor.ms >= c->planned.ms) {
                c->answer.cursor = out.cursor;
                ask_end(c, OUTCOME_DONE, "");
        } else if (c->hurried) {
                ask_end(c, OUTCOME_LOST_LOCAL, "");
        } else if (error == 0 && out.running > 0) {
                ask_ledger(cr, c);
        } else {
                try_lock(cr, c);
        }
}

static void look(struct claim *c)
{
        struct claimer *cr = c->unit->of->claimer;
        struct ledger_call *call = &c->call;
        struct runlock_note noted;

        runlock_read(cr->options->config->run_dir, c->unit, &noted);
        if (is_noted(cr, c, &noted)) {
                ask_end_done(c);
                return;
        }
        *call = (struct ledger_call) { .op = LEDGER_PEEK, .done = on_looked, .arg = c };
        call->in.peek.unit = unit_key(c->unit);
        c->in_flight = true;
        ledger_send(cr->ledger, call);
}

static void end_lost(struct claim *c)
{
        ask_end(c, OUTCOME_LOST_LOCAL, "");
}

static void lost(struct claimer *cr, struct claim *c)
{
        if (c->take) {
                ask_wait(cr, c, 0, end_lost);   /* who holds the unit takes what waits when its run ends */
                return;
        }
        ask_lost_local(c);
        if (stamp_instant(clock_wall()).ms > c->planned.ms + c->grace_ms)
                ask_wait(cr, c, 0, end_lost);
        else
                ask_wait(cr, c, ask_rank_ms(cr), look);
}

static void end_down(struct claim *c)
{
        ask_end(c, OUTCOME_DOWN, c->why);
}

static void try_lock(struct claimer *cr, struct claim *c)
{
        struct flock_claimer *fc = container_of(cr, struct flock_claimer, base);

        struct runlock_note noted = { 0 };

        int fd = runlock_take(cr->options->config->run_dir, c->unit, &noted);
        if (fd >= 0)
                c->lock_fd = fd;
        if (is_noted(cr, c, &noted)) {
                ask_wait(cr, c, 0, ask_end_done);
        } else if (fd >= 0) {
                fault_point("lock-taken");
                ask_ledger(cr, c);
        } else if (fd == -EWOULDBLOCK && c->unit->running > 0) {
                ask_ledger(cr, c);   /* the holder is this worker: only the ledger can say what overlaps */
        } else if (fd == -EWOULDBLOCK) {
                lost(cr, c);
        } else if (fd == -ESTALE) {
                if (!fc->said_replaced)
                        (void) log_warning(0, "lock-replaced: the run lock of task %s is replaced while it is used",
                                           c->unit->of->task->name);
                fc->said_replaced = true;
                ask_ledger(cr, c);
        } else {
                (void) snprintf(c->why, sizeof(c->why), "run lock: %s", strerror(-fd));
                ask_wait(cr, c, 0, end_down);
        }
}

static void flock_ask(struct claimer *cr, struct claim *c)
{
        c->answered = on_answered;
        if (instant_is_none(c->planned) && !c->take)
                ask_ledger(cr, c);   /* nothing is to be run, so nothing is to be locked */
        else
                try_lock(cr, c);
}

static void flock_release(struct claimer *cr, struct claim *c)
{
        (void) cr;
        lock_close(c);
}

/* The lock stays taken all the while: a sibling that found it free would only have to be told that it is too late. */
static void flock_hand_over(struct claimer *cr, struct claim *from, struct claim *to)
{
        to->lock_fd = TAKE_FD(from->lock_fd);
        lock_late(cr, to);
}

static void flock_close(struct claimer *cr)
{
        free(container_of(cr, struct flock_claimer, base));
}

const struct claim_kind claim_flock = {
        .name = "flock", .path = PATH_FLOCK,
        .open = flock_open, .ask = flock_ask, .hurry = ask_hurry, .release = flock_release,
        .hand_over = flock_hand_over, .close = flock_close,
};
