/* Steps of the wall clock, as the processes noticed them, and what they do to times of lines. Nothing of it is needed
 * to say what ran once: an instant is one, however often a clock shows it. */
#ifndef ONCED_PROVE_STEPS_H
#define ONCED_PROVE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evidence;
struct process;
struct record;

struct step {
        const struct process *by;        /* the first that said it; borrowed from the evidence */
        int64_t b_ns, at_us;             /* when it was first noticed; at_us: the clock after it */
        int64_t jump_us;
        unsigned processes;              /* that noticed it */
        size_t last_process;             /* the newest of them */
};

/* What a step line says; lines of one process one after the other. 0 or -ENOMEM. */
int steps_add(struct evidence *e, const struct process *p, const struct record *r);

/* Once all lines were read: times of processes and plans become times as late as the clock had got by then. */
void steps_settle(struct evidence *e);

/* True when the clock of `p` was set around `b_ns`, or up to `before_ns` earlier: how late a start of then was, its
 * line does not tell. */
bool steps_near(const struct evidence *e, const struct process *p, int64_t b_ns, int64_t before_ns);

#endif
