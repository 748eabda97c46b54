/* Only what is needed to tell JSON from text: ranges, their weight, and that a narrower range counts more. */
#include "console/negotiate.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct weight {
        int milli;       /* 0..1000 */
        int narrowness;  /* of the range that gave it: 0 none, 1 any, 2 the type, 3 exact */
};

static bool range_is(const char *range, size_t len, const char *text)
{
        return strlen(text) == len && strncasecmp(range, text, len) == 0;
}

static void weigh(struct weight *w, int narrowness, int milli)
{
        if (narrowness > w->narrowness || (narrowness == w->narrowness && milli > w->milli))
                *w = (struct weight) { milli, narrowness };
}

/* "q=0.8" among the parameters of one range: 800; 1000 when it is not there or not understood. */
static int quality(const char *parameters, const char *end)
{
        for (const char *p = parameters; p < end; p++) {
                if (*p != ';')
                        continue;
                for (p++; p < end && (*p == ' ' || *p == '\t');)
                        p++;
                if (end - p < 3 || (*p != 'q' && *p != 'Q') || p[1] != '=')
                        continue;
                if (p[2] != '0')
                        return 1000;
                int milli = 0, scale = 100;
                for (const char *d = p + 4; p[3] == '.' && d < end && isdigit((unsigned char) *d); d++, scale /= 10)
                        milli += (*d - '0') * scale;
                return milli;
        }
        return 1000;
}

bool prefers_json(const char *accept)
{
        struct weight json = { 0, 0 }, text = { 0, 0 };

        for (const char *p = accept; p && *p; p += *p == ',') {
                p += strspn(p, " \t");
                const char *end = p + strcspn(p, ",");
                size_t len = strcspn(p, " \t;,");
                int q = quality(p + len, end);

                if (range_is(p, len, "application/json")) {
                        weigh(&json, 3, q);
                } else if (range_is(p, len, "application/openmetrics-text") || range_is(p, len, "text/plain")) {
                        weigh(&text, 3, q);
                } else if (range_is(p, len, "application/*")) {
                        weigh(&json, 2, q);
                        weigh(&text, 2, q);
                } else if (range_is(p, len, "text/*")) {
                        weigh(&text, 2, q);
                } else if (range_is(p, len, "*/*")) {
                        weigh(&json, 1, q);
                        weigh(&text, 1, q);
                }
                p = end;
        }
        return json.milli > text.milli;
}
