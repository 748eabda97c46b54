/* The death of a worker whose task tree lives on. A keeper holds the write end of its worker's tree pipe until the
 * tree has ended, so the end of that pipe proves it. The master tells the timer worker of a death in two steps and
 * keeps what is unanswered; the timer worker may die at any point and is succeeded.
 * Claimed: I2 no two trees of the unit at work at once, I1, I5; and when nothing moves any more every instant is
 * decided, no slot is taken and no death is unsettled. Time is left out: an instant is due as soon as it is looked
 * at, and nothing is late. */
#ifndef M
#define M 2
#endif
#define GRACE 99
#define CATCH_UP 0
#ifndef KILLS
#define KILLS 2
#endif
#define LIVES 3            /* two at first, one successor; one of them is left in the end */
#include "ledger.pml"

byte kills, settled, lives = 2, leader = 1;
bit  alive[LIVES + 1], tree_over[LIVES + 1], reaped[LIVES + 1], told[LIVES + 1];
byte writers[LIVES + 1];                /* of the tree pipe: the worker, its keepers */
chan tell = [2 * LIVES] of { byte, byte, bit };         /* to the timer worker: who is asked, owner, trees gone */
chan answers = [2 * LIVES] of { byte, byte, bit };

/* One for each exec run. It ends the tree in its own time: at the command's exit, or at its worker's death. */
proctype Keeper(byte token)
{
        atomic {
                effects--;
#ifndef KEEPER_WITHOUT_PIPE
                writers[token]--;
#endif
                tree_over[token] = 1
        }
}

inline die()
{
        kills++;
        alive[token] = 0;
        writers[token]--
}

proctype Worker(byte token)
{
        byte belief = cursor, planned;
        mtype out;
        CLAIM_LOCALS;

look:   atomic { out = 0; planned = 0 };
end_idle:
        if
        :: atomic { kills < KILLS -> die(); goto gone }
        :: belief < M
        fi;
        atomic {
                planned = belief + 1;
#ifdef DEAD_IS_FREE
                /* The owner is seen to be dead, and that is thought to be enough. */
                if
                :: slot && !alive[records[slot].token] -> ledger_interrupt(records[slot].token, 1, 1)
                :: else
                fi;
#endif
                ledger_claim(planned, 0, belief, token, 0, out);
                if
                :: out == granted && kills < KILLS -> die(); goto gone
                :: out == granted -> belief = planned; goto start
                :: out == decided || out == done -> belief = planned; goto look
                :: out == moved -> belief = cursor; goto look
                :: out == busy -> goto end_busy
                fi
        };
end_busy:
        if
        :: atomic { !slot -> goto look }
        :: atomic { kills < KILLS -> die(); goto gone }
        fi;
start:  atomic {
                starts[planned]++;
                assert(starts[planned] == 1);                           /* I1 */
                effects++;
                assert(effects == 1);                                   /* I2 */
                tree_over[token] = 0;
#ifndef KEEPER_WITHOUT_PIPE
                writers[token]++;
#endif
                run Keeper(token)
        };
        atomic {
                if
                :: kills < KILLS -> die(); goto gone
                :: tree_over[token] ->
                        tree_over[token] = 0;
                        ledger_finish(planned, token, succeeded, out);
                        goto look
                fi
        };
gone:   skip
}

/* The timer worker's other half: it is told of deaths, ends records, answers. That it may die in between is in the
 * time that a message takes: what a dead one was told is lost, and the answer of a dead one is not heard. */
proctype Lead(byte token)
{
        byte dead;
        bit trees_gone;

end_told:
        do
        :: atomic {
                alive[token] && tell??[eval(token), dead, trees_gone] ->
                tell??eval(token), dead, trees_gone;
                ledger_interrupt(dead, 1, trees_gone);
                answers!token, dead, trees_gone;
                dead = 0; trees_gone = 0
           }
        :: !alive[token] -> break
        od
}

inline elect()
{
        if
        :: leader == token ->
                leader = 1;
                do
                :: reaped[leader] -> leader++
                :: else -> break
                od;
#ifndef NOT_TOLD_AGAIN
                i = 1;
                do
                :: i <= LIVES -> told[i] = 0; i++
                :: else -> i = 0; break
                od
#endif
        :: else
        fi
}

inline be_born(life)
{
        alive[life] = 1;
        writers[life] = 1;
        run Worker(life); run Lead(life); run Death(life)
}

/* What the master does about one life. */
proctype Death(byte token)
{
        byte from, i;
        bit tree, records_ended, trees_gone;

end_alive:
        atomic {
                !alive[token] ->
                reaped[token] = 1;
                if
                :: lives < LIVES -> lives++; be_born(lives)
                :: else
                fi;
                elect();
#ifndef REAPED_IS_GONE
                tree = (writers[token] > 0)
#endif
        };
        do
        :: d_step { tree && !writers[token] -> tree = 0; told[token] = 0 }
        :: atomic {
                !told[token] && !(records_ended && tree) ->
                tell!leader, token, !tree;
                told[token] = 1
           }
        :: atomic {
                answers??from, eval(token), trees_gone ->
                if
                :: from != leader || !told[token]                       /* nobody asked */
                :: from == leader && told[token] && !trees_gone ->
                        records_ended = 1;
#ifdef FIRST_ANSWER_SETTLES
                        break
#endif
                :: from == leader && told[token] && trees_gone && tree
                :: from == leader && told[token] && trees_gone && !tree -> break
                fi;
                from = 0; trees_gone = 0
           }
        od;
        settled++
}

init {
        byte t = 1;

        atomic {
                do
                :: t <= 2 ->
                        be_born(t); t++
                :: else -> break
                od
        };
        timeout;
        d_step {
                assert(cursor == M && !slot && !effects && settled == kills);
                t = 1;
                do
                :: t <= M -> assert(covered[t] == 1 && records[t].state != running); t++        /* I5 */
                :: else -> break
                od
        }
}
