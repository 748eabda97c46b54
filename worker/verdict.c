/* What the answer to a claim means: a line in the log, a cursor for the unit, and its next look. One
 * function an outcome; each ends with the occurrence run, asked for anew, or closed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/scoreboard/scoreboard.h"
#include "ledger/rules.h"
#include "worker/ended.h"
#include "worker/occurrence.h"
#include "worker/shortfall.h"

/* A cursor that moves under us again and again is moved by siblings who are ahead: they are let go first. */
#define MOVED_MAX     4
#define MOVED_WAIT_MS 10

#define HALTED_RETRY_MS 5000
#define SAID_AGAIN_MS   60000
#define EARLY_MIN_MS    1
#define EARLY_FIRST_MS  1000
#define EARLY_MAX_MS    30000

/* A claim that the ledger did not answer for so long held up its unit. */
#define HELD_MIN_MS     200

/* Also a take that was not granted: of no instant in particular. */
static bool is_of_no_instant(const struct occurrence *o)
{
        return instant_is_none(o->claim.planned);
}

static struct instant in_ms(int64_t ms)
{
        return (struct instant) { stamp_instant(clock_wall()).ms + ms };
}

/* An instant that stays undecided is tried many times; DOWN is said once for each. */
static bool is_worth_a_line(struct occurrence *o)
{
        enum outcome out = o->claim.answer.outcome;

        if (is_of_no_instant(o) || out == OUTCOME_UNREGISTERED)
                return false;
        if (o->claim.was_lost_local && (out == OUTCOME_DONE || out == OUTCOME_LOST_LOCAL))
                return false;   /* lost_local was this process's attempt; it is in the log */
        if (out != OUTCOME_DOWN && out != OUTCOME_HALTED && out != OUTCOME_BUSY)
                return true;
        if (o->unit->said_down.ms == o->claim.planned.ms)
                return false;
        o->unit->said_down = o->claim.planned;
        return true;
}

static enum cause attempt_cause(const struct claim_out *a)
{
        if (a->outcome == OUTCOME_DECIDED)
                return a->cause;
        return a->outcome == OUTCOME_DOWN ? CAUSE_LEDGER_DOWN : CAUSE_NONE;
}

/* Under `none` each worker gives up its own, and after a pause of all each the same: people hear it from one of them. */
static bool is_for_people(const struct occurrence *o)
{
        return o->unit->of->task->singleton != PATH_NONE || o->spine->o.claims->term;
}

static void log_range(struct occurrence *o, const struct instant_range *range, enum state state, enum cause cause)
{
        struct job *j = o->unit->of;
        struct line_subject subject = occurrence_subject(o);

        triglog_range(o->spine->o.log, subject.task, subject.scope_key, subject.shard, range->first, range->last,
                      range->count, state, cause);
        row_decided(j->row, state, range->count);
        if (is_for_people(o))
                shortfall_range(o->spine->o.shortfalls, subject.task, range, state, cause);
}

static void log_answer(struct occurrence *o)
{
        struct triglog *log = o->spine->o.log;
        struct shortfalls *people = o->spine->o.shortfalls;
        struct job *j = o->unit->of;
        const struct claim *c = &o->claim;
        struct line_subject subject = occurrence_subject(o);

        if (is_worth_a_line(o)) {
                triglog_attempt(log, &subject, j->task->singleton, c->answer.outcome, c->answer.fence, c->token,
                                o->late_us, attempt_cause(&c->answer), c->answer.store_time);
                row_attempt(j->row, c->answer.outcome);
        }
        ended_log(log, o->spine->o.place, people, c->answer.ended, c->answer.ended_count);
        if (c->answer.gap_written && c->gap.count > 0)
                log_range(o, &c->gap, rules_gap_state(c->gap_cause), c->gap_cause);
        if (c->answer.outcome == OUTCOME_DECIDED && !is_of_no_instant(o))
                log_range(o, &(struct instant_range) { c->planned, c->planned, 1 }, c->answer.state, c->answer.cause);
}

