/* One line of a trigger log. Numbers are formatted by hand: a busy node writes tens of thousands of lines a
 * second, and printf would be most of their cost. */
#include "common/record/line.h"

#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "common/record/chain.h"

static void number(struct buf *b, int64_t value)
{
        char digits[24];
        size_t at = sizeof(digits);
        uint64_t rest = value < 0 ? -(uint64_t) value : (uint64_t) value;

        do {
                digits[--at] = (char) ('0' + rest % 10);
                rest /= 10;
        } while (rest);
        if (value < 0)
                digits[--at] = '-';
        buf_add(b, digits + at, sizeof(digits) - at);
}

static void key_of(struct buf *b, const char *key)
{
        buf_add(b, ",\"", 2);
        buf_text(b, key);
        buf_add(b, "\":", 2);
}

void line_begin(struct buf *b, const char *e, uint64_t n, struct stamp t, struct mono boottime)
{
        char when[STAMP_TEXT];

        stamp_text(t, when);
        buf_text(b, "{\"e\":\"");
        buf_text(b, e);
        buf_char(b, '"');
        line_int(b, "n", (int64_t) n);
        line_text(b, "t", when);
        line_int(b, "b", boottime.ns);
}

void line_text(struct buf *b, const char *key, const char *text)
{
        if (!text || !*text)
                return;
        key_of(b, key);
        buf_json(b, text, strnlen(text, LINE_TEXT_MAX));
}

/* A cut schedule would be another one: the longest must fit as a whole. */
void line_plain(struct buf *b, const char *key, const char *text)
{
        if (!text || !*text)
                return;
        key_of(b, key);
        buf_char(b, '"');
        buf_add(b, text, strnlen(text, LINE_PLAIN_MAX));
        buf_char(b, '"');
}

void line_int(struct buf *b, const char *key, int64_t value)
{
        key_of(b, key);
        number(b, value);
}

void line_bool(struct buf *b, const char *key, bool value)
{
        key_of(b, key);
        buf_text(b, value ? "true" : "false");
}

int line_end(struct buf *b, size_t start, struct chain *c)
{
        if (b->failed)
                return -ENOMEM;
        int r = chain_next(c, b->data + start, b->len - start);
        if (r < 0)
                return r;
        buf_text(b, ",\"h\":\"");
        buf_text(b, c->h);
        buf_text(b, "\"}\n");
        return b->failed ? -ENOMEM : 0;
}
