/* Which instants were to run: the plans that were in force for a task, one after the other, as the plan lines
 * of the logs give them. A task under `none` and one that is to be once are two, also when one became the other: what
 * is run by the rules of one is nothing to the other, which may begin with the same instants. */
#ifndef ONCED_PROVE_PLANS_H
#define ONCED_PROVE_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/prove/near.h"
#include "common/record/names.h"
#include "common/schedule/schedule.h"

struct process;
struct record;

struct plan {
        enum path path;
        struct schedule schedule;   /* kind none: it cannot be computed here, or scope manual */
        bool computable;            /* false: nothing is expected, and it is said why */
        bool competes;              /* enabled, and not scope manual */
        bool concurrent, queued;    /* overlap policy */
        unsigned max_running;       /* concurrent */
        bool catch_up;
        int64_t grace_ms;           /* -1: default rule; under catch_up the lookback */
        unsigned shards;
        uint64_t rev;
        struct instant valid_from;  /* instants after it, up to the next plan's */
        struct instant until;       /* and up to here, when nobody had it then, or the next is another ledger's */
        bool resumed;               /* the one before, after a time in which nobody had the task */
        const struct process *said_by;   /* the first of its boot that said it, and when; borrowed from the evidence */
        int64_t said_us, said_b_ns;
};

struct plans {
        char *task, *key;           /* owned; key: the scope key, "" or a node */
        bool plain;                 /* all are of `none` */
        struct plan *list;          /* owned, by valid_from */
        size_t count, room;
        uint64_t *setups;           /* owned bits: which setups have the task, by the lines of their leaders */
        size_t setup_words;
        struct near *near;          /* owned */
        int64_t alone_ms;           /* the oldest instant that a process without a master ran; INT64_MAX: none */
        bool alone;                 /* and it is what the first plan begins with */
        bool split;                 /* two definitions claimed one revision */
        char *doubt;                /* owned: why a plan cannot be computed here; NULL: all can */
};

struct plans *plans_new(const char *task, const char *key, bool plain);
struct plans *plans_free(struct plans *p);

/* Adds what a plan line of process `by` says. 0, -EINVAL: the line makes no sense, -ENOMEM. */
int plans_add(struct plans *p, const struct record *r, const struct process *by);

/* The plan of a line, by itself; what it cannot compute it notes in `p`. As plans_add. */
int plan_read(struct plans *p, const struct record *r, struct plan *ret);

/* Gives plan i another time to be valid from, and the place that goes with it. */
void plans_move(struct plans *p, size_t i, struct instant valid_from);

/* Once all lines were read: plans of `none` one after the other as they were put in force. Nothing numbers them, and
 * each begins with the window of its process, which may reach back to before the one that it replaced. */
void plans_order(struct plans *p);

/* Once they are in order: a task that is new begins with what a process without a master ran of it. That one takes
 * what the policies reach back to, and ends: nothing would be left to judge. */
void plans_begin_alone(struct plans *p);

/* Notes that setup `setup` has the task, and asks for it. */
int plans_told(struct plans *p, size_t setup);   /* 0 or -ENOMEM */
bool plans_told_by(const struct plans *p, size_t setup);

/* Cuts the plans to the ranges in which somebody had the task. 0 or -ENOMEM. */
struct spans;
int plans_limit(struct plans *p, const struct spans *force);

/* True when plan i + 1 was numbered by another ledger than plan i: revisions of one ledger only grow. */
bool plans_restart(const struct plans *p, size_t i);

/* Cuts (after, upto] to what plan i is for; false when nothing is left. */
bool plans_part(const struct plans *p, size_t i, struct instant *after, struct instant *upto);

/* The plan an instant falls under; the first one also for earlier instants. NULL without plans. */
const struct plan *plans_at(const struct plans *p, struct instant i);

/* How long after `i` the newest instant up to then could still be started under `plan`, one of these, in ms. */
int64_t plans_grace_ms(const struct plans *p, const struct plan *plan, struct instant i);

/* The first instant of `plan`, one of these, after `after`; as schedule_next. */
int plans_next(const struct plans *p, const struct plan *plan, struct instant after, struct instant *ret);

/* How many instants `plan`, one of these, has in (after, upto], whatever else is in force. */
uint64_t plans_plan_count(const struct plans *p, const struct plan *plan, struct instant after, struct instant upto);

/* How many instants of `shard` were to run in (after, upto]. Nothing before the first plan counts. */
uint64_t plans_count(const struct plans *p, unsigned shard, struct instant after, struct instant upto);

/* True when no instant lies strictly between, as far as one plan tells; used to join ranges. */
bool plans_adjacent(const struct plans *p, struct instant earlier, struct instant later);

/* True when `i` is an instant of `shard` under its plan, or lies before anything is known. */
bool plans_has(const struct plans *p, unsigned shard, struct instant i);

#endif
