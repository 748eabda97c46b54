/* The ledger's rules for one unit of one task, shared by the models: what ledger/rules.c decides inside one
 * transaction. An instant is a small number, the unit's schedule is 1, 2, .. M, and an occurrence is known by its
 * instant. A token is the number of a worker's life: no life asks for one occurrence under two tokens.
 * Switches named NO_... take one rule away; a model that then finds nothing wrong does not check that rule. */

mtype = { granted, done, decided, busy, stale, moved, unsure };         /* answers; 0: not decided yet */
mtype = { queued, running, succeeded, interrupted, skipped, missed };   /* states of a record; 0: no record */

byte now = 1;              /* the store's clock; instants up to it are due */
byte cursor;               /* newest decided instant */
byte slot;                 /* the occurrence in the unit's run slot, 0: free */
bit  ending;               /* its worker is dead, its task tree not proven gone */
byte term;                 /* of the newest leader */
typedef record { mtype state; byte token; }
record records[M + 1];

/* Not the ledger's: what has really happened, counted for the claims below. */
byte covered[M + 1];       /* decisions that cover the instant: I5 wants exactly one */
byte starts[M + 1];        /* I1: at most one */
byte ends[M + 1];          /* final records; at most one, whoever ends it */
byte effects;              /* task trees at work now; I2: at most one */

#define LATE(planned)   (now > (planned) + GRACE)

/* Fails when a situation is reached that the model must be able to reach: -DPROBE=NAME. Were it not, the claims
 * would hold for want of anything to happen. */
#ifndef PROBE
#define PROBE 0
#endif
#define REACHED(situation)      assert(PROBE != situation)
#define LOST            1
#define KILLED_ASKING   2
#define OVERLAP         3
#define TOO_LATE        4
#define REPLAY          5
#define REVOKED         6
#define CURSOR_MOVED    7
#define ENDING          8
#define BUSY            9
#define STALE           10
#define GAP             11
#define FENCED          12
#define FULL            13
#define SPENT_TOKEN     14
#define HANDED_ON       15
#define DIED            16

/* A record or a range record covers the instant. */
inline cover(instant)
{
        covered[instant]++;
        assert(covered[instant] == 1)                                   /* I5 */
}

inline cover_gap(after, before)
{
        gap = after + 1;
        do
        :: gap < before -> cover(gap); gap++; REACHED(GAP)
        :: else -> gap = 0; break
        od
}

inline move_cursor(to)
{
        assert((to) > cursor);                                          /* I4 */
        cursor = to
}

/* The rules of a claim in the order of rules.h; planned 0 is a gap alone, up to and with `upto`. */
inline claim_verdict(planned, upto, expect, token_, term_, out)
{
        out = 0;
        if
        :: planned && records[planned].state ->
                if
                :: records[planned].token != token_ -> out = done
#ifdef REPLAY_UNREAD
                :: records[planned].token == token_ -> out = granted; replay = 1
#else
                :: records[planned].token == token_ && records[planned].state == running && slot == planned ->
                        out = granted; replay = 1; REACHED(REPLAY)
                :: records[planned].token == token_ &&
                   (records[planned].state == skipped || records[planned].state == missed) ->
                        out = decided; replay = 1
#endif
                :: else -> out = done
                fi
#ifndef NO_CURSOR
        :: else
        fi;
        if
        :: !out && planned && planned <= cursor -> out = done
#endif
        :: else
        fi;
#ifndef NO_TERM
        if
        :: !out && term_ && term_ < term -> out = stale; REACHED(STALE)
        :: else
        fi;
#endif
#ifndef NO_EXPECT
        if
        :: !out && expect != cursor -> out = moved; REACHED(CURSOR_MOVED)
        :: else
        fi;
#endif
        if
        :: !out && !planned -> out = decided; as = missed
        :: !out && planned && !CATCH_UP && LATE(planned) -> out = decided; as = missed; REACHED(TOO_LATE)
        :: else
        fi;
        if
        :: !out && slot && ending -> out = busy; REACHED(BUSY)
        :: !out && slot && !ending -> out = decided; as = skipped; REACHED(OVERLAP)
        :: !out && !slot -> out = granted; as = running
        :: else
        fi
}

inline claim_write(planned, upto, expect, token_, out)
{
        if
        :: (out == granted || out == decided) && !replay ->
#ifndef NO_GAP
                if
                :: planned -> cover_gap(expect, planned)
                :: else -> cover_gap(expect, upto + 1)
                fi;
#endif
                if
                :: planned ->
                        cover(planned);
                        records[planned].state = as;
                        records[planned].token = token_;
                        move_cursor(planned)
                :: else -> move_cursor(upto)
                fi;
                if
                :: out == granted -> slot = planned
                :: else
                fi
        :: else
        fi;
        replay = 0;
        as = 0
}

/* One transaction. SPLIT_STEP: what was read may have changed when it is written. TOGETHER joins a transaction and
 * what its caller alone sees afterwards, which no other process can tell from one step. */
#ifdef SPLIT_STEP
#define TOGETHER
#else
#define TOGETHER atomic
#endif

inline ledger_claim(planned, upto, expect, token_, term_, out)
{
#ifdef SPLIT_STEP
        d_step { claim_verdict(planned, upto, expect, token_, term_, out) };
        d_step { claim_write(planned, upto, expect, token_, out) }
#else
        d_step {
                claim_verdict(planned, upto, expect, token_, term_, out);
                claim_write(planned, upto, expect, token_, out)
        }
#endif
}

/* The record becomes final, once and for good. */
inline end_record(occ, as_)
{
        records[occ].state = as_;
        ends[occ]++;
        assert(ends[occ] == 1)
}

/* The end of a run by the word of its owner. `out`: done: it stands recorded so; stale: it ended otherwise before. */
inline ledger_finish(occ, token_, as_, out)
{
        d_step {
                if
#ifdef NO_TOKEN
                :: records[occ].state == running ->
#else
                :: records[occ].state == running && records[occ].token == token_ ->
#endif
                        end_record(occ, as_);
                        if
                        :: slot == occ -> slot = 0
                        :: else
                        fi;
                        out = done
                :: else -> out = (records[occ].token == token_ && records[occ].state == as_ -> done : stale)
#ifdef FINISH_OVERWRITES
                        ; end_record(occ, as_)
#endif
                fi
#ifdef FINISH_FREES_UNIT
                ; slot = 0; ending = 0
#endif
        }
}

/* The owner is dead. Its record ends now; with a task tree that is not proven gone the slot stays, and the second
 * call frees it. */
inline ledger_interrupt(owner, tree, trees_gone)
{
        d_step {
                if
                :: slot && records[slot].token == owner ->
                        if
#ifdef INTERRUPT_OVERWRITES
                        :: true ->
#else
                        :: records[slot].state == running ->
#endif
                                end_record(slot, interrupted);
                                ending = 1
                        :: else
                        fi;
#ifdef SLOT_FREED_AT_DEATH
                        slot = 0; ending = 0
#else
                        if
                        :: trees_gone || !tree -> slot = 0; ending = 0
                        :: else -> REACHED(ENDING)
                        fi
#endif
                :: else
                fi
        }
}

/* Every claim step uses these for the time of the step. */
#define CLAIM_LOCALS    bit replay; mtype as; byte gap
