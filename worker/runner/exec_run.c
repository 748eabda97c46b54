/* A command under a keeper of its own, from spawn to the last of its descendants.
 *
 * The outcome is settled by the command's exit; `done` waits, for a bounded time, until the keeper has ended
 * what the command left behind, so that the next run of the unit cannot overlap with it. */
#include "worker/runner/exec_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "worker/runner/exec_env.h"
#include "worker/runner/exec_outcome.h"
#include "worker/runner/exec_output.h"
#include "worker/runner/exec_session.h"
#include "worker/runner/outcome.h"

/* Output still to come after the exit, from a process that was left running or sent the pipe elsewhere. */
#define OUTPUT_DRAIN_MS 1000

/* How long after KILL the tree may take to be gone: a process that sleeps in the kernel dies when it wakes. */
#define CLEANUP_MS 2000

enum exec_phase {
        EXEC_WAITING,      /* not begun */
        EXEC_RUNNING,
        EXEC_ENDING,       /* the command exited, or was asked to end; the keeper is still there */
        EXEC_DRAINING,     /* the keeper is gone, the output is not at its end */
        EXEC_FINISHED,     /* handles are closing */
};

enum exec_end { END_BY_ITSELF, END_TIMEOUT, END_STOPPED };

struct exec_run {
        struct run *run;               /* borrowed until done */
        struct exec_place *place;      /* borrowed: closed after its runs */
        enum exec_phase phase;
        enum exec_end end;
        enum run_stop why;             /* with END_STOPPED */
        struct exec_keeper *keeper;    /* NULL before the spawn and once it is gone or left */
        struct exec_output output;
        bool has_output;
        uv_timer_t timer;
        bool exited, tree_gone;        /* as the keeper said */
        pid_t command;                 /* as it said too; 0: not yet */
        int status;
        unsigned left, ended;          /* processes that the command left behind */
        uint64_t exited_at_ms;         /* of the loop's clock */
        int open_handles;
};

static struct run_outcome *outcome_of(struct exec_run *x)
{
        return &x->run->outcome;
}

static void on_closed(struct exec_run *x)
{
        struct run *r = x->run;

        if (--x->open_handles > 0)
                return;
        free(x);
        r->state = NULL;
        r->done(r);
}

static void on_timer_closed(uv_handle_t *h)
{
        on_closed(container_of(h, struct exec_run, timer));
}

static void on_output_closed(struct exec_output *o)
{
        on_closed(container_of(o, struct exec_run, output));
}

/* The outcome is in place: lets go of everything, `done` follows from the last close callback. */
static void exec_finish(struct exec_run *x)
{
        if (x->phase == EXEC_FINISHED)
                return;
        x->phase = EXEC_FINISHED;
        exec_outcome_complete(outcome_of(x), x->has_output ? &x->output : NULL, x->ended, x->left);
        x->open_handles = 1 + x->has_output;
        if (x->keeper)
                exec_keeper_leave(TAKE(x->keeper));
        uv_close((uv_handle_t *) &x->timer, on_timer_closed);
        if (x->has_output)
                exec_output_close(&x->output, on_output_closed);
}

static void settle_by_end(struct exec_run *x)
{
        if (x->end == END_TIMEOUT)
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE,
                            "ended after its timeout of %lld ms", (long long) x->run->timeout_ms);
        else if (x->end == END_STOPPED)
                outcome_stopped(outcome_of(x), x->why);
        else
                exec_outcome_exited(outcome_of(x), &x->run->task->exec, x->status);
}

static void exec_finish_drained(struct exec_run *x)
{
        exec_output_drain(&x->output);
        exec_finish(x);
}

static uint64_t drain_left_ms(const struct exec_run *x)
{
        uint64_t end = x->exited_at_ms + OUTPUT_DRAIN_MS, now = uv_now(x->place->loop);

        return end > now ? end - now : 0;
}

static void exec_end(struct exec_run *x, enum exec_end end);

static void on_timer(uv_timer_t *timer)
{
        struct exec_run *x = container_of(timer, struct exec_run, timer);

        switch (x->phase) {
        case EXEC_RUNNING:
                exec_end(x, END_TIMEOUT);
                return;
        case EXEC_ENDING:
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_CLEANUP, RESULT_NONE,
                            "processes of the command could not be ended; keeper %d waits for them",
                            (int) exec_keeper_pid(x->keeper));
                exec_finish_drained(x);
                return;
        case EXEC_DRAINING:
                exec_finish_drained(x);
                return;
        default:
                return;
        }
}

/* From here on the keeper works: TERM, `kill_after`, KILL. The timer bounds how long we wait for it. */
static void ending_begin(struct exec_run *x)
{
        int64_t limit_ms = x->run->task->exec.kill_after_ms + CLEANUP_MS;

        x->phase = EXEC_ENDING;
        (void) uv_timer_start(&x->timer, on_timer, (uint64_t) limit_ms, 0);
}

/* Looks once more at what the keeper said: a command that ended by itself just now keeps its outcome. */
static void exec_end(struct exec_run *x, enum exec_end end)
{
        exec_keeper_listen(x->keeper);
        if (x->phase != EXEC_RUNNING)
                return;
        x->end = end;
        exec_keeper_end(x->keeper);
        ending_begin(x);
}

