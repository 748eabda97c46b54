/* What a child of the master is born with. Everything is borrowed from the image inherited at fork; the
 * descriptors are the child's own copies, close-on-exec. */
#ifndef ONCED_BIRTH_H
#define ONCED_BIRTH_H

#include <stdint.h>

#include "common/process.h"
#include "common/record/ids.h"

struct config;
struct asked_table;
struct board;
struct start_token;

struct birth {
        const struct config *config;
        struct board *board;
        struct asked_table *asked;   /* NULL: this process has no siblings */
        unsigned place;              /* own place on the scoreboard */
        unsigned slot;
        uint32_t generation;
        int channel;                 /* to the master; EOF: the master is gone, end at once */
        int node_lock;               /* held open to the end, handed to keepers, never unlocked */
        int tree_pipe;               /* write end; handed to keepers; EOF at the master: all are gone */
        int listener;                /* console: the API's unix socket; else -1 */
        const char *node;            /* node id */
        uint64_t life;               /* start count of this node: fits the running master */
        const char *boot;            /* boot id */
        const struct start_token *start;
        struct process_id process;   /* this child */
        char owner[OWNER_TEXT];      /* "<node>.<slot>.<pid>.<pstart>" */
        char slot_name[12];          /* "0".., "c" */
};

/* A kind of child: `run` is its whole life, the result its exit code. It must not return by exit(). */
struct child_kind {
        const char *name;            /* "worker", "console" */
        int (*run)(const struct birth *b);
};

#endif
