/* What every command needs that runs tasks, before anything is begun: sane descriptors, and its configuration. */
#ifndef ONCED_PREPARE_H
#define ONCED_PREPARE_H

#include <stdbool.h>

struct config;

/* Reads the configuration, prints what is wrong with it, refuses what this version cannot do, and sets up the log and
 * the limits of this process. `has_children`: they run the tasks, and this process keeps them. EXIT_FINE and a
 * configuration of the caller's, or the code to exit with, said. */
int prepare(const char *path, bool has_children, struct config **ret);

#endif
