/* Is it text? */
#ifndef ONCED_CONFIG_UTF8_H
#define ONCED_CONFIG_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True when all of `bytes` is UTF-8 (RFC 3629) without NUL; else `ret_bad` is where it stops being so. */
bool utf8_valid(const char *bytes, size_t len, size_t *ret_bad);

/* How many characters `len` bytes of UTF-8 are. */
size_t utf8_count(const char *bytes, size_t len);

#endif
