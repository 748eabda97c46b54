/* Instants that wait for their unit. Two workers claim the schedule's instants; what finds the unit taken, or others
 * waiting, waits itself. The oldest is started by a take: with the finish of the run before, or by whoever sees a free
 * slot. A reply may be lost, a request may come later than its repetition, a worker may be killed anywhere, and one
 * that drains hands nothing over.
 * Claimed: no instant that waits is lost, none is started twice (I1), they start in their order, under rising fences
 * (I3), one at a time (I2), and a lost reply leaves no run that nobody starts (I6). */
#ifndef M
#define M 3
#endif
#define GRACE 99
#define CATCH_UP 0
#ifndef LIMIT
#define LIMIT 9            /* of the queue */
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#include "ledger.pml"

#define LIVES  3           /* two at first, one successor */
#define TOKENS 16          /* of takes; a claim's token is that and the life that asks */
#define SPENT  99

byte losses, kills, lives = 2, tokens;
byte fence, newest_fence;               /* given; of the newest start */
byte newest_start;
byte waiting;                           /* records that are queued */
byte owner[M + 1];                      /* the life that runs an occurrence */
byte fences[M + 1];
byte took[TOKENS];                      /* what a take's token was answered: an occurrence, or SPENT */
bit  buried[LIVES + 1];                 /* its death is settled: what it has sent does nothing any more */
bit  flight;                            /* a request that comes late: a take, with a finish or not */
byte flight_life, flight_occ, flight_run, flight_take;

inline start_in_slot(occ, token_, life_)
{
        records[occ].state = running;
        records[occ].token = token_;
        owner[occ] = life_;
        slot = occ;
        fence++;
        fences[occ] = fence
}

inline queue_claim(planned_, life_, out)
{
        d_step {
                if
                :: planned_ <= cursor -> out = done
                :: planned_ > cursor + 1 -> out = moved
                :: else ->
                        cover(planned_);
                        move_cursor(planned_);
                        if
#ifdef JUMPS_THE_QUEUE
                        :: !slot ->
#else
                        :: !slot && !waiting ->
#endif
                                start_in_slot(planned_, TOKENS + life_, life_); out = granted
                        :: else ->
                                if
                                :: waiting < LIMIT -> records[planned_].state = queued; waiting++; out = queued
                                :: else -> records[planned_].state = skipped; out = decided; REACHED(FULL)
                                fi
                        fi
                fi
        }
}

inline find_oldest()
{
        oldest = 1;
#ifdef NEWEST_FIRST
        oldest = M;
        do
        :: oldest && records[oldest].state != queued -> oldest--
        :: else -> break
        od
#else
        do
        :: oldest <= M && records[oldest].state != queued -> oldest++
        :: oldest > M -> oldest = 0; break
        :: else -> break
        od
#endif
}

/* `got`: the occurrence that is granted. */
inline take(token_, life_, out, got)
{
        got = 0;
        find_oldest();
        if
#ifndef NO_GRAVE
        :: buried[life_] -> out = stale
#endif
#ifndef NOT_IDEMPOTENT
        :: took[token_] == SPENT -> out = busy; REACHED(SPENT_TOKEN)
#ifdef TOKEN_FORGOTTEN
        :: took[token_] && took[token_] != SPENT && slot == took[token_] ->
#else
        :: took[token_] && took[token_] != SPENT ->
#endif
                if
                :: slot == took[token_] && records[slot].token == token_ ->
                        got = slot; out = granted; REACHED(REPLAY)
                :: else -> out = done
                fi
#endif
        :: else ->
                if
                :: !oldest -> out = done
#ifndef NO_SLOT_CHECK
                :: oldest && slot -> out = busy
#endif
                :: else ->
                        got = oldest; out = granted; waiting--;
#ifdef NO_FENCE
                        fence--;
#endif
                        start_in_slot(oldest, token_, life_)
                fi;
#ifdef NOT_SPENT
                took[token_] = got
#else
                took[token_] = (got -> got : SPENT)
#endif
        fi;
        oldest = 0
}

