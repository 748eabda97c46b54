/* The scanner takes a flat object of plain strings, integers and booleans; it refuses all else rather than
 * guess, since jansson reads the rest. */
#include "cli/prove/scan.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

enum kind { TEXT, NUMBER };     /* booleans are numbers */

static const struct {
        const char *name;
        enum kind kind;
} fields[FIELD_COUNT_] = {
        [FIELD_E] = { "e", TEXT },
        [FIELD_N] = { "n", NUMBER },
        [FIELD_T] = { "t", TEXT },
        [FIELD_B] = { "b", NUMBER },
        [FIELD_H] = { "h", TEXT },
        [FIELD_NODE] = { "node", TEXT },
        [FIELD_SLOT] = { "slot", TEXT },
        [FIELD_PID] = { "pid", NUMBER },
        [FIELD_PSTART] = { "pstart", TEXT },
        [FIELD_BOOT] = { "boot", TEXT },
        [FIELD_ROLE] = { "role", TEXT },
        [FIELD_TZDATA] = { "tzdata", TEXT },
        [FIELD_SYNC] = { "sync", NUMBER },
        [FIELD_PREV_H] = { "prev_h", TEXT },
        [FIELD_WHAT] = { "what", TEXT },
        [FIELD_READY] = { "ready", NUMBER },
        [FIELD_EXIT] = { "exit", NUMBER },
        [FIELD_SIGNAL] = { "signal", NUMBER },
        [FIELD_TASK] = { "task", TEXT },
        [FIELD_KEY] = { "key", TEXT },
        [FIELD_PATH] = { "path", TEXT },
        [FIELD_KIND] = { "kind", TEXT },
        [FIELD_EVERY] = { "every", NUMBER },
        [FIELD_ANCHOR] = { "anchor", NUMBER },
        [FIELD_GRACE] = { "grace", NUMBER },
        [FIELD_MISFIRE] = { "misfire", TEXT },
        [FIELD_OVERLAP] = { "overlap", TEXT },
        [FIELD_SCOPE] = { "scope", TEXT },
        [FIELD_SHARDS] = { "shards", NUMBER },
        [FIELD_ENABLED] = { "enabled", NUMBER },
        [FIELD_REV] = { "rev", NUMBER },
        [FIELD_VALID_FROM] = { "valid_from", NUMBER },
        [FIELD_SHARD] = { "shard", NUMBER },
        [FIELD_OCC] = { "occ", TEXT },
        [FIELD_PLANNED] = { "planned", NUMBER },
        [FIELD_BY] = { "by", TEXT },
        [FIELD_OUT] = { "out", TEXT },
        [FIELD_FENCE] = { "fence", TEXT },
        [FIELD_CAUSE] = { "cause", TEXT },
        [FIELD_STATE] = { "state", TEXT },
        [FIELD_RESULT] = { "result", TEXT },
        [FIELD_RUN_US] = { "run_us", NUMBER },
        [FIELD_OF] = { "of", TEXT },
        [FIELD_FIRST] = { "first", NUMBER },
        [FIELD_LAST] = { "last", NUMBER },
        [FIELD_COUNT] = { "count", NUMBER },
        [FIELD_LINES] = { "lines", NUMBER },
        [FIELD_BYTES] = { "bytes", NUMBER },
        [FIELD_CEASED] = { "ceased", NUMBER },
        [FIELD_LED] = { "led", NUMBER },
};

_Static_assert(FIELD_COUNT_ <= 64, "record.present has a bit for each field");

static const char *const event_names[EVENT_COUNT_] = {
        [EVENT_OTHER] = "",        [EVENT_START] = "start",     [EVENT_ROTATE] = "rotate",
        [EVENT_ROSTER] = "roster", [EVENT_PLAN] = "plan",       [EVENT_ATTEMPT] = "attempt",
        [EVENT_RUN] = "run",       [EVENT_FINISH] = "finish",   [EVENT_SKIP] = "skip",
        [EVENT_MISS] = "miss",     [EVENT_GAP] = "gap",         [EVENT_TORN] = "torn",
        [EVENT_STOP] = "stop",
};

#define SLOTS 256               /* of the hash over field names; a power of two */

struct scanner {
        unsigned char place[SLOTS];     /* enum field + 1; 0 free; linear probing */
        char minute[17];                /* "2026-11-30T17:00:" of the newest time read, and its value */
        int64_t minute_us;
        char copies[SCAN_LINE_MAX];     /* strings that jansson unescaped */
        size_t copied;
};

