/* The inside of a trigger log, shared by the file it is (triglog.c) and the lines it holds (lines.c). */
#ifndef ONCED_TRIGLOG_WRITER_H
#define ONCED_TRIGLOG_WRITER_H

#include <sys/types.h>

#include "common/buf.h"
#include "common/record/chain.h"
#include "common/record/standing.h"
#include "common/record/triglog.h"

#define PENDING_MAX  (1024 * 1024)   /* kept while writing fails; beyond it lines are counted */
#define PENDING_FULL (60 * 1024)     /* then they go out in one write */

struct triglog {
        char *dir, *node, *slot, *pstart, *boot, *role;  /* owned; role NULL before `start` */
        int pid;
        int64_t rotate_size;
        bool sync;

        int fd;
        unsigned k;              /* number of the current file */
        char *name;              /* owned; of the current file */
        int64_t day, size;       /* of the current file: UTC day it began, bytes in it */

        uint64_t n;              /* of the next line */
        struct chain chain;
        struct buf pending;      /* whole lines, but for the first: see `cut` */
        size_t cut;              /* bytes of the first pending line that are in the file already */
        uint64_t lost;           /* lines that found no room since writing failed */
        int error;               /* of the newest failed write; 0: writing works */
        struct standing standing;
};

/* A line begun: what must be put back if it is given up. */
struct line_mark {
        size_t start, fields;   /* where in `pending` the line and its own fields begin */
        char h[CHAIN_TEXT];
};

/* Begins a line in `pending`; false when there is no room: the line is counted as lost. */
bool writer_begin(struct triglog *t, const char *e, struct line_mark *ret);
/* Ends it; false when memory was short: the line is counted as lost. */
bool writer_end(struct triglog *t, const struct line_mark *m);
/* Takes the newest line back. */
void writer_undo(struct triglog *t, const struct line_mark *m);
/* Writes out when enough has gathered. */
void writer_gathered(struct triglog *t);
/* Writes what is pending and does nothing else; `ret_written`, if given, gets the bytes that left. */
int writer_out(struct triglog *t, size_t *ret_written);

#endif
