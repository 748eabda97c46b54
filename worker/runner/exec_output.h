/* What a command prints, both streams together: the first 64 KiB are kept, the rest is read and counted, so
 * that the command never waits for us. */
#ifndef ONCED_EXEC_OUTPUT_H
#define ONCED_EXEC_OUTPUT_H

#include <stdbool.h>
#include <uv.h>

struct run_outcome;

struct exec_output {
        uv_poll_t poll;
        int fd;                         /* read end */
        struct run_outcome *into;       /* borrowed, outlives us: the run's */
        bool ended;                     /* all writers are gone */
        void (*on_end)(struct exec_output *o);
        void (*on_closed)(struct exec_output *o);
};

/* `on_end` runs on the loop when all writers are gone. `ret_writer` is the caller's to close. 0 or -errno. */
int exec_output_open(struct exec_output *o, uv_loop_t *loop, struct run_outcome *into,
                     void (*on_end)(struct exec_output *o), int *ret_writer);

/* Reads what is in the pipe now, without calling on_end. */
void exec_output_drain(struct exec_output *o);

/* Writers that are left get EPIPE from now on. */
void exec_output_close(struct exec_output *o, void (*on_closed)(struct exec_output *o));

#endif