static unsigned slot_of(const char *name, size_t len)
{
        return (unsigned) (len * 37 + (unsigned char) name[0] * 5 + (unsigned char) name[len - 1] * 11 +
                           (unsigned char) name[len / 2]) &
               (SLOTS - 1);
}

struct scanner *scanner_new(void)
{
        struct scanner *s = calloc(1, sizeof(*s));

        for (unsigned f = 0; s && f < FIELD_COUNT_; f++) {
                unsigned at = slot_of(fields[f].name, strlen(fields[f].name));
                while (s->place[at])
                        at = (at + 1) & (SLOTS - 1);
                s->place[at] = (unsigned char) (f + 1);
        }
        return s;
}

struct scanner *scanner_free(struct scanner *s)
{
        free(s);
        return NULL;
}

static int field_of(const struct scanner *s, const char *name, size_t len)
{
        if (len == 0)
                return -1;
        for (unsigned at = slot_of(name, len); s->place[at]; at = (at + 1) & (SLOTS - 1)) {
                int f = s->place[at] - 1;
                if (strncmp(fields[f].name, name, len) == 0 && fields[f].name[len] == '\0')
                        return f;
        }
        return -1;
}

bool text_is(struct text t, const char *word)
{
        return strlen(word) == t.len && memcmp(t.at, word, t.len) == 0;
}

char *text_copy(struct text t)
{
        return strndup(t.at, t.len);
}

void text_clean(char *text)
{
        for (; *text; text++)
                if ((unsigned char) *text < 0x20 || *text == 0x7f)
                        *text = '?';
}

int text_index(struct text t, const char *const *names)
{
        for (int i = 0; names[i]; i++)
                if (text_is(t, names[i]))
                        return i;
        return -1;
}

/* "2026-11-30T17:00:00.000213Z": minutes are remembered, most lines share theirs with the one before. */
static int time_read(struct scanner *s, struct text t, int64_t *ret_us)
{
        int64_t us = 0;

        if (t.len != 27 || t.at[19] != '.' || t.at[26] != 'Z')
                return -EINVAL;
        if (memcmp(t.at, s->minute, 16) != 0) {
                char whole[32] = "";
                struct instant i;

                memcpy(whole, t.at, 16);
                memcpy(whole + 16, ":00Z", 5);
                if (instant_parse(whole, &i) < 0)
                        return -EINVAL;
                memcpy(s->minute, t.at, 16);
                s->minute_us = i.ms * 1000;
        }
        for (size_t i = 17; i < 26; i++) {
                if (i == 19)
                        continue;
                if (t.at[i] < '0' || t.at[i] > '9')
                        return -EINVAL;
                us = us * 10 + (t.at[i] - '0');
        }
        if (t.at[16] != ':' || us >= 60 * 1000000)
                return -EINVAL;
        *ret_us = s->minute_us + us;
        return 0;
}

/* Instants of the years 10700 BC to 14600 and lengths of thirty years are beyond all honest lines, and small
 * enough to be added and multiplied without a thought. */
#define INSTANT_MAX_MS 400000000000000LL
#define LENGTH_MAX     1000000000000000LL
#define BOOTTIME_MAX   4000000000000000000LL

static int64_t within(int64_t v, int64_t limit)
{
        return v > limit ? limit : v < -limit ? -limit : v;
}

static void numbers_bound(struct record *r)
{
        static const enum field instants[] = {
                FIELD_PLANNED,    FIELD_FIRST,  FIELD_LAST,  FIELD_CEASED,
                FIELD_VALID_FROM, FIELD_ANCHOR, FIELD_GRACE,
        };

        for (size_t i = 0; i < sizeof(instants) / sizeof(*instants); i++)
                r->numbers[instants[i]] = within(r->numbers[instants[i]], INSTANT_MAX_MS);
        r->numbers[FIELD_RUN_US] = within(r->numbers[FIELD_RUN_US], LENGTH_MAX);
        r->b_ns = within(r->numbers[FIELD_B], BOOTTIME_MAX);
}

/* What every line must have; `e` decides the rest. */
static int record_complete(struct scanner *s, struct record *r)
{
        uint64_t must =
                1ULL << FIELD_E | 1ULL << FIELD_N | 1ULL << FIELD_T | 1ULL << FIELD_B | 1ULL << FIELD_H;

        if ((r->present & must) != must || r->numbers[FIELD_N] <= 0 || r->texts[FIELD_H].len != 16)
                return -EINVAL;
        r->n = (uint64_t) r->numbers[FIELD_N];
        numbers_bound(r);
        r->e = EVENT_OTHER;
        for (unsigned e = EVENT_START; e < EVENT_COUNT_ && r->e == EVENT_OTHER; e++)
                if (text_is(r->texts[FIELD_E], event_names[e]))
                        r->e = (enum event) e;
        return time_read(s, r->texts[FIELD_T], &r->t_us);
}

