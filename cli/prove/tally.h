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
        FINDING_CROWD,          /* more runs of one unit at the same time than max_running */
        FINDING_BACK,           /* an older instant was started after a newer one */
        FINDING_SPLIT,          /* two definitions of the task were in force at once */
        FINDING_PHANTOM,        /* run for an instant that no plan has */
        FINDING_COUNT_
};

extern const char *const finding_names[];

/* Why an instant of the window did not run, as the columns of a report have it. */
enum unrun {
        UNRUN_DROPPED,          /* overlap, queue_full */
        UNRUN_QUEUED,           /* it still waits */
        UNRUN_SKIPPED,          /* any other skip line */
        UNRUN_MISSED,           /* a miss line says why */
        UNRUN_UNSENT,           /* failed before it was started */
        UNRUN_CUT,              /* granted, and interrupted before it was started */
        UNRUN_UNSURE,           /* it may have run unseen, or nobody knows */
        UNRUN_COUNT_
};

/* Why what was due after the end of the window is not judged. */
enum unjudged {
        UNJUDGED_NOTHING,
        UNJUDGED_RUNNING,       /* processes go on */
        UNJUDGED_DOWN,          /* the ledger did not answer */
        UNJUDGED_NOBODY,        /* workers stopped, or were too busy */
        UNJUDGED_COUNT_
};

extern const char *const unjudged_names[];

#define PER_INSTANT_MAX 64
#define LATE_BUCKETS (33 * 16)

/* Instants that are left out of what is judged: how many, and about when. */
struct stretch {
        uint64_t count;
        int64_t from_ms, upto_ms;
};

struct row {
        char *task;             /* owned */
        enum path path;
        char *when;             /* owned: its newest schedule; NULL: none */

        /* Instants of the plan within the window. Each is counted once, so that
         *     expected = once + verdicts[VERDICT_DUPLICATE] + all of unrun + verdicts[VERDICT_MISSED]
         *              = all of verdicts
         * Under `none` each process has its own: then `unrun` is theirs, and there are no verdicts. There, and for what
         * ran once elsewhere,
         *     runs = all of finals - unrun[UNRUN_UNSENT] - unrun[UNRUN_CUT] + running + unfinished */
        uint64_t expected;
        uint64_t once;          /* with exactly one run */
        uint64_t unrun[UNRUN_COUNT_];
        uint64_t verdicts[VERDICT_COUNT_];

        /* What was started within the window, and how it ended; finals also of UNRUN_UNSENT and UNRUN_CUT. */
        uint64_t runs;
        uint64_t finals[STATE_COUNT_], results[RESULT_COUNT_];
        uint64_t failed_by[CAUSE_COUNT_];
        uint64_t given_up[CAUSE_COUNT_];   /* instants not run, by cause; not those that failed */
        uint64_t running;       /* not finished, and its process goes on */
        uint64_t unfinished;    /* not finished, though its process has ended: nobody knows how */
        uint64_t moved;         /* instants run twice, under one path and under another */
        uint64_t crossing;      /* runs that went on while another of their unit did, which is counted already */
        uint64_t waited;        /* runs that were queued before: in no figure of lateness */
        int64_t wait_max_us;

        /* In no column: runs outside of the window (before the first plan, after its end), runs by hand, and
         * verdicts about what is not in `expected`, which count all the same for the verdict of the whole. */
        uint64_t outside, manual;
        uint64_t beside[VERDICT_COUNT_];

        uint64_t attempts, outcomes[OUTCOME_COUNT_];
        uint64_t findings[FINDING_COUNT_];

        enum unjudged unjudged;
        int64_t unjudged_from_ms, unjudged_upto_ms;
        struct stretch between; /* instants between two ledgers: the second knows nothing of them */
        struct stretch away;    /* instants at which no node had the task */
        uint64_t per_instant[PER_INSTANT_MAX + 1];   /* how many instants had so many runs */
        uint64_t fences;        /* grants with a fence */

        uint32_t *late;         /* owned histogram, made at the first run */
        uint64_t late_count;
        int64_t late_max_us;
        uint64_t *sources;      /* owned bits by process index: who ran it */
        size_t source_words;
        unsigned nodes;         /* of those who ran it; counted for an exact multiple */
};

struct row *row_new(const char *task, enum path path);
struct row *row_free(struct row *r);
int row_when(struct row *r, const char *schedule);      /* 0 or -ENOMEM */
int row_late(struct row *r, int64_t late_us);           /* 0 or -ENOMEM */
void row_waited(struct row *r, int64_t wait_us);        /* a run that was queued before */
int row_source(struct row *r, size_t process);          /* 0 or -ENOMEM */
bool row_has_source(const struct row *r, size_t process);
unsigned row_sources(const struct row *r);
int64_t row_late_us(const struct row *r, double part);  /* 0.5: median; -1: no run */

/* Due instants of which it is not known what became: whether they ran, or how the run ended. */
uint64_t row_unknown(const struct row *r);

/* n > 1 when three instants in four had exactly n runs; else 0. Starts and deaths of processes disturb a few.
 */
unsigned row_multiple(const struct row *r);

/* True when it was to run, and every attempt that came to an end failed. */
bool row_all_failed(const struct row *r);

/* The worst of the task's verdicts. `*ret_any` false: nothing was due. */
enum verdict row_verdict(const struct row *r, bool *ret_any);

#endif
