/* Effective values as YAML. What is written here is read back to the same values; secrets alone are not. */
#include "common/config/field.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/config/config.h"
#include "common/config/variables.h"

#define SECRET_SHOWN "(secret)"

static void put_text(const char *text, size_t shown, struct buf *ret)
{
        struct buf b = BUF_EMPTY;
        size_t len = strlen(text);

        variables_escape(text, &b);
        if (shown < len) {
                b.len = 0;
                buf_add(&b, text, shown);
                buf_text(&b, SECRET_SHOWN);
        }
        const char *escaped = buf_string(&b);
        if (escaped)
                buf_json(ret, escaped, b.len);
        else
                ret->failed = true;
        buf_done(&b);
}

static void put_list(const struct field *f, const struct text_list *l, struct buf *ret)
{
        buf_char(ret, '[');
        for (size_t i = 0; i < l->count; i++) {
                buf_text(ret, i ? ", " : "");
                put_text(l->items[i], f->shown ? f->shown(l->items[i]) : strlen(l->items[i]), ret);
        }
        buf_char(ret, ']');
}

static int64_t number_at(const struct field *f, const void *at)
{
        switch (f->type) {
        case FIELD_BOOL:
                return *(const bool *) at;
        case FIELD_NUMBER:
                return *(const int *) at;
        case FIELD_SPAN:
        case FIELD_SIZE:
        case FIELD_BIG:
        case FIELD_INSTANT:
                return *(const int64_t *) at;
        default:
                return *(const unsigned *) at;
        }
}

static void put_with_unit(void (*to_text)(int64_t n, char ret[32]), int64_t n, struct buf *ret)
{
        char text[32];

        to_text(n, text);
        buf_text(ret, text);
}

static void put_number(const struct field *f, int64_t n, struct buf *ret)
{
        if (f->special && n == f->special_value)
                buf_text(ret, f->special);
        else if (f->type == FIELD_BOOL)
                buf_text(ret, n ? "true" : "false");
        else if (f->type == FIELD_SPAN)
                put_with_unit(span_text, n, ret);
        else if (f->type == FIELD_SIZE)
                put_with_unit(size_text, n, ret);
        else if (f->type == FIELD_MODE)
                buf_format(ret, "%04llo", (unsigned long long) n);
        else
                buf_format(ret, f->type == FIELD_PERCENT ? "%lld%%" : "%lld", (long long) n);
}

/* False when the row holds nothing that could be written: not set, or another runner's. */
static bool is_set(const struct field *f, const void *at)
{
        switch (f->type) {
        case FIELD_TEXT:
        case FIELD_SECRET:
                return *(char *const *) at != NULL;
        case FIELD_LIST:
                return ((const struct text_list *) at)->count > 0;
        case FIELD_CHOICE:
                return *(const unsigned *) at != CHOICE_UNSET;
        case FIELD_PRESENCE:
                return *(const unsigned *) at == (unsigned) f->special_value;
        case FIELD_PART:
                return false;
        default:   /* a number below its range that is no special word has not been given */
                return number_at(f, at) >= (f->test_min ? f->test_min : f->min) || f->special;
        }
}

static void put_value(const struct field *f, const void *at, struct buf *ret)
{
        switch (f->type) {
        case FIELD_TEXT:
                put_text(*(char *const *) at, SIZE_MAX, ret);
                break;
        case FIELD_SECRET:
                put_text(SECRET_SHOWN, SIZE_MAX, ret);
                break;
        case FIELD_CHOICE:
                buf_text(ret, f->choices[*(const unsigned *) at]);
                break;
        case FIELD_LIST:
                put_list(f, at, ret);
                break;
        case FIELD_PRESENCE:
                buf_text(ret, "true");
                break;
        default:
                put_number(f, number_at(f, at), ret);
        }
}

/* A group without its required key (no redis, another runner) is no group. */
static bool group_is_set(const struct field *rows, const void *inner)
{
        for (; rows->key; rows++)
                if (rows->required && !is_set(rows, (const char *) inner + rows->offset))
                        return false;
        return true;
}

static void dump_group(const struct field *f, const void *base, const void *pristine, unsigned indent,
                       struct buf *ret)
{
        const char *inner = (const char *) base + f->offset;
        struct buf content = BUF_EMPTY;

        if (!group_is_set(f->group, inner))
                return;
        fields_dump(f->group, FIELDS_ALL, inner, pristine ? (const char *) pristine + f->offset : NULL,
                    indent + 2, &content);
        if (content.failed)
                ret->failed = true;
        if (content.len) {
                buf_format(ret, "%*s%s:\n", (int) indent, "", f->key);
                buf_add(ret, content.data, content.len);
        }
        buf_done(&content);
}

void fields_dump(const struct field *rows, enum fields_part part, const void *base, const void *pristine,
                 unsigned indent, struct buf *ret)
{
        for (; rows->key; rows++) {
                const void *at = (const char *) base + rows->offset;
                if (part != FIELDS_ALL && (rows->schedule || rows->when != (part == FIELDS_WHEN)))
                        continue;
                if (rows->type == FIELD_GROUP) {
                        dump_group(rows, base, pristine, indent, ret);
                } else if (is_set(rows, at) && !(pristine && field_equal(rows, base, pristine))) {
                        buf_format(ret, "%*s%s: ", (int) indent, "", rows->key);
                        put_value(rows, at, ret);
                        buf_char(ret, '\n');
                }
        }
}

/* "- " in place of the first two blanks makes the map that begins at `start` a list item. */
static void mark_item(struct buf *b, size_t start, unsigned indent)
{
        if (!b->failed && b->len > start)
                b->data[start + indent] = '-';
}

void config_dump(const struct config *c, struct buf *ret)
{
        fields_dump(config_fields, FIELDS_ALL, c, NULL, 0, ret);
        buf_text(ret, c->alert_count ? "alerts:\n" : "");
        for (size_t i = 0; i < c->alert_count; i++) {
                size_t start = ret->len;
                fields_dump(alert_fields, FIELDS_ALL, &c->alerts[i], NULL, 4, ret);
                mark_item(ret, start, 2);
        }
        buf_text(ret, c->task_count ? "tasks:\n" : "tasks: []\n");
        for (size_t i = 0; i < c->task_count; i++) {
                size_t start = ret->len;
                fields_dump(task_fields, FIELDS_ALL, &c->tasks[i], NULL, 4, ret);
                mark_item(ret, start, 2);
        }
}