/* Closes the occurrence, and looks at the unit again at its next planned instant. */
static void close_and_plan(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;

        occurrence_go(o, OCCURRENCE_CLOSED);
        spine_plan(s, u);
}

static void close_and_wake(struct occurrence *o, struct instant wake)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;

        occurrence_go(o, OCCURRENCE_CLOSED);
        spine_wake(s, u, wake);
}

/* All that ends with the instant being decided, by this call or by another. */
static void on_decided(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        const struct claim_out *a = &o->claim.answer;
        bool is_behind_nobody = a->outcome == OUTCOME_QUEUED && !a->holder_occ[0];

        unit_advance(u, is_of_no_instant(o) ? o->claim.gap.last : o->claim.planned);
        unit_advance(u, a->cursor);
        u->moved = 0;
        close_and_plan(o);
        /* What waits may be all that there is: its process died, or the run ended just now. */
        if (is_behind_nobody)
                spine_take(s, u);
}

static void on_granted(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;

        unit_advance(u, o->claim.planned);
        u->moved = 0;
        fault_point("granted");
        occurrence_go(o, OCCURRENCE_GRANTED);
        /* Planned before it is run: a run may end, and free the occurrence, at once. */
        spine_plan(s, u);
        occurrence_run(o);
}

/* The cursor is elsewhere: what lies between is decided anew, from there. */
static void on_moved(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;

        if (o->claim.answer.cursor.ms < u->cursor.ms)
                (void) log_warning(0, "task %s: the ledger's cursor went back by %lld ms", u->of->task->name,
                                   (long long) (u->cursor.ms - o->claim.answer.cursor.ms));
        u->cursor = o->claim.answer.cursor;
        u->backoff_ms = 0;
        occurrence_go(o, OCCURRENCE_CLOSED);
        if (s->phase != SPINE_WORKING || u->moved >= MOVED_MAX) {
                u->moved = 0;
                spine_wake(s, u, in_ms(MOVED_WAIT_MS));
                return;
        }
        u->moved++;
        spine_ask(s, u, clock_wall());
}

/* The store's clock is behind: the instant has not come yet. If by much, it may be set right at any time. */
static void on_early(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        struct stamp store = o->claim.answer.store_time;
        struct instant newest = is_of_no_instant(o) ? o->claim.gap.last : o->claim.planned;
        int64_t ahead_ms = store.ns ? (instant_stamp(newest).ns - store.ns) / NS_PER_MS + 1 : EARLY_MIN_MS;

        if (!s->said_early)
                (void) log_warning(0, "task %s: due here, but %lld ms early by the ledger's clock; nothing starts "
                                   "before its time there", u->of->task->name, (long long) ahead_ms);
        s->said_early = true;
        if (ahead_ms < EARLY_MIN_MS)
                ahead_ms = EARLY_MIN_MS;
        u->early_ms = u->early_ms ? u->early_ms * 2 : EARLY_FIRST_MS;
        if (u->early_ms > EARLY_MAX_MS)
                u->early_ms = EARLY_MAX_MS;
        close_and_wake(o, in_ms(ahead_ms < u->early_ms ? ahead_ms : u->early_ms));
}

/* Trouble: tried again while grace lasts, with more and more time between; then it is the misfire rule's, which
 * gives the gap this cause. */
static void on_trouble(struct occurrence *o, enum cause cause)
{
        struct unit *u = o->unit;

        if (cause == CAUSE_LEDGER_DOWN)
                place_add(o->spine->o.place, COUNT_STORAGE_FAILURES, 1);
        unit_advance(u, o->claim.answer.cursor);
        u->trouble = cause;
        close_and_wake(o, in_ms(unit_back_off(u)));
}

