/* Messages to and from children, and who leads. A child is trusted in nothing: a message must name its own slot
 * and generation, and say something that fits its state. */
#include "supervisor/crew.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/elect.h"

/* One turn reads so many messages of a child: a chatty one must not keep the master from reaping. */
#define MESSAGES_A_TURN 32

int crew_tell(struct slot *s, enum message_type type, int fd)
{
        struct message m = { .type = type, .slot = s->index, .generation = s->generation };

        if (s->channel < 0)
                return -EPIPE;
        int r = channel_send(s->channel, &m, fd);
        if (r < 0 && r != -EPIPE)   /* EPIPE: it is ending; its death tells the rest */
                (void) log_warning(r, "%s: message %d was not taken", s->title, (int) type);
        return r;
}

static void on_ready(struct slot *s)
{
        if (s->state == SLOT_STARTING) {
                s->said_ready = true;
                s->ready = clock_mono();
                slot_go(s, SLOT_READY);
                log_info("%s is ready (pid %d)", s->title, (int) s->process.pid);
        } else if (s->state == SLOT_DRAINING || s->state == SLOT_STOPPING) {
                s->said_ready = true;   /* it crossed with our message */
                s->ready = clock_mono();
        }
}

static void on_gone_done(struct crew *c, const struct slot *s, const struct message *m)
{
        int place;

        if (c->leader < 0 || s != &c->slots[c->leader])
                return;
        if (gones_answered(&c->gones, m->owner, m->trees_gone, &place) && place >= 0)
                board_release(c->board, (unsigned) place);
}

/* A call of an earlier leader that reached the ledger late raises the term above that of the one that leads. It
 * is told to lead again; a deposed worker that is not the leader has only learnt what is so. */
static void on_deposed(struct crew *c, struct slot *s, uint64_t term)
{
        if (c->leader < 0 || s != &c->slots[c->leader])
                return;
        log_info("%s is to lead again: term %" PRIu64 " is not its own", s->title, term);
        (void) crew_tell(s, MESSAGE_LEAD, -1);
}

static void on_message(struct crew *c, struct slot *s, const struct message *m)
{
        if (m->slot != s->index || m->generation != s->generation) {
                (void) log_warning(0, "%s: a message of slot %u, generation %u is not its own", s->title, m->slot,
                                   m->generation);
                return;
        }
        switch (m->type) {
        case MESSAGE_READY:
                on_ready(s);
                break;
        case MESSAGE_GONE_DONE:
                on_gone_done(c, s, m);
                break;
        case MESSAGE_DRAINED:
                log_debug("%s has drained", s->title);
                break;
        case MESSAGE_LED:
                log_info("%s leads, term %" PRIu64, s->title, m->value);
                break;
        case MESSAGE_DEPOSED:
                on_deposed(c, s, m->value);
                break;
        case MESSAGE_VERB:
                if (s->role == ROLE_CONSOLE && m->value > VERB_NONE && m->value < VERB_COUNT_)
                        c->on_verb(c->arg, (enum verb) m->value);
                else
                        (void) log_warning(0, "%s: verb %" PRIu64 " is not for it to ask", s->title, m->value);
                break;
        default:
                (void) log_warning(0, "%s: message %u is not for the master", s->title, m->type);
        }
}

/* 1: there may be more. */
static int read_one(struct crew *c, struct slot *s)
{
        struct message m;
        int fd = -1;

        if (s->channel < 0)
                return 0;
        int r = channel_receive(s->channel, &m, &fd);
        if (fd >= 0)   /* nobody sends the master descriptors */
                (void) close(fd);
        if (r == 1) {
                on_message(c, s, &m);
                return 1;
        }
        if (r == -EPROTO) {
                (void) log_warning(0, "%s: a malformed message", s->title);
                return 1;
        }
        if (r < 0) {
                (void) close(s->channel);
                s->channel = -1;
                s->deaf = clock_mono();
        }
        return 0;
}

void crew_read(struct crew *c, struct slot *s)
{
        int i = 0;

        while (i++ < MESSAGES_A_TURN && read_one(c, s) == 1) {
        }
}

/* Bounded by the socket's buffer, since nobody writes any more; the count is for a copy of the channel that
 * somebody else might hold. */
void crew_read_last(struct crew *c, struct slot *s)
{
        int i = 0;

        while (i++ < 64 * MESSAGES_A_TURN && read_one(c, s) == 1) {
        }
}

void crew_elect(struct crew *c)
{
        if (c->ending) {   /* all end alike: the one that leads settles deaths until it has ended */
                if (c->leader >= 0 && !slot_lives(&c->slots[c->leader]))
                        c->leader = -1;
                return;
        }
        int chosen = elect(c->slots, c->workers_max, c->leader);
        if (chosen == c->leader)
                return;
        if (c->leader >= 0 && c->slots[c->leader].place >= 0)
                board_set_timer_worker(c->board, (unsigned) c->slots[c->leader].place, false);
        c->leader = -1;
        if (chosen < 0)
                return;
        struct slot *s = &c->slots[chosen];
        if (crew_tell(s, MESSAGE_LEAD, -1) < 0)
                return;   /* tried again next turn */
        c->leader = chosen;
        board_set_timer_worker(c->board, (unsigned) s->place, true);
        gones_repeat(&c->gones);
        log_info("%s is the timer worker", s->title);
}

void crew_report_gone(struct crew *c, struct mono now)
{
        struct gone *g;

        if (c->leader < 0)
                return;
        struct slot *s = &c->slots[c->leader];
        while ((g = gones_next(&c->gones, now))) {
                struct message m = {
                        .type = MESSAGE_GONE, .slot = s->index, .generation = s->generation,
                        .trees_gone = g->tree < 0,
                };
                (void) snprintf(m.owner, sizeof(m.owner), "%s", g->owner);
                if (s->channel < 0 || channel_send(s->channel, &m, -1) < 0)
                        return;
                g->asked = now;
        }
}
