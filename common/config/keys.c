/* The reference of all keys, from the tables: what is documented is what is read. */
#include "common/config/field.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/config/config.h"

static void put_range_end(const struct field *f, int64_t n, struct buf *ret)
{
        char text[32];

        bound_text(f, n, text);
        buf_text(ret, text);
}

static const char *type_name(enum field_type type)
{
        switch (type) {
        case FIELD_TEXT:     return "text";
        case FIELD_SECRET:   return "secret: text, {file: PATH} or {env: NAME}";
        case FIELD_BOOL:     return "true or false";
        case FIELD_PERCENT:  return "percentage";
        case FIELD_MODE:     return "octal mode";
        case FIELD_SPAN:     return "duration";
        case FIELD_SIZE:     return "size (K, KB, KiB are all 1024)";
        case FIELD_INSTANT:  return "instant";
        case FIELD_LIST:     return "list";
        case FIELD_GROUP:    return "map";
        case FIELD_PRESENCE: return "true";
        case FIELD_CHOICE:   return "one of";
        case FIELD_PART:     return "section";
        default:             return "number";
        }
}

static void put_choices(const char *const *choices, struct buf *ret)
{
        for (size_t i = 0; choices[i]; i++)
                buf_format(ret, "%s%s", i ? ", " : " ", choices[i]);
}

static void put_type(const struct field *f, struct buf *ret)
{
        bool ranged = f->type == FIELD_COUNT || f->type == FIELD_NUMBER || f->type == FIELD_BIG ||
                      f->type == FIELD_SPAN || f->type == FIELD_SIZE || f->type == FIELD_MODE ||
                      f->type == FIELD_PERCENT;

        buf_text(ret, type_name(f->type));
        if (f->choices)
                put_choices(f->choices, ret);
        if (ranged) {
                buf_char(ret, ' ');
                put_range_end(f, f->min, ret);
                buf_text(ret, "..");
                put_range_end(f, f->max, ret);
        }
        if (f->special)
                buf_format(ret, " or %s", f->special);
        if (f->type == FIELD_GROUP && (f->word || f->list))
                buf_format(ret, " or %s",
                           f->list     ? f->list
                           : f->number ? "its number or age alone"
                                       : f->word);
        if (f->dflt)
                buf_format(ret, "; default %s", f->dflt);
        if (f->required)
                buf_format(ret, "; required%s%s", f->unless ? " without " : "", f->unless ? f->unless : "");
}

static void put_keys(const struct field *rows, const char *prefix, struct buf *ret)
{
        char dotted[96];

        for (; rows->key; rows++) {
                (void) snprintf(dotted, sizeof(dotted), "%s%s", prefix, rows->key);
                buf_format(ret, "%-28s ", dotted);
                put_type(rows, ret);
                if (rows->help)
                        buf_format(ret, ". %s", rows->help);
                if (rows->later)
                        buf_text(ret, " [comes with a later version]");
                buf_char(ret, '\n');
                if (rows->type == FIELD_GROUP) {
                        (void) snprintf(dotted, sizeof(dotted), "%s%s.", prefix, rows->key);
                        put_keys(rows->group, dotted, ret);
                }
        }
}

void config_keys(struct buf *ret)
{
        put_keys(config_fields, "", ret);
        put_keys(task_fields, "tasks[].", ret);
        put_keys(alert_fields, "alerts[].", ret);
}