static bool text_own(const char **p, const char *end, struct text *ret)
{
        const char *q = *p;

        if (q == end || *q++ != '"')
                return false;
        ret->at = q;
        while (q < end && *q != '"') {
                if ((unsigned char) *q < 0x20 || (unsigned char) *q > 0x7e || *q == '\\')
                        return false;
                q++;
        }
        if (q == end)
                return false;
        ret->len = (size_t) (q - ret->at);
        *p = q + 1;
        return true;
}

static bool number_own(const char **p, const char *end, int64_t *ret)
{
        const char *q = *p;
        bool minus = q < end && *q == '-';
        int64_t v = 0;

        q += minus;
        const char *first = q;
        while (q < end && *q >= '0' && *q <= '9' && q - first < 18)
                v = v * 10 + (*q++ - '0');
        if (q == first || (*first == '0' && q - first > 1) || q == end || (*q != ',' && *q != '}'))
                return false;
        *ret = minus ? -v : v;
        *p = q;
        return true;
}

static bool word_own(const char **p, const char *end, const char *word)
{
        size_t len = strlen(word);

        if ((size_t) (end - *p) <= len || memcmp(*p, word, len) != 0)
                return false;
        *p += len;
        return true;
}

/* One `"key":value`; keys we do not know are read and dropped. */
static bool pair_own(struct scanner *s, const char **p, const char *end, struct record *r)
{
        struct text key, text;
        int64_t number;
        enum kind kind = NUMBER;

        if (!text_own(p, end, &key) || *p == end || *(*p)++ != ':' || *p == end)
                return false;
        if (**p == '"') {
                kind = TEXT;
                if (!text_own(p, end, &text))
                        return false;
        } else if (word_own(p, end, "true")) {
                number = 1;
        } else if (word_own(p, end, "false")) {
                number = 0;
        } else if (!number_own(p, end, &number)) {
                return false;
        }
        int f = field_of(s, key.at, key.len);
        if (f < 0)
                return true;
        if (record_has(r, (enum field) f) || fields[f].kind != kind)
                return false;
        r->present |= 1ULL << f;
        if (kind == TEXT)
                r->texts[f] = text;
        else
                r->numbers[f] = number;
        return true;
}

int scan_own(struct scanner *s, const char *line, size_t len, struct record *ret)
{
        const char *p = line, *end = line + len;

        ret->present = 0;
        memset(ret->numbers, 0, sizeof(ret->numbers));
        if (len < 2 || *p++ != '{')
                return -EINVAL;
        for (;;) {
                if (!pair_own(s, &p, end, ret) || p == end)
                        return -EINVAL;
                if (*p == '}')
                        break;
                if (*p++ != ',')
                        return -EINVAL;
        }
        return p + 1 == end ? record_complete(s, ret) : -EINVAL;
}

static bool value_json(struct scanner *s, int f, const json_t *v, struct record *r)
{
        if (fields[f].kind == TEXT) {
                size_t len = json_string_length(v);
                if (!json_is_string(v) || len > sizeof(s->copies) - s->copied)
                        return false;
                char *copy = s->copies + s->copied;
                memcpy(copy, json_string_value(v), len);
                s->copied += len;
                r->texts[f] = (struct text) { copy, len };
        } else if (json_is_integer(v)) {
                r->numbers[f] = (int64_t) json_integer_value(v);
        } else if (json_is_boolean(v)) {
                r->numbers[f] = json_is_true(v);
        } else {
                return false;
        }
        r->present |= 1ULL << f;
        return true;
}

int scan_json(struct scanner *s, const char *line, size_t len, struct record *ret)
{
        json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
        int r = json_is_object(object) ? 0 : -EINVAL;
        const char *key;
        json_t *v;

        ret->present = 0;
        memset(ret->numbers, 0, sizeof(ret->numbers));
        s->copied = 0;
        if (r == 0)
                json_object_foreach(object, key, v) {
                        int f = field_of(s, key, strlen(key));
                        if (f >= 0 && !value_json(s, f, v, ret))
                                r = -EINVAL;
                }
        json_decref(object);
        return r < 0 ? r : record_complete(s, ret);
}

int scan_line(struct scanner *s, const char *line, size_t len, struct record *ret)
{
        if (len > SCAN_LINE_MAX)
                return -EINVAL;
        if (scan_own(s, line, len, ret) == 0)
                return 0;
        return scan_json(s, line, len, ret);
}
