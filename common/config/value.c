/* Values of rows: from text, copied, compared, freed. What a row is made of is known only here and in
 * dump.c. */
#include "common/config/field.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/config.h"
#include "common/config/node.h"

#define TEXT_MAX_DEFAULT 4096

static void *at(const struct field *f, void *base)
{
        return (char *) base + f->offset;
}

static const void *at_const(const struct field *f, const void *base)
{
        return (const char *) base + f->offset;
}

int text_list_add(struct text_list *l, const char *text)
{
        /* Doubled at powers of two; the NULL behind the last item is counted in. */
        if (((l->count + 1) & l->count) == 0) {
                char **items = realloc(l->items, 2 * (l->count + 1) * sizeof(*items));
                if (!items)
                        return -ENOMEM;
                l->items = items;
                l->items[l->count] = NULL;
        }
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        l->items[l->count++] = copy;
        l->items[l->count] = NULL;
        return 0;
}

void text_list_done(struct text_list *l)
{
        for (size_t i = 0; i < l->count; i++)
                free(l->items[i]);
        free(l->items);
        *l = (struct text_list) { 0 };
}

static int refused(char why[VALUE_WHY], const char *text, const char *must)
{
        char q[QUOTE_TEXT];

        (void) snprintf(why, VALUE_WHY, "%s %s", quote(text, q), must);
        return -EINVAL;
}

/* A whole number in decimal, with a sign. */
static int integer_parse(const char *text, int64_t *ret)
{
        char *end;

        if (text[0] != '-' && (text[0] < '0' || text[0] > '9'))
                return -EINVAL;
        errno = 0;
        long long n = strtoll(text, &end, 10);
        if (*end || end == text)
                return -EINVAL;
        if (errno)
                return -ERANGE;
        *ret = n;
        return 0;
}

static int percent_parse(const char *text, int64_t *ret)
{
        char digits[8];
        size_t n = strcspn(text, "%");

        if (n >= sizeof(digits) || (text[n] && text[n + 1]))
                return -EINVAL;
        memcpy(digits, text, n);
        digits[n] = '\0';
        return integer_parse(digits, ret);
}

static int mode_parse(const char *text, int64_t *ret)
{
        size_t n = strspn(text, "01234567");

        if (n == 0 || n > 6 || text[n])
                return -EINVAL;
        *ret = strtol(text, NULL, 8);
        return 0;
}

static int instant_or_integer(const char *text, int64_t *ret)
{
        struct instant i;

        if (integer_parse(text, ret) == 0)
                return 0;
        int r = instant_parse(text, &i);
        if (r == 0)
                *ret = i.ms;
        return r;
}

static int bool_parse(const char *text, int64_t *ret)
{
        static const char *const yes[] = { "true", "yes", "on", NULL };
        static const char *const no[] = { "false", "no", "off", NULL };

        for (int i = 0; yes[i]; i++)
                if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
                        *ret = strcmp(text, yes[i]) == 0;
                        return 0;
                }
        return -EINVAL;
}

static int number_parse(const struct field *f, const char *text, int64_t *ret)
{
        switch (f->type) {
        case FIELD_SPAN:    return span_parse(text, ret);
        case FIELD_SIZE:    return size_parse(text, ret);
        case FIELD_PERCENT: return percent_parse(text, ret);
        case FIELD_MODE:    return mode_parse(text, ret);
        case FIELD_INSTANT: return instant_or_integer(text, ret);
        case FIELD_BOOL:    return bool_parse(text, ret);
        default:            return integer_parse(text, ret);
        }
}

static const char *number_form(enum field_type type)
{
        switch (type) {
        case FIELD_SPAN:    return "must be a number and one unit of ms, s, m, h, d, as 30s";
        case FIELD_SIZE:    return "must be a size in bytes, or with K, M, G or T, as 64MiB";
        case FIELD_PERCENT: return "must be a percentage, as 10%";
        case FIELD_MODE:    return "must be an octal mode, as 0660";
        case FIELD_INSTANT: return "must be an instant as 2026-01-31T09:00:00Z, or milliseconds since 1970";
        case FIELD_BOOL:    return "must be true or false";
        default:            return "must be a whole number";
        }
}

