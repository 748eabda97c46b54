/* A zone file of any bytes: it is refused with a reason, or its stretches cover all of time and follow each other. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/tzif.h"
#include "common/schedule/zone.h"

static void claim_span(const struct zone_span *s, int64_t at_s)
{
        CLAIM(s->from_s <= at_s && (at_s < s->until_s || at_s == INT64_MAX));
        CLAIM(s->offset_s >= OFFSET_MIN_S && s->offset_s <= OFFSET_MAX_S);
        claim_text(s->abbreviation, sizeof(s->abbreviation));
}

static void claim_same(const struct zone_span *a, const struct zone_span *b)
{
        CLAIM(a->from_s == b->from_s && a->until_s == b->until_s && a->offset_s == b->offset_s);
        CLAIM(a->is_dst == b->is_dst && strcmp(a->abbreviation, b->abbreviation) == 0);
}

/* The stretch around `at_s`, the same from both of its ends, and its neighbours. */
static void claim_around(const struct tzif *t, int64_t at_s)
{
        struct zone_span s, end, near;

        tzif_span_at(t, at_s, &s);
        claim_span(&s, at_s);
        tzif_span_at(t, s.from_s, &end);
        claim_same(&s, &end);
        if (s.from_s > INT64_MIN) {
                tzif_span_at(t, s.from_s - 1, &near);
                claim_span(&near, s.from_s - 1);
                CLAIM(near.until_s == s.from_s);
        }
        if (s.until_s < INT64_MAX) {
                tzif_span_at(t, s.until_s - 1, &end);
                claim_same(&s, &end);
                tzif_span_at(t, s.until_s, &near);
                claim_span(&near, s.until_s);
                CLAIM(near.from_s == s.until_s);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const int64_t years[] = { INT64_MIN, -2208988800LL, 0, 1700000000, 4102444800LL, INT64_MAX };
        _cleanup_(tzif_done) struct tzif t = { 0 };
        const char *why = NULL;

        int r = tzif_read(data, size, &t, &why);
        if (r < 0) {
                CLAIM(r == -EBADMSG && why);
                return 0;
        }
        for (size_t i = 0; i < ARRAY_SIZE(years); i++)
                claim_around(&t, years[i]);
        for (size_t i = 0; i < t.count && i < 16; i++)
                claim_around(&t, t.at_s[i]);
        if (t.count > 0)
                claim_around(&t, t.at_s[t.count - 1]);
        return 0;
}
