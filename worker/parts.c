/* The parts of a worker: opened in the order in which they need each other, closed in the reverse. */
#include "worker/self.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/schedule/zone.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/runner/keeper_path.h"
#include "worker/shortfall.h"
#include "worker/solo.h"

/* As small as rotate_size may be. */
#define LOG_FILE_MIN (64 * 1024)

/* The file that a process writes is never deleted: all of them together must leave room for older ones. */
static int64_t log_file_size(const struct config *c)
{
        int64_t share = c->log.max_bytes / (4 * (int64_t) c->workers);

        if (share < LOG_FILE_MIN)
                share = LOG_FILE_MIN;
        return c->log.rotate_size < share ? c->log.rotate_size : share;
}

static int open_log(struct worker *w)
{
        const struct birth *b = w->birth;

        w->log_dir = path_join(w->config->log.dir, "triggers");
        if (!w->log_dir)
                return log_error(ENOMEM, "trigger log");
        struct triglog_options o = {
                .dir = w->log_dir,
                .node = b->node, .slot = b->slot_name, .pstart = b->process.start,
                .pid = b->process.pid,
                .boot = b->boot,
                .rotate_size = log_file_size(w->config),
                .sync = w->config->log_sync == LOG_SYNC_POWER,
        };
        int r = triglog_open(&o, &w->log);
        if (r < 0)
                return log_error(r, "trigger log: opening a file in %s", w->log_dir);
        triglog_start(w->log, w->solo ? solo_role(w->solo) : "worker", b->generation, ONCED_VERSION, w->config->hash,
                      zone_data_version());
        return 0;
}

/* Tests shift the timers of workers against each other: "a,b,c,d" delays the timer of slot i by the i-th
 * number of milliseconds. */
static int64_t timer_delay_ms(unsigned slot)
{
        const char *text = getenv("ONCED_TEST_TIMER_DELAY_MS");
        char *end;

        for (unsigned i = 0; text && *text; i++) {
                long ms = strtol(text, &end, 10);
                if (end == text || ms < 0 || ms > 60000)
                        return 0;
                if (i == slot)
                        return ms;
                text = *end == ',' ? end + 1 : end;
        }
        return 0;
}

static int open_timers(struct worker *w)
{
        struct wakeup_calls wakeup_calls = { .due = worker_on_due, .stepped = worker_on_stepped, .arg = w };
        struct channel_calls channel_calls = {
                .message = worker_on_message, .orphaned = worker_on_orphaned, .arg = w,
        };
        sigset_t signals;
        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        if (w->solo)
                solo_signals(&signals);
        int r = delays_open(&w->loop, &w->delays);
        if (r == 0)
                r = wakeup_open(&w->loop, &wakeup_calls, &w->wakeup);
        if (r == 0)
                r = terminate_open(&w->loop, &signals, worker_on_terminate, w, &w->terminate);
        if (r == 0)
                r = tidy_open(&w->loop, w->log_dir, w->config->log.keep_ms, w->config->log.max_bytes, &w->tidy);
        if (r == 0 && !w->solo)
                r = channel_end_open(&w->loop, w->birth, &channel_calls, &w->channel);
        if (r < 0)
                return log_error(r, "opening timers");
        return 0;
}

static int open_ledger(struct worker *w, const struct ledger_kind *kind, struct worker_ledger *wl)
{
        struct ledger_options o = {
                .config = w->config,
                .node = w->birth->node, .owner = w->birth->owner, .boot = w->birth->boot,
                .life = w->birth->life,
                .place = w->place,
        };
        wl->worker = w;
        int r = kind->open(&w->loop, &o, worker_on_health, wl, &wl->ledger);
        if (r < 0)
                return log_error(r, "ledger %s: opening it", kind->name);
        return 0;
}

static int open_ledgers(struct worker *w)
{
        int r = open_ledger(w, &ledger_sqlite, &w->local);

        if (r == 0 && w->config->redis.url)
                r = open_ledger(w, &ledger_redis, &w->group);
        return r;
}

