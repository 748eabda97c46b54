/* Deaths. A known child is reaped by its own descriptor, so that nobody's exit status is stolen; what else ends
 * under us (we are PID 1 of a container, or the reaper of orphans) is reaped and touches no policy. */
#include "supervisor/crew.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/exits.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "supervisor/restart.h"

#define STRANGERS_A_TURN 64

/* siginfo of waitid in the form of waitpid, which restart.h and the scoreboard use. */
static int status_of(const siginfo_t *i)
{
        if (i->si_code == CLD_EXITED)
                return W_EXITCODE(i->si_status, 0);
        return W_EXITCODE(0, i->si_status) | (i->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

static void death_log(const struct slot *s, int status, int64_t age_ms, bool expected)
{
        char how[64];

        if (WIFEXITED(status))
                (void) snprintf(how, sizeof(how), "exit code %d", WEXITSTATUS(status));
        else
                (void) snprintf(how, sizeof(how), "signal %d (%s)", WTERMSIG(status),
                                sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
        if (death_was_crash(status) || !expected)
                (void) log_warning(0, "%s (pid %d) ended after %lld ms: %s", s->title, (int) s->process.pid,
                                   (long long) age_ms, how);
        else
                log_info("%s (pid %d) has ended", s->title, (int) s->process.pid);
}

/* True when the tree pipe has no writer left: the worker and all its keepers are gone. */
static bool tree_at_end(int tree)
{
        struct pollfd p = { .fd = tree, .events = POLLIN };

        return tree < 0 || (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP));
}

/* The death is to be settled in the ledger, and the place kept until it is. A console owns nothing there; a worker
 * may own something before it is ready: what a changed definition gave up. */
static void settle_begin(struct crew *c, struct slot *s)
{
        int place = s->place, tree = s->tree;

        s->place = s->tree = -1;
        if (tree_at_end(tree)) {
                if (tree >= 0)
                        (void) close(tree);
                tree = -1;
        }
        if (s->role == ROLE_WORKER) {
                int r = gones_add(&c->gones, s->owner, place, tree);
                if (r == 0)
                        return;
                (void) log_error(r, "%s: its end cannot be kept for the ledger; the next start settles it", s->title);
        } else if (tree >= 0) {
                (void) close(tree);
        }
        board_release(c->board, (unsigned) place);
}

/* `by_itself`: not ended by us, who counted why. */
static void bury(struct crew *c, struct slot *s, int status, bool by_itself)
{
        triglog_gone(c->roster, s->name, s->process.pid, s->process.start, s->said_ready,
                     WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        (void) triglog_flush(c->roster);
        if (s->index < ARRAY_SIZE(c->facts.last_exit) && s->role == ROLE_WORKER)
                c->facts.last_exit[s->index] = status;
        if (by_itself && death_was_crash(status))
                c->facts.crashes++;
        if (c->ending && s->role == ROLE_WORKER && (WIFSIGNALED(status) || WEXITSTATUS(status) == EXIT_KILLED))
                c->killed++;
        if (s->channel >= 0)
                (void) close(s->channel);
        (void) close(s->pidfd);
        s->pidfd = s->channel = -1;
        settle_begin(c, s);
}

/* What becomes of the slot: nobody, another one now or later, or nobody ever. */
static void succeed(struct crew *c, struct slot *s, int status, int64_t age_ms, struct mono now)
{
        struct death d = {
                .status = status, .said_ready = s->said_ready, .age_ms = age_ms, .recent = s->recent_deaths,
        };
        bool wanted = !c->ending && (s->role == ROLE_CONSOLE || s->index < c->wanted);

        if (!wanted) {
                slot_go(s, SLOT_EMPTY);
                return;
        }
        struct verdict v = restart_verdict(&d, (unsigned) random() % JITTER_SCALE);
        s->recent_deaths = v.recent;
        if (v.restart == RESTART_NEVER) {
                (void) log_error(0, "%s cannot work as things are (exit code %d, see its message) and is not started "
                                    "again", s->title, EXIT_CONFIGURATION);
                slot_go(s, SLOT_REFUSED);
                return;
        }
        slot_go(s, SLOT_WAITING);
        s->due = mono_plus_ms(now, v.after_ms);
        c->facts.restarts++;
        if (v.after_ms)
                log_info("%s is started again in %lld ms", s->title, (long long) v.after_ms);
}

bool crew_reap(struct crew *c, struct slot *s)
{
        siginfo_t info = { 0 };

        if (!slot_lives(s) || waitid(P_PIDFD, (id_t) s->pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
                return false;
        crew_read_last(c, s);   /* READY and the death may arrive in one turn */
        struct mono now = clock_mono();
        int status = status_of(&info);
        int64_t age_ms = mono_since_ms(s->born, now);
        bool expected = c->ending || s->state == SLOT_DRAINING, by_itself = s->state != SLOT_DYING;

        succeed(c, s, status, age_ms, now);
        crew_elect(c);          /* before anything that takes time: a 10 ms task is waiting */
        bury(c, s, status, by_itself);
        crew_report_gone(c, now);
        death_log(s, status, age_ms, expected);
        return true;
}

static struct slot *slot_of(struct crew *c, pid_t pid)
{
        for (unsigned i = 0; i <= c->workers_max; i++)
                if (slot_lives(&c->slots[i]) && c->slots[i].process.pid == pid)
                        return &c->slots[i];
        return NULL;
}

bool crew_sweep(struct crew *c)
{
        for (int i = 0; i < STRANGERS_A_TURN; i++) {
                siginfo_t info = { 0 };
                if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
                        return false;
                struct slot *s = slot_of(c, info.si_pid);
                if (s) {
                        (void) crew_reap(c, s);
                        continue;
                }
                (void) waitid(P_PID, (id_t) info.si_pid, &info, WEXITED | WNOHANG);
                c->facts.strangers++;
                log_debug("reaped pid %d, no child of ours", (int) info.si_pid);
        }
        return true;
}
