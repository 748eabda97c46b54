/* What a report says of one task: counters, lateness, verdicts. One row a task and path. */
#ifndef ONCED_PROVE_TALLY_H
#define ONCED_PROVE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record/names.h"

enum verdict {
        VERDICT_ONCE,           /* exactly one run, and nobody can have run it unseen */
        VERDICT_EXPLAINED,      /* no run, and a record says why */
        VERDICT_UNKNOWN,        /* evidence is wanting */
        VERDICT_MISSED,         /* no run, no record, evidence complete */
        VERDICT_DUPLICATE,
        VERDICT_COUNT_
};

extern const char *const verdict_names[];

enum finding {
        FINDING_OVERLAP,        /* two runs of one unit at the same time */
        FINDING_EARLY,          /* started before its instant */
        FINDING_LATE,           /* started after its grace */
        FINDING_ORPHAN,         /* finished without a run line */
        FINDING_UNFINISHED,     /* run line without an end, though its process has ended */
        FINDING_FENCE,          /* a later grant's fence is not larger */
        FINDING_BACK,           /* an older instant was started after a newer one */
        FINDING_SPLIT,          /* two definitions of the task were in force at once */
        FINDING_PHANTOM,        /* run for an instant that no plan has */
        FINDING_COUNT_
};

extern const char *const finding_names[];

#define PER_INSTANT_MAX 64
#define LATE_BUCKETS (33 * 16)

struct row {
        char *task;             /* owned */
        enum path path;
        char when[64];          /* schedule in words */

        uint64_t expected;      /* instants of the plan within the window */
        uint64_t extra;         /* run although outside of it (before the first plan, after the window) */
        uint64_t runs, manual;  /* run lines by schedule, and by hand */
        uint64_t finals[STATE_COUNT_], results[RESULT_COUNT_];
        uint64_t given_up[CAUSE_COUNT_];   /* instants in skip and miss lines, by cause */
        uint64_t dropped, skipped, recorded_missed;
        uint64_t running;       /* not finished, and its process goes on */
        uint64_t attempts, outcomes[OUTCOME_COUNT_];
        uint64_t verdicts[VERDICT_COUNT_];
        uint64_t findings[FINDING_COUNT_];
        uint64_t per_instant[PER_INSTANT_MAX + 1];   /* how many instants had so many runs */
        uint64_t fences;        /* grants with a fence */

        uint32_t *late;         /* owned histogram, made at the first run */
        uint64_t late_count;
        int64_t late_max_us;
        uint64_t *sources;      /* owned bits by process index: who ran it */
        size_t source_words;
};

struct row *row_new(const char *task, enum path path);
struct row *row_free(struct row *r);
int row_late(struct row *r, int64_t late_us);           /* 0 or -ENOMEM */
int row_source(struct row *r, size_t process);          /* 0 or -ENOMEM */
unsigned row_sources(const struct row *r);
int64_t row_late_us(const struct row *r, double part);  /* 0.5: median; -1: no run */

/* n > 1 when three instants in four had exactly n runs; else 0. Starts and deaths of processes disturb a few.
 */
unsigned row_multiple(const struct row *r);

/* The worst of the task's verdicts; EXPLAINED only when nothing ran. `*ret_any` false: nothing was due. */
enum verdict row_verdict(const struct row *r, bool *ret_any);

#endif
