/* One unit while it is judged: occurrences not settled yet, and what is settled as ranges. Shared by the
 * parts of the judge: judge.c takes lines, settle.c decides one occurrence, sweep.c finds what never
 * happened. */
#ifndef ONCED_PROVE_UNIT_H
#define ONCED_PROVE_UNIT_H

#include "cli/prove/judge.h"
#include "cli/prove/spans.h"
#include "common/record/ids.h"

struct run_ref {
        size_t process;
        uint64_t n;
        int64_t t_us, b_ns;
};

struct occurrence {
        int64_t planned_ms;
        bool manual;
        char occ[OCC_TEXT];              /* names a manual one; "" otherwise */
        enum path path;
        unsigned runs;
        struct run_ref first, second;
        bool granted, two_fences, final, by_other;
        uint64_t fence;
        enum state state;
        enum cause cause;
        int64_t run_us;
        size_t last_process;             /* newest that said something of it */
};

struct interval {
        int64_t planned_ms;
        size_t process;
        int64_t from_us, to_us, from_b_ns, to_b_ns;
};

#define RECENT 4096                      /* ranges of runs kept to know a straggler as a second run */
#define INTERVALS 8                      /* newest runs kept, to look for overlap and order */

struct unit {
        char *task, *key;                /* owned */
        unsigned shard;
        struct plans *plans;             /* borrowed from the evidence; may be empty */
        struct occurrence *open;         /* owned, by planned instant */
        size_t open_count, open_room;
        struct spans covered;            /* decided instants: run, or given up by a record */
        struct spans ran, doubled;       /* of the newest RECENT ranges; before ran_from_ms forgotten */
        int64_t ran_from_ms;
        struct interval intervals[INTERVALS];
        size_t interval_next;
        int64_t end_ms;                  /* of the window (exclusive), by the newest plan */
        int64_t newest_ms;               /* newest instant granted with a fence */
        uint64_t newest_fence;
        enum path newest_path;
};

struct row *judge_row(struct judge *j, const char *task, enum path path);   /* NULL without memory */
int judge_note(struct judge *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum path unit_path(const struct unit *u, int64_t planned_ms, enum path otherwise);

/* The window of a unit: instants in (after, upto]. False when it is empty. */
bool unit_window(const struct judge *j, const struct unit *u, int64_t *ret_after_ms, int64_t *ret_upto_ms);

bool occurrence_settled(const struct unit *u, const struct occurrence *o, int64_t frontier_ms);
int occurrence_settle(struct judge *j, struct unit *u,
                      struct occurrence *o); /* o is given up by the caller */

/* What is known of an instant that is no longer open. */
enum past { PAST_NONE, PAST_RAN, PAST_FORGOTTEN };
enum past unit_past(const struct unit *u, int64_t planned_ms);
int unit_ran_again(struct judge *j, struct unit *u, struct row *row, const struct process *p,
                   const struct record *r);
/* Counts instants in (after, upto] that are not covered yet under `verdict`, or UNKNOWN where something may
 * have happened unseen. Returns how many were counted at all. */
int unit_count(struct judge *j, struct unit *u, int64_t after_ms, int64_t upto_ms, enum verdict verdict);
int unit_sweep(struct judge *j, struct unit *u);

/* True when no instant of the unit lies strictly between; for spans_add. */
bool unit_empty_between(int64_t after_ms, int64_t before_ms, const void *unit);

#endif