static void number_store(const struct field *f, int64_t n, void *base)
{
        void *to = at(f, base);

        if (f->type == FIELD_BOOL)
                *(bool *) to = n != 0;
        else if (f->type == FIELD_NUMBER)
                *(int *) to = (int) n;
        else if (f->type == FIELD_COUNT || f->type == FIELD_PERCENT || f->type == FIELD_MODE)
                *(unsigned *) to = (unsigned) n;
        else
                *(int64_t *) to = n;
}

void bound_text(const struct field *f, int64_t bound, char ret[32])
{
        if (f->type == FIELD_SPAN)
                span_text(bound, ret);
        else if (f->type == FIELD_SIZE)
                size_text(bound, ret);
        else if (f->type == FIELD_MODE)
                (void) snprintf(ret, 32, "%04llo", (unsigned long long) bound);
        else
                (void) snprintf(ret, 32, f->type == FIELD_PERCENT ? "%lld%%" : "%lld", (long long) bound);
}

static int out_of_range(const struct field *f, const char *text, int64_t low, char why[VALUE_WHY])
{
        char must[96], low_text[32], high_text[32];

        bound_text(f, low, low_text);
        bound_text(f, f->max, high_text);
        (void) snprintf(must, sizeof(must), "is out of range %s to %s", low_text, high_text);
        return refused(why, text, must);
}

static int64_t lowest(const struct field *f)
{
        const char *short_lease = f->test_min ? getenv("ONCED_TEST_SHORT_LEASE") : NULL;

        return short_lease && strcmp(short_lease, "1") == 0 ? f->test_min : f->min;
}

static int number_value(const struct field *f, const char *text, void *base, char why[VALUE_WHY])
{
        int64_t n;

        if (f->special && strcmp(text, f->special) == 0) {
                number_store(f, f->special_value, base);
                return 0;
        }
        int r = number_parse(f, text, &n);
        if (r == -ERANGE)
                return out_of_range(f, text, lowest(f), why);
        if (r < 0)
                return refused(why, text, number_form(f->type));
        if (f->type != FIELD_BOOL && (n < lowest(f) || n > f->max))
                return out_of_range(f, text, lowest(f), why);
        number_store(f, n, base);
        return 0;
}

static int choice_refused(const struct field *f, const char *text, char why[VALUE_WHY])
{
        char must[VALUE_WHY - QUOTE_TEXT - 2];
        const char *near = nearest_word(text, f->choices);
        size_t n = 0;

        n += (size_t) snprintf(must, sizeof(must), "is none of ");
        for (size_t i = 0; f->choices[i] && n < sizeof(must); i++)
                n += (size_t) snprintf(must + n, sizeof(must) - n, "%s%s", i ? ", " : "", f->choices[i]);
        if (near && n < sizeof(must))
                (void) snprintf(must + n, sizeof(must) - n, "; did you mean %s?", near);
        return refused(why, text, must);
}

static int text_value(const struct field *f, const char *text, void *base, char why[VALUE_WHY])
{
        size_t longest = f->max ? (size_t) f->max : TEXT_MAX_DEFAULT;
        char must[64];

        if (strlen(text) > longest) {
                (void) snprintf(must, sizeof(must), "is longer than %zu bytes", longest);
                return refused(why, text, must);
        }
        if (text[0] == '\0' && f->min >= 0)
                return refused(why, text, "must not be empty");
        const char *wrong = f->check ? f->check(text) : NULL;
        if (wrong)
                return refused(why, text, wrong);
        if (f->choices && name_index(f->choices, text) < 0)
                return choice_refused(f, text, why);
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*(char **) at(f, base));
        *(char **) at(f, base) = copy;
        return 0;
}

