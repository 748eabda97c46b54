/* Births, hang watch, and the number of workers. */
#include "supervisor/crew.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "common/birth.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/scoreboard/asked.h"
#include "supervisor/evidence.h"
#include "supervisor/ground.h"
#include "supervisor/hang.h"
#include "supervisor/master.h"
#include "supervisor/restart.h"
#include "supervisor/spawn.h"

#define WORKERS_MAX_LEAST 8       /* so that a small configuration can grow by hand */
#define ABORT_MS          2000    /* from SIGABRT to SIGKILL */
#define LOOK_MS           1000    /* beats come once a second: no need to look more often */

int crew_init(struct crew *c, const struct master_options *o)
{
        c->config = o->config;
        c->wanted = o->config->workers;
        c->workers_max = 2 * c->wanted > WORKERS_MAX_LEAST ? 2 * c->wanted : WORKERS_MAX_LEAST;
        c->leader = -1;
        c->listener = c->log_fd = -1;
        c->slots = calloc(c->workers_max + 1, sizeof(*c->slots));
        if (!c->slots)
                return -ENOMEM;
        int r = board_create(c->workers_max, &c->board);
        if (r == 0)
                r = asked_create(&c->asked);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < c->workers_max; i++)
                slot_init(&c->slots[i], i, ROLE_WORKER, o->worker, c->board);
        slot_init(crew_console(c), c->workers_max, ROLE_CONSOLE, o->console, c->board);
        for (size_t i = 0; i < ARRAY_SIZE(c->facts.last_exit); i++)
                c->facts.last_exit[i] = -1;
        for (unsigned i = 0; i < c->wanted; i++)
                slot_go(&c->slots[i], SLOT_WAITING);
        slot_go(crew_console(c), SLOT_WAITING);
        for (unsigned i = 0; i <= c->workers_max; i++)
                c->slots[i].due.ns = 0;
        return 0;
}

void crew_done(struct crew *c)
{
        for (unsigned i = 0; c->slots && i <= c->workers_max; i++) {
                const int fds[] = { c->slots[i].pidfd, c->slots[i].channel, c->slots[i].tree };
                for (size_t f = 0; f < ARRAY_SIZE(fds); f++)
                        if (fds[f] >= 0)
                                (void) close(fds[f]);
        }
        free(c->slots);
        gones_done(&c->gones);
        board_free(c->board);
        c->asked = asked_free(c->asked);
        c->slots = NULL;
        c->board = NULL;
}

/* Unsettled deaths keep their places, but must not keep the next worker from being born to settle them. */
static int place_take(struct crew *c, const struct slot *s)
{
        int place = board_take(c->board, s->role, s->index, c->facts.generation);

        if (place != -ENOSPC)
                return place;
        int old = gones_give_place(&c->gones);
        if (old < 0)
                return -ENOSPC;
        board_release(c->board, (unsigned) old);
        return board_take(c->board, s->role, s->index, c->facts.generation);
}

/* A child that is dead already has no start time to be read; it has done nothing either. */
static void identify_child(struct crew *c, struct slot *s, pid_t pid)
{
        if (process_identify(pid, &s->process) < 0) {
                s->process.pid = pid;
                (void) strcpy(s->process.start, "0-0000");
        }
        owner_text(c->ground->node, s->name, &s->process, s->owner);
        board_set_process(c->board, (unsigned) s->place, &s->process);
}

