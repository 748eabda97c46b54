/* The scoreboard: one memfd shared by all processes of a node, one place a process, each with a single
 * writer, C11 atomics and no locks: a dead writer can freeze nobody. It is the master's, so it outlives a hung
 * or dead worker. Readers treat it as untrusted bytes: every read copies and clamps.
 * There are 2 x workers_max + 1 places; slot and generation are fields of a place. A place is owned
 * from fork to reap. Totals of a reaped place are added by the master to the `retired` block. */
#ifndef ONCED_SCOREBOARD_H
#define ONCED_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"
#include "common/record/names.h"

enum place_role { ROLE_FREE, ROLE_WORKER, ROLE_CONSOLE };

enum place_state {
        PLACE_FREE,
        PLACE_STARTING,   /* forked, not ready */
        PLACE_READY,
        PLACE_DRAINING,   /* claims nothing more */
        PLACE_ENDED,      /* reaped; kept until its deaths are settled in the ledger */
        PLACE_STATE_COUNT_
};

extern const char *const place_state_names[];

/* What keeps a worker from its work though it lives; a set of bits. */
enum place_trouble {
        TROUBLE_LEDGER = 1,       /* the local ledger is down or halted: nothing local is claimed */
        TROUBLE_GROUP = 2,        /* Redis likewise */
        TROUBLE_LOG = 4,          /* its trigger log cannot be written: nothing at all is claimed */
};
#define TROUBLE_ALL 7u

/* Counters of a process; names for metrics in board_counter_names. */
enum board_counter {
        COUNT_TRIGGERED,          /* occurrences started by this process */
        COUNT_FAILED,
        COUNT_INTERRUPTED,
        COUNT_LEASE_CONFLICTS,    /* renew answered LOST, finish answered FENCED */
        COUNT_STORAGE_FAILURES,   /* ledger or trigger log */
        COUNT_CLEANUP_FAILURES,
        COUNT_LIMIT_REACHED,      /* tick_limit or max_handles */
        COUNT_STOP_REJECTIONS,    /* due while draining: not taken */
        COUNT_LEDGER_CALLS,
        COUNT_LEDGER_US,          /* sum of latencies */
        COUNT_REDIS_NOSCRIPT,
        COUNT_REDIS_RECONNECTS,
        BOARD_COUNTER_COUNT_
};

extern const char *const board_counter_names[];

/* Upper bounds in us of the lateness and run-time histograms; one more bucket is +Inf. */
#define BOARD_BUCKETS 12
extern const uint32_t board_bucket_us[BOARD_BUCKETS];   /* 100 us .. 60 s */

/* Counters of one task in one process; also the reader's copy of them. */
struct task_counts {
        uint64_t runs[STATE_COUNT_];          /* by final state */
        uint64_t attempts[OUTCOME_COUNT_];
        uint64_t noop;                        /* succeeded without business result */
        uint64_t lateness[BOARD_BUCKETS + 1], lateness_sum_us;
        uint64_t run_time[BOARD_BUCKETS + 1], run_time_sum_us;
        uint64_t running;                     /* gauge */
        uint64_t queued;                      /* gauge: instants that wait for a run to end */
        int64_t last_planned_ms, next_planned_ms;   /* 0: none */
};

struct board;         /* a mapping of the whole */
struct board_place;   /* a writer's handle on its place */
struct board_row;     /* a writer's handle on one task's row */

#define HOST_NAME_TEXT 65

#define BOARD_TASKS 1000   /* then everything goes to the row "_other" */

/* Master: creates the memfd and maps it. `ret` owns both. */
int board_create(unsigned workers_max, struct board **ret);
/* A child after fork goes on using the mapping it inherited. NULL is fine; returns NULL. */
struct board *board_free(struct board *b);
unsigned board_places(const struct board *b);

/* Master only: takes a free place for a child about to be forked; -ENOSPC. */
int board_take(struct board *b, enum place_role role, unsigned slot, uint32_t generation);
void board_set_process(struct board *b, unsigned place, const struct process_id *p);
void board_set_state(struct board *b, unsigned place, enum place_state s);
void board_set_timer_worker(struct board *b, unsigned place, bool is);
/* Folds the place's counters into `retired` and frees it. */
void board_release(struct board *b, unsigned place);

/* Milliseconds between two beats of a process: a second, or less when a hang is to be noticed sooner, so that a
 * late turn or two of the loop are no hang. */
