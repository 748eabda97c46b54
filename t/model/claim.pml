/* Claims with an expected cursor and a gap, each one transaction. Two workers look at a schedule of three instants
 * whenever they like, so that one may be at k + 1 before the other is at k; a reply may be lost, a worker killed.
 * Claimed: I1 one start at most; I4 the cursor only goes forward; I5 each instant is covered by exactly one record
 * or range; I6 a lost reply leads neither to a second start nor to a run that nobody starts. */
#ifndef M
#define M 3
#endif
#define GRACE 1
#ifndef CATCH_UP
#define CATCH_UP 0
#endif
#define LIMIT 2            /* of catch_up */
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef HISTORY
#define HISTORY 1      /* 0: records are forgotten as soon as they are final */
#endif
#include "ledger.pml"

byte losses, kills, lives = 2;

#define NEWEST  (now < M -> now : M)

/* The misfire rule: which instant is to be run, 0: none; what lies before it is given up. */
inline plan()
{
        d_step {
                upto = NEWEST;
#if CATCH_UP
                planned = (upto - belief > LIMIT -> upto - LIMIT + 1 : belief + 1)
#else
                planned = (LATE(upto) -> 0 : upto)
#endif
        }
}

/* One request: answered, or executed or not without an answer. */
inline ask()
{
        if
        :: ledger_claim(planned, upto, belief, token, 0, out)
        :: losses < LOSSES -> TOGETHER { losses++; ledger_claim(planned, upto, belief, token, 0, out); out = unsure }
        :: losses < LOSSES -> atomic { losses++; out = unsure }
        fi
}

/* A record that has become final. History may keep none: then only the cursor remembers. */
inline forget(instant)
{
        if
        :: !HISTORY && records[instant].state != running -> records[instant].state = 0; records[instant].token = 0
        :: else
        fi
}

/* Makes a token void. A record of ours was not started: it is given up. `out`: done: decided, by this or before;
 * 0: free for the others, or somebody else decides what lies in between. */
inline revoke()
{
        d_step {
                out = done;
                if
                :: records[planned].state == running && records[planned].token == token ->
                        end_record(planned, missed);
                        slot = 0;
                        REACHED(REVOKED)
                :: !records[planned].state && planned > cursor && LATE(planned) && belief == cursor ->
                        cover_gap(cursor, planned + 1);
                        records[planned].state = missed;
                        records[planned].token = token;
                        move_cursor(planned)
                :: !records[planned].state && planned > cursor && !(LATE(planned) && belief == cursor) ->
                        belief = cursor;
                        out = 0
                :: else                                                 /* decided before, by whomever */
                fi
        }
}

proctype Worker(byte token)
{
        byte belief, planned, upto;
        mtype out;
        CLAIM_LOCALS;

look:   if
        :: belief >= M -> goto end
        :: atomic { belief < NEWEST -> plan() }
        fi;
#ifdef GAP_APART
        /* What is given up is written ahead of the claim, in a step of its own. */
        d_step {
                if
                :: belief == cursor && planned -> cover_gap(belief, planned)
                :: else
                fi
        };
#endif
        TOGETHER {
                ask();
                if
                :: out == unsure -> goto again
                :: else -> goto answered
                fi
        };
        /* Until the outcome is known the token stays the same. A gap alone is asked for anew: it is MOVED if it
         * was done. */
again:  skip;
        TOGETHER {
#ifdef FRESH_TOKEN
                lives++; token = lives;
#endif
                if
                :: planned && LATE(planned) ->
#ifdef NO_REVOKE
                        belief = cursor; out = 0
#else
                        revoke();
                        /* Asked once more, for what this token has decided; it can start nothing now. */
                        if
                        :: out == done -> forget(planned); ask(); assert(out != granted)
                        :: else
                        fi
#endif
                :: else -> ask()
                fi;
                if
                :: out == unsure -> goto again
                :: else
                fi;
answered:       if
                /* It does not matter who is killed: the workers are alike. */
                :: kills < KILLS && token == 1 && out == granted -> kills++; goto dead
                :: out == granted -> belief = planned; goto start
                :: out == decided -> belief = (planned -> planned : upto); forget(belief)
                :: out == done -> belief = planned
                :: out == moved -> belief = cursor
                :: out == busy -> goto wait
                :: out == 0
                fi;
                planned = 0; upto = 0; out = 0; goto look
        };
wait:   atomic { (!slot || cursor != belief) -> planned = 0; upto = 0; out = 0; goto look };

start:  skip;
        atomic {
                starts[planned]++;
                assert(starts[planned] == 1);                           /* I1 */
                assert(records[planned].state == running);              /* I6: nobody gave it up */
                effects++;
                assert(effects == 1);                                   /* I2 */
                out = 0; upto = 0
        };
        atomic {
                effects--;
                if
                :: kills < KILLS && token == 1 -> kills++; goto dead
                :: ledger_finish(planned, token, succeeded, out) -> forget(planned); planned = 0; out = 0; goto look
                fi
        };
        /* The timer worker ends the dead one's record; a successor starts from the ledger's cursor. */
dead:   atomic {
                ledger_interrupt(token, 0, 1);
                forget(planned);
                lives++; token = lives;
                belief = cursor; planned = 0; upto = 0; out = 0;
                goto look
        };
end:    skip
}

/* The clock does not wait for anybody. */
proctype Clock()
{
        do
        :: now < M + GRACE + 1 -> now++
        :: else -> break
        od
}

init {
        byte t;

        atomic { run Clock(); run Worker(1); run Worker(2) };
        (_nr_pr == 1);
        d_step {
                assert(cursor == M && !slot);
                t = 1;
                do
                :: t <= M ->
                        assert(covered[t] == 1);                        /* I5 */
                        assert(records[t].state != running);            /* I6 */
                        t++
                :: else -> break
                od
        }
}
