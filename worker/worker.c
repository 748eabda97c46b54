/* A worker's life: born by the master with a clean sheet, ready once the local ledger knows its tasks, ended by
 * the master's word, or by its absence. The loop is made here, after the fork. */
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/exits.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/process.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "worker/ahead.h"
#include "worker/self.h"
#include "worker/solo.h"


static struct instant now_instant(void)
{
        return stamp_instant(clock_wall());
}

/* A task of no ledger has nothing to be defined in: it begins with its own window. */
static void begin_unclaimed(struct job *j)
{
        struct instant now = now_instant(), cursor = job_first_cursor(j, now, now);

        j->defined = true;
        j->valid_from = cursor;
        for (unsigned k = 0; k < j->unit_count; k++) {
                j->units[k].cursor = cursor;
                j->units[k].registered = true;
        }
}

static void enlist(struct worker *w, struct job *j)
{
        for (unsigned k = 0; k < j->unit_count; k++)
                spine_enlist(&w->spine, &j->units[k]);
}

/* Whoever put it in force says so, since runs may come before the timer worker has heard of it. */
void worker_on_defined(struct job *j, bool by_us, void *arg)
{
        struct worker *w = arg;

        if (w->claims.term || by_us)
                lead_log_plan(w->log, j);
}

void worker_on_registered(struct unit *u, void *arg)
{
        struct worker *w = arg;

        w->has_ahead |= u->cursor.ms > now_instant().ms + AHEAD_MIN_MS;
        /* Nothing is asked for before READY: of a process that never said it the proof needs no log. */
        if (w->ready)
                spine_enlist(&w->spine, u);
}

/* Tells who this worker answers to. */
static void say(struct worker *w, enum message_type type, uint64_t value, const char *owner, bool trees_gone)
{
        if (w->solo)
                solo_told(w->solo, type);
        else
                channel_end_say(w->channel, type, value, owner, trees_gone);
}

static void show_title(const struct worker *w)
{
        if (!w->solo)
                process_title("onced: worker %s%s", w->birth->slot_name, w->claims.term ? " (timer)" : "");
}

static void fail(struct worker *w, int exit_code)
{
        w->exit_code = exit_code;
        spine_stop(&w->spine, w->jobs, w->job_count, clock_wall());
}

void worker_on_local_set_up(int error, const char *why, void *arg)
{
        struct worker *w = arg;

        if (error < 0) {
                (void) log_error(0, "ledger: %s", why);
                fail(w, error == -EUCLEAN ? EXIT_CONFIGURATION : EXIT_FAILED);
                return;
        }
        if (worker_begin_queues(w, w->local.ledger, &w->local.queues) < 0 ||
            worker_begin_queues(w, NULL, &w->own_queues) < 0) {
                fail(w, EXIT_OS);
                return;
        }
        w->ready = true;
        for (size_t i = 0; i < w->job_count; i++) {
                struct job *j = &w->jobs[i];
                if (!j->ledger)
                        begin_unclaimed(j);
                enlist(w, j);
        }
        w->local.is_set_up = true;
        say(w, MESSAGE_READY, 0, NULL, false);
}

static void say_ahead(struct worker *w)
{
        struct ahead a;

        w->has_ahead = false;
        ahead_find(w->jobs, w->job_count, now_instant(), w->config->max_future_ms, &a);
        ahead_say(&a, w->config->max_future_ms);
}

void worker_on_group_set_up(int error, const char *why, void *arg)
{
        struct worker *w = arg;

        if (error < 0)
                (void) log_error(0, "redis ledger: %s; its tasks do not run", why);
        else if (worker_begin_queues(w, w->group.ledger, &w->group.queues) < 0)
                fail(w, EXIT_OS);
        else if (w->claims.term)
                say_ahead(w);
        w->group.is_set_up = error == 0;
}

void worker_on_health(enum ledger_health h, const char *why, void *arg)
{
        struct worker_ledger *wl = arg;
        struct worker *w = wl->worker;
        const char *name = wl == &w->local ? "ledger" : "redis ledger";

        place_set_trouble(w->place, wl == &w->local ? TROUBLE_LEDGER : TROUBLE_GROUP, h != LEDGER_UP);
        switch (h) {
        case LEDGER_UP:
                if (*why)
                        (void) log_warning(0, "%s: %s", name, why);
                if (wl->was_up)
                        log_info("%s is back", name);
                wl->was_up = true;
                if (wl->ledger)
                        spine_ledger_up(&w->spine, w->jobs, w->job_count, wl->ledger, clock_wall());
                break;
        case LEDGER_DOWN:
                (void) log_warning(0, "%s is down: %s", name, why);
                break;
        case LEDGER_HALTED:
                (void) log_error(0, "%s is halted, nothing is claimed: %s", name, why);
                break;
        }
}

