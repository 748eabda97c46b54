/* Claims by path: the right implementation, and the little that is the same for all. */
#include "worker/claim/claim.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "worker/unit.h"

const struct claim_kind *claim_kind(enum path path)
{
        switch (path) {
        case PATH_DEDICATED: return &claim_dedicated;
        case PATH_FLOCK:     return &claim_flock;
        case PATH_REDIS:     return &claim_redis;
        default:             return &claim_none;
        }
}

void claim_ask(struct claimer *cr, struct claim *c)
{
        c->lock_fd = -1;
        c->answer.cursor = INSTANT_NONE;
        cr->kind->ask(cr, c);
}

void claim_hurry(struct claimer *cr, struct claim *c, bool give_up)
{
        c->hurried = true;
        c->given_up = c->given_up || give_up;
        cr->kind->hurry(cr, c);
}

void claim_release(struct claimer *cr, struct claim *c)
{
        if (cr->kind->release)
                cr->kind->release(cr, c);
}

void claim_took(struct claim *c, struct take_out *took)
{
        c->answer = took->claim;
        took->claim.ended = NULL;
        took->claim.ended_count = 0;
        if (c->answer.outcome != OUTCOME_GRANTED && c->answer.outcome != OUTCOME_DECIDED)
                return;
        c->planned = took->planned;
        (void) snprintf(c->occ, sizeof(c->occ), "%s", took->occ);
}

void claim_hand_over(struct claimer *cr, struct claim *from, struct claim *to)
{
        to->lock_fd = -1;
        if (cr->kind->hand_over)
                cr->kind->hand_over(cr, from, to);
}

bool claim_is_held(const struct claim *c)
{
        if (c->unit->of->claimer->kind->path != PATH_REDIS)
                return true;
        return c->lease && clock_mono().ns < c->answer.valid_until.ns;
}

void claim_answer_free(struct claim *c)
{
        free(c->answer.ended);
        c->answer.ended = NULL;
        c->answer.ended_count = 0;
}