static void on_defined(struct ledger_call *call)
{
        struct occurrence *o = call->arg;
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        struct job *j = u->of;
        struct define_out out = call->out.define;
        int error = call->error;

        o->call_in_flight = false;
        told_log(s->o.log, s->o.shortfalls, out.told, out.told_count);
        ledger_call_done(call);
        if (error < 0) {
                on_trouble(o, CAUSE_LEDGER_DOWN);
                return;
        }
        j->rev = out.rev;
        j->valid_from = out.valid_from;
        occurrence_go(o, OCCURRENCE_CLOSED);
        if (s->o.defined)
                s->o.defined(j, out.changed, s->o.arg);
        spine_plan(s, u);
}

/* No definition is in force, not even an older one: the store was emptied and begun anew by a person. */
static void on_undefined(struct occurrence *o)
{
        struct ledger_call *call = &o->call;

        *call = (struct ledger_call) { .op = LEDGER_DEFINE, .done = on_defined, .arg = o };
        job_definition(o->unit->of, o->spine->o.node, &call->in.define);
        o->call_in_flight = true;
        ledger_send(o->unit->of->ledger, call);
}

static bool leads_no_more(const struct occurrence *o)
{
        return o->unit->of->task->singleton == PATH_DEDICATED && o->claim.answer.term > o->spine->o.claims->term;
}

/* A newer leader, or a newer definition: this worker is not the one to ask. */
static void on_stale(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        struct job *j = u->of;
        uint64_t term = o->claim.answer.term, rev = o->claim.answer.rev;
        bool is_term = leads_no_more(o);

        if (!is_term && rev == 0) {
                on_undefined(o);
                return;
        }
        occurrence_go(o, OCCURRENCE_CLOSED);
        if (is_term) {
                if (s->o.claims->term) {
                        s->o.claims->term = 0;
                        s->o.deposed(term, s->o.arg);
                }
                return;
        }
        if (!j->split)
                (void) log_warning(0, "config-split: task %s has a definition (revision %llu) that is not the one in "
                                   "force (%llu); it is left to those who have that one", j->task->name,
                                   (unsigned long long) j->rev, (unsigned long long) rev);
        j->split = true;
        spine_dismiss(s, u);
}

static void on_halted(struct occurrence *o)
{
        o->unit->trouble = CAUSE_LEDGER_DOWN;
        place_add(o->spine->o.place, COUNT_STORAGE_FAILURES, 1);
        (void) unit_back_off(o->unit);
        close_and_wake(o, in_ms(HALTED_RETRY_MS));
}

static void on_registered(struct ledger_call *call)
{
        struct occurrence *o = call->arg;
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        int error = call->error;
        struct instant cursor = call->out.reg.cursor;

        o->call_in_flight = false;
        ledger_call_done(call);
        if (error < 0) {
                on_trouble(o, CAUSE_LEDGER_DOWN);
                return;
        }
        u->cursor = cursor;
        occurrence_go(o, OCCURRENCE_CLOSED);
        spine_plan(s, u);
}

/* The ledger does not know the unit any more: it gets the cursor that is known here, and not a first one, so that what
 * nobody could decide since then gets its record. */
static void on_unregistered(struct occurrence *o)
{
        struct ledger_call *call = &o->call;

        *call = (struct ledger_call) { .op = LEDGER_REGISTER, .done = on_registered, .arg = o };
        call->in.reg.unit = unit_key(o->unit);
        call->in.reg.cursor = o->unit->cursor;
        o->call_in_flight = true;
        ledger_send(o->unit->of->ledger, call);
}

/* A connection that stands may still refuse every claim (out of memory, a lost unit): what claims are told counts
 * as much as what the link says, and a person hears of it once a minute. */