void worker_on_led(uint64_t term, void *arg)
{
        struct worker *w = arg;

        fault_point("led");
        w->claims.term = term;
        place_set_term(w->place, term);
        show_title(w);
        for (size_t i = 0; i < w->job_count; i++) {
                struct job *j = &w->jobs[i];
                if (j->defined)
                        lead_log_plan(w->log, j);
                if (j->task->singleton == PATH_DEDICATED)
                        enlist(w, j);
        }
        tidy_begin(w->tidy);
        say(w, MESSAGE_LED, term, NULL, false);
        say_ahead(w);
}

void worker_on_deposed(uint64_t term, void *arg)
{
        struct worker *w = arg;

        (void) log_warning(0, "no longer the timer worker: term %" PRIu64 " is in force", term);
        say(w, MESSAGE_DEPOSED, term, NULL, false);
        show_title(w);
        for (size_t i = 0; i < w->job_count; i++)
                for (unsigned k = 0; w->jobs[i].task->singleton == PATH_DEDICATED && k < w->jobs[i].unit_count; k++)
                        spine_dismiss(&w->spine, &w->jobs[i].units[k]);
}

void worker_on_settled(const char *owner, bool trees_gone, void *arg)
{
        struct worker *w = arg;

        say(w, MESSAGE_GONE_DONE, 0, owner, trees_gone);
}

static void reopen(struct worker *w, int fd)
{
        int r = triglog_rotate(w->log);
        if (r < 0)
                (void) log_error(r, "trigger log: next file");
        if (fd < 0)
                return;
        int old = log_use_fd(fd);
        if (old > STDERR_FILENO)
                (void) close(old);
}

static void drain(struct worker *w)
{
        if (w->spine.phase == SPINE_WORKING)
                log_info("drains, with %u occurrence%s at work", w->spine.count, w->spine.count == 1 ? "" : "s");
        lead_yield(w->lead);
        spine_drain(&w->spine, w->jobs, w->job_count, clock_wall());
}

void worker_on_terminate(int signum, void *arg)
{
        struct worker *w = arg;

        if (w->solo)
                solo_asked(w->solo, signum);
        else
                drain(w);
}

void worker_on_message(const struct message *m, int fd, void *arg)
{
        struct worker *w = arg;
        int r;

        if (fd >= 0 && m->type != MESSAGE_REOPEN)
                (void) close(fd);
        /* While it closes there is no ledger to settle anything in: the master asks the next timer worker. */
        if (w->ending && m->type != MESSAGE_REOPEN)
                return;
        switch (m->type) {
        case MESSAGE_LEAD:
                if (w->claims.term)
                        say(w, MESSAGE_LED, w->claims.term, NULL, false);
                else if (w->spine.phase == SPINE_WORKING)
                        lead_take(w->lead);
                break;
        case MESSAGE_DRAIN:
                drain(w);
                break;
        case MESSAGE_STOP:
                log_info("stops, with %u occurrence%s at work", w->spine.count, w->spine.count == 1 ? "" : "s");
                spine_stop(&w->spine, w->jobs, w->job_count, clock_wall());
                break;
        case MESSAGE_GONE:
                r = lead_gone(w->lead, m->owner, m->trees_gone);
                if (r < 0)
                        (void) log_warning(r, "the death of %s is settled later", m->owner);
                break;
        case MESSAGE_REOPEN:
                reopen(w, fd);
                break;
        default:
                (void) log_warning(0, "channel: message of type %u", m->type);
        }
}

void worker_on_orphaned(void *arg)
{
        struct worker *w = arg;

        /* Nothing is finished any more: the next life settles what this one leaves, keepers end the trees. */
        w->orphaned = true;
        uv_stop(&w->loop);
}

void worker_on_due(void *arg)
{
        struct worker *w = arg;

        spine_turn(&w->spine, clock_wall());
}

/* Every process notices a step and writes its line; the timer worker, which knows the cursors of all tasks, tells
 * people. */
void worker_on_stepped(const struct clock_jump *jump, void *arg)
{
        struct worker *w = arg;
        double wall_s = (double) jump->wall_ns / NS_PER_S;

        if (jump->wall_ns)
                triglog_step(w->log, jump->wall_ns);
        spine_stepped(&w->spine, w->jobs, w->job_count, clock_wall());
        if (!w->claims.term) {
                log_debug("clock-step: %+.3f s, after %.3f s of suspend", wall_s, (double) jump->slept_ns / NS_PER_S);
                return;
        }
        if (jump->slept_ns)
                (void) log_warning(0, "this machine slept for %.3f s; what was due meanwhile is left to the misfire "
                                   "policies", (double) jump->slept_ns / NS_PER_S);
        if (jump->wall_ns)
                (void) log_warning(0, "clock-step: the wall clock was set %s by %.3f s%s",
                                   wall_s < 0 ? "back" : "forward", wall_s < 0 ? -wall_s : wall_s,
                                   wall_s < 0 ? "" : "; what was due between is left to the misfire policies");
        say_ahead(w);
}

