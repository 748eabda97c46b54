/* The words behind a command's name: options, with a value or without, and operands. */
#ifndef ONCED_ARGUMENTS_H
#define ONCED_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct argument {
        const char *name;       /* "--since"; NULL ends a list */
        const char **value;     /* NULL: a flag */
        bool *flag;
};

/* Reads `--name value`, `--name=value` and flags; what begins with no `-`, or comes behind `--`, is an operand. Up to
 * `operands_max` of them go to `operands`, NULL for what is not given. 0, or the exit code to end with (the reason is
 * printed). Values point into argv. */
int arguments_read(int argc, char **argv, const struct argument *options, const char **operands, size_t operands_max);

#endif
