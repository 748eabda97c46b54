/* Reading a cron expression into sets. One table says what each field may hold; what is refused is said with the
 * field, the text and what would be right. */
#include "common/schedule/cron.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

enum part { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const struct {
        const char *name;
        unsigned min, max;
        const char *names;     /* of three letters each, the first being `min` */
        const char *allowed;
} parts[] = {
        [SECOND] = { "second", 0, 59, "", "0-59" },
        [MINUTE] = { "minute", 0, 59, "", "0-59" },
        [HOUR] = { "hour", 0, 23, "", "0-23" },
        [DAY] = { "day of month", 1, 31, "", "1-31, ?, L, LW and nW" },
        [MONTH] = { "month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", "1-12 and JAN-DEC" },
        [WEEKDAY] = { "day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", "0-7, SUN-SAT, ?, dL and d#1 to d#5" },
};

static const struct {
        const char *name, *fields;
} macros[] = {
        { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },  { "@midnight", "0 0 * * *" },
        { "@weekly", "0 0 * * 0" },
        { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" },
};

#define FIELDS_MAX  6
#define ITEM_SHOWN  40
#define NUMBER_MAX  9999   /* above, no more digits are added: too large is too large */
#define ALL_DAYS    0xfffffffeU
#define ALL_WEEK    0x7fU

/* A stretch of the expression: a field, an item, or what is left of one. */
struct text {
        const char *at, *end;
};

/* One field being read: what it is, where it lies, and what it has brought so far. */
struct reading {
        enum part part;
        unsigned number;          /* of the field, from 1 */
        struct text field;
        bool starred;             /* an item has a * in it */
        uint64_t set;
        struct cron *cron;        /* takes what is no set: L, W, # */
        const char *expression;
        struct cron_error *error;
};

/* Fills `error`; what is shown of the expression is cut, and anything but printable ASCII as cron_shown gives it. */
__attribute__((format(printf, 3, 4))) static int refuse(const struct reading *r, struct text t, const char *why, ...)
{
        struct cron_error *e = r->error;
        size_t len = (size_t) (t.end - t.at), shown = len < ITEM_SHOWN ? len : ITEM_SHOWN;
        char item[ITEM_SHOWN + 1];
        va_list ap;

        for (size_t i = 0; i < shown; i++)
                item[i] = cron_shown(t.at[i]);
        item[shown] = '\0';
        e->at = (size_t) (t.at - r->expression);
        e->length = len;
        int n = r->number ? snprintf(e->text, sizeof(e->text), "field %u, %s: ", r->number, parts[r->part].name) : 0;
        n += snprintf(e->text + n, sizeof(e->text) - (size_t) n, "\"%s%s\" ", item, shown < len ? "..." : "");
        va_start(ap, why);
        (void) vsnprintf(e->text + n, sizeof(e->text) - (size_t) n, why, ap);
        va_end(ap);
        return -EINVAL;
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static bool text_is(struct text t, const char *word)
{
        size_t len = strlen(word);

        return (size_t) (t.end - t.at) == len && strncasecmp(t.at, word, len) == 0;
}

static bool text_has(struct text t, const char *any_of)
{
        while (t.at < t.end && (*t.at == '\0' || !strchr(any_of, *t.at)))
                t.at++;
        return t.at < t.end;
}

static bool is_day(enum part part)
{
        return part == DAY || part == WEEKDAY;
}

static bool char_taken(struct text *t, char c)
{
        if (t->at == t->end || *t->at != c)
                return false;
        t->at++;
        return true;
}

static bool letter_taken(struct text *t, char upper)
{
        return char_taken(t, upper) || char_taken(t, (char) (upper | 0x20));
}

static bool number_taken(struct text *t, unsigned *ret)
{
        unsigned n = 0;

        if (t->at == t->end || !is_digit(*t->at))
                return false;
        for (; t->at < t->end && is_digit(*t->at); t->at++)
                if (n <= NUMBER_MAX)
                        n = n * 10 + (unsigned) (*t->at - '0');
        *ret = n;
        return true;
}

/* A name and the letter behind it: FRIL is FRI and L, MONDAY is neither. */
static bool name_taken(struct text *t, enum part part, unsigned *ret)
{
        const char *names = parts[part].names;
        size_t run = 0;

        while (t->at + run < t->end && is_letter(t->at[run]))
                run++;
        if (run != 3 && !(run == 4 && part == WEEKDAY && (t->at[3] | 0x20) == 'l'))
                return false;
        for (unsigned i = 0; names[i * 3]; i++)
                if (strncasecmp(t->at, names + (size_t) i * 3, 3) == 0) {
                        t->at += 3;
                        *ret = parts[part].min + i;
                        return true;
                }
        return false;
}

/* A number or a name of the field. */
static int value_read(const struct reading *r, struct text item, struct text *t, unsigned *ret)
{
        const char *start = t->at;

        if (name_taken(t, r->part, ret))
                return 0;
        if (!number_taken(t, ret))
                return refuse(r, item, "cannot be read; allowed are %s", parts[r->part].allowed);
        if (*ret >= parts[r->part].min && *ret <= parts[r->part].max)
                return 0;
        return refuse(r, (struct text) { start, t->at }, "is out of range; allowed are %s", parts[r->part].allowed);
}

/* a-b as it would have to be written when b lies before a: up to the end of the field, then from its start. */
static void spelled_out(enum part part, unsigned a, unsigned b, char *ret, size_t room)
{
        unsigned min = parts[part].min, max = part == WEEKDAY ? 6 : parts[part].max;
        size_t n = 0;

        if (part == WEEKDAY && (a == 7 || b == 0)) {
                (void) snprintf(ret, room, "%u-%u", a % 7, a == 7 ? b : 7);
                return;
        }
        n += (size_t) snprintf(ret, room, a < max ? "%u-%u," : "%u,", a, max);
        (void) snprintf(ret + n, room - n, b > min ? "%u-%u" : "%u", min, b);
}

static int step_read(const struct reading *r, struct text item, struct text *t, unsigned *ret)
{
        unsigned values = parts[r->part].max - parts[r->part].min + (r->part == WEEKDAY ? 0 : 1);

        *ret = 1;
        if (t->at == t->end)
                return 0;
        if (!char_taken(t, '/') || !number_taken(t, ret) || t->at != t->end)
                return refuse(r, item, "cannot be read; behind * or a range only a step may follow: /n");
        if (*ret == 0)
                return refuse(r, item, "has a step of 0; a step is at least 1");
        if (*ret > values)
                return refuse(r, item,
                              "has a step of more than the %u values of the field, and would match the first alone%s",
                              values, r->part <= HOUR ? "; \"every\" takes any interval" : "");
        return 0;
}

static void set_range(struct reading *r, unsigned a, unsigned b, unsigned step)
{
        for (; a <= b; a += step)
                r->set |= 1ULL << (r->part == WEEKDAY ? a % 7 : a);
}

static int star_read(struct reading *r, struct text item, struct text t)
{
        unsigned step;

        int bad = step_read(r, item, &t, &step);
        if (bad)
                return bad;
        r->starred = true;
        set_range(r, parts[r->part].min, r->part == WEEKDAY ? 6 : parts[r->part].max, step);
        return 0;
}

static int range_read(struct reading *r, struct text item, struct text t, unsigned a)
{
        char right[32];
        unsigned b, step;

        bool named = r->part == WEEKDAY && t.at < t.end && is_letter(*t.at);
        int bad = value_read(r, item, &t, &b);
        if (bad)
                return bad;
        if (named && b == 0 && a > 0)
                b = 7;
        bad = step_read(r, item, &t, &step);
        if (bad)
                return bad;
        if (b < a) {
                spelled_out(r->part, a, b, right, sizeof(right));
                return refuse(r, item, step > 1 ? "runs backwards; write %s, with a step in each part"
                                                : "runs backwards; write %s", right);
        }
        set_range(r, a, b, step);
        return 0;
}

/* dL and d#k; -ENOENT when there is neither. */
static int weekday_mark_read(struct reading *r, struct text item, struct text t, unsigned day)
{
        unsigned k;

        if (letter_taken(&t, 'L')) {
                if (t.at != t.end)
                        return refuse(r, item, "cannot be read; nothing may stand behind L");
                r->cron->last_weekdays |= (uint8_t) (1U << day % 7);
                return 0;
        }
        if (!char_taken(&t, '#'))
                return -ENOENT;
        if (!number_taken(&t, &k) || t.at != t.end || k < 1 || k > 5)
                return refuse(r, item, "cannot be read; behind # stands which one of the month, 1 to 5");
        r->cron->nth_weekdays |= 1ULL << ((k - 1) * 7 + day % 7);
        return 0;
}

static int item_read(struct reading *r, struct text item)
{
        struct text t = item;
        unsigned a;

        if (item.at == item.end)
                return refuse(r, r->field, "has an empty item; items are separated by one comma");
        if (char_taken(&t, '*'))
                return star_read(r, item, t);
        int bad = value_read(r, item, &t, &a);
        if (bad)
                return bad;
        if (t.at == t.end) {
                set_range(r, a, a, 1);
                return 0;
        }
        if (char_taken(&t, '-'))
                return range_read(r, item, t, a);
        if (*t.at == '/')
                return refuse(r, item, "has a step on a single value; a step needs * or a range: %u-%u/n", a,
                              parts[r->part].max);
        bad = r->part == WEEKDAY ? weekday_mark_read(r, item, t, a) : -ENOENT;
        if (bad == -ENOENT)
                return refuse(r, item, "cannot be read; allowed are %s", parts[r->part].allowed);
        return bad;
}

/* What a day of month may be as a whole field. 1: read, 0: something else. */
static int day_mark_read(struct reading *r)
{
        struct text t = r->field;
        unsigned n;

        if (text_is(t, "L")) {
                r->cron->last_day = true;
                return 1;
        }
        if (text_is(t, "LW")) {
                r->cron->last_weekday = true;
                return 1;
        }
        if (!number_taken(&t, &n) || !letter_taken(&t, 'W') || t.at != t.end)
                return 0;
        if (n < 1 || n > 31)
                return refuse(r, r->field, "is out of range; allowed are 1W to 31W");
        r->cron->weekday_nearest = (uint8_t) n;
        return 1;
}

static int list_read(struct reading *r)
{
        struct text item = { r->field.at, r->field.at };

        for (;; item.at = ++item.end) {
                while (item.end < r->field.end && *item.end != ',')
                        item.end++;
                int bad = item_read(r, item);
                if (bad || item.end == r->field.end)
                        return bad;
        }
}

/* Reads `field` into r->set; `ret_any` says that it does not restrict. */
static int field_read(struct reading *r, struct text field, bool *ret_any)
{
        r->field = field;
        r->set = 0;
        r->starred = false;
        *ret_any = text_is(field, "*") || (is_day(r->part) && text_is(field, "?"));
        if (*ret_any) {
                set_range(r, parts[r->part].min, r->part == WEEKDAY ? 6 : parts[r->part].max, 1);
                return 0;
        }
        if (r->part == DAY) {
                int read = day_mark_read(r);
                if (read)
                        return read < 0 ? read : 0;
                if (text_has(field, "LlWw"))
                        return refuse(r, field, "cannot be read; L, LW and nW (15W) stand alone in the field");
        }
        if (text_has(field, "?"))
                return refuse(r, field, is_day(r->part)
                                      ? "cannot be read; ? stands alone in the field"
                                      : "cannot be read; ? is for the day of month or the day of week");
        return list_read(r);
}

/* What means the same is brought to the same sets. */
static void normalise(struct cron *c)
{
        for (unsigned d = 0; d < 7; d++) {
                uint64_t all = 0x10204081ULL << d;
                if ((c->nth_weekdays & all) == all)
                        c->weekdays |= (uint8_t) (1U << d);
                if (c->weekdays >> d & 1) {
                        c->nth_weekdays &= ~all;
                        c->last_weekdays &= (uint8_t) ~(1U << d);
                }
        }
        if ((c->any_day && c->any_weekday) || (!c->any_day && c->days == ALL_DAYS) ||
            (!c->any_weekday && c->weekdays == ALL_WEEK)) {
                c->any_day = c->any_weekday = true;
                c->days = ALL_DAYS;
                c->weekdays = ALL_WEEK;
                c->last_day = c->last_weekday = false;
                c->weekday_nearest = 0;
                c->nth_weekdays = 0;
                c->last_weekdays = 0;
        }
}

static int fields_read(struct reading *r, const struct text *fields, unsigned count)
{
        struct cron *c = r->cron;
        bool any[WEEKDAY + 1] = { false }, starred = false;
        uint64_t sets[WEEKDAY + 1] = { [SECOND] = 1 };

        for (unsigned i = 0; i < count; i++) {
                r->part = i + (count == FIELDS_MAX ? SECOND : MINUTE);
                r->number = i + 1;
                int bad = field_read(r, fields[i], &any[r->part]);
                if (bad)
                        return bad;
                sets[r->part] = r->set;
                starred |= r->starred && is_day(r->part);
        }
        if (*fields[count - 1].at == '?' && *fields[count - 3].at == '?')
                return refuse(r, r->field,
                              "is the second ?; one of the two day fields may be ?, the other says which days");
        c->seconds = sets[SECOND];
        c->minutes = sets[MINUTE];
        c->hours = (uint32_t) sets[HOUR];
        c->days = (uint32_t) sets[DAY];
        c->months = (uint16_t) sets[MONTH];
        c->weekdays = (uint8_t) sets[WEEKDAY];
        c->any_day = any[DAY];
        c->any_weekday = any[WEEKDAY];
        c->starred = starred && !c->any_day && !c->any_weekday;
        normalise(c);
        return 0;
}

/* The next field of `t`; empty when there is none. */
static struct text field_split(struct text *t)
{
        struct text field;

        while (t->at < t->end && is_blank(*t->at))
                t->at++;
        field = (struct text) { t->at, t->at };
        while (field.end < t->end && !is_blank(*field.end))
                field.end++;
        t->at = field.end;
        return field;
}

static int macro_read(struct reading *r, struct text word, struct text left)
{
        struct text behind = field_split(&left);

        if (text_is(word, "@reboot"))
                return refuse(r, word, "is no time but the start of a machine, and there are no instants to plan");
        for (size_t i = 0; i < ARRAY_SIZE(macros); i++) {
                if (!text_is(word, macros[i].name))
                        continue;
                if (behind.at != behind.end)
                        return refuse(r, behind, "is too much: nothing may stand behind %s", macros[i].name);
                return cron_parse(macros[i].fields, r->cron, r->error);
        }
        return refuse(r, word, "is no macro; there are @hourly @daily @midnight @weekly @monthly @yearly @annually");
}

static int expression_read(struct reading *r, struct text all)
{
        struct text fields[FIELDS_MAX], left = all;
        unsigned count = 0;

        for (struct text f = field_split(&left); f.at < f.end; f = field_split(&left), count++) {
                if (count == 0 && *f.at == '@')
                        return macro_read(r, f, left);
                if (count < FIELDS_MAX)
                        fields[count] = f;
        }
        if (count == 5 || count == FIELDS_MAX)
                return fields_read(r, fields, count);
        return refuse(r, all,
                      "has %u field%s; a cron expression has five (minute, hour, day of month, month, day of week), "
                      "or six with the second in front", count, count == 1 ? "" : "s");
}

int cron_parse(const char *expression, struct cron *ret, struct cron_error *error)
{
        struct cron c = { 0 };
        struct reading r = { .cron = &c, .expression = expression, .error = error };
        size_t len = strnlen(expression, CRON_MAX);
        struct text all = { expression, expression + len };

        if (len == CRON_MAX)
                return refuse(&r, all, "is longer than %d bytes", CRON_MAX - 1);
        int bad = expression_read(&r, all);
        if (bad)
                return bad;
        *ret = c;
        return 0;
}
