/* The schedule that next, due and explain are asked about: written on the command line, or that of a task. */
#ifndef ONCED_TIMETABLE_H
#define ONCED_TIMETABLE_H

#include <stdbool.h>

#include "common/schedule/schedule.h"

struct argument;
struct config;
struct task;

struct timetable {
        const char *command;
        struct schedule schedule;
        const struct task *task;     /* NULL: the schedule was written on the command line */
        struct config *config;       /* owned; the task's */
};

/* Reads the arguments: those that give a schedule, and `options` of the command beyond them. 0, or the exit code to end
 * with, the reason printed. Emptied by timetable_done either way. */
int timetable_begin(struct timetable *t, int argc, char **argv, const struct argument *options);
void timetable_done(struct timetable *t);

/* Values of options, NULL: not given, and `ret` stays as it is. 0, or EXIT_USAGE with the reason printed. */
int option_instant(const char *command, const char *name, const char *text, struct instant *ret);
int option_span(const char *command, const char *name, const char *text, int64_t max_ms, int64_t *ret);
int option_count(const char *command, const char *name, const char *text, unsigned max, unsigned *ret);
int option_word(const char *command, const char *name, const char *text, const char *const *words, unsigned *ret);

#endif
