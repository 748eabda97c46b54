/* Growing by half again at least keeps the cost of n appends linear. */
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *b)
{
        free(b->data);
        *b = BUF_EMPTY;
}

void buf_clear(struct buf *b)
{
        b->len = 0;
        b->failed = false;
        if (b->data)
                b->data[0] = '\0';
}

static bool buf_reserve(struct buf *b, size_t more)
{
        if (b->failed)
                return false;
        if (b->room - b->len > more)
                return true;
        size_t room = b->room + b->room / 2 + more + 64;
        char *data = room > b->room ? realloc(b->data, room) : NULL;
        if (!data) {
                b->failed = true;
                return false;
        }
        b->data = data;
        b->room = room;
        return true;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
        if (!buf_reserve(b, len))
                return;
        if (len)
                memcpy(b->data + b->len, bytes, len);
        b->len += len;
        b->data[b->len] = '\0';
}

void buf_text(struct buf *b, const char *text)
{
        buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
        buf_add(b, &c, 1);
}

void buf_format(struct buf *b, const char *format, ...)
{
        va_list ap, again;

        va_start(ap, format);
        va_copy(again, ap);
        int n = vsnprintf(NULL, 0, format, ap);
        if (n < 0)
                b->failed = true;
        else if (buf_reserve(b, (size_t) n)) {
                (void) vsnprintf(b->data + b->len, (size_t) n + 1, format, again);
                b->len += (size_t) n;
        }
        va_end(again);
        va_end(ap);
}

void buf_drop_front(struct buf *b, size_t len)
{
        if (len >= b->len) {
                b->len = 0;
        } else {
                memmove(b->data, b->data + len, b->len - len);
                b->len -= len;
        }
        if (b->data)
                b->data[b->len] = '\0';
}

const char *buf_string(const struct buf *b)
{
        if (b->failed)
                return NULL;
        return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
        char *data = NULL;

        if (!b->failed && (b->data || buf_reserve(b, 0))) {
                b->data[b->len] = '\0';
                data = b->data;
                b->data = NULL;
        }
        buf_done(b);
        return data;
}

/* Length of the valid UTF-8 sequence at `p` (RFC 3629: no overlong forms, no surrogates), or 0. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
        unsigned char c = p[0];
        size_t n = c < 0x80 ? 1 : c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;

        if (n == 0 || n > left)
                return 0;
        for (size_t i = 1; i < n; i++)
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
        if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
            (c == 0xf4 && p[1] > 0x8f))
                return 0;
        return n;
}

static bool json_is_plain(unsigned char c)
{
        return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void json_ascii(struct buf *b, unsigned char c)
{
        switch (c) {
        case '"':  buf_add(b, "\\\"", 2); break;
        case '\\': buf_add(b, "\\\\", 2); break;
        case '\n': buf_add(b, "\\n", 2); break;
        case '\r': buf_add(b, "\\r", 2); break;
        case '\t': buf_add(b, "\\t", 2); break;
        default:   buf_format(b, "\\u%04x", c);
        }
}

/* What ends lines, steers terminals or is no character at all goes as an escape, too: U+0080 to U+009F, U+2028,
 * U+2029, U+FFFE, U+FFFF. JSON would take them as they are; YAML, logs and terminals would not. */
static bool json_escapes(const unsigned char *p, size_t n, unsigned *ret_point)
{
        *ret_point = n == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3f)
                            : (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[n - 1] & 0x3f);
        return n == 2 ? *ret_point < 0xa0
                      : n == 3 && (*ret_point == 0x2028 || *ret_point == 0x2029 || *ret_point >= 0xfffe);
}

/* What goes as it is, is copied in spans: most texts are one. */
void buf_json(struct buf *b, const char *text, size_t len)
{
        const unsigned char *p = (const unsigned char *) text;
        size_t from = 0;

        buf_char(b, '"');
        for (size_t i = 0; i < len;) {
                if (json_is_plain(p[i])) {
                        i++;
                        continue;
                }
                size_t n = utf8_length(p + i, len - i);
                unsigned point;
                if (n > 1 && !json_escapes(p + i, n, &point)) {
                        i += n;
                        continue;
                }
                buf_add(b, p + from, i - from);
                if (n == 1)
                        json_ascii(b, p[i]);
                else if (n > 1)
                        buf_format(b, "\\u%04x", point);
                else
                        buf_text(b, "\xef\xbf\xbd");
                i += n ? n : 1;
                from = i;
        }
        if (from < len)
                buf_add(b, p + from, len - from);
        buf_char(b, '"');
}
