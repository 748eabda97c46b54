/* A growable run of bytes, always followed by a NUL. Once an allocation fails the buffer stays failed and
 * ignores what is appended, so that only the end of a long chain of appends needs a check. */
#ifndef ONCED_BUF_H
#define ONCED_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
        char *data;   /* owned; NULL while empty */
        size_t len;
        size_t room;
        bool failed;  /* out of memory: contents are not to be trusted */
};

#define BUF_EMPTY ((struct buf) { 0 })

void buf_done(struct buf *b);                 /* frees the contents; b is empty again */
void buf_clear(struct buf *b);                /* length 0, memory kept */
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_drop_front(struct buf *b, size_t len);

/* The text, "" when empty; NULL when failed. Valid until the next append. */
const char *buf_string(const struct buf *b);

/* Hands the bytes over (to be freed), NULL when failed; b is empty again. */
char *buf_take(struct buf *b);

/* Appends `"text"` as a JSON string. Bytes that are not valid UTF-8 become U+FFFD, all
 * control characters and line separators are escaped; the result is always valid JSON, NULs included. */
void buf_json(struct buf *b, const char *text, size_t len);

#endif
