/* Trigger logs written at times of the test's choosing: lines as the writer makes them, kept in memory until
 * they are saved, so that a test can take one away, give it twice, change it or tear it. */
#ifndef ONCED_TEST_LOGBOOK_H
#define ONCED_TEST_LOGBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/record/chain.h"

#define BASE_MS 1764522000000LL   /* 2025-11-30T17:00:00Z */
#define AUTHORS_MAX 16

struct author {
        char node[32], slot[8], pstart[16], boot[40];
        int pid;
        uint64_t n;
        struct chain chain;
        char **lines;            /* owned, each with its newline */
        size_t count, room;
        bool absent;             /* the log is not saved */
        int64_t set_ms;          /* by how much its wall clock was set since the beginning */
        FILE *straight;          /* lines go here at once, none is kept; NULL: kept */
};

struct logbook {
        char dir[64];            /* a folder of its own */
        struct author authors[AUTHORS_MAX];
        size_t count;
};

void logbook_open(struct logbook *b);
void logbook_close(struct logbook *b);       /* removes the folder */
void logbook_save(struct logbook *b);

/* A process whose log is empty; what it says first of all. */
struct author *author_new(struct logbook *b, const char *node, const char *slot, int pid);
void say_start(struct author *a, int64_t t_ms, const char *role, const char *more);

/* A process whose log begins with its start line at `t_ms` (after BASE_MS). */
struct author *author_of(struct logbook *b, const char *node, const char *slot, int pid, const char *role,
                         int64_t t_ms);
struct author *author_after_boot(struct logbook *b, const char *node, const char *slot, int pid,
                                 const char *role, int64_t t_ms, const char *boot);

/* The same under the configuration with this hash. */
struct author *author_of_config(struct logbook *b, const char *node, const char *slot, int pid, const char *role,
                                int64_t t_ms, const char *config);

/* For long logs: what is said from now on is written at once, behind what was said before. */
void write_straight(struct logbook *b, struct author *a);

/* One line; `fields` is JSON without braces, printf style. */
void say(struct author *a, int64_t t_ms, const char *e, const char *fields, ...)
        __attribute__((format(printf, 4, 5)));

/* The clock of `a` was set, and shows `t_ms` now; later lines of a say what it shows. */
void say_step(struct author *a, int64_t t_ms, int64_t jump_ms);

void say_born(struct author *master, int64_t t_ms, const struct author *child);
void say_gone(struct author *master, int64_t t_ms, const struct author *child, int signal);
void say_stillborn(struct author *master, int64_t t_ms, const struct author *child);   /* killed before READY */
void say_plan(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t every_ms,
              const char *more);
void say_plan_of(struct author *a, int64_t t_ms, const char *task, const char *path, const char *schedule,
                 const char *more);
void say_attempt(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t planned_ms,
                 const char *out, int fence);
void say_run(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t planned_ms,
             int fence);
void say_finish(struct author *a, int64_t t_ms, const char *task, int64_t planned_ms, const char *state,
                const char *more);
void say_range(struct author *a, int64_t t_ms, const char *e, const char *task, int64_t first_ms,
               int64_t last_ms, const char *cause);
void say_stop(struct author *a, int64_t t_ms, int64_t ceased_ms, bool led);

/* attempt granted, run and finish in one: the whole life of one occurrence. */
void say_once(struct author *a, const char *task, const char *path, int64_t planned_ms, int fence);

/* The place of the first line of `e` that has `part` in it; fails the test when there is none. */
size_t line_find(const struct author *a, const char *e, const char *part);
void line_drop(struct author *a, size_t i);
void line_double(struct author *a, size_t i);
void line_tear(struct author *a, size_t i);          /* cuts it in half, newline gone */
void line_edit(struct author *a, size_t i, const char *from, const char *to);   /* of equal length */

#endif
