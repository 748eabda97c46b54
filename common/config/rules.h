/* What keys mean together: defaults that depend on other keys, and combinations that make no sense. */
#ifndef ONCED_CONFIG_RULES_H
#define ONCED_CONFIG_RULES_H

#include "common/config/config.h"
#include "common/config/read.h"

/* Where the values of a task came from, nearest first; for the places of complaints. */
struct origin {
        const struct node *task, *file_defaults, *main_defaults;   /* the latter two may be NULL */
};

/* The node of `key` in the task itself, else in the defaults that gave it; NULL: nobody wrote it. */
const struct node *origin_given(const struct origin *o, const char *key);

/* Where that is; the task's own place when nobody wrote it. */
struct place origin_place(const struct origin *o, const char *key);

/* Completes `t`, which has been read from `o`, against the top level in `c`. */
void task_settle(struct reading *rd, const struct config *c, const struct origin *o, struct task *t);

/* Completes an alert read from `n`. */
void alert_settle(struct reading *rd, const struct config *c, const struct node *n, struct alert *a);

/* Warns when the command or the folder of `e`, read from `n`, is not there. presence.c */
void exec_look(struct reading *rd, const struct node *n, const struct exec_target *e);

/* Completes the redis: of `t`, and reads its script. redis_target.c */
void redis_target_settle(struct reading *rd, const struct origin *o, struct task *t);

/* Completes the top level; `roots` are the files' maps in the order of reading. */
void config_settle(struct reading *rd, struct config *c, const struct node *const *roots, size_t count);

#endif
