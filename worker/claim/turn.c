/* Waits of those whose turn it is not. Each look costs a read of shared memory. */
#include "worker/claim/turn.h"

#include "common/fault.h"
#include "common/scoreboard/asked.h"
#include "worker/claim/ask.h"
#include "worker/unit.h"

/* How long a sibling is waited for: within it a server nearby has answered; with one far away more than one ask, which
 * costs requests alone. Long waits would cost more: what starts that late is still running when the next is due. */
#define PATIENCE_MIN_MS   5
#define PATIENCE_MAX_MS   50
#define PATIENCE_PARTS    8      /* of the grace */

static int64_t patience_ms(const struct claim *c)
{
        int64_t ms = c->grace_ms / PATIENCE_PARTS;

        if (ms < PATIENCE_MIN_MS)
                return PATIENCE_MIN_MS;
        return ms > PATIENCE_MAX_MS ? PATIENCE_MAX_MS : ms;
}

/* What waits in a queue, and a gap alone, are no instant that siblings would name alike. */
static struct asked *word_of(const struct claimer *cr, const struct claim *c)
{
        char unit[UNIT_TEXT];

        if (!cr->options->asked || c->take || instant_is_none(c->planned))
                return NULL;
        unit_text(c->unit->of->scope_key, c->unit->of->task->name, c->unit->shard, unit);
        return asked_find(cr->options->asked, unit);
}

static void look(struct claim *c)
{
        turn_ask(c->unit->of->claimer, c);
}

void turn_ask(struct claimer *cr, struct claim *c)
{
        struct asked *a = word_of(cr, c);
        enum asked_answer answer = a ? asked_try(a, c->planned, clock_mono(), patience_ms(c)) : ASKED_YOURS;

        switch (answer) {
        case ASKED_YOURS:
                c->asked = a;
                fault_point("turn-taken");
                ask_ledger(cr, c);
                return;
        case ASKED_BY_OTHER:
                ask_lost_local(c);
                ask_wait(cr, c, ask_rank_ms(cr), look);
                return;
        case ASKED_DECIDED:
                ask_wait(cr, c, 0, ask_end_done);
                return;
        }
}

void turn_answered(struct claim *c)
{
        enum outcome out = c->answer.outcome;
        struct asked *a = c->asked;

        c->asked = NULL;
        if (!a)
                return;
        if (out == OUTCOME_GRANTED || out == OUTCOME_DECIDED || out == OUTCOME_QUEUED || out == OUTCOME_DONE)
                asked_decided(a, c->planned);
        else
                asked_undecided(a, c->planned);
}
