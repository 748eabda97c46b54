/* Times and numbers as the API writes them. */
#include "console/view.h"

/* Years 0000 to 9999: what RFC 3339 can write. INSTANT_NONE lies outside. */
#define INSTANT_FIRST_MS (-62167219200000LL)
#define INSTANT_LAST_MS  253402300799999LL

json_t *json_instant(struct instant i)
{
        char text[STAMP_TEXT];

        if (i.ms < INSTANT_FIRST_MS || i.ms > INSTANT_LAST_MS)
                return json_null();
        instant_text(i, text);
        return json_string(text);
}

json_t *json_stamp(struct stamp s)
{
        char text[STAMP_TEXT];

        if (s.ns == 0)
                return json_null();
        stamp_text(s, text);
        return json_string(text);
}

json_t *json_count(uint64_t n)
{
        return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t) n);
}