static void on_message(void *arg, const struct keeper_message *m)
{
        struct exec_run *x = arg;
        struct run *r = x->run;

        switch (m->word) {
        case KEEPER_STARTED:
                x->command = m->pid;
                if (r->child)
                        r->child(r, (int) exec_keeper_pid(x->keeper), m->pid);
                return;
        case KEEPER_REFUSED:
                exec_outcome_refused(outcome_of(x), &r->task->exec, m);
                return;
        case KEEPER_EXITED:
                x->exited = true;
                x->status = m->status;
                x->exited_at_ms = uv_now(x->place->loop);
                if (x->phase == EXEC_RUNNING)
                        ending_begin(x);
                return;
        case KEEPER_LIMIT:
                if (x->phase != EXEC_RUNNING)
                        return;
                x->end = END_STOPPED;
                x->why = RUN_STOP_LEASE_LOST;
                ending_begin(x);
                return;
        case KEEPER_GONE:
                x->tree_gone = true;
                x->left = m->left;
                x->ended = m->ended;
                return;
        default:
                return;
        }
}

/* A command that may leave processes on purpose is left alone: which they are nobody can tell any more. */
static void on_keeper_died(struct exec_run *x, int code, int status)
{
        int ended = x->command && !x->run->task->exec.leave_children ? exec_session_end(x->command, getppid()) : 0;

        outcome_set(outcome_of(x), STATE_FAILED, CAUSE_CLEANUP, RESULT_NONE,
                    "the keeper of the command died (%s %d); %d processes of the command's session were ended, others "
                    "may be left", code == CLD_EXITED ? "exit code" : "signal", status, ended > 0 ? ended : 0);
}

static void on_gone(void *arg, int code, int status)
{
        struct exec_run *x = arg;

        x->keeper = NULL;
        if (outcome_of(x)->cause == CAUSE_NOT_SENT) {
                exec_finish(x);
                return;
        }
        if (x->tree_gone && x->exited)
                settle_by_end(x);
        else
                on_keeper_died(x, code, status);
        x->phase = EXEC_DRAINING;
        exec_output_drain(&x->output);
        if (x->output.ended || drain_left_ms(x) == 0)
                exec_finish(x);
        else
                (void) uv_timer_start(&x->timer, on_timer, drain_left_ms(x), 0);
}

static void on_output_end(struct exec_output *o)
{
        struct exec_run *x = container_of(o, struct exec_run, output);

        if (x->phase == EXEC_DRAINING)
                exec_finish(x);
}

static int keeper_begin(struct exec_run *x, const struct exec_account *account)
{
        static const struct exec_keeper_events events = { .message = on_message, .gone = on_gone };
        const struct exec_target *t = &x->run->task->exec;
        struct exec_place *p = x->place;
        _cleanup_(closep) int writer = -1;
        char **env;

        int r = exec_env_build(t, x->run->context, account, &env);
        if (r < 0)
                return r;
        r = exec_output_open(&x->output, p->loop, outcome_of(x), on_output_end, &writer);
        if (r == 0) {
                x->has_output = true;
                r = exec_keeper_start(p->loop, &p->keepers, &(struct exec_birth) {
                        .path = p->keeper_path, .target = t, .identity = account->identity, .env = env,
                        .output = writer, .node_lock = p->node_lock, .tree_pipe = p->tree_pipe,
                        .valid_until = x->run->valid_until,
                }, &events, x, &x->keeper);
        }
        exec_env_free(env);
        return r;
}

static void exec_begin(struct exec_run *x, const struct exec_account *account)
{
        int r = keeper_begin(x, account);

        if (r == -ECHILD) {
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_CLEANUP, RESULT_NONE,
                            "the keeper could not be watched; the command was ended");
                exec_finish(x);
                return;
        }
        if (r < 0) {
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, "not started: %.1024s: %s",
                            x->place->keeper_path, strerror(-r));
                exec_finish(x);
                return;
        }
        x->phase = EXEC_RUNNING;
        (void) uv_timer_start(&x->timer, on_timer, x->run->timeout_ms > 0 ? (uint64_t) x->run->timeout_ms : 0, 0);
}

static void on_begin(uv_timer_t *timer)
{
        struct exec_run *x = container_of(timer, struct exec_run, timer);
        const char *user = x->run->task->exec.user;
        const struct exec_account *account;

        if (x->end == END_STOPPED) {
                outcome_stopped(outcome_of(x), x->why);
                exec_finish(x);
        } else if (!(account = exec_accounts_of(&x->place->accounts, user))) {
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE,
                            "not started: no such user: %.256s", user ? user : "");
                exec_finish(x);
        } else if (x->run->starting(x->run) < 0) {
                outcome_set(outcome_of(x), STATE_FAILED, CAUSE_LOG, RESULT_NONE, "the run line could not be written");
                exec_finish(x);
        } else {
                exec_begin(x, account);
        }
}

int exec_run_start(struct exec_place *p, struct run *r)
{
        struct exec_run *x = calloc(1, sizeof(*x));

        if (!x)
                return -ENOMEM;
        if (r->task->exec.argv.count == 0) {
                free(x);
                return -EINVAL;
        }
        x->run = r;
        x->place = p;
        outcome_init(&r->outcome);
        r->state = x;
        (void) uv_timer_init(p->loop, &x->timer);
        (void) uv_timer_start(&x->timer, on_begin, 0, 0);
        return 0;
}

void exec_run_stop(struct exec_run *x, enum run_stop why)
{
        if (x->end != END_BY_ITSELF)
                return;
        x->why = why;
        if (x->phase == EXEC_WAITING)
                x->end = END_STOPPED;
        else if (x->phase == EXEC_RUNNING)
                exec_end(x, END_STOPPED);
}

void exec_run_prolong(struct exec_run *x)
{
        if (x->keeper && x->phase == EXEC_RUNNING && x->run->valid_until.ns != 0)
                exec_keeper_prolong(x->keeper, x->run->valid_until);
}
