/* Reading by the tables. A complaint names the task and the dotted key, so that it can be understood without
 * opening the file. */
#include "common/config/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/config/config.h"

#define LIST_MAX_DEFAULT 1000
#define ROWS_MAX 64
#define KEY_TEXT 96

static void say(struct reading *rd, enum severity severity, struct place at, const char *key,
                const char *format, va_list ap)
{
        _cleanup_(freep) char *text = NULL;
        char q[QUOTE_TEXT];

        if (vasprintf(&text, format, ap) < 0) {
                text = NULL;
                rd->error = -ENOMEM;
                return;
        }
        complain(rd->complaints, severity, at, "%s%s%s%s%s%s", rd->task ? "task " : "",
                 rd->task ? quote(rd->task, q) : "", rd->task ? ": " : "", key ? key : "", key ? ": " : "",
                 text);
}

void read_error(struct reading *rd, struct place at, const char *key, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        say(rd, SEVERITY_ERROR, at, key, format, ap);
        va_end(ap);
}

void read_note(struct reading *rd, struct place at, const char *key, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        say(rd, SEVERITY_NOTE, at, key, format, ap);
        va_end(ap);
}

void read_warning(struct reading *rd, struct place at, const char *key, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        say(rd, SEVERITY_WARNING, at, key, format, ap);
        va_end(ap);
}

const char *read_why(int error, size_t limit, char ret[READ_WHY])
{
        char size[32];

        size_text((int64_t) limit, size);
        if (error == -EFBIG)
                (void) snprintf(ret, READ_WHY, "it is larger than %s", size);
        else
                (void) snprintf(ret, READ_WHY, "%s",
                                error == -EISDIR   ? "it is a folder, not a file"
                                : error == -EINVAL ? "it is no regular file"
                                                   : strerror(-error));
        return ret;
}

static void read_later(struct reading *rd, struct place at, const struct field *f, const char *key)
{
        for (unsigned i = 0; i < rd->noted_count; i++)
                if (rd->noted[i] == f)
                        return;
        if (rd->noted_count < NOTED_MAX)
                rd->noted[rd->noted_count++] = f;
        complain(rd->complaints, SEVERITY_NOTE, at, "%s: read and checked, but not in this version yet: %s",
                 key, f->later);
}

static void unknown_key(struct reading *rd, const struct field *rows, const struct node *n,
                        const char *prefix)
{
        const char *keys[ROWS_MAX + 1];
        size_t count = 0;
        char q[QUOTE_TEXT];

        for (; rows->key && count < ROWS_MAX; rows++)
                keys[count++] = rows->key;
        keys[count] = NULL;
        const char *near = nearest_word(n->key, keys);
        if (near)
                read_error(rd, n->key_place, prefix, "unknown key %s; did you mean \"%s\"?", quote(n->key, q),
                           near);
        else
                read_error(rd, n->key_place, prefix, "unknown key %s", quote(n->key, q));
}

static void wrong_kind(struct reading *rd, const struct node *n, const char *key, const char *expected)
{
        if (n->kind != NODE_BROKEN)
                read_error(rd, node_is_null(n) ? n->key_place : n->place, key, "must be %s, not %s", expected,
                           node_kind_text(n));
}

static bool is_text(const struct node *n)
{
        return n->kind == NODE_TEXT && !node_is_null(n);
}

static void read_text(struct reading *rd, const struct field *f, const struct node *n, void *base,
                      const char *key)
{
        char why[VALUE_WHY];
        struct flaw flaw;

        if (f->judge && !f->judge(n->text, &flaw)) {
                read_error(rd, node_place_in(n, flaw.at, flaw.length), key, "%s", flaw.text);
                return;
        }
        int r = value_parse(f, n->text, base, why);
        if (r == -EINVAL)
                read_error(rd, n->place, key, "%s", why);
        else if (r < 0)
                rd->error = r;
}

static void list_item(struct reading *rd, const struct field *f, const struct node *at, const char *text,
                      struct text_list *l, const char *key)
{
        const char *wrong = f->check ? f->check(text) : NULL;
        const char *near =
                f->choices && name_index(f->choices, text) < 0 ? nearest_word(text, f->choices) : NULL;
        char q[QUOTE_TEXT];

        if (wrong)
                read_error(rd, at->place, key, "%s %s", quote(text, q), wrong);
        else if (near)
                read_error(rd, at->place, key, "%s is not known; did you mean \"%s\"?", quote(text, q), near);
        else if (f->choices && name_index(f->choices, text) < 0)
                read_error(rd, at->place, key, "%s is not known", quote(text, q));
        else if (text_list_add(l, text) < 0)
                rd->error = -ENOMEM;
}

static void read_pair(struct reading *rd, const struct field *f, const struct node *n, struct text_list *l,
                      const char *key)
{
        _cleanup_(freep) char *text = NULL;

        if (n->kind != NODE_TEXT) {
                wrong_kind(rd, n, key, "a map of texts");
        } else if (asprintf(&text, "%s%s%s", n->key, f->pair, node_is_null(n) ? "" : n->text) < 0) {
                text = NULL;
                rd->error = -ENOMEM;
        } else {
                list_item(rd, f, n, text, l, key);
        }
}

