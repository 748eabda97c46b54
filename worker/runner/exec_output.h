/* What a command prints, both streams together: the first 64 KiB are kept, the rest is read and counted, so
 * that the command never waits for us. */
#ifndef ONCED_EXEC_OUTPUT_H
#define ONCED_EXEC_OUTPUT_H

#include <stdbool.h>
#include <uv.h>

struct run_outcome;

#define EXEC_TAIL 512          /* of the output, kept to find its last line, however much came before */
#define EXEC_LINE 256

struct exec_output {
        uv_poll_t poll;
        int fd;                         /* read end */
        struct run_outcome *into;       /* borrowed, outlives us: the run's */
        char tail[EXEC_TAIL];
        size_t tail_len;
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

/* The last line with anything on it, cut to be readable and without control characters; "" when there is none. */
const char *exec_output_last_line(const struct exec_output *o, char ret[EXEC_LINE]);

#endif
