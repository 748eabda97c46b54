/* One unit while it is judged: occurrences not settled yet, and what is settled as ranges. Shared by the
 * parts of the judge: take.c takes lines, settle.c decides one occurrence, count.c counts each instant once,
 * sweep.c finds what never happened. */
#ifndef ONCED_PROVE_UNIT_H
#define ONCED_PROVE_UNIT_H

#include "cli/prove/judge.h"
#include "cli/prove/spans.h"
#include "common/record/ids.h"

struct run_ref {
        size_t process;
        enum path path;                  /* as its line says; PATH_COUNT_: none */
        uint64_t n;
        int64_t t_us, b_ns;
};

/* How a run ended, or what became of an instant that was not started. */
struct end {
        enum state state;
        enum cause cause;
        enum result result;
        bool by_other;                   /* told in place of a dead process */
        int64_t t_us, run_us;            /* t_us: of its line */
};

/* Clocks of two nodes, and a line's time against its effect, may differ by this much. */
#define ERROR_US 1000000LL

#define ENDS 2                           /* kept of one occurrence: more are a duplicate's, and say no more */

struct occurrence {
        int64_t planned_ms;
        bool manual;
        char occ[OCC_TEXT];              /* names a manual one; "" otherwise */
        enum path path;
        unsigned runs;
        struct run_ref first, second;
        bool granted, two_fences;
        uint64_t fence;
        struct end ends[ENDS];
        unsigned end_count;
        size_t last_process;             /* newest that said something of it */
};

/* How the instants of a range were counted, those of them that were not counted before. */
struct counted {
        int64_t first_ms, last_ms;
        enum verdict verdict;
        enum unrun unrun;
        enum cause cause;
};

#define COUNTED 32                       /* newest ranges kept, for a run that comes to light after its record */

struct interval {
        int64_t planned_ms;
        bool manual;
        size_t process;
        int64_t from_us, to_us, from_b_ns, to_b_ns;
};

/* What a process has of a unit under `none`, where each has its own. */
struct own {
        struct spans queued;             /* instants that wait in it */
        uint64_t open;                   /* runs without an end */
};

#define RECENT 4096                      /* ranges of runs kept to know a straggler as a second run */

struct unit {
        char *task, *key;                /* owned */
        bool plain;                      /* under `none`: each process by itself */
        unsigned shard;
        struct plans *plans;             /* borrowed from the evidence; may be empty */
        struct occurrence *open;         /* owned, by planned instant */
        size_t open_count, open_room;
        struct spans covered;            /* decided instants: run, or given up by a record */
        struct spans done;               /* instants of which a process was answered that they were decided */
        struct spans ran, doubled;       /* of the newest RECENT ranges; before ran_from_ms forgotten */
        int64_t ran_from_ms;
        struct spans queued;             /* instants that wait, or did when nothing more was said of them */
        int64_t passed_ms;               /* the newest instant granted where the oldest comes first */
        struct own *own;                 /* owned, by process, made when first needed; under `none` */
        struct interval *intervals;      /* owned ring of the newest runs, made when first needed */
        size_t interval_next, interval_room;
        struct counted *counted;         /* owned ring, made when first needed */
        size_t counted_next;
        int64_t from_ms, end_ms;         /* of the window, the end exclusive, by the newest plan */
        int64_t down_ms;                 /* newest instant whose claim no ledger answered */
        int64_t newest_ms;               /* newest instant granted with a fence */
        uint64_t newest_fence;
        enum path newest_path;
};

