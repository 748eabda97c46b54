/* The first of two passes: who existed, whose log is whole, and when something may have happened that no
 * line shows. All that judging an instant later needs, without any occurrence. */
#ifndef ONCED_PROVE_EVIDENCE_H
#define ONCED_PROVE_EVIDENCE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/prove/plans.h"
#include "cli/prove/dict.h"
#include "cli/prove/steps.h"

#define FOREVER_US (INT64_MAX / 4)

enum process_kind {
        PROCESS_WORKER,
        PROCESS_MASTER,
        PROCESS_ALONE,          /* runs tasks without a master */
        PROCESS_OTHER,          /* runs no task: the console */
};

struct log_file {
        char *path;             /* owned */
        int64_t size;           /* when it was found */
        uint64_t first_n;       /* 0: no line could be read */
};

/* One process of one node, known by its log, by a roster, or both. */
struct process {
        char *name;             /* owned; <node>.<slot>.<pid>.<pstart> */
        char *node, *boot, *tzdata;   /* owned; boot and tzdata "" when unknown */
        char *config;           /* owned; hash of its configuration, "" when unknown */
        size_t setup;           /* in evidence.setups; NO_SETUP: it runs no task, or its log is not here */
        size_t index;           /* in evidence.processes */
        enum process_kind kind;
        struct log_file *files; /* owned, by first_n */
        size_t file_count;

        bool from_start;        /* the log begins with line 1 */
        bool continues;         /* it begins in a later file: the older ones are not here */
        int64_t first_us, last_us;    /* of its lines; times are as late as the clock had got by then */
        int64_t first_b_ns, last_b_ns;
        int64_t peak_us;        /* the latest that the clock had shown before it was set back; -FOREVER_US: it was not */
        bool is_steady;         /* the clock was set: then lines are put in order by steady_us + boottime */
        int64_t steady_us;
        bool was_set;           /* by so much that its times cannot be compared with those of other nodes */
        bool occurrences;       /* has lines about occurrences, the first planned for: */
        int64_t first_planned_ms;
        bool led, synced;
        int64_t led_from_us;    /* its first plan line; FOREVER_US: it wrote none */
        bool damaged;           /* lines of its log are missing, or were changed */
        bool broken;            /* its log fits no more from broken_from_us on, up to its end */
        int64_t broken_from_us;

        bool born, gone, stopped, ended;
        bool never_ready;       /* so the roster says: it asked for nothing */
        int64_t born_us, gone_us, ended_us, born_b_ns, gone_b_ns;
        int exit_code, signal;
        bool ceased;            /* it has said how far it came, for each ledger: */
        int64_t ceased_ms, ceased_group_ms;
};

#define NO_SETUP SIZE_MAX

/* A node under one configuration: its processes have the same tasks, and any leader among them tells which. */
struct setup {
        const char *node, *config;   /* borrowed from the first of its processes */
        bool whole;             /* all its plans were told: what is not among them, it does not have */
};

/* A stretch of time in which this node's tasks may have been started unseen. */
struct blind {
        int64_t from_us, to_us;
        const char *node;       /* borrowed from its process; NULL: any node */
};

struct evidence {
        struct process **processes;   /* owned */
        size_t process_count, process_room;
        struct dict by_name;         /* struct process */

        struct plans **plans;         /* owned */
        size_t plans_count, plans_room;
        struct dict plans_by_unit;   /* struct plans by "task\0key\0kind" */

        struct setup *setups;         /* owned */
        size_t setup_count, setup_room;

        struct blind *blinds;         /* owned */
        size_t blind_count, blind_room;

        struct step *steps;           /* owned */
        size_t step_count, step_room, steps_dropped;

        char **remarks;               /* owned: what one should know of the logs, though nothing is wrong with them */
        size_t remark_count, remark_room, remarks_dropped;

        char **troubles;              /* owned: what is wrong with the evidence, in words */
        size_t trouble_count, trouble_room, troubles_dropped;
        bool unreadable;              /* a file could not be read, or is no trigger log */