static int slot_bear(struct crew *c, struct slot *s)
{
        struct spawned born;

        int place = place_take(c, s);
        if (place < 0)
                return place;
        struct spawn_order order = {
                .kind = s->kind, .title = s->title, .log_fd = c->log_fd,
                .birth = {
                        .config = c->config, .board = c->board, .asked = c->asked,
                        .place = (unsigned) place, .slot = s->index, .generation = c->facts.generation, .node_lock = c->ground->node_lock,
                        .listener = s->role == ROLE_CONSOLE ? c->listener : -1,
                        .node = c->ground->node, .life = c->ground->life, .boot = c->ground->boot,
                        .start = &c->ground->start,
                },
        };
        memcpy(order.birth.slot_name, s->name, sizeof(s->name));
        int r = spawn(&order, &born);
        if (r < 0) {
                board_release(c->board, (unsigned) place);
                return r;
        }
        s->place = place;
        s->pidfd = born.pidfd;
        s->channel = born.channel;
        s->tree = born.tree;
        s->generation = c->facts.generation;
        s->born = clock_mono();
        s->said_ready = false;
        s->ready.ns = s->deaf.ns = 0;
        identify_child(c, s, born.pid);
        slot_go(s, SLOT_STARTING);
        return 0;
}

static void slot_birth(struct crew *c, struct slot *s, struct mono now)
{
        int r = slot_bear(c, s);

        if (r < 0) {
                (void) log_error(r, "%s cannot be started; tried again", s->title);
                s->recent_deaths++;
                s->due = mono_plus_ms(now, restart_backoff_ms(s->recent_deaths, (unsigned) random() % JITTER_SCALE));
                return;
        }
        triglog_born(c->roster, s->role == ROLE_CONSOLE ? "console" : "worker", s->name, s->process.pid,
                     s->process.start);
        log_debug("%s: born as pid %d", s->title, (int) s->process.pid);
}

void crew_kill(struct slot *s, int signal)
{
        if (pidfd_send_signal(s->pidfd, signal, NULL, 0) < 0 && errno != ESRCH)
                (void) log_error(-errno, "%s: signal %d to pid %d", s->title, signal, (int) s->process.pid);
}

/* Of all workers: they wait for each other at the ledger, so that one slow step holds all of them up. */
static struct mono newest_set_up(const struct crew *c)
{
        struct mono newest = { 0 };
        struct place_view v;

        for (unsigned i = 0; i < c->workers_max; i++)
                if (c->slots[i].place >= 0 && board_read(c->board, (unsigned) c->slots[i].place, &v) == 0 &&
                    v.set_up.ns > newest.ns)
                        newest = v.set_up;
        return newest;
}

static enum hang slot_hang(const struct crew *c, const struct slot *s, struct mono now, struct mono *ret_due)
{
        struct place_view v;
        struct life_signs signs = {
                .said_ready = s->said_ready, .born = s->born, .ready = s->ready, .deaf = s->deaf,
                .counted_from = c->counted_from,
        };

        if (board_read(c->board, (unsigned) s->place, &v) == 0)
                signs.beat = v.beat;
        if (!s->said_ready)
                signs.set_up = newest_set_up(c);
        return hang_verdict(&signs, now, c->config->boot_timeout_ms, c->config->hang_timeout_ms, ret_due);
}

static void slot_end_hung(struct crew *c, struct slot *s, enum hang hang, struct mono now)
{
        static const char *const what[] = { "", "is not ready in time", "does not beat", "has closed its channel" };
        _cleanup_(buf_done) struct buf evidence = BUF_EMPTY;
        const char *text;

        evidence_gather(s, &evidence);
        text = buf_string(&evidence);
        (void) log_error(0, "%s (pid %d) %s and is ended: %s", s->title, (int) s->process.pid, what[hang],
                         text && *text ? text : "/proc tells nothing of it");
        c->facts.hangs++;
        crew_kill(s, SIGABRT);
        slot_go(s, SLOT_DYING);
        s->due = mono_plus_ms(now, ABORT_MS);
}

static void slot_due(struct crew *c, struct slot *s, struct mono now)
{
        struct mono due;

        if (s->state == SLOT_WAITING) {
                if (now.ns >= s->due.ns)
                        slot_birth(c, s, now);
        } else if (s->state == SLOT_DYING) {
                if (now.ns < s->due.ns)
                        return;
                crew_kill(s, SIGKILL);
                s->due = NEVER;
        } else if (slot_lives(s)) {
                enum hang hang = slot_hang(c, s, now, &due);
                if (hang != HANG_NONE)
                        slot_end_hung(c, s, hang, now);
        }
}