static int open_claimer(struct worker *w, enum path path)
{
        struct ledger *l = path == PATH_REDIS ? w->group.ledger : path == PATH_NONE ? NULL : w->local.ledger;

        if (w->claimers[path])
                return 0;
        if (path == PATH_REDIS && !l)
                return log_error(EINVAL, "singleton redis without a redis");
        int r = claim_kind(path)->open(&w->claims, l, &w->claimers[path]);
        return r < 0 ? log_error(r, "claims by %s", claim_kind(path)->name) : 0;
}

static int open_runner(struct worker *w, enum runner_type type)
{
        const struct runner_kind *kind = runner_kind(type);
        struct runner_options o = {
                .loop = &w->loop, .config = w->config,
                .node_lock = w->birth->node_lock, .tree_pipe = w->birth->tree_pipe,
                .keeper_path = w->keeper, .group = w->group.ledger,
        };
        if (w->runners[type])
                return 0;
        if (!kind)
                return log_error(EOPNOTSUPP, "runner %s", runner_names[type]);
        int r = type == RUNNER_EXEC ? keeper_find(w->keeper, sizeof(w->keeper)) : 0;
        if (r < 0)
                return log_error(r, "runner exec: finding onced-keeper");
        r = kind->open(&o, &w->runners[type]);
        return r < 0 ? log_error(r, "runner %s: opening it", kind->name) : 0;
}

static int open_job(struct worker *w, const struct task *t)
{
        struct job *j = &w->jobs[w->job_count];

        int r = open_claimer(w, t->singleton);
        if (r == 0)
                r = open_runner(w, t->runner);
        if (r < 0)
                return r;
        r = job_init(j, t, w->birth->node);
        if (r < 0)
                return log_error(r, "task %s: its units", t->name);

        w->job_count++;
        j->claimer = w->claimers[t->singleton];
        j->ledger = j->claimer->ledger;
        j->runner = w->runners[t->runner];
        j->runner_kind = runner_kind(t->runner);
        j->row = place_row(w->place, t->name);
        return 0;
}

