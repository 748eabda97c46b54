/* Who leads, and the term that settles it. The master elects, and replaces a leader that drains, or that is taken for
 * hung and is only stopped: the old one goes on or wakes up at any later point, also with its own call for a term on
 * the way. Being elected gives no right; the call to the ledger raises the term, and each claim carries it.
 * Claimed, besides I1, I2, I4 and I5: a claim is granted to the newest leader alone; no two leaders have one term.
 * With LIVE: when nothing moves any more, the one that the master elected has run what was due. */
#ifndef M
#define M 3
#endif
#define GRACE 99
#define CATCH_UP 0
#ifndef REPLACEMENTS
#define REPLACEMENTS 1
#endif
#ifndef LATE_CALL
#define LATE_CALL 1        /* a call for a term may reach the ledger after the next leader's */
#endif
#ifndef TOLD
#define TOLD 1             /* the master is told when the one that it elected is deposed */
#endif
#define LIVES (1 + REPLACEMENTS)
#include "ledger.pml"

byte replacements, leader = 1;
bit  told[LIVES + 1], replaced[LIVES + 1], deposed[LIVES + 1], alive[LIVES + 1];
byte newest;               /* whose term was raised last */

proctype Worker(byte token)
{
        byte belief, planned, my_term, next_term, runs;
        mtype out;
        CLAIM_LOCALS;

        /* One loop: an answer of the ledger, a message, a due instant, the end of a run, as they come. */
end_turn:
        do
        :: atomic { told[token] && !my_term && !next_term ->
                told[token] = 0;
#ifdef ARMS_FIRST
                my_term = 1;
#endif
                next_term = 1
           }
        :: atomic { next_term && (LATE_CALL || !replaced[token]) ->
                term++;
#ifdef TERM_IS_READ
                term = 1;
#endif
                next_term = 0; my_term = term;
                newest = token; belief = cursor
           }
        :: atomic { my_term && belief < M && !runs ->
                planned = belief + 1;
                ledger_claim(planned, 0, belief, token, my_term, out);
                if
                :: out == granted ->
                        assert(token == newest);                        /* no other leads since */
                        belief++;
                        starts[belief]++;
                        assert(starts[belief] == 1);                    /* I1 */
                        effects++;
                        assert(effects == 1);                           /* I2 */
                        runs = belief
                :: out == decided || out == done -> belief++
                :: out == moved -> belief = cursor
                :: out == stale -> my_term = 0; deposed[token] = 1
                fi;
                planned = 0; out = 0
           }
        :: atomic { runs ->
                effects--;
                ledger_finish(runs, token, succeeded, out);
                runs = 0; out = 0
           }
        :: atomic { replaced[token] ->                                  /* its end comes */
                if
                :: runs -> effects--
                :: else
                fi;
                alive[token] = 0;
                ledger_interrupt(token, 0, 1);
                break
           }
        od
}

proctype Master()
{
end_turn:
        do
        :: atomic { replacements < REPLACEMENTS ->
                replacements++;
                replaced[leader] = 1;
                leader++;
                told[leader] = 1
           }
        /* The one that should lead says that it was deposed: by an older one's late call. */
        :: atomic { TOLD && deposed[leader] -> deposed[leader] = 0; told[leader] = 1 }
        od
}

init {
        byte t = 1;

        atomic {
                told[1] = 1;
                do
                :: t <= LIVES -> alive[t] = 1; run Worker(t); t++
                :: else -> break
                od;
                run Master()
        };
        timeout;
        d_step {
                assert(!slot && !effects);
                t = 1;
                do
                :: t <= cursor -> assert(covered[t] == 1 && records[t].state != running); t++
                :: else -> break
                od;
#ifdef LIVE
                assert(cursor == M)                                     /* somebody leads */
#endif
        }
}
