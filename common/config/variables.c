/* Variables are replaced in values only, after YAML has been read: what they hold can therefore never
 * become a key, a list or an indentation. */
#include "common/config/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/config/utf8.h"

bool variables_in(const char *text)
{
        return strstr(text, "${") != NULL;
}

static size_t name_length(const char *p)
{
        size_t n = 0;

        while (p[n] == '_' || (p[n] >= 'A' && p[n] <= 'Z') || (p[n] >= 'a' && p[n] <= 'z') ||
               (n > 0 && p[n] >= '0' && p[n] <= '9'))
                n++;
        return n;
}

/* `p` is just behind a `${`; returns what follows the closing brace, NULL with the reason. */
static const char *expand_one(const char *p, struct buf *ret, char ret_why[VARIABLE_WHY])
{
        char name[64];
        size_t n = name_length(p), bad;
        const char *end = strchr(p, '}');
        bool has_default = strncmp(p + n, ":-", 2) == 0;

        if (!end) {
                (void) snprintf(ret_why, VARIABLE_WHY, "\"${\" without \"}\"; write $${ for a plain ${");
                return NULL;
        }
        if (n == 0 || n >= sizeof(name) || (!has_default && p + n != end)) {
                (void) snprintf(
                        ret_why, VARIABLE_WHY,
                        "\"${%.*s}\" is neither ${NAME} nor ${NAME:-default}; write $${ for a plain ${",
                        (int) (end - p < 40 ? end - p : 40), p);
                return NULL;
        }
        memcpy(name, p, n);
        name[n] = '\0';
        const char *value = getenv(name);
        if (value && !utf8_valid(value, strlen(value), &bad)) {
                (void) snprintf(ret_why, VARIABLE_WHY, "variable %s is not UTF-8", name);
                return NULL;
        }
        if (value && (*value || !has_default)) {
                buf_text(ret, value);
        } else if (has_default) {
                buf_add(ret, p + n + 2, (size_t) (end - (p + n + 2)));
        } else {
                (void) snprintf(ret_why, VARIABLE_WHY,
                                "variable %s is not set; ${%s:-...} would give a default", name, name);
                return NULL;
        }
        return end + 1;
}

int variables_expand(const char *text, struct buf *ret, char ret_why[VARIABLE_WHY])
{
        for (const char *p = text; *p;) {
                if (strncmp(p, "$${", 3) == 0) {
                        buf_text(ret, "${");
                        p += 3;
                } else if (strncmp(p, "${", 2) == 0) {
                        p = expand_one(p + 2, ret, ret_why);
                        if (!p)
                                return -EINVAL;
                } else {
                        buf_char(ret, *p++);
                }
        }
        return 0;
}

void variables_escape(const char *text, struct buf *ret)
{
        for (const char *p = text; *p; p++) {
                if (strncmp(p, "${", 2) == 0)
                        buf_char(ret, '$');
                buf_char(ret, *p);
        }
}
