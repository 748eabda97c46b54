/* The master: keeps children alive, answers signals, runs no task. */
#ifndef ONCED_MASTER_H
#define ONCED_MASTER_H

struct config;
struct child_kind;

struct master_options {
        const struct config *config;           /* borrowed, outlives the run */
        const struct child_kind *worker, *console;
        int notify_fd;                         /* s6: newline at READY; -1 none */
};

/* The whole life of the master. Signals must be blocked since the first line of main
 * (master_block_signals). Returns an exit code. */
int master_run(const struct master_options *o);
void master_block_signals(void);

#endif