#define BEAT_MS 1000
static inline int64_t beat_interval_ms(int64_t hang_timeout_ms)
{
        return hang_timeout_ms / 4 < BEAT_MS ? hang_timeout_ms / 4 : BEAT_MS;
}

/* What the timer worker was told by the newest beat of its node, in its own place: its siblings go by it, and people. */
struct group_facts {
        struct mono heard;               /* when that beat was sent; ns 0: none was answered */
        struct mono main_until;          /* this node can rely on being the main node until then; ns 0: it is not */
        int64_t offset_us, offset_error_us;   /* how far this node's clock is ahead of the store's; give or take */
        uint32_t online, offline;        /* nodes that are known */
        uint32_t other_pid;
        uint8_t is_clone;                /* another live instance has this node's id: `other_host`, `other_pid` */
        uint8_t is_pinned;               /* an operator chose the main node for good */
        char main[NODE_ID_MAX];          /* the main node's id, "" none */
        char other_host[HOST_NAME_TEXT];
};

/* Writer's side. */
struct board_place *board_place(struct board *b, unsigned place);
void place_beat(struct board_place *p, struct mono now, int64_t loop_lag_us);
void place_set_up(struct board_place *p, struct mono now);   /* a step of setting up was done */
void place_add(struct board_place *p, enum board_counter c, uint64_t n);
void place_set_term(struct board_place *p, uint64_t term);
void place_set_trouble(struct board_place *p, enum place_trouble t, bool is);
bool place_has_trouble(const struct board_place *p, enum place_trouble t);
void place_set_group(struct board_place *p, const struct group_facts *f);
void place_set_current(struct board_place *p, const char *occ, const char *task); /* "" none */
struct board_row *place_row(struct board_place *p, const char *task);   /* never NULL: `_other` at the end */
void row_attempt(struct board_row *r, enum outcome o);
/* LATE_UNCOUNTED: it waited in a queue, which is no lateness. */
#define LATE_UNCOUNTED INT64_MIN
void row_started(struct board_row *r, struct instant planned, int64_t late_us);
/* run_us < 0: it never started: counted by state alone. */
void row_finished(struct board_row *r, enum state s, enum result res, int64_t run_us);
/* `n` instants were decided without a start: skipped, missed, unknown. */
void row_decided(struct board_row *r, enum state s, uint64_t n);
void row_next(struct board_row *r, struct instant next);
/* `more` instants wait, or so many fewer. What waits in a ledger is shown by the timer worker alone: all see it. */
void row_queued(struct board_row *r, int64_t more);

/* Reader's side: a plausible copy, or -ENOENT when the place is free or its bytes make no sense. */
struct place_view {
        unsigned place, slot;
        enum place_role role;
        enum place_state state;
        uint32_t generation;
        struct process_id process;
        bool timer_worker;
        uint64_t term;
        unsigned troubles;              /* enum place_trouble */
        struct stamp started;
        struct mono beat;               /* ns 0: none yet */
        struct mono set_up;             /* newest step of setting up; ns 0: none yet */
        int64_t loop_lag_us;
        char occ[OCC_TEXT], task[TASK_NAME_MAX];
        uint64_t counters[BOARD_COUNTER_COUNT_];
};
int board_read(const struct board *b, unsigned place, struct place_view *ret);

/* Sum over all places and `retired`. `task` NULL: nothing; returns false when nobody counted that task. */
bool board_task_totals(const struct board *b, const char *task, struct task_counts *ret);
/* Sum over all tasks, `_other` included: what is not in the tasks one asked for is the rest. */
void board_all_totals(const struct board *b, struct task_counts *ret);
/* Sum of the processes' counters, retired ones included. */
void board_totals(const struct board *b, uint64_t ret[BOARD_COUNTER_COUNT_]);

/* Facts of the master, for status: restarts by cause and so on. Written by the master alone. */
struct master_facts {
        struct process_id process;
        struct stamp started;
        uint32_t generation;
        unsigned workers;                /* wanted */
        uint64_t restarts, crashes, hangs, strangers;
        bool ready, draining, degraded;
        int last_exit[64];               /* by slot: wait status of the newest death, -1 none */
};
void board_set_master(struct board *b, const struct master_facts *f);
void board_get_master(const struct board *b, struct master_facts *ret);

/* The newest that a process of this node was told of its group, texts clean; false: none was told anything yet. */
bool board_get_group(const struct board *b, struct group_facts *ret);

#endif
