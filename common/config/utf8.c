/* Bytes from outside are checked once, at the door: everything behind it may rely on UTF-8. */
#include "common/config/utf8.h"

/* Length of the UTF-8 sequence at `p`: no overlong forms, no surrogates, nothing above U+10FFFF; 0: none. */
static size_t sequence_length(const unsigned char *p, size_t left)
{
        unsigned char c = p[0], low = 0x80, high = 0xbf;
        size_t n;

        if (c < 0x80)
                return c != 0;
        if (c < 0xc2 || c > 0xf4)
                return 0;
        n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (n > left)
                return 0;
        if (c == 0xe0)
                low = 0xa0;
        else if (c == 0xed)
                high = 0x9f;
        else if (c == 0xf0)
                low = 0x90;
        else if (c == 0xf4)
                high = 0x8f;
        if (p[1] < low || p[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

bool utf8_valid(const char *bytes, size_t len, size_t *ret_bad)
{
        const unsigned char *p = (const unsigned char *) bytes;

        for (size_t i = 0, n; i < len; i += n) {
                n = sequence_length(p + i, len - i);
                if (n == 0) {
                        *ret_bad = i;
                        return false;
                }
        }
        return true;
}

size_t utf8_count(const char *bytes, size_t len)
{
        size_t n = 0;

        for (size_t i = 0; i < len; i++)
                n += ((unsigned char) bytes[i] & 0xc0) != 0x80;
        return n;
}
