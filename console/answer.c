/* Answers of the API: JSON, text and problem details, all in memory of malloc, so that the server can hand
 * the body on without copying it. */
#include "console/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

void answer_done(struct answer *a)
{
        free(a->body);
        *a = ANSWER_EMPTY;
}

static void answer_put(struct answer *a, unsigned status, const char *type, char *body, size_t len)
{
        answer_done(a);
        a->status = body ? status : 500;
        a->type = type;
        a->body = body;
        a->len = body ? len : 0;
}

static void put_json(struct answer *a, unsigned status, const char *type, const json_t *j)
{
        char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;
        answer_put(a, status, type, body, body ? strlen(body) : 0);
}

void answer_json(struct answer *a, unsigned status, json_t *body)
{
        put_json(a, status, "application/json", body);
        json_decref(body);
}

void answer_text(struct answer *a, unsigned status, const char *type, struct buf *body)
{
        size_t len = body->len;
        answer_put(a, status, type, buf_take(body), len);
}

/* With the type about:blank the title is the phrase of the status (RFC 9457, 4.2.1). */
static const char *status_phrase(unsigned status)
{
        switch (status) {
        case 400:
                return "Bad Request";
        case 404:
                return "Not Found";
        case 405:
                return "Method Not Allowed";
        case 500:
                return "Internal Server Error";
        case 503:
                return "Service Unavailable";
        case 504:
                return "Gateway Timeout";
        default:
                return "Error";
        }
}

void answer_problem(struct answer *a, unsigned status, const char *detail, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, detail);
        (void) vsnprintf(text, sizeof(text), detail, ap);
        va_end(ap);

        json_auto_t *j = json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", status_phrase(status),
                                   "status", (int) status, "detail", json_text(text));
        put_json(a, status, "application/problem+json", j);
}

json_t *json_bytes(const char *bytes, size_t len)
{
        json_t *j = json_stringn(bytes, len);
        if (j)
                return j;

        struct buf quoted = BUF_EMPTY;
        buf_json(&quoted, bytes, len);
        if (!quoted.failed)
                j = json_loadb(quoted.data, quoted.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        buf_done(&quoted);
        return j;
}

json_t *json_text(const char *text)
{
        return json_bytes(text, strlen(text));
}
