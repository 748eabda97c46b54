/* What the two forms of onced explain share. */
#ifndef ONCED_EXPLAIN_H
#define ONCED_EXPLAIN_H

struct schedule;
struct task;

#define INSTANTS_SHOWN 3
#define SENTENCE_MAX   512

/* For programs: one object and a newline. `t` NULL: a schedule that was written on the command line. */
void explain_print_json(const struct schedule *s, const struct task *t);

#endif
