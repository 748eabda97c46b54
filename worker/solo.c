/* Rounds of one process: begun when the ledgers are ready, over when nothing is at work, nothing is left that was due
 * when it began, and no queue has anything that can be started. What happened is read off the scoreboard. */
#include "worker/solo.h"

#include <inttypes.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/exits.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/self.h"

enum stage {
        STAGE_NEW,
        STAGE_BOOT,        /* waits for the ledgers */
        STAGE_DUE,         /* what was due is at work */
        STAGE_LOOK,        /* queues are being looked at */
        STAGE_REST,        /* between two rounds */
        STAGE_SAY,         /* the ledgers are told that all is in the log */
        STAGE_END,
};

struct solo {
        struct solo_options o;
        struct worker *worker;           /* borrowed; NULL after its life */
        const struct board *board;       /* borrowed, outlives us */
        enum stage stage;
        struct delay limit;              /* of the stage */
        struct delay next;               /* step: to look at queues, or the next round */
        struct mono began;               /* the first round: the grid of all */
        unsigned round;
        unsigned looking;                /* queues that have not answered */
        struct ledger_call said[2];      /* to the local ledger and the group's */
        unsigned saying;                 /* of them, not answered */
        bool looked;                     /* in this round */
        bool is_late;                    /* what is in trouble still is left to the next round, or the next start */
        bool failed, asked;
        uint64_t at_look;                /* records there were, when queues were looked at */
        uint64_t told[STATE_COUNT_];     /* records as people were told them */
};

const char *solo_role(const struct solo *so)
{
        return so->o.role;
}

void solo_signals(sigset_t *ret)
{
        (void) sigemptyset(ret);
        (void) sigaddset(ret, SIGTERM);
        (void) sigaddset(ret, SIGINT);
        (void) sigaddset(ret, SIGQUIT);
        (void) sigaddset(ret, SIGHUP);
}

static uint64_t records(const struct solo *so)
{
        struct task_counts all;
        uint64_t sum = 0;

        board_all_totals(so->board, &all);
        for (unsigned i = 0; i < STATE_COUNT_; i++)
                sum += all.runs[i];
        return sum;
}

/* One line for what became of the round; none when nothing was due. */
static void say_round(struct solo *so)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        struct task_counts all;

        board_all_totals(so->board, &all);
        for (unsigned i = 0; i < STATE_COUNT_; i++) {
                uint64_t n = all.runs[i] - so->told[i];
                if (n)
                        buf_format(&text, "%s%" PRIu64 " %s", text.len ? ", " : "", n, state_names[i]);
                so->told[i] = all.runs[i];
        }
        if (text.len == 0 || text.failed)
                return;
        if (so->o.rounds > 1)
                log_info("round %u: %s", so->round, text.data);
        else
                log_info("%s", text.data);
}

static void end_rounds(struct solo *so)
{
        struct worker *w = so->worker;

        so->stage = STAGE_END;
        delay_clear(w->delays, &so->limit);
        delay_clear(w->delays, &so->next);
        if (w->claims.term)
                tidy_soon(w->tidy);
        lead_yield(w->lead);
        spine_drain(&w->spine, w->jobs, w->job_count, clock_wall());
}

static void stop_runs(struct solo *so)
{
        struct worker *w = so->worker;

        spine_stop(&w->spine, w->jobs, w->job_count, clock_wall());
}

static void on_limit(struct delay *d);

static void limit_set(struct solo *so, int64_t ms)
{
        so->limit.over = on_limit;
        delay_set(so->worker->delays, &so->limit, ms);
}

static void begin_round(struct solo *so)
{
        struct worker *w = so->worker;

        so->round++;
        so->stage = STAGE_DUE;
        so->looked = so->is_late = false;
        limit_set(so, w->config->boot_timeout_ms);
        spine_round(&w->spine, w->jobs, w->job_count, stamp_instant(clock_wall()));
}

static void begin_first(struct solo *so)
{
        so->began = clock_mono();
        begin_round(so);
}

