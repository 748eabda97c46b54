/* Builds one line of a trigger log: a flat JSON object with a fixed order of fields, h last. */
#ifndef ONCED_LINE_H
#define ONCED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"

struct buf;
struct chain;

#define LINE_MAX_BYTES 4096      /* a whole line with its newline; texts are cut to fit */
#define LINE_TEXT_MAX 512 /* bytes of one text before escaping, which may make them six times as many */
#define LINE_PLAIN_MAX 1024      /* bytes of one plain text, which is not escaped */

/* `{"e":…,"n":…,"t":…,"b":…` appended to `b`. */
void line_begin(struct buf *b, const char *e, uint64_t n, struct stamp t, struct mono boottime);

void line_text(struct buf *b, const char *key, const char *text);      /* NULL or "": left out */
void line_plain(struct buf *b, const char *key, const char *text);     /* a text of ours: printable, without \ or " */
void line_int(struct buf *b, const char *key, int64_t value);
void line_bool(struct buf *b, const char *key, bool value);

/* Closes the line that begins at offset `start` of `b` with its h and a newline. 0 or -ENOMEM. */
int line_end(struct buf *b, size_t start, struct chain *c);

#endif
