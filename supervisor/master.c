/* The master's life: ground, socket, scoreboard, then one loop over signalfd, pidfds, channels, tree pipes and a
 * timerfd, until the end is over. It runs no task, opens no ledger and has no threads, so that a forked child
 * starts from a clean sheet. */
#include "supervisor/master.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "supervisor/crew.h"
#include "supervisor/ending.h"
#include "supervisor/events.h"
#include "supervisor/ground.h"
#include "supervisor/hang.h"
#include "supervisor/listener.h"
#include "supervisor/notify.h"
#include "supervisor/upkeep.h"
#include "supervisor/verb.h"

#define GENERATION_FIRST 1

struct master {
        const struct config *config;
        struct ground ground;
        struct listener listener;
        struct upkeep upkeep;
        struct mono seen;            /* newest look at the clock */
        struct crew crew;
        struct ending ending;
        struct events events;
        int log_fd;                    /* owned; -1 while the log goes to stderr */
        int notify_fd;                 /* taken over; -1 none or done */
        struct mono boot_deadline;     /* readiness is missed loudly, once; NEVER: ready or missed */
        bool announced, degraded, sweep_again;
        int64_t watchdog_ms;           /* 0: none */
        struct mono watchdog_due;
};

void master_block_signals(void)
{
        sigset_t s;

        verb_signals(&s);
        (void) sigprocmask(SIG_BLOCK, &s, NULL);
}

/* Opens the log's file; without one the log stays where it is. */
static int log_open(struct master *m)
{
        int fd;

        int r = ground_log(m->config, &fd);
        if (r < 0 || fd < 0)
                return r;
        if (m->log_fd >= 0)
                (void) close(m->log_fd);
        m->log_fd = m->crew.log_fd = fd;
        return 0;
}

static void reopen(struct master *m)
{
        log_info("reopening logs");
        (void) log_open(m);
        int r = triglog_rotate(m->crew.roster);
        if (r < 0)
                (void) log_error(r, "the roster cannot go on in a new file");
        for (unsigned i = 0; i <= m->crew.workers_max; i++)
                if (slot_lives(&m->crew.slots[i]))
                        (void) crew_tell(&m->crew.slots[i], MESSAGE_REOPEN, m->log_fd);
}

static void more_or_fewer(struct crew *c, int change)
{
        int workers = (int) c->wanted + change;

        if (c->ending)
                return;
        if (workers < 1 || workers > (int) c->workers_max) {
                (void) log_warning(0, "the number of workers stays %u: from 1 to %u can be had", c->wanted,
                                   c->workers_max);
                return;
        }
        log_info("%d workers wanted, %u before", workers, c->wanted);
        crew_want(c, (unsigned) workers);
}

static void on_verb(void *arg, enum verb verb)
{
        struct master *m = arg;

        log_info("asked: %s", verb_name(verb));
        switch (verb) {
        case VERB_STOP:
        case VERB_STOP_FAST:
                ending_ask(&m->ending, &m->crew, verb == VERB_STOP_FAST);
                break;
        case VERB_REOPEN:
                reopen(m);
                break;
        case VERB_MORE:
                more_or_fewer(&m->crew, 1);
                break;
        case VERB_FEWER:
                more_or_fewer(&m->crew, -1);
                break;
        default:
                (void) log_warning(0, "%s comes with a later version; restart instead", verb_name(verb));
        }
}