static bool ledgers_are_ready(const struct solo *so)
{
        const struct worker *w = so->worker;

        return w->local.is_set_up && w->claims.term && !lead_is_asking(w->lead) &&
               (!w->group.ledger || w->group.is_set_up);
}

/* Without its own ledger nothing can be done; without the group's the rest can. */
static void on_boot_limit(struct solo *so)
{
        const struct worker *w = so->worker;

        so->failed = true;
        if (!w->local.is_set_up || !w->claims.term) {
                (void) log_error(0, "the ledger is not ready after %lld ms (boot_timeout)",
                                 (long long) w->config->boot_timeout_ms);
                end_rounds(so);
                return;
        }
        (void) log_error(0, "redis ledger: not ready after %lld ms (boot_timeout); its tasks do not run",
                         (long long) w->config->boot_timeout_ms);
        begin_first(so);
}

static void on_limit(struct delay *d)
{
        struct solo *so = container_of(d, struct solo, limit);

        switch (so->stage) {
        case STAGE_BOOT:
                on_boot_limit(so);
                break;
        case STAGE_SAY:
                end_rounds(so);
                break;
        case STAGE_END:
                log_info("stops what runs: drain_timeout is over");
                stop_runs(so);
                break;
        default:
                so->is_late = true;
        }
}

static void on_next(struct delay *d)
{
        begin_round(container_of(d, struct solo, next));
}

/* On the grid of the first round: one that takes longer leaves points of it out, and shifts none. */
static void rest(struct solo *so)
{
        int64_t gone_ms = mono_since_ms(so->began, clock_mono());
        int64_t interval_ms = so->o.interval_ms;

        so->stage = STAGE_REST;
        so->next.over = on_next;
        delay_set(so->worker->delays, &so->next, interval_ms - gone_ms % interval_ms);
}

static void on_said(struct ledger_call *call)
{
        struct solo *so = call->arg;

        ledger_call_done(call);
        if (--so->saying == 0 && so->stage == STAGE_SAY)
                end_rounds(so);
}

static void say_to(struct solo *so, struct ledger *to)
{
        struct worker *w = so->worker;
        struct ledger_call *call = &so->said[so->saying++];

        *call = (struct ledger_call) { .op = LEDGER_SAID, .done = on_said, .arg = so };
        call->in.said = (struct said_in) { .owner = w->birth->owner, .node = w->birth->node, .life = w->birth->life };
        ledger_send(to, call);
}

/* What a ledger keeps of this process, in case its lines did not leave, would be told by the next one, as often as
 * there is one: nobody else is there to say that they have. */
static void say_logged(struct solo *so)
{
        struct worker *w = so->worker;

        if (triglog_flush(w->log) < 0) {
                end_rounds(so);
                return;
        }
        so->stage = STAGE_SAY;
        limit_set(so, w->config->boot_timeout_ms);
        say_to(so, w->local.ledger);
        if (w->group.is_set_up)
                say_to(so, w->group.ledger);
}

static void end_round(struct solo *so)
{
        delay_clear(so->worker->delays, &so->limit);
        say_round(so);
        if (so->round >= so->o.rounds)
                say_logged(so);
        else
                rest(so);
}

/* Units that wait for another try, since a ledger is away or somebody else is at work, have had their time. Those that
 * are due and wait for a free handle are not among them. */
static void leave_late(struct solo *so)
{
        struct worker *w = so->worker;
        struct instant now = stamp_instant(clock_wall());
        const struct unit *first = NULL;
        unsigned count = 0;

        for (size_t i = 0; i < w->job_count; i++)
                for (unsigned k = 0; k < w->jobs[i].unit_count; k++) {
                        struct unit *u = &w->jobs[i].units[k];
                        if (!u->node.index || u->wake.ms <= now.ms)
                                continue;
                        spine_dismiss(&w->spine, u);
                        first = first ? first : u;
                        count++;
                }
        if (!first)
                return;
        so->failed = true;
        (void) log_warning(0, "task %s: not decided in this round%s%s; units left so: %u", first->of->task->name,
                           first->trouble ? ": " : "", cause_names[first->trouble], count);
}

