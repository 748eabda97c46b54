/* One run of config_load, shared by its three parts: files (load.c), includes.c, tasks.c. */
#ifndef ONCED_CONFIG_LOAD_H
#define ONCED_CONFIG_LOAD_H

#include "common/config/config.h"
#include "common/config/read.h"
#include "common/config/rules.h"

#define TASKS_MAX    100000
#define ALERTS_MAX   100
#define INCLUDES_MAX 1000

struct source {
        struct tree tree;      /* its root is a map */
        char *folder;          /* owned */
        bool world_readable;
};

struct loading {
        struct config *config;
        struct reading rd;
        struct source *sources;        /* owned: the file itself, then its includes */
        size_t source_count;
        size_t errors_before;
        struct task defaults;          /* of the table and of the first file: what every task begins as */
        size_t task_room;
};

/* Reads one more file. 0, -EINVAL (complained of), -ENOMEM. */
int source_add(struct loading *ld, const char *path);

/* Reads what the first file includes. As above. */
int includes_add(struct loading *ld);

/* Appends the tasks of one file; what is wrong is complained of, -ENOMEM is in ld->rd.error. */
void tasks_read(struct loading *ld, const struct source *s);

/* Frees what the task owns. */
void task_done(struct task *t);

/* Settles names given more than once and fills by_name. 0 or -ENOMEM. */
int tasks_index(struct loading *ld);

#endif
