/* The scanner takes a flat object of plain strings, integers and booleans; it refuses all else rather than
 * guess, since jansson reads the rest. */
#include "cli/prove/scan.h"

#include <assert.h>
#include <endian.h>
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
        [FIELD_CONFIG] = { "config", TEXT },
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
        [FIELD_SCHEDULE] = { "schedule", TEXT },
        [FIELD_MISFIRE] = { "misfire", TEXT },
        [FIELD_GRACE] = { "grace", NUMBER },
        [FIELD_LOOKBACK] = { "lookback", NUMBER },
        [FIELD_OVERLAP] = { "overlap", TEXT },
        [FIELD_MAX_RUNNING] = { "max_running", NUMBER },
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
        [FIELD_CEASED_GROUP] = { "ceased_group", NUMBER },
        [FIELD_LED] = { "led", NUMBER },
        [FIELD_JUMP_NS] = { "jump_ns", NUMBER },
};

_Static_assert(FIELD_COUNT_ <= 64, "record.present has a bit for each field");

static const char *const event_names[EVENT_COUNT_] = {
        [EVENT_OTHER] = "",        [EVENT_START] = "start",     [EVENT_ROTATE] = "rotate",
        [EVENT_ROSTER] = "roster", [EVENT_PLAN] = "plan",       [EVENT_ATTEMPT] = "attempt",
        [EVENT_RUN] = "run",       [EVENT_FINISH] = "finish",   [EVENT_SKIP] = "skip",
        [EVENT_MISS] = "miss",     [EVENT_GAP] = "gap",         [EVENT_TORN] = "torn",
        [EVENT_CEASE] = "cease",   [EVENT_STOP] = "stop",       [EVENT_STEP] = "step",
};

#define SLOTS       256         /* of the hash over field names; a power of two */
#define SLOT_SHIFT  56          /* 64 - log2(SLOTS) */
#define STRANGE_MAX 16          /* keys of a line that are no fields; a line with more of them is left to jansson */
#define WORD        sizeof(uint64_t)

struct scanner {
        unsigned char place[SLOTS];     /* enum field + 1; 0 free; linear probing */
        uint64_t heads[FIELD_COUNT_];   /* of the names, see head_of */
        unsigned char lengths[FIELD_COUNT_];
        uint64_t event_heads[EVENT_COUNT_];
        char minute[17];                /* "2026-11-30T17:00:" of the newest time read, and its value */
        int64_t minute_us;
        struct text strange[STRANGE_MAX];
        unsigned strange_count;         /* in the line at hand */
        char copies[SCAN_LINE_MAX];     /* strings that jansson unescaped */
        size_t copied;
};

/* The first eight bytes as a number, zeros after a shorter text: what is compared instead of the text. */
static uint64_t head_of(const char *text, size_t len)
{
        uint64_t head = 0;

        for (size_t i = 0; i < len && i < WORD; i++)
                head |= (uint64_t) (unsigned char) text[i] << 8 * i;
        return head;
}

static unsigned slot_of(uint64_t head)
{
        return (unsigned) (head * 0x9e3779b97f4a7c15ULL >> SLOT_SHIFT);
}

struct scanner *scanner_new(void)
{
        struct scanner *s = calloc(1, sizeof(*s));

        for (unsigned f = 0; s && f < FIELD_COUNT_; f++) {
                size_t len = strlen(fields[f].name);
                s->heads[f] = head_of(fields[f].name, len);
                s->lengths[f] = (unsigned char) len;
                unsigned at = slot_of(s->heads[f]);
                while (s->place[at])
                        at = (at + 1) & (SLOTS - 1);
                s->place[at] = (unsigned char) (f + 1);
        }
        for (unsigned e = 0; s && e < EVENT_COUNT_; e++) {
                assert(strlen(event_names[e]) < WORD);
                s->event_heads[e] = head_of(event_names[e], strlen(event_names[e]));
        }
        return s;
}

struct scanner *scanner_free(struct scanner *s)
{
        free(s);
        return NULL;
}

static int field_of(const struct scanner *s, struct text name, uint64_t head)
{
        for (unsigned at = slot_of(head); s->place[at]; at = (at + 1) & (SLOTS - 1)) {
                int f = s->place[at] - 1;
                if (s->heads[f] == head && s->lengths[f] == name.len &&
                    (name.len <= WORD || memcmp(fields[f].name + WORD, name.at + WORD, name.len - WORD) == 0))
                        return f;
        }
        return -1;
}

static enum event event_of(const struct scanner *s, struct text name)
{
        uint64_t head = head_of(name.at, name.len);

