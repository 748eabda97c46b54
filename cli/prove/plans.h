/* Which instants were to run: the plans that were in force for a task, one after the other, as the plan lines
 * of the logs give them. */
#ifndef ONCED_PROVE_PLANS_H
#define ONCED_PROVE_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record/names.h"
#include "common/schedule/schedule.h"

struct record;

struct plan {
        enum path path;
        struct schedule schedule;   /* kind none: this version cannot compute it, or scope manual */
        bool computable; /* false: an unknown kind of schedule; nothing is expected, and it is said */
        bool competes;              /* enabled, and not scope manual */
        bool concurrent, queued;    /* overlap policy */
        bool catch_up;
        int64_t grace_ms;           /* -1: default rule */
        unsigned shards;
        uint64_t rev;
        struct instant valid_from;  /* instants after it, up to the next plan's */
        struct instant until;       /* and up to here, when nobody had it then, or the next is another ledger's */
        bool resumed;               /* the one before, after a time in which nobody had the task */
        const char *node;           /* of the process that said it first; borrowed from its process */
};

struct plans {
        char *task, *key;           /* owned; key: the scope key, "" or a node */
        struct plan *list;          /* owned, by valid_from */
        size_t count, room;
        uint64_t *setups;           /* owned bits: which setups have the task, by the lines of their leaders */
        size_t setup_words;
        bool split;                 /* two definitions claimed one revision */
        bool unknown_kind;
};

struct plans *plans_new(const char *task, const char *key);
struct plans *plans_free(struct plans *p);

/* Adds what a plan line of node `node` says. 0, -EINVAL: the line makes no sense, -ENOMEM. */
int plans_add(struct plans *p, const struct record *r, const char *node);

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

/* Grace of an instant under its plan, in ms. */
int64_t plan_grace_ms(const struct plan *p);

/* How many instants of `shard` were to run in (after, upto]. Nothing before the first plan counts. */
uint64_t plans_count(const struct plans *p, unsigned shard, struct instant after, struct instant upto);

/* True when no instant lies strictly between, as far as one plan tells; used to join ranges. */
bool plans_adjacent(const struct plans *p, struct instant earlier, struct instant later);

/* True when `i` is an instant of `shard` under its plan, or lies before anything is known. */
bool plans_has(const struct plans *p, unsigned shard, struct instant i);

#endif