static void note_ledger(struct occurrence *o)
{
        struct spine *s = o->spine;
        const struct job *j = o->unit->of;
        enum outcome out = o->claim.answer.outcome;
        bool is_trouble = out == OUTCOME_DOWN || out == OUTCOME_HALTED;
        enum place_trouble kind = j->task->singleton == PATH_REDIS ? TROUBLE_GROUP : TROUBLE_LEDGER;
        struct mono now = clock_mono();
        bool is_said = place_has_trouble(s->o.place, kind) && !(s->troubles & kind);   /* by the link itself */

        if (!j->ledger || (!is_trouble && !(s->troubles & kind)))
                return;
        s->troubles = is_trouble ? s->troubles | kind : s->troubles & ~(unsigned) kind;
        place_set_trouble(s->o.place, kind, is_trouble);
        if (!is_trouble || (s->said_trouble.ns && mono_since_ms(s->said_trouble, now) < SAID_AGAIN_MS))
                return;
        s->said_trouble = now;
        if (is_said)
                return;
        (void) log_warning(0, "task %s: not claimed, the ledger is %s: %s", j->task->name,
                           out == OUTCOME_DOWN ? "down" : "halted", o->claim.why);
}

static void on_taken(struct occurrence *o)
{
        fault_point("granted");
        occurrence_go(o, OCCURRENCE_GRANTED);
        occurrence_run(o);
}

/* What was asked of a queue: not granted, it waits on, and is asked for again by who looks after queues. The unit's
 * next planned instant is claimed beside it, and not touched here. */
static void judge_take(struct occurrence *o)
{
        struct spine *s = o->spine;
        struct unit *u = o->unit;
        enum outcome out = o->claim.answer.outcome;

        if (out == OUTCOME_GRANTED) {
                on_taken(o);
                return;
        }
        if (out == OUTCOME_STALE && (o->claim.answer.rev != 0 || leads_no_more(o))) {
                on_stale(o);
                return;
        }
        if (out == OUTCOME_DOWN || out == OUTCOME_HALTED)
                place_add(s->o.place, COUNT_STORAGE_FAILURES, 1);
        occurrence_go(o, OCCURRENCE_CLOSED);
        if (out == OUTCOME_DECIDED)
                spine_take(s, u);   /* that one was written off; others may wait behind it */
}

/* What is due while a claim of its unit waits for the ledger cannot be asked for. When this process, or a sibling with
 * the run lock, stood still meanwhile, the ledger is not to blame. */
static void note_held(struct occurrence *o)
{
        struct unit *u = o->unit;
        struct mono now = clock_mono();

        if (!u->of->ledger || !o->asked.ns || o->claim.was_lost_local || mono_since_ms(o->asked, now) < HELD_MIN_MS)
                return;
        if (!spine_stood_still(o->spine, o->asked, now))
                u->held = in_ms(0);
}

void occurrence_judge(struct occurrence *o)
{
        note_held(o);
        if (o->claim.take && !is_of_no_instant(o))
                o->late_us = (clock_wall().ns - instant_stamp(o->claim.planned).ns) / NS_PER_US;
        log_answer(o);
        note_ledger(o);
        if (o->claim.take) {
                judge_take(o);
                return;
        }
        switch (o->claim.answer.outcome) {
        case OUTCOME_GRANTED:      on_granted(o); return;
        case OUTCOME_DONE:
        case OUTCOME_DECIDED:
        case OUTCOME_QUEUED:       on_decided(o); return;
        case OUTCOME_MOVED:        on_moved(o); return;
        case OUTCOME_EARLY:        on_early(o); return;
        case OUTCOME_STALE:        on_stale(o); return;
        case OUTCOME_BUSY:
        case OUTCOME_NOT_OWNER:
        case OUTCOME_LOST_LOCAL:   on_trouble(o, CAUSE_LATE); return;
        case OUTCOME_DOWN:         on_trouble(o, CAUSE_LEDGER_DOWN); return;
        case OUTCOME_HALTED:       on_halted(o); return;
        case OUTCOME_UNREGISTERED: on_unregistered(o); return;
        default:                   break;
        }
        (void) log_error(EPROTO, "task %s: answer to a claim", o->unit->of->task->name);
        on_trouble(o, CAUSE_LATE);
}