/* A list replaces the one given before (by defaults); it is never joined to it. */
static void read_list(struct reading *rd, const struct field *f, const struct node *n, void *base,
                      const char *key)
{
        struct text_list *l = (void *) ((char *) base + f->offset);
        size_t longest = f->max ? (size_t) f->max : LIST_MAX_DEFAULT;

        text_list_done(l);
        if (f->one && is_text(n)) {
                list_item(rd, f, n, n->text, l, key);
                return;
        }
        if (n->kind != NODE_LIST && !(f->pair && n->kind == NODE_MAP)) {
                wrong_kind(rd, n, key, f->pair ? "a list or a map" : "a list");
                return;
        }
        if (n->count > longest) {
                read_error(rd, n->place, key, "has more than %zu items", longest);
                return;
        }
        for (const struct node *item = n->first; item; item = item->next) {
                if (n->kind == NODE_MAP)
                        read_pair(rd, f, item, l, key);
                else if (is_text(item))
                        list_item(rd, f, item, item->text, l, key);
                else
                        wrong_kind(rd, item, key, "a list of texts");
        }
}

static void read_field(struct reading *rd, const struct field *f, const struct node *n, void *base,
                       const char *key);

/* `misfire: catch_up` stands for `misfire: { policy: catch_up }`, and so on. */
static void read_short(struct reading *rd, const struct field *f, const struct node *n, void *base,
                       const char *key)
{
        bool number = is_text(n) && n->text[strspn(n->text, "0123456789")] == '\0';
        const char *part = n->kind == NODE_LIST ? f->list : number && f->number ? f->number : f->word;
        char dotted[KEY_TEXT];

        if (!part || !(is_text(n) || n->kind == NODE_LIST)) {
                wrong_kind(rd, n, key, f->list ? "a list or a map" : f->word ? "a text or a map" : "a map");
                return;
        }
        (void) snprintf(dotted, sizeof(dotted), "%s.%s", key, part);
        read_field(rd, field_find(f->group, part), n, base, dotted);
}

static void read_group(struct reading *rd, const struct field *f, const struct node *n, void *base,
                       const char *key)
{
        void *inner = (char *) base + f->offset;

        if (n->kind == NODE_MAP)
                fields_read(rd, f->group, n, inner, key);
        else
                read_short(rd, f, n, inner, key);
}

static void read_presence(struct reading *rd, const struct node *n, const char *key)
{
        bool fine = node_is_null(n) || (n->kind == NODE_TEXT && strcmp(n->text, "true") == 0) ||
                    (n->kind == NODE_MAP && n->count == 0);

        if (!fine && n->kind != NODE_BROKEN)
                read_error(rd, n->place, key, "takes no value other than true");
}

static void read_secret(struct reading *rd, const struct field *f, const struct node *n, void *base,
                        const char *key)
{
        char **to = (void *) ((char *) base + f->offset);
        char *secret = secret_read(rd, n, key);

        if (secret) {
                free(*to);
                *to = secret;
        }
}

static void read_field(struct reading *rd, const struct field *f, const struct node *n, void *base,
                       const char *key)
{
        if (n->kind == NODE_BROKEN)
                return;
        if (f->type == FIELD_GROUP)
                read_group(rd, f, n, base, key);
        else if (f->type == FIELD_LIST)
                read_list(rd, f, n, base, key);
        else if (f->type == FIELD_PRESENCE)
                read_presence(rd, n, key);
        else if (f->type == FIELD_SECRET)
                read_secret(rd, f, n, base, key);
        else if (is_text(n))
                read_text(rd, f, n, base, key);
        else
                wrong_kind(rd, n, key, "a single value");
}

/* `max_age: off` asks for nothing that is not there. */
static void note_later(struct reading *rd, const struct field *f, const struct node *n, const void *base,
                       const char *key)
{
        if (f->later && !f->blocks && !field_is_default(f, base))
                read_later(rd, n->key_place.line ? n->key_place : n->place, f, key);
}

static bool is_missing(const struct field *f, const struct node *n)
{
        return f->required && !node_get(n, f->key) && !(f->unless && node_get(n, f->unless));
}

void fields_read(struct reading *rd, const struct field *rows, const struct node *n, void *base,
                 const char *prefix)
{
        char dotted[KEY_TEXT];

        for (const struct node *child = n->first; child && rd->error == 0; child = child->next) {
                const struct field *f = field_find(rows, child->key);
                if (!f) {
                        unknown_key(rd, rows, child, prefix);
                        continue;
                }
                if (f->own && rd->in_defaults) {
                        read_error(rd, child->key_place, prefix,
                                   "\"%s\" belongs to a task and has no default", f->key);
                        continue;
                }
                (void) snprintf(dotted, sizeof(dotted), "%s%s%s", prefix ? prefix : "", prefix ? "." : "",
                                f->key);
                if (f->type != FIELD_PART)
                        read_field(rd, f, child, base, dotted);
                note_later(rd, f, child, base, dotted);
        }
        for (; rows->key; rows++)
                if (is_missing(rows, n) && !rd->in_defaults)
                        read_error(rd, n->place, prefix, "missing key \"%s\"", rows->key);
}