void crew_due(struct crew *c, struct mono now)
{
        for (unsigned i = 0; i <= c->workers_max; i++)
                slot_due(c, &c->slots[i], now);
        if (triglog_flush(c->roster) < 0) {
                if (!c->roster_broken)
                        (void) log_error(triglog_state(c->roster), "the roster cannot be written");
                c->roster_broken = true;
        } else {
                if (c->roster_broken)
                        log_info("the roster is written again");
                c->roster_broken = false;
        }
}

static struct mono sooner(struct mono a, struct mono b)
{
        return a.ns < b.ns ? a : b;
}

struct mono crew_next(const struct crew *c, struct mono now)
{
        struct mono next = mono_plus_ms(now, LOOK_MS);

        for (unsigned i = 0; i <= c->workers_max; i++) {
                const struct slot *s = &c->slots[i];
                struct mono due;
                if (s->state == SLOT_WAITING || s->state == SLOT_DYING)
                        next = sooner(next, s->due);
                else if (slot_lives(s) && slot_hang(c, s, now, &due) == HANG_NONE)
                        next = sooner(next, due);
        }
        return c->leader >= 0 ? sooner(next, gones_due(&c->gones)) : next;
}

void crew_want(struct crew *c, unsigned workers)
{
        assert(workers >= 1 && workers <= c->workers_max);
        c->wanted = workers;
        for (unsigned i = 0; i < c->workers_max; i++) {
                struct slot *s = &c->slots[i];
                if (i < workers && s->state == SLOT_EMPTY) {
                        slot_go(s, SLOT_WAITING);
                        s->due.ns = 0;
                        s->recent_deaths = 0;
                } else if (i >= workers && (s->state == SLOT_WAITING || s->state == SLOT_REFUSED)) {
                        slot_go(s, SLOT_EMPTY);
                } else if (i >= workers && (s->state == SLOT_STARTING || s->state == SLOT_READY)) {
                        (void) crew_tell(s, MESSAGE_DRAIN, -1);
                        slot_go(s, SLOT_DRAINING);
                }
        }
        crew_elect(c);
}

void crew_end(struct crew *c)
{
        c->ending = true;
        /* Workers read it when they are told to end: it is their node that ends. */
        c->facts.draining = true;
        board_set_master(c->board, &c->facts);
        for (unsigned i = 0; i <= c->workers_max; i++)
                if (c->slots[i].state == SLOT_WAITING || c->slots[i].state == SLOT_REFUSED)
                        slot_go(&c->slots[i], SLOT_EMPTY);
}

bool crew_lives(const struct crew *c)
{
        for (unsigned i = 0; i < c->workers_max; i++)
                if (slot_lives(&c->slots[i]))
                        return true;
        return false;
}

bool crew_all_ready(const struct crew *c)
{
        for (unsigned i = 0; i < c->wanted; i++)
                if (c->slots[i].state != SLOT_READY)
                        return false;
        return c->slots[c->workers_max].state == SLOT_READY;
}

bool crew_all_refused(const struct crew *c)
{
        for (unsigned i = 0; i < c->wanted; i++)
                if (c->slots[i].state != SLOT_REFUSED)
                        return false;
        return true;
}

bool crew_is_degraded(const struct crew *c)
{
        for (unsigned i = 0; i < c->wanted; i++)
                if (!slot_in_crash_loop(&c->slots[i]))
                        return false;
        return true;
}

bool crew_is_fresh(const struct crew *c, struct mono now)
{
        struct mono due;

        for (unsigned i = 0; i <= c->workers_max; i++) {
                const struct slot *s = &c->slots[i];
                if (s->state == SLOT_DYING || (slot_lives(s) && slot_hang(c, s, now, &due) != HANG_NONE))
                        return false;
        }
        return true;
}