        uint64_t lines;
        size_t files;
        int64_t from_us, to_us;       /* first and last line of all; FOREVER_US, -FOREVER_US: none */
        int64_t whole_from_us;        /* before this, old files of some process are no longer there */
};

struct evidence *evidence_new(void);
struct evidence *evidence_free(struct evidence *e);

/* Files, and folders with their *.jsonl and those of their triggers/. -errno only without memory: what cannot
 * be read becomes a trouble. */
int evidence_collect(struct evidence *e, char **paths, size_t count);

/* Reads and verifies everything gathered. 0 or -ENOMEM. */
int evidence_read(struct evidence *e);

/* Until when (exclusive, planned ms) instants of a task with the newest of these plans had to be decided by somebody
 * whose log is here. INT64_MIN: nobody could. */
int64_t evidence_end_ms(const struct evidence *e, const struct plans *plans);

/* The same for plan i, which another ledger's plan follows: until when the first ledger was in use. */
int64_t evidence_ledger_end_ms(const struct evidence *e, const struct plans *plans, size_t i);

/* True when the process could run the task under this plan; and until when it saw to it. */
bool evidence_could_run(const struct evidence *e, const struct process *p, const struct plans *plans,
                        const struct plan *plan);
int64_t evidence_came_ms(const struct process *p, const struct plans *plans, const struct plan *plan);

/* True when a process here was killed at work, or went unseen, within [from, to]: of what it decided last, its lines
 * may be owed. */
bool evidence_died(const struct evidence *e, int64_t from_us, int64_t to_us);

/* The first line of node `node`; FOREVER_US: there is none. */
int64_t evidence_node_from_us(const struct evidence *e, const char *node);
int64_t evidence_node_to_us(const struct evidence *e, const char *node);   /* and the last; -FOREVER_US */

/* True when a process that runs tasks goes on. */
bool evidence_goes_on(const struct evidence *e, const char *key);

/* True when a run for `key` may have been started unseen within [from, to]. */
bool evidence_blind(const struct evidence *e, const char *key, int64_t from_us, int64_t to_us);

/* True when `p` ran tasks of `key` and ended without a stop line, a while after its last line: lines that it could not
 * write, as on a full disk, went with it. What ran has a line all the same, since without one nothing is started. */
bool evidence_silent(const struct process *p, const char *key);

/* The end of the last stretch in which a run for `key` may have been started unseen; -FOREVER_US: there is none. */
int64_t evidence_blind_end_us(const struct evidence *e, const char *key);

/* For the parts of evidence: verify.c reads a process, conclude.c draws the conclusions, lives.c those about tasks
 * that came and went, remarks.c says what is worth knowing. */
int evidence_remarks(struct evidence *e);
struct scanner;
int evidence_verify(struct evidence *e, struct process *p, struct scanner *s);
int evidence_setup(struct evidence *e, struct process *p);   /* finds or makes its setup; 0 or -ENOMEM */
int evidence_lives(struct evidence *e);
int evidence_trouble(struct evidence *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int evidence_blind_add(struct evidence *e, int64_t from_us, int64_t to_us, const char *node);
struct process *evidence_process(struct evidence *e, const char *node, const char *slot, int pid,
                                 const char *pstart);   /* found or made; NULL without memory */
struct plans *evidence_plans(struct evidence *e, const char *task, const char *key, bool plain);
struct plans *evidence_plans_there(const struct evidence *e, const char *task, const char *key, bool plain);
bool list_room(void **list, size_t count, size_t *room, size_t size);   /* room for one more */

/* Adds a formatted text, made harmless for a terminal, to a growing list; beyond `most` it is only counted in
 * `dropped`. 0 or -ENOMEM. */
int texts_add(char ***list, size_t *count, size_t *room, size_t *dropped, size_t most, const char *format, va_list ap)
        __attribute__((format(printf, 6, 0)));

#endif
