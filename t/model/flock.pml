/* The run lock as a gate before the ledger. A worker takes the lock without waiting and only then asks; its
 * transaction commits some time later, or it is killed before. A worker that finds the lock taken decides nothing:
 * it looks at the ledger again and again. A worker that runs goes on to the next instant meanwhile.
 * Claimed, besides I1, I2, I4 and I5: skipped(overlap) is only written while another occurrence runs or may run; a
 * worker leaves an instant only when the ledger has decided it; at most one worker of those that passed the gate
 * asks at a time. With PATIENT the clock waits until an instant is decided, and then none is missed, whoever dies.
 * With REPLACED the lock file is replaced once under its holder: all but the gate itself still holds. */
#ifndef M
#define M 3
#endif
#define GRACE 1
#define CATCH_UP 0
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef PATIENT
#define PATIENT 0
#endif
#ifndef REPLACED
#define REPLACED 0
#endif
#include "ledger.pml"

byte lock;                 /* who holds the lock of the file that the path names, 0: nobody */
byte asking;               /* workers with a request on its way that passed the gate */
byte kills, replacements, lives = WORKERS;

#define NEWEST  (now < M -> now : M)

/* A lock belongs to an open file: a worker's run and its claim may each have one. */
#define RUN_FILE        (2 * token)
#define CLAIM_FILE      (2 * token + 1)

inline close_file(file)
{
        if
        :: lock == file -> lock = 0
        :: else
        fi
}

/* The run ends: its final record is committed, then the lock is closed. */
inline finish()
{
        effects--;
        ledger_finish(runs, token, succeeded, out);
        out = 0; runs = 0;
        close_file(RUN_FILE)
}

proctype Worker(byte token)
{
        byte belief, planned, upto, runs;
        bit passed;                                                     /* the gate, with a request on its way */
        mtype out;
        CLAIM_LOCALS;

look:   atomic {
                planned = 0; upto = 0; out = 0;
                if
                :: runs -> finish(); goto look
                :: belief < NEWEST ->
                        upto = NEWEST;
                        planned = (LATE(upto) -> 0 : upto);
                        if
                        :: !planned -> goto ask                         /* nothing to run, nothing to lock */
                        :: else -> goto gate
                        fi
                :: !runs && belief >= M -> goto end
                fi
        };

gate:   atomic {
                if
                :: !lock ->
                        lock = CLAIM_FILE; passed = 1;
                        assert(REPLACED || !asking);                    /* the gate lets one pass */
                        asking++;
#ifdef LOCK_FREED_EARLY
                        close_file(CLAIM_FILE);
#endif
                        goto ask
                :: lock && runs -> goto ask                             /* its own: only the ledger can say */
                :: lock && !runs -> REACHED(LOST)
                fi
        };
#ifdef LOSER_GOES_HOME
        atomic { belief = planned; goto left };
#endif
#ifdef LOSER_JUDGES
        /* The holder is taken for the run before. */
        atomic {
                if
                :: planned <= cursor -> belief = cursor
                :: else ->
                        assert(slot && slot != planned);                /* something runs */
                        cover_gap(cursor, planned); cover(planned);
                        records[planned].state = skipped; records[planned].token = token;
                        move_cursor(planned); belief = planned
                fi;
                goto left
        };
#endif
        atomic {
                if
                :: cursor >= planned -> belief = cursor; goto left      /* done */
                :: cursor < planned && LATE(planned) -> goto look       /* lost_local: planned anew */
                :: cursor < planned && !LATE(planned) && slot -> goto ask
                :: cursor < planned && !LATE(planned) && !slot && !lock -> goto gate
                fi
        };

ask:    skip;
        TOGETHER {
                if
                :: runs -> finish(); goto ask                           /* its own run ends meanwhile */
                /* It does not matter who is killed: the workers are alike. */
                :: kills < KILLS && token == 1 && passed -> REACHED(KILLED_ASKING); kills++; goto dead
                :: true
                fi;
#ifdef LOCK_IS_PROOF
                /* A lock that could be taken is thought to prove that the run before is over. */
                if
                :: lock == CLAIM_FILE && slot -> end_record(slot, interrupted); slot = 0
                :: else
                fi;
#endif
                ledger_claim(planned, upto, belief, token, 0, out);
                if
                :: passed -> asking--; passed = 0
                :: else
                fi;
                assert(out != decided || !planned || records[planned].state != skipped || (slot && slot != planned));
                assert(!PATIENT || records[planned].state != missed);
                if
                :: out == granted -> goto start
                :: else -> close_file(CLAIM_FILE)
                fi;
                if
                :: out == decided -> belief = (planned -> planned : upto)
                :: out == done || out == moved -> belief = cursor
                fi
        };
left:   atomic {
                assert(belief <= cursor);                               /* decided, not merely believed to be */
                goto look
        };

        /* Granted without the gate, by a worker whose own run held the lock: it takes the lock if it can. */
start:  atomic {
                if
                :: !lock || lock == CLAIM_FILE -> lock = RUN_FILE
                :: else
                fi;
                belief = planned;
                starts[planned]++;
                assert(starts[planned] == 1);                           /* I1 */
                effects++;
                assert(effects == 1);                                   /* I2 */
                runs = planned;
                if
                :: kills < KILLS && token == 1 -> kills++; goto dead
                :: goto look
                fi
        };

        /* The kernel frees the lock at once; the ledger hears of the death later. There may be no successor. */
dead:   atomic {
                if
                :: passed -> asking--; passed = 0
                :: else
                fi;
                close_file(CLAIM_FILE);
                close_file(RUN_FILE);
                if
                :: runs -> effects--; runs = 0
                :: else
                fi;
                out = 0; planned = 0; upto = 0; belief = 0
        };
        atomic {
                ledger_interrupt(token, 0, 1);
                if
                :: lives++; token = lives; belief = cursor; goto look
                :: goto end
                fi
        };
end:    skip
}

proctype Clock()
{
        do
        :: now < M + (PATIENT -> 0 : GRACE + 1) && (!PATIENT || cursor >= now) -> now++
        :: now == M + (PATIENT -> 0 : GRACE + 1) -> break
        od
}

proctype Replacer()
{
        if
        :: REPLACED && lock -> lock = 0
        :: true
        fi
}

init {
        byte t;

        atomic {
                t = 1;
                do
                :: t <= WORKERS -> run Worker(t); t++
                :: else -> break
                od;
                run Clock(); run Replacer()
        };
        (_nr_pr == 1);
        d_step {
                assert(cursor == M && !slot && !lock);
                t = 1;
                do
                :: t <= M ->
                        assert(covered[t] == 1 && records[t].state != running);         /* I5 */
                        assert(!PATIENT || records[t].state);
                        t++
                :: else -> break
                od
        }
}