static int open_jobs(struct worker *w)
{
        w->jobs = calloc(w->config->task_count + 1, sizeof(*w->jobs));
        if (!w->jobs)
                return log_error(ENOMEM, "task table");
        for (size_t i = 0; i < w->config->task_count; i++) {
                int r = open_job(w, &w->config->tasks[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void open_spine(struct worker *w)
{
        w->claims = (struct claimer_options) {
                .config = w->config, .delays = w->delays,
                .node = w->birth->node, .owner = w->birth->owner,
                .life = w->birth->life,
                .asked = w->birth->asked,
                .rank = w->birth->slot + 1,
        };
        if (w->solo)
                w->claims.master = w->birth->process;
        else
                (void) process_identify(getppid(), &w->claims.master);   /* unknown: notes of siblings are not believed */
        struct spine_options o = {
                .delays = w->delays, .log = w->log, .place = w->place, .shortfalls = w->shortfalls,
                .claims = &w->claims,
                .node = w->birth->node, .owner = w->birth->owner,
                .log_dir = w->log_dir,
                .tick_limit = w->config->tick_limit, .max_handles = w->config->max_handles,
                .timer_delay_ms = timer_delay_ms(w->birth->slot),
                .in_rounds = w->solo != NULL,
                .deposed = worker_on_deposed, .defined = worker_on_defined, .arg = w,
        };
        spine_init(&w->spine, &o);
}

static int open_lead(struct worker *w)
{
        struct lead_options o = {
                .delays = w->delays, .log = w->log, .place = w->place, .shortfalls = w->shortfalls,
                .local = w->local.ledger, .group = w->group.ledger,
                .node = w->birth->node, .owner = w->birth->owner, .boot = w->birth->boot,
                .life = w->birth->life,
                .led = worker_on_led, .settled = worker_on_settled, .arg = w,
        };
        return lead_open(&o, &w->lead);
}

static int begin_setup(struct worker *w, struct worker_ledger *wl, void (*done)(int, const char *, void *))
{
        struct setup_options o = {
                .delays = w->delays, .log = w->log, .shortfalls = w->shortfalls, .ledger = wl->ledger,
                .local = w->local.ledger, .group = w->group.ledger,
                .jobs = w->jobs, .job_count = w->job_count,
                .node = w->birth->node,
                .place = w->place, .trouble = wl == &w->local ? TROUBLE_LEDGER : TROUBLE_GROUP,
                .defined = worker_on_defined, .registered = worker_on_registered, .done = done, .arg = w,
        };
        return wl->ledger ? setup_begin(&o, &wl->setup) : 0;
}

int worker_begin_queues(struct worker *w, struct ledger *l, struct queues **ret)
{
        struct queues_options o = {
                .delays = w->delays, .ledger = l, .spine = &w->spine,
                .jobs = w->jobs, .job_count = w->job_count,
                .claims = &w->claims, .by_hand = w->solo != NULL,
        };
        int r = queues_begin(&o, ret);
        return r < 0 ? log_error(r, "looking after queues") : 0;
}

int worker_open(struct worker *w)
{
        w->shortfalls = shortfalls_new(w->config);
        if (!w->shortfalls)
                return log_error(ENOMEM, "beginning");
        int r = open_log(w);
        if (r == 0)
                r = open_timers(w);
        if (r == 0)
                open_spine(w);
        if (r == 0)
                r = open_ledgers(w);
        if (r == 0)
                r = open_jobs(w);
        if (r < 0)
                return r;

        r = open_lead(w);
        if (r == 0)
                r = begin_setup(w, &w->local, worker_on_local_set_up);
        if (r == 0)
                r = begin_setup(w, &w->group, worker_on_group_set_up);
        if (r < 0)
                return log_error(r, "setting up");
        return 0;
}

/* Closing: the ledgers first, since their last answers go to the parts below. */

static void on_part_closed(void *arg)
{
        struct worker *w = arg;

        w->open--;
}

/* No claim is left, and the ledgers are closed. */
static void close_claimers(struct worker *w)
{
        for (unsigned i = 0; i < PATH_COUNT_; i++) {
                struct claimer *cr = TAKE(w->claimers[i]);
                if (cr)
                        cr->kind->close(cr);
        }
}

static void close_parts(struct worker *w)
{
        for (unsigned i = 0; i < RUNNER_TYPES; i++)
                if (w->runners[i]) {
                        w->open++;
                        runner_kind((enum runner_type) i)->close(w->runners[i], on_part_closed, w);
                        w->runners[i] = NULL;
                }
        w->open += 4;
        close_claimers(w);
        terminate_close(TAKE(w->terminate), on_part_closed, w);
        tidy_close(TAKE(w->tidy), on_part_closed, w);
        if (w->channel) {
                w->open++;
                channel_end_close(TAKE(w->channel), on_part_closed, w);
        }
        wakeup_close(TAKE(w->wakeup), on_part_closed, w);
        spine_done(&w->spine);
        delays_close(TAKE(w->delays), on_part_closed, w);
        uv_close((uv_handle_t *) &w->turn_end, NULL);
        uv_close((uv_handle_t *) &w->beat, NULL);
}

static void on_ledger_closed(void *arg)
{
        struct worker *w = arg;

        if (--w->open == 0)
                close_parts(w);
}

static void close_ledger(struct worker *w, struct worker_ledger *wl)
{
        if (!wl->ledger)
                return;
        w->open++;
        ledger_close(TAKE(wl->ledger), on_ledger_closed, w);
}

void worker_close(struct worker *w)
{
        w->ending = w->claims.ending = true;
        if (w->solo)
                solo_end(w->solo);
        setup_cancel(w->local.setup);
        setup_cancel(w->group.setup);
        queues_cancel(w->local.queues);
        queues_cancel(w->group.queues);
        queues_cancel(w->own_queues);
        lead_cancel(w->lead);
        close_ledger(w, &w->local);
        close_ledger(w, &w->group);
}

void worker_free(struct worker *w)
{
        setup_free(w->local.setup);
        setup_free(w->group.setup);
        queues_free(w->local.queues);
        queues_free(w->group.queues);
        queues_free(w->own_queues);
        lead_free(w->lead);
        for (size_t i = 0; i < w->job_count; i++)
                job_done(&w->jobs[i]);
        free(w->jobs);
        w->shortfalls = shortfalls_free(w->shortfalls);
        free(w->log_dir);
}