/* A finish, and the take that comes with it unless `token_` is 0. */
inline finish(occ, run_token, token_, life_, out, got)
{
        got = 0;
        if
        :: records[occ].state == running && records[occ].token == run_token ->
                end_record(occ, succeeded);
                owner[occ] = 0;
#ifndef SLOT_NOT_FREED
                slot = (slot == occ -> 0 : slot);
#endif
                out = done
        :: records[occ].state == succeeded && records[occ].token == run_token -> out = done
        :: else -> out = stale
        fi;
        if
#ifdef FINISH_ONLY_NAMES
        /* The next is told to the finisher, who is trusted to start it. */
        :: out == done && token_ ->
                find_oldest();
                got = (slot -> 0 : oldest);
                out = (got -> granted : done);
                oldest = 0
#else
        :: out == done && token_ -> take(token_, life_, out, got)
#endif
        :: else
        fi
}

/* One request, `occ` 0: a take alone. Answered, or carried out without an answer, or on its way while it is repeated. */
inline send(occ, run_token)
{
        do
        :: d_step { request(occ, run_token, token, life, out, got) } break
        :: d_step { losses < LOSSES -> losses++; request(occ, run_token, token, life, out, got); out = 0; got = 0 }
        :: d_step { losses < LOSSES -> losses++;
                flight = 1; flight_life = life; flight_occ = occ; flight_run = run_token; flight_take = token }
        :: d_step { kills < KILLS -> kills++; out = unsure } break
        od
}

inline request(occ, run_token, token_, life_, out, got)
{
        if
        :: occ -> finish(occ, run_token, token_, life_, out, got)
        :: else -> take(token_, life_, out, got)
        fi
}

proctype Worker(byte life)
{
        byte belief, planned, token, run_token, oldest, got;
        mtype out;

look:   atomic { planned = 0; token = 0; run_token = 0; out = 0; got = 0 };
end_look:
        if
        :: atomic { belief < M ->
                queue_claim(belief + 1, life, out);
                if
                :: out == moved -> belief = cursor
                :: else -> belief++
                fi;
                if
                :: out == granted -> planned = belief; run_token = TOKENS + life; goto start
                :: else -> goto look
                fi
           }
#ifndef NOBODY_SWEEPS
        :: atomic { waiting && !slot -> tokens++; token = tokens }
#endif
        fi;
        send(0, 0);
answered:
        atomic {
                if
                :: out == unsure -> goto dead
                :: out == granted -> planned = got; run_token = token; token = 0; got = 0; out = 0
                :: else -> goto look
                fi
        };
start:  if
        :: atomic { kills < KILLS -> kills++; goto dead }
        :: atomic {
                starts[planned]++;
                assert(starts[planned] == 1);                           /* I1 */
                assert(planned > newest_start);                         /* in their order */
                newest_start = planned;
                assert(fences[planned] > newest_fence);                 /* I3 */
                newest_fence = fences[planned];
                fences[planned] = 0;
                effects++;
                assert(effects == 1);                                   /* I2 */
                out = 0
           }
        fi;
        atomic {
                effects--;
                if
                :: kills < KILLS -> kills++; goto dead
                :: tokens++; token = tokens
                :: token = 0                                            /* it drains: nothing is handed over */
                fi
        };
        send(planned, run_token);
        atomic {
                if
                :: out == granted -> REACHED(HANDED_ON)
                :: else
                fi;
                goto answered
        };
        /* The timer worker settles the death; a successor starts from the ledger's cursor. */
dead:   atomic {
                buried[life] = 1;
                if
                :: slot && owner[slot] == life ->
                        end_record(slot, interrupted);
                        fences[slot] = 0;
                        slot = 0;
                        REACHED(DIED)
                :: else
                fi;
                lives++; life = lives;
                belief = cursor;
                goto look
        }
}

/* The late request. Nobody hears its answer. */
proctype Late()
{
        byte oldest, got;
        mtype out;

end_late:
        d_step { flight ->
                request(flight_occ, flight_run, flight_take, flight_life, out, got);
                flight = 0; flight_life = 0; flight_occ = 0; flight_run = 0; flight_take = 0; out = 0; got = 0
        }
}

init {
        byte t;

        atomic { run Late(); run Worker(1); run Worker(2) };
        timeout;
        d_step {
                assert(!slot);                                          /* I6: no run that nobody starts */
                assert(!waiting);                                       /* nothing that waits is lost */
                assert(cursor == M && now == 1);                        /* no clock runs: what waits is not late */
                t = 1;
                do
                :: t <= M -> assert(covered[t] == 1 && records[t].state >= 1); t++
                :: else -> break
                od
        }
}
