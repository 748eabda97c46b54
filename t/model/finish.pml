/* The ends of one run, from several mouths. A worker whose run is over has its finish on the way, perhaps twice,
 * when it is taken for dead and its record is ended for it; the next instant's run is another worker's by then; and
 * a call may come for an occurrence that is not the caller's. The ledger trusts no caller to be in time.
 * Claimed: each record ends once and then stays as it is; a call frees no slot but that of the run it ends, or I2
 * falls; the answer to a finish says what stands recorded. */
#ifndef M
#define M 3
#endif
#define GRACE 99
#define CATCH_UP 0
#include "ledger.pml"

#define WORKERS 2
bit over[WORKERS + 1];     /* the run of this worker and its tree are over */
bit gone[WORKERS + 1];     /* it is taken for dead, and claims no more; what it has sent is on its way */
byte runs[WORKERS + 1];

proctype Worker(byte token)
{
        byte belief, planned, tries;
        mtype out;
        CLAIM_LOCALS;

        do
        :: belief == M || gone[token] -> break
        :: atomic { belief < M && !gone[token] ->
                planned = belief + 1;
                ledger_claim(planned, 0, belief, token, 0, out);
                if
                :: out == granted -> belief++; goto start
                :: out == moved -> belief = cursor
                :: out == busy -> goto wait
                :: else -> belief++
                fi;
                out = 0
           };
           goto next;
wait:      !slot || !ending;
           goto next;
start:     atomic {
                starts[belief]++;
                assert(starts[belief] == 1);                            /* I1 */
                effects++;
                assert(effects == 1);                                   /* I2 */
                runs[token] = belief; over[token] = 0; out = 0; tries = 0
           };
           atomic { effects--; over[token] = 1 };
           do
           :: atomic {
                ledger_finish(belief, token, succeeded, out);
                assert(out == done || out == stale);
                assert((out == done) == (records[belief].state == succeeded));
                if
                :: out == stale -> REACHED(FENCED)
                :: else
                fi;
                out = 0
              };
              if
              :: tries < 1 -> tries++                                   /* no answer: sent again */
              :: break
              fi
           od;
           runs[token] = 0;
next:      skip
        od
}

/* The timer worker is told that a worker is gone: the records first, the slots when the tree has ended too. */
proctype Gone(byte owner)
{
end_lives:
        atomic { runs[owner] -> gone[owner] = 1; ledger_interrupt(owner, 1, 0) };
end_runs:
        atomic { over[owner] || !runs[owner] -> ledger_interrupt(owner, 1, 1) }
}

/* A finish by one that does not hold the record. */
proctype Stray(byte token)
{
        byte t = 1;
        mtype out;

        do
        :: t < M -> t++
        :: break
        od;
        atomic {
                if
                :: records[t].token != token -> ledger_finish(t, token, succeeded, out); assert(out == stale)
                :: else
                fi
        }
}

init {
        atomic { run Gone(1); run Stray(2); run Worker(1); run Worker(2) };
        timeout;
        assert(!slot && cursor == M && !effects)
}