/* judge.c */
struct row *judge_row(struct judge *j, const char *task, enum path path);   /* NULL without memory */
int judge_note(struct judge *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum path unit_path(const struct unit *u, int64_t planned_ms, enum path otherwise);
struct occurrence *unit_occurrence(struct judge *j, struct unit *u, const struct record *r, bool manual);
int judge_no_room(const struct judge *j);   /* why unit_occurrence gave NULL */

/* take.c: one line of a kind. `planned_ms`, `path` and `row` are those of its instant. */
struct taking {
        struct judge *j;
        const struct process *p;
        const struct record *r;
        struct unit *u;
        struct row *row;
        enum path path;
        enum path said_path;             /* as the line itself says; PATH_COUNT_: it does not */
        bool manual;
        int64_t planned_ms;
};
int take_attempt(struct taking *t);
int take_run(struct taking *t);
int take_finish(struct taking *t);
int take_range(struct judge *j, struct unit *u, const struct record *r);

/* own.c: under `none`, what each process has by itself. All 0 or -ENOMEM. */
int own_queued(struct taking *t);
int own_run(struct taking *t);                     /* counts a run of the window, and how late it was */
void own_ended(struct taking *t);                  /* a run of the window has its end */
void own_settle(struct judge *j, struct unit *u, struct row *row);   /* after the last line: what has none, and what waits */
void own_done(struct judge *j, struct unit *u);

/* waiting.c */
int take_queued(struct taking *t);
/* The instants from `first` to `last` wait no more. 0 or -ENOMEM. */
int unit_unqueue(struct unit *u, int64_t first_ms, int64_t last_ms);
/* Notes that this instant was granted, and so all that were queued before it. */
void unit_passed(struct unit *u, int64_t planned_ms);
/* After the last line: that one of them was decided needs no stranger. 0 or -ENOMEM. */
int unit_waits(struct unit *u);
/* Counts those of (after, upto], none of them covered, that were queued, and gives the others to `rest`. */
int unit_waiting(struct judge *j, struct unit *u, struct row *row, int64_t after_ms, int64_t upto_ms,
                 int (*rest)(struct judge *, struct unit *, struct row *, int64_t, int64_t));

/* neighbours.c: a run against the others of its unit. */
int unit_neighbours(struct judge *j, struct unit *u, struct row *row, const struct occurrence *o);

/* count.c */
/* The window of a unit: instants in (after, upto]. False when it is empty. */
bool unit_window(const struct judge *j, const struct unit *u, int64_t *ret_after_ms, int64_t *ret_upto_ms);
bool unit_expects(const struct judge *j, const struct unit *u, int64_t planned_ms);   /* within the window */
uint64_t unit_instants(const struct unit *u, int64_t after_ms, int64_t upto_ms);
/* The first instant after `after_ms` of the plan that is in force then; -ENOENT: it has none. */
int unit_next(const struct unit *u, int64_t after_ms, struct instant *ret);
/* Counts those instants from `first` to `last` that are of the window and not covered yet; UNKNOWN and unsure
 * where something may have happened unseen. Under `none`, where each process gives up its own, all of them. */
int unit_count(struct judge *j, struct unit *u, const struct counted *c);
/* Takes back how a covered instant was counted, since more has come to light. False: it was too long ago, and
 * stays counted as it was. */
bool unit_uncount(struct judge *j, struct unit *u, int64_t planned_ms);
int unit_cover(struct unit *u, int64_t first_ms, int64_t last_ms);

/* settle.c */
int64_t unit_grace_ms(const struct unit *u, const struct plan *plan, int64_t planned_ms);   /* plan NULL: 0 */
int occurrence_finding(struct judge *j, const struct unit *u, struct row *row, const struct occurrence *o,
                       enum finding f, const char *text);
bool occurrence_settled(const struct unit *u, const struct occurrence *o, int64_t frontier_ms);
int occurrence_settle(struct judge *j, struct unit *u,
                      struct occurrence *o); /* o is given up by the caller */
void row_end(struct row *row, const struct end *e);
/* False when the end says that, whatever the run line promised, nothing was started. */
bool end_of_a_start(const struct end *e);

/* What is known of an instant that is no longer open. */
enum past { PAST_NONE, PAST_RAN, PAST_FORGOTTEN };
enum past unit_past(const struct unit *u, int64_t planned_ms);
int unit_ran_again(struct taking *t);

/* True when no instant of the unit lies strictly between; for spans_add. */
bool unit_empty_between(int64_t after_ms, int64_t before_ms, const void *unit);

/* sweep.c */
/* Names `count` instants in (after, upto] of which no line says what became of them. */
enum why_unexplained {
        WHY_NOT_SAID,           /* missed */
        WHY_STRANGER,           /* somebody decided it whose log is not here */
        WHY_LOST,               /* lines may have gone with a process that was killed */
};
int unit_unexplained(struct judge *j, const struct unit *u, int64_t after_ms, int64_t upto_ms, uint64_t count,
                     enum why_unexplained why);
/* True when somebody whose log is not here decides instants of this unit's group. */
bool unit_has_strangers(const struct judge *j, const struct unit *u);
int unit_sweep(struct judge *j, struct unit *u);

#endif