static void on_looked(void *arg)
{
        struct solo *so = arg;

        so->looking--;
}

/* Runs hand on what waits behind them. What is left waits behind nobody: it is from before. */
static void on_look(struct delay *d)
{
        struct solo *so = container_of(d, struct solo, next);
        struct worker *w = so->worker;
        struct queues *all[] = { w->local.queues, w->group.queues, w->own_queues };

        so->looked = true;
        so->at_look = records(so);
        so->looking = 0;
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (all[i]) {
                        so->looking++;
                        queues_look(all[i], on_looked, so);
                }
}

static void on_idle(struct solo *so)
{
        /* A look in vain is the last: what waits is not to be had, or nothing waits. */
        if (so->looked && records(so) == so->at_look) {
                end_round(so);
                return;
        }
        /* Not from here: what is asked of a ledger at the end of a turn is sent at the end of the next one. */
        so->stage = STAGE_LOOK;
        so->looking = 1;
        so->next.over = on_look;
        delay_set(so->worker->delays, &so->next, 0);
}

void solo_turn(struct solo *so)
{
        struct worker *w = so->worker;

        if (w->spine.phase != SPINE_WORKING)
                return;
        if (so->stage == STAGE_NEW) {
                so->stage = STAGE_BOOT;
                limit_set(so, w->config->boot_timeout_ms);
        }
        if (so->stage == STAGE_BOOT && ledgers_are_ready(so))
                begin_first(so);
        if (so->stage == STAGE_LOOK && so->looking == 0)
                so->stage = STAGE_DUE;
        if (so->stage != STAGE_DUE)
                return;
        if (so->is_late)
                leave_late(so);
        if (spine_is_idle(&w->spine))
                on_idle(so);
}

void solo_told(struct solo *so, enum message_type type)
{
        struct worker *w = so->worker;

        /* The only worker there is leads, and leads again when a call of an earlier life has raised the term. */
        if ((type == MESSAGE_READY || type == MESSAGE_DEPOSED) && w->spine.phase == SPINE_WORKING)
                lead_take(w->lead);
}

void solo_asked(struct solo *so, int signum)
{
        const struct worker *w = so->worker;

        if (w->ending)
                return;
        if (so->asked || signum == SIGQUIT) {
                log_info("asked to stop now, with %u occurrence%s at work", w->spine.count,
                         w->spine.count == 1 ? "" : "s");
                so->asked = true;
                end_rounds(so);
                stop_runs(so);
                return;
        }
        log_info("asked to stop, with %u occurrence%s at work", w->spine.count, w->spine.count == 1 ? "" : "s");
        so->asked = true;
        end_rounds(so);
        limit_set(so, w->config->drain_timeout_ms);
}

void solo_end(struct solo *so)
{
        delay_clear(so->worker->delays, &so->limit);
        delay_clear(so->worker->delays, &so->next);
        say_round(so);
}

static bool has_failures(const struct solo *so)
{
        struct task_counts all;

        board_all_totals(so->board, &all);
        return all.runs[STATE_FAILED] || all.runs[STATE_INTERRUPTED] || all.runs[STATE_UNKNOWN] ||
               all.runs[STATE_MISSED];
}

int solo_run(const struct birth *b, const struct solo_options *o)
{
        struct solo so = { .o = *o, .board = b->board };

        process_title("onced: %s", o->role);
        log_identity(o->role);
        so.worker = worker_new(b);
        if (!so.worker)
                return EXIT_OS;
        so.worker->solo = &so;
        int code = worker_live(so.worker);
        so.worker = NULL;
        bool is_failure = so.failed || has_failures(&so);
        return code == EXIT_KILLED || (code == EXIT_FINE && is_failure) ? EXIT_FAILED : code;
}
