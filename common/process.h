/* Facts about this process and others: when it started, what it is called, whether it is the same one. */
#ifndef ONCED_PROCESS_H
#define ONCED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Start of a process: clock ticks since boot and the first 4 hex of the boot id ("81234-a2f3"), since
 * pids repeat, and ticks repeat over boots and containers. */
#define PSTART_TEXT 32

struct process_id {
        pid_t pid;
        char start[PSTART_TEXT];
};

/* 0; -ESRCH when there is no such process (a zombie counts as none); -errno. */
int process_identify(pid_t pid, struct process_id *ret);

/* True while the very process `id` names runs (same pid and start; zombies do not run). */
bool process_alive(const struct process_id *id);

/* Keeps argv's memory for process_title; call once, first thing in main. */
void process_title_init(int argc, char **argv);

/* "onced: worker 0 (timer)" in ps; cut to the room of argv. */
void process_title(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