int value_parse(const struct field *f, const char *text, void *base, char ret_why[VALUE_WHY])
{
        if (f->type == FIELD_TEXT || f->type == FIELD_SECRET)
                return text_value(f, text, base, ret_why);
        if (f->type != FIELD_CHOICE)
                return number_value(f, text, base, ret_why);
        int i = name_index(f->choices, text);
        if (i < 0)
                return choice_refused(f, text, ret_why);
        *(unsigned *) at(f, base) = (unsigned) i;
        return 0;
}

int fields_init(const struct field *rows, void *base)
{
        char why[VALUE_WHY];
        int r = 0;

        for (; rows->key && r == 0; rows++) {
                if (rows->type == FIELD_GROUP)
                        r = fields_init(rows->group, at(rows, base));
                else if (rows->dflt)
                        r = value_parse(rows, rows->dflt, base, why);
                else if (rows->type == FIELD_CHOICE)
                        *(unsigned *) at(rows, base) = CHOICE_UNSET;
        }
        return r;
}

static bool is_text(const struct field *f)
{
        return f->type == FIELD_TEXT || f->type == FIELD_SECRET;
}

void fields_free(const struct field *rows, void *base)
{
        for (; rows->key; rows++) {
                if (rows->type == FIELD_GROUP) {
                        fields_free(rows->group, at(rows, base));
                } else if (rows->type == FIELD_LIST) {
                        text_list_done(at(rows, base));
                } else if (is_text(rows)) {
                        free(*(char **) at(rows, base));
                        *(char **) at(rows, base) = NULL;
                }
        }
}

/* Bytes that a row's own value takes, without what it points to. */
static size_t value_size(const struct field *f)
{
        switch (f->type) {
        case FIELD_BOOL:     return sizeof(bool);
        case FIELD_NUMBER:   return sizeof(int);
        case FIELD_COUNT:
        case FIELD_PERCENT:
        case FIELD_MODE:
        case FIELD_CHOICE:
        case FIELD_PRESENCE: return sizeof(unsigned);
        case FIELD_PART:     return 0;
        default:             return sizeof(int64_t);
        }
}

static int list_copy(struct text_list *to, const struct text_list *from)
{
        int r = 0;

        for (size_t i = 0; i < from->count && r == 0; i++)
                r = text_list_add(to, from->items[i]);
        return r;
}

static int field_copy(const struct field *f, void *to, const void *from)
{
        if (f->type == FIELD_GROUP)
                return fields_copy(f->group, at(f, to), at_const(f, from));
        if (f->type == FIELD_LIST)
                return list_copy(at(f, to), at_const(f, from));
        if (!is_text(f)) {
                memcpy(at(f, to), at_const(f, from), value_size(f));
                return 0;
        }
        const char *text = *(char *const *) at_const(f, from);
        char *copy = text ? strdup(text) : NULL;
        *(char **) at(f, to) = copy;
        return text && !copy ? -ENOMEM : 0;
}

int fields_copy(const struct field *rows, void *to, const void *from)
{
        int r = 0;

        for (; rows->key && r == 0; rows++)
                r = field_copy(rows, to, from);
        return r;
}

bool field_equal(const struct field *f, const void *a, const void *b)
{
        const void *x = at_const(f, a), *y = at_const(f, b);

        if (f->type == FIELD_GROUP)
                return false;
        if (is_text(f)) {
                const char *s = *(char *const *) x, *t = *(char *const *) y;
                return s == t || (s && t && strcmp(s, t) == 0);
        }
        if (f->type == FIELD_LIST) {
                const struct text_list *l = x, *m = y;
                for (size_t i = 0; i < l->count && i < m->count; i++)
                        if (strcmp(l->items[i], m->items[i]) != 0)
                                return false;
                return l->count == m->count;
        }
        return memcmp(x, y, value_size(f)) == 0;
}

bool field_is_default(const struct field *f, const void *base)
{
        int64_t storage[2] = { 0 };
        struct field alone = *f;
        char why[VALUE_WHY];

        if (!f->dflt)
                return false;
        alone.offset = 0;
        bool equal = value_parse(&alone, f->dflt, storage, why) == 0 &&
                     field_equal(&alone, storage, (const char *) base + f->offset);
        if (is_text(f))
                free(*(char **) storage);
        return equal;
}
