/* What every ledger shares: the names of the operations and the end of a call. */
#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoreboard/scoreboard.h"

const char *const ledger_op_names[] = {
        [LEDGER_LEAD] = "lead",       [LEDGER_DEFINE] = "define", [LEDGER_REGISTER] = "register",
        [LEDGER_PEEK] = "peek",       [LEDGER_CLAIM] = "claim",   [LEDGER_REVOKE] = "revoke",
        [LEDGER_RENEW] = "renew",     [LEDGER_FINISH] = "finish", [LEDGER_INTERRUPT] = "interrupt",
        [LEDGER_SAID] = "said",       [LEDGER_HISTORY] = "history", [LEDGER_TAKE] = "take",
        [LEDGER_QUEUED] = "queued",   [LEDGER_BEAT] = "beat",     [LEDGER_NODES] = "nodes",
        [LEDGER_SET_MAIN] = "set_main", [LEDGER_SWEEP] = "sweep", [LEDGER_EFFECT] = "effect",
        [LEDGER_OP_COUNT_] = NULL,
};

void ledger_answer(struct ledger_call *c)
{
        struct board_place *p = c->ledger->place;

        if (p) {
                place_add(p, COUNT_LEDGER_CALLS, 1);
                place_add(p, COUNT_LEDGER_US, (uint64_t) ((clock_mono().ns - c->sent.ns) / NS_PER_US));
        }
        c->done(c);
}

void ledger_uncounted(const char *schedule, char *ret, size_t room)
{
        (void) snprintf(ret, room, "what the old schedule (%.80s) had until now is not counted: it cannot be read here",
                        *schedule ? schedule : "not known");
}

static void free_history(struct history_out *h)
{
        for (size_t i = 0; i < h->count; i++) {
                free(h->rows[i].text);
                free(h->rows[i].error);
        }
        free(h->rows);
        *h = (struct history_out) { 0 };
}

static void free_ended(struct ended_record **list, size_t *count)
{
        free(*list);
        *list = NULL;
        *count = 0;
}

static void free_told(struct told_range **list, size_t *count)
{
        free(*list);
        *list = NULL;
        *count = 0;
}

/* The system's own text for EUCLEAN, "Structure needs cleaning", is about file systems. */
const char *ledger_call_text(const struct ledger_call *c)
{
        if (c->why[0])
                return c->why;
        return c->error == -EUCLEAN ? "it is halted, since it is not what it was" : strerror(-c->error);
}

void ledger_call_done(struct ledger_call *c)
{
        switch (c->op) {
        case LEDGER_LEAD:
                free_ended(&c->out.lead.ended, &c->out.lead.ended_count);
                free_told(&c->out.lead.told, &c->out.lead.told_count);
                break;
        case LEDGER_CLAIM:
                free_ended(&c->out.claim.ended, &c->out.claim.ended_count);
                break;
        case LEDGER_DEFINE:
                free_told(&c->out.define.told, &c->out.define.told_count);
                break;
        case LEDGER_FINISH:
                free_ended(&c->out.finish.take.claim.ended, &c->out.finish.take.claim.ended_count);
                break;
        case LEDGER_TAKE:
                free_ended(&c->out.take.claim.ended, &c->out.take.claim.ended_count);
                break;
        case LEDGER_QUEUED:
                free(c->out.queued.units);
                c->out.queued = (struct queued_out) { 0 };
                break;
        case LEDGER_INTERRUPT:
                free_ended(&c->out.interrupt.ended, &c->out.interrupt.ended_count);
                free_told(&c->out.interrupt.told, &c->out.interrupt.told_count);
                break;
        case LEDGER_BEAT:
                free(c->out.beat.nodes);
                c->out.beat = (struct beat_out) { 0 };
                break;
        case LEDGER_NODES:
                free(c->out.nodes.nodes);
                c->out.nodes = (struct nodes_out) { 0 };
                break;
        case LEDGER_SWEEP:
                free_ended(&c->out.sweep.ended, &c->out.sweep.ended_count);
                free(c->out.sweep.expired);
                c->out.sweep = (struct sweep_out) { 0 };
                break;
        case LEDGER_EFFECT:
                free(c->out.effect.text);
                c->out.effect = (struct effect_out) { 0 };
                break;
        case LEDGER_HISTORY:
                free_history(&c->out.history);
                break;
        default:
                break;
        }
}
