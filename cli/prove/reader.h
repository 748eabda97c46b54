/* Raw lines of one file, up to the size it had when it was found: what a living process appends later is
 * not evidence of this run. */
#ifndef ONCED_PROVE_READER_H
#define ONCED_PROVE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
        int fd;
        int64_t left;           /* bytes of the file not yet read */
        char *buffer;           /* owned */
        size_t start, end;      /* the unread part of it */
        bool too_long;          /* the line under way exceeds the limit and is being passed over */
};

#define READER_NONE ((struct reader) { .fd = -1 })

int reader_open(struct reader *r, const char *path, int64_t size);   /* 0 or -errno */
void reader_close(struct reader *r);

/* 1: a line (without its newline), valid until the next call; `ret_whole` is false when the file ends
 * before its newline, and for a line beyond the limit, of which only the beginning is given. 0: the end.
 * -errno. */
int reader_line(struct reader *r, const char **ret_line, size_t *ret_len, bool *ret_whole);

#endif
