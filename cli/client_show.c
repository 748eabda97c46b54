/* From the API's JSON to what people read, and back out as JSON for programs. */
#include "cli/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/exits.h"

int client_print_body(const struct client *c)
{
        return fwrite(c->body, 1, c->len, stdout) == c->len ? EXIT_FINE : EXIT_CANTCREAT;
}

int client_print_json(const json_t *j)
{
        if (!j)
                return EXIT_OS;
        return json_dumpf(j, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) == 0 && putchar('\n') != EOF ? EXIT_FINE
                                                                                                     : EXIT_CANTCREAT;
}

void url_add(struct buf *url, const char *text)
{
        for (const unsigned char *p = (const unsigned char *) text; *p; p++) {
                if ((*p >= '0' && *p <= '9') || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z') || strchr("-._~", *p))
                        buf_char(url, (char) *p);
                else
                        buf_format(url, "%%%02X", *p);
        }
}

const char *member_text(const json_t *j, const char *name)
{
        const char *text = json_string_value(json_object_get(j, name));

        return text ? text : "";
}

json_int_t member_integer(const json_t *j, const char *name)
{
        return json_integer_value(json_object_get(j, name));
}

bool member_true(const json_t *j, const char *name)
{
        return json_is_true(json_object_get(j, name));
}

/* "2026-11-30T17:00:00.000213Z": the day, the second, and three digits of its fraction. */
const char *time_shown(const char *text, bool with_ms, char ret[TIME_SHOWN])
{
        size_t len = strlen(text);

        if (len < 20 || text[10] != 'T' || text[len - 1] != 'Z')
                (void) snprintf(ret, TIME_SHOWN, "%.*s", TIME_SHOWN - 1, text);
        else
                (void) snprintf(ret, TIME_SHOWN, "%.10s %.*sZ", text, with_ms && text[19] == '.' && len >= 24 ? 12 : 8,
                                text + 11);
        return ret;
}

const char *span_shown(json_int_t ms, char ret[SPAN_SHOWN])
{
        int64_t s = ms / 1000;

        if (ms < 10000)
                (void) snprintf(ret, SPAN_SHOWN, "%" PRId64 ".%" PRId64 " s", s, (int64_t) ms % 1000 / 100);
        else if (s < 120)
                (void) snprintf(ret, SPAN_SHOWN, "%" PRId64 " s", s);
        else if (s < 7200)
                (void) snprintf(ret, SPAN_SHOWN, "%" PRId64 " min", s / 60);
        else if (s < 2 * 86400)
                (void) snprintf(ret, SPAN_SHOWN, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
        else
                (void) snprintf(ret, SPAN_SHOWN, "%" PRId64 " d %" PRId64 " h", s / 86400, s % 86400 / 3600);
        return ret;
}
