/* See tzif.h. Every count is checked against the bytes that are there before anything is read or allocated. */
#include "common/schedule/tzif.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/zone.h"

struct bytes {
        const uint8_t *at;
        size_t left;
};

struct header {
        unsigned version;
        uint32_t isutc, isstd, leaps, changes, kinds, letters;   /* how many of each */
};

#define HEADER_SIZE 44
#define KIND_SIZE   6

/* The next `size` bytes; NULL when there are fewer. */
static const uint8_t *take(struct bytes *b, uint64_t size)
{
        const uint8_t *at = b->at;

        if (size > b->left)
                return NULL;
        b->at += size;
        b->left -= (size_t) size;
        return at;
}

static uint32_t big32(const uint8_t *p)
{
        return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static int64_t big64(const uint8_t *p)
{
        return (int64_t) ((uint64_t) big32(p) << 32 | big32(p + 4));
}

static int refused(const char *why, const char **ret_why)
{
        *ret_why = why;
        return -EBADMSG;
}

static int header_read(struct bytes *b, struct header *ret, const char **ret_why)
{
        const uint8_t *p = take(b, HEADER_SIZE);

        if (!p)
                return refused("it is shorter than a zone file's header", ret_why);
        if (memcmp(p, "TZif", 4) != 0)
                return refused("it does not begin as a zone file (TZif)", ret_why);
        if (p[4] != 0 && (p[4] < '2' || p[4] > '4'))
                return refused("its version is not known", ret_why);
        *ret = (struct header) { p[4] ? p[4] - (unsigned) '0' : 1, big32(p + 20), big32(p + 24), big32(p + 28),
                                 big32(p + 32), big32(p + 36), big32(p + 40) };
        return 0;
}

/* Bytes of the block behind a header whose times have `width` bytes. */
static uint64_t block_size(const struct header *h, unsigned width)
{
        return (uint64_t) h->changes * (width + 1) + (uint64_t) h->kinds * KIND_SIZE + h->letters +
               (uint64_t) h->leaps * (width + 4) + h->isstd + h->isutc;
}

static int header_check(const struct header *h, const char **ret_why)
{
        if (h->leaps > 0)
                return refused("it counts leap seconds, which UTC here does not", ret_why);
        if (h->kinds == 0 || h->letters == 0)
                return refused("its count of local times is impossible", ret_why);
        if ((h->isstd != 0 && h->isstd != h->kinds) || (h->isutc != 0 && h->isutc != h->kinds))
                return refused("its indicators do not fit its local times", ret_why);
        return 0;
}

static int changes_read(const struct header *h, unsigned width, struct bytes *b, struct tzif *t, const char **ret_why)
{
        const uint8_t *at = take(b, (uint64_t) h->changes * width), *kind_at = take(b, h->changes);

        t->count = h->changes;
        t->at_s = calloc(t->count + 1, sizeof(*t->at_s));
        t->kind_at = calloc(t->count + 1, 1);
        if (!t->at_s || !t->kind_at)
                return -ENOMEM;
        for (size_t i = 0; i < t->count; i++) {
                t->at_s[i] = width == 8 ? big64(at + 8 * i) : (int32_t) big32(at + 4 * i);
                t->kind_at[i] = kind_at[i];
                if (i > 0 && t->at_s[i] <= t->at_s[i - 1])
                        return refused("its changes are not in order", ret_why);
                if (t->kind_at[i] >= h->kinds)
                        return refused("a change names a local time that is not there", ret_why);
        }
        return 0;
}

static int kind_read(const uint8_t *p, const char *letters, uint32_t letter_count, struct zone_kind *ret,
                     const char **ret_why)
{
        int32_t offset_s = (int32_t) big32(p);

        if (offset_s < OFFSET_MIN_S || offset_s > OFFSET_MAX_S || p[4] > 1)
                return refused("a local time is impossible", ret_why);
        *ret = (struct zone_kind) { .offset_s = offset_s, .is_dst = p[4] == 1 };
        if (p[5] >= letter_count || !memchr(letters + p[5], '\0', letter_count - p[5]) ||
            zone_kind_name(ret, letters + p[5], strlen(letters + p[5])) < 0)
                return refused("the name of a local time is impossible", ret_why);
        return 0;
}

static int kinds_read(const struct header *h, struct bytes *b, struct tzif *t, const char **ret_why)
{
        const uint8_t *kinds = take(b, (uint64_t) h->kinds * KIND_SIZE);
        const char *letters = (const char *) take(b, h->letters);

        t->kind_count = h->kinds;
        t->kinds = calloc(t->kind_count, sizeof(*t->kinds));
        if (!t->kinds)
                return -ENOMEM;
        for (size_t i = 0; i < t->kind_count; i++) {
                int r = kind_read(kinds + i * KIND_SIZE, letters, h->letters, &t->kinds[i], ret_why);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The table behind `h`; which of its times were standard or UTC when they were written matters to nobody here. */
static int table_read(const struct header *h, unsigned width, struct bytes *b, struct tzif *t, const char **ret_why)
{
        const uint8_t *block = take(b, block_size(h, width));

        if (!block)
                return refused("it is cut off in its table", ret_why);
        struct bytes inside = { block, (size_t) block_size(h, width) };
        int r = header_check(h, ret_why);
        if (r == 0)
                r = changes_read(h, width, &inside, t, ret_why);
        return r < 0 ? r : kinds_read(h, &inside, t, ret_why);
}

/* The rule stands between two newlines; nothing between them: there is none. */
static int footer_read(struct bytes *b, struct tzif *t, const char **ret_why)
{
        const uint8_t *first = take(b, 1);

        if (!first || *first != '\n')
                return refused("it has no footer", ret_why);
        const uint8_t *end = b->left ? memchr(b->at, '\n', b->left) : NULL;
        if (!end)
                return refused("it is cut off in its footer", ret_why);
        t->has_rule = end > b->at;
        if (t->has_rule && tzrule_parse((const char *) b->at, (size_t) (end - b->at), &t->rule) < 0)
                return refused("its rule for later years cannot be read", ret_why);
        return 0;
}

static int all_read(struct bytes *b, struct tzif *t, const char **ret_why)
{
        struct header h;

        int r = header_read(b, &h, ret_why);
        if (r < 0)
                return r;
        if (h.version == 1)
                return table_read(&h, 4, b, t, ret_why);
        if (!take(b, block_size(&h, 4)))
                return refused("it is cut off in its table", ret_why);
        r = header_read(b, &h, ret_why);
        if (r == 0)
                r = table_read(&h, 8, b, t, ret_why);
        return r < 0 ? r : footer_read(b, t, ret_why);
}

int tzif_read(const void *data, size_t size, struct tzif *ret, const char **ret_why)
{
        struct bytes b = { data, size };
        _cleanup_(tzif_done) struct tzif t = { 0 };

        int r = all_read(&b, &t, ret_why);
        if (r < 0)
                return r;
        *ret = t;
        t = (struct tzif) { 0 };
        return 0;
}

void tzif_done(struct tzif *t)
{
        free(t->at_s);
        free(t->kind_at);
        free(t->kinds);
        *t = (struct tzif) { 0 };
}

/* How many of the changes are at or before `utc_s`. */
static size_t changes_until(const struct tzif *t, int64_t utc_s)
{
        size_t low = 0, high = t->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (t->at_s[middle] <= utc_s)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

void tzif_span_at(const struct tzif *t, int64_t utc_s, struct zone_span *ret)
{
        size_t n = changes_until(t, utc_s);
        int64_t from_s = n > 0 ? t->at_s[n - 1] : INT64_MIN;

        if (n == t->count && t->has_rule) {
                /* The rule alone would go back for ever; it holds behind the table only. */
                tzrule_span_at(&t->rule, utc_s, ret);
                if (ret->from_s < from_s)
                        ret->from_s = from_s;
                return;
        }
        const struct zone_kind *k = &t->kinds[n > 0 ? t->kind_at[n - 1] : 0];
        *ret = (struct zone_span) { .from_s = from_s, .until_s = n < t->count ? t->at_s[n] : INT64_MAX,
                                    .offset_s = k->offset_s, .is_dst = k->is_dst };
        memcpy(ret->abbreviation, k->abbreviation, sizeof(ret->abbreviation));
}