        for (unsigned e = EVENT_START; e < EVENT_COUNT_ && name.len < WORD; e++)
                if (s->event_heads[e] == head)
                        return (enum event) e;
        return EVENT_OTHER;
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
                FIELD_PLANNED,    FIELD_FIRST, FIELD_LAST,     FIELD_CEASED, FIELD_CEASED_GROUP,
                FIELD_VALID_FROM, FIELD_GRACE, FIELD_LOOKBACK,
        };

        for (size_t i = 0; i < sizeof(instants) / sizeof(*instants); i++)
                if (record_has(r, instants[i]))
                        r->numbers[instants[i]] = within(r->numbers[instants[i]], INSTANT_MAX_MS);
        if (record_has(r, FIELD_RUN_US))
                r->numbers[FIELD_RUN_US] = within(r->numbers[FIELD_RUN_US], LENGTH_MAX);
        if (record_has(r, FIELD_JUMP_NS))
                r->numbers[FIELD_JUMP_NS] = within(r->numbers[FIELD_JUMP_NS], BOOTTIME_MAX);
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
        r->e = event_of(s, r->texts[FIELD_E]);
        return time_read(s, r->texts[FIELD_T], &r->t_us);
}

#define EACH(byte) (0x0101010101010101ULL * (byte))     /* `byte` in all eight places */

static uint64_t word_at(const char *p)
{
        uint64_t w;

        memcpy(&w, p, WORD);
        return le64toh(w);
}

/* Marks the first byte that ends a plain text: the quote, or what is not plain (a backslash, a control character, all
 * from 0x7f on). A borrow or a carry comes only from a marked byte, so that marks can be false after the first only. */
static uint64_t stops_in(uint64_t w)
{
        uint64_t quote = w ^ EACH('"'), backslash = w ^ EACH('\\');

        return (w | (w + EACH(1)) | (w - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1))) & EACH(0x80);
}

static bool is_plain(char c)
{
        return (unsigned char) c >= 0x20 && (unsigned char) c < 0x7f && c != '"' && c != '\\';
}

static bool text_own(const char **p, const char *end, struct text *ret)
{
        const char *q = *p;
        uint64_t stops = 0;

        if (q == end || *q++ != '"')
                return false;
        ret->at = q;
        while ((size_t) (end - q) >= WORD && !(stops = stops_in(word_at(q))))
                q += WORD;
        if (stops)
                q += (unsigned) __builtin_ctzll(stops) / 8;
        else
                while (q < end && is_plain(*q))
                        q++;
        if (q == end || *q != '"')
                return false;
        ret->len = (size_t) (q - ret->at);
        *p = q + 1;
        return true;
}

/* A key with its head: nearly all of them end within the first word. */
static bool key_own(const char **p, const char *end, struct text *ret, uint64_t *ret_head)
{
        if ((size_t) (end - *p) > WORD) {
                uint64_t w = word_at(*p + 1), stops = stops_in(w);
                unsigned bits = stops ? (unsigned) __builtin_ctzll(stops) & ~7u : 64;
                if (bits < 64 && **p == '"' && (w >> bits & 0xff) == '"') {
                        *ret = (struct text) { *p + 1, bits / 8 };
                        *ret_head = w & ((1ULL << bits) - 1);
                        *p += 1 + bits / 8 + 1;
                        return true;
                }
        }
        if (!text_own(p, end, ret))
                return false;
        *ret_head = head_of(ret->at, ret->len);
        return true;
}

/* A key that is no field is read and dropped; jansson refuses a line that has it twice, and so must we. */
static bool strange_own(struct scanner *s, struct text key)
{
        for (unsigned i = 0; i < s->strange_count; i++)
                if (s->strange[i].len == key.len && memcmp(s->strange[i].at, key.at, key.len) == 0)
                        return false;
        if (s->strange_count == STRANGE_MAX)
                return false;
        s->strange[s->strange_count++] = key;
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

/* One `"key":value`. */
static bool pair_own(struct scanner *s, const char **p, const char *end, struct record *r)
{
        struct text key, text;
        uint64_t head;
        int64_t number = 0;
        enum kind kind = NUMBER;

        if (!key_own(p, end, &key, &head) || *p == end || *(*p)++ != ':' || *p == end)
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
        int f = field_of(s, key, head);
        if (f < 0)
                return strange_own(s, key);
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
        s->strange_count = 0;
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
        s->copied = 0;
        if (r == 0)
                json_object_foreach(object, key, v) {
                        struct text name = { key, strlen(key) };
                        int f = field_of(s, name, head_of(name.at, name.len));
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