static void read_signals(struct master *m)
{
        struct signalfd_siginfo info;

        /* Signals of one kind coalesce, so there are few to read. */
        while (read(m->events.signals, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
                enum verb verb = verb_of_signal((int) info.ssi_signo);
                if (verb != VERB_NONE)
                        on_verb(m, verb);
                else if (info.ssi_signo == SIGCHLD)
                        m->sweep_again = true;
        }
}

/* Found by descriptor: an entry of the list may have moved while deaths were handled, but its tree, still open,
 * has kept its number. */
static void tree_ended(struct crew *c, int fd)
{
        for (size_t i = 0; i < c->gones.count; i++)
                if (c->gones.list[i].tree == fd) {
                        gone_tree_ended(&c->gones.list[i]);
                        return;
                }
}

static void on_event(void *arg, enum watch what, unsigned slot, int fd)
{
        struct master *m = arg;
        struct slot *s = &m->crew.slots[slot];

        switch (what) {
        case WATCH_LIFE:
                (void) crew_reap(&m->crew, s);
                break;
        case WATCH_TREE:
                tree_ended(&m->crew, fd);
                break;
        case WATCH_CHANNEL:
                crew_read(&m->crew, s);
                break;
        case WATCH_SIGNALS:
                read_signals(m);
                break;
        case WATCH_TIMER:
                break;   /* it woke us: that is all */
        }
}

static int watch_all(struct master *m)
{
        const struct crew *c = &m->crew;

        int r = events_clear(&m->events, 2 * (c->workers_max + 1) + c->gones.count);
        if (r < 0)
                return r;
        for (unsigned i = 0; i <= c->workers_max; i++) {
                events_watch(&m->events, c->slots[i].pidfd, WATCH_LIFE, i);
                events_watch(&m->events, c->slots[i].channel, WATCH_CHANNEL, i);
        }
        for (size_t i = 0; i < c->gones.count; i++)
                events_watch(&m->events, c->gones.list[i].tree, WATCH_TREE, 0);
        return 0;
}

static void announce(struct master *m, struct mono now)
{
        const struct crew *c = &m->crew;

        if (!m->announced && crew_all_ready(c) && c->leader >= 0) {
                m->announced = true;
                m->boot_deadline = NEVER;
                log_info("ready: %u worker%s, timer worker %d, %zu task%s", c->wanted, c->wanted == 1 ? "" : "s",
                         c->leader, m->config->task_count, m->config->task_count == 1 ? "" : "s");
                notify_manager("READY=1\nSTATUS=%u worker%s, timer worker %d", c->wanted, c->wanted == 1 ? "" : "s",
                               c->leader);
                notify_fd_ready(m->notify_fd);
                m->notify_fd = -1;
        } else if (now.ns >= m->boot_deadline.ns) {
                m->boot_deadline = NEVER;
                (void) log_warning(0, "not all children were ready within boot_timeout");
        }
}

static void judge_crew(struct master *m)
{
        struct crew *c = &m->crew;
        bool degraded = crew_is_degraded(c);

        if (degraded == m->degraded)
                return;
        m->degraded = degraded;
        if (!degraded) {
                log_info("no longer degraded");
                notify_manager("STATUS=%u workers", c->wanted);
                return;
        }
        if (crew_all_refused(c)) {
                (void) log_error(0, "no worker can work as things are: ending with exit code %d", EXIT_CONFIGURATION);
                notify_manager("STATUS=no worker can work as things are, see the log");
                m->ending.code = EXIT_CONFIGURATION;
                ending_ask(&m->ending, c, true);
                return;
        }
        (void) log_error(0, "degraded: all %u workers are in a crash loop; nothing is started", c->wanted);
        notify_manager("STATUS=degraded: all workers are in a crash loop");
        if (m->config->give_up)
                m->ending.code = EXIT_CRASH_LOOP;
        else
                return;
        ending_ask(&m->ending, c, true);
}

static void publish(struct master *m)
{
        struct crew *c = &m->crew;

        c->facts.workers = c->wanted;
        c->facts.ready = m->announced && c->leader >= 0 && !c->ending;
        c->facts.draining = c->ending;
        c->facts.degraded = m->degraded;
        board_set_master(c->board, &c->facts);
}

static void watchdog(struct master *m, struct mono now)
{
        if (!m->watchdog_ms || now.ns < m->watchdog_due.ns)
                return;
        m->watchdog_due = mono_plus_ms(now, m->watchdog_ms);
        if (crew_is_fresh(&m->crew, now))
                notify_manager("WATCHDOG=1");
}

static void turn(struct master *m, struct mono now)
{
        crew_due(&m->crew, now);
        crew_elect(&m->crew);
        crew_report_gone(&m->crew, now);
        if (m->ending.stage == STAGE_RUN) {
                announce(m, now);
                judge_crew(m);
        }
        ending_due(&m->ending, &m->crew, now);
        upkeep_look(&m->upkeep, &m->crew, &m->listener, now);
        watchdog(m, now);
        publish(m);
}

static struct mono next_due(const struct master *m, struct mono now)
{
        struct mono next = crew_next(&m->crew, now), end = ending_next(&m->ending);

        if (end.ns < next.ns)
                next = end;
        if (m->watchdog_ms && m->watchdog_due.ns < next.ns)
                next = m->watchdog_due;
        return next.ns > now.ns ? next : now;
}

/* The time, after a wait that was to end at `wanted` or work that takes none. Whoever stood still between the two
 * must not judge others by beats that they could not make either. */
static struct mono time_after(struct master *m, struct mono wanted)
{
        struct mono now = clock_mono();

        if (hang_was_pause(wanted, now)) {
                (void) log_warning(0, "this process stood still for %lld ms; all beats are counted from now",
                                   (long long) mono_since_ms(wanted, now));
                m->crew.counted_from = now;
        }
        return now;
}

/* Sleeps until something is there, and answers it. */
static int wait_and_answer(struct master *m, struct mono now)
{
        struct mono wake = next_due(m, now);

        int r = watch_all(m);
        if (r == 0)
                r = events_wait(&m->events, wake, m->sweep_again);
        if (r < 0)
                return r;
        m->seen = time_after(m, wake);
        events_answer(&m->events, on_event, m);
        if (m->sweep_again)
                m->sweep_again = crew_sweep(&m->crew);
        return 0;
}

static int run(struct master *m)
{
        m->seen = clock_mono();
        for (;;) {
                struct mono now = time_after(m, m->seen);
                turn(m, now);
                if (m->ending.stage == STAGE_OVER)
                        return ending_code(&m->ending, &m->crew);
                int r = wait_and_answer(m, now);
                if (r < 0) {
                        (void) log_error(r, "waiting for events");
                        return EXIT_OS;
                }
        }
}

static int roster_open(struct master *m)
{
        const struct ground *g = &m->ground;
        const struct triglog_options o = {
                .dir = g->triggers, .node = g->node, .slot = "m", .pstart = m->crew.facts.process.start,
                .pid = (int) m->crew.facts.process.pid, .boot = g->boot, .rotate_size = m->config->log.rotate_size,
                .sync = m->config->log_sync == LOG_SYNC_POWER,
        };

        int r = triglog_open(&o, &m->crew.roster);
        if (r < 0)
                return log_error(r, "log.dir: the roster in %s cannot be made", g->triggers);
        triglog_start(m->crew.roster, "master", GENERATION_FIRST, ONCED_VERSION, m->config->hash, "");
        r = triglog_flush(m->crew.roster);
        return r < 0 ? log_error(r, "log.dir: the roster in %s cannot be written", g->triggers) : 0;
}

/* All that can fail before the first fork; an exit code. `ret_go`: false when told to stop meanwhile. */
static int prepare(struct master *m, const struct master_options *o, bool *ret_go)
{
        *ret_go = false;
        int code = ground_lay(&m->ground, o->config);
        if (code != EXIT_FINE || m->ground.node_lock < 0)
                return code;
        if (log_open(m) < 0)
                return EXIT_CANTCREAT;
        if (listener_open(&m->listener, o->config->run_dir, (mode_t) o->config->api.socket_mode) < 0)
                return EXIT_CANTCREAT;
        int r = crew_init(&m->crew, o);
        if (r < 0) {
                (void) log_error(r, "scoreboard");
                return EXIT_OS;
        }
        m->crew.listener = m->listener.fd;
        m->crew.log_fd = m->log_fd;
        m->crew.facts.generation = GENERATION_FIRST;
        m->crew.facts.started = clock_wall();
        r = process_identify(getpid(), &m->crew.facts.process);
        if (r < 0) {
                (void) log_error(r, "own start time");
                return EXIT_OS;
        }
        if (roster_open(m) < 0)
                return EXIT_CANTCREAT;
        sigset_t signals;
        verb_signals(&signals);
        r = events_open(&m->events, &signals);
        if (r < 0) {
                (void) log_error(r, "signalfd, timerfd");
                return EXIT_OS;
        }
        *ret_go = true;
        return EXIT_FINE;
}

static void finish(struct master *m)
{
        if (m->crew.roster) {
                triglog_stop(m->crew.roster, m->ending.how, NULL);
                (void) triglog_flush(m->crew.roster);
                (void) triglog_close(m->crew.roster);
        }
        crew_done(&m->crew);
        listener_close(&m->listener);
        ground_done(&m->ground);
        events_close(&m->events);
        if (m->notify_fd >= 0)
                (void) close(m->notify_fd);
        if (m->log_fd >= 0) {
                (void) log_use_fd(STDERR_FILENO);
                (void) close(m->log_fd);
        }
}

int master_run(const struct master_options *o)
{
        struct master m = {
                .config = o->config, .events = { .signals = -1, .timer = -1 }, .log_fd = -1, .notify_fd = o->notify_fd,
                .listener = { .fd = -1 }, .ground = { .node_lock = -1 },
                .crew = { .ground = &m.ground, .on_verb = on_verb, .arg = &m },
        };
        bool go;

        log_identity("master");
        process_title("onced: master");
        ending_init(&m.ending);
        /* Keepers of a dead worker come to us, also where nobody else would reap them. */
        (void) prctl(PR_SET_CHILD_SUBREAPER, 1);
        int code = prepare(&m, o, &go);
        if (go) {
                srandom((unsigned) clock_wall().ns ^ (unsigned) getpid());
                m.watchdog_ms = notify_watchdog_ms();
                m.boot_deadline = mono_plus_ms(clock_mono(), o->config->boot_timeout_ms);
                code = run(&m);
                log_info("stopped, exit code %d", code);
        }
        finish(&m);
        return code;
}