static void flush_log(struct worker *w)
{
        int r = triglog_flush(w->log);

        if (r < 0 && !w->said_log)
                (void) log_error(r, "trigger log: writing %s/%s", w->log_dir, triglog_name(w->log));
        else if (r == 0 && w->said_log)
                log_info("trigger log: %s/%s is written again", w->log_dir, triglog_name(w->log));
        if (w->said_log != (r < 0))
                place_set_trouble(w->place, TROUBLE_LOG, r < 0);
        w->said_log = r < 0;
        if (w->log_files != triglog_files(w->log) && !w->ending)
                tidy_soon(w->tidy);
        w->log_files = triglog_files(w->log);
}

/* The end of a turn: what it wrote leaves in one write, and the timer is set to what it planned. */
static void on_turn_end(uv_prepare_t *p)
{
        struct worker *w = p->data;

        if (w->solo && !w->ending)
                solo_turn(w->solo);
        if (!w->ending && w->spine.phase != SPINE_WORKING && w->spine.count == 0) {
                if (w->exit_code == EXIT_FINE)
                        say(w, MESSAGE_DRAINED, 0, NULL, false);
                worker_close(w);
        }
        fault_point("turn-end");
        flush_log(w);
        int r = wakeup_arm(w->wakeup, w->ending ? INSTANT_NONE : spine_next(&w->spine));
        if (r < 0) {
                (void) log_error(r, "arming the timer");
                _exit(EXIT_OS);   /* a worker without its timer is none; the master replaces it */
        }
}

static void on_beat(uv_timer_t *t)
{
        struct worker *w = t->data;
        struct mono now = clock_mono();
        int64_t lag_us = (now.ns - w->beat_due.ns) / NS_PER_US;

        place_beat(w->place, now, lag_us > 0 ? lag_us : 0);
        w->beat_due = mono_plus_ms(now, w->beat_ms);
        spine_beat(&w->spine, now, w->beat_due);
        if (w->has_ahead && w->claims.term)
                say_ahead(w);   /* of units that became known since; another may keep the set-up from its end */
        if (triglog_follow(w->log) == 1)
                (void) log_error(0, "trigger log: its file was removed; what it told is lost, the next file is %s/%s",
                                 w->log_dir, triglog_name(w->log));
}

static void begin_beat(struct worker *w)
{
        (void) uv_prepare_init(&w->loop, &w->turn_end);
        w->turn_end.data = w;
        (void) uv_prepare_start(&w->turn_end, on_turn_end);
        (void) uv_timer_init(&w->loop, &w->beat);
        w->beat.data = w;
        w->beat_due = clock_mono();
        w->beat_ms = beat_interval_ms(w->config->hang_timeout_ms);
        on_beat(&w->beat);
        (void) uv_timer_start(&w->beat, on_beat, (uint64_t) w->beat_ms, (uint64_t) w->beat_ms);
}

/* The stop line: until when all that was due is known to be decided. A process that closes without it is judged by
 * its cease line, if it had one, and by its exit in the roster. */
static void write_stop(struct worker *w)
{
        const char *reason = w->orphaned ? "orphaned" : w->exit_code != EXIT_FINE ? "failed"
                             : w->spine.phase == SPINE_STOPPING ? "stopped" : "drained";

        struct cease_line line;
        spine_ceased(&w->spine, w->jobs, w->job_count, now_instant(), &line);
        triglog_stop(w->log, reason, &line);
}

/* The loop has ended: everything was closed, so nothing may be left of it. */
static int end_well(struct worker *w)
{
        int code = w->exit_code != EXIT_FINE ? w->exit_code : w->spine.killed ? EXIT_KILLED : EXIT_FINE;

        worker_free(w);
        int r = uv_loop_close(&w->loop);
        if (r < 0)
                (void) log_error(r, "closing the loop");
        free(w);
        return code;
}

int worker_live(struct worker *w)
{
        int r = worker_open(w);
        if (r < 0)
                return r == -EMFILE || r == -ENFILE || r == -ENOMEM ? EXIT_OS : EXIT_CONFIGURATION;

        begin_beat(w);
        (void) uv_run(&w->loop, UV_RUN_DEFAULT);
        write_stop(w);
        w->log = triglog_close(w->log);
        /* An orphan leaves half-open what it has to the end of the process: nothing may be waited for. */
        return w->orphaned ? EXIT_FAILED : end_well(w);
}

struct worker *worker_new(const struct birth *b)
{
        struct worker *w = calloc(1, sizeof(*w));
        int r = w ? uv_loop_init(&w->loop) : -ENOMEM;
        if (r < 0) {
                (void) log_error(r, "beginning");
                free(w);
                return NULL;
        }
        w->birth = b;
        w->config = b->config;
        w->place = board_place(b->board, b->place);
        return w;
}

int worker_main(const struct birth *b)
{
        char who[32];

        (void) snprintf(who, sizeof(who), "worker %s", b->slot_name);
        log_identity(who);
        struct worker *w = worker_new(b);
        return w ? worker_live(w) : EXIT_OS;
}

const struct child_kind worker_kind = { .name = "worker", .run = worker_main };
