/* The second pass: lines about occurrences come in, verdicts come out. What is settled is folded into ranges
 * and counters at once, so that memory does not grow with the length of the logs. */
#ifndef ONCED_PROVE_JUDGE_H
#define ONCED_PROVE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/prove/evidence.h"
#include "cli/prove/scan.h"
#include "cli/prove/tally.h"

struct judge_options {
        int64_t since_ms, until_ms; /* planned instants in [since, until); INT64_MIN, INT64_MAX: no bound */
        char **tasks;                    /* borrowed; only these */
        size_t task_count;               /* 0: all */
};

struct judge {
        struct judge_options options;
        struct evidence *evidence;       /* borrowed, outlives the judge */
        struct row **rows;               /* owned, by order of appearance; sorted at the end */
        size_t row_count, row_room;
        struct dict rows_by_name;       /* "task\0path" */
        struct unit **units;             /* owned */
        size_t unit_count, unit_room;
        struct dict units_by_name;      /* "task\0key\0shard" */
        char **notes;                    /* owned: single cases in words */
        size_t note_count, note_room, notes_dropped;
        bool strangers;                  /* processes of the group have no log here */
        size_t open, open_max;           /* occurrences in memory now, and at most */
        int64_t from_ms, upto_ms;        /* the covered window, as far as any task goes */
};

struct judge *judge_new(struct evidence *e, const struct judge_options *o);
struct judge *judge_free(struct judge *j);

/* One line of process `p`. No line still to come has a place before planned instant `frontier_ms`, but for
 * stragglers. 0, -ENOMEM, or -E2BIG: more occurrences are open than any honest log has. */
int judge_take(struct judge *j, const struct process *p, const struct record *r, int64_t frontier_ms);

/* After the last line. */
int judge_end(struct judge *j);

/* Worst verdict over all tasks that promise to be once; `*ret_any` false when there are none. */
enum verdict judge_verdict(const struct judge *j, bool *ret_any);

#endif
