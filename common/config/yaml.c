/* libyaml's events to nodes. Depth, number and size are limited while reading, aliases and tags are refused:
 * a file of a few bytes must not become a tree of gigabytes, and nothing here needs them. */
#include "common/config/node.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/utf8.h"
#include "common/config/variables.h"

struct builder {
        yaml_parser_t parser;
        const char *file;
        struct complaints *complaints;
        struct arena *arena;
        struct node *open[YAML_DEPTH_MAX];   /* lists and maps not closed yet, outermost first */
        unsigned depth, nodes, documents;
        struct node *root;
        const char *key;                     /* read, its value is next */
        struct place key_place;
        bool no_memory;
};

static struct place mark_place(const struct builder *b, yaml_mark_t m)
{
        return (struct place) { b->file, (unsigned) m.line + 1, (unsigned) m.column + 1 };
}

static struct place offset_place(const char *file, const char *bytes, size_t offset)
{
        struct place p = { file, 1, 1 };

        for (size_t i = 0; i < offset; i++) {
                if (bytes[i] == '\n') {
                        p.line++;
                        p.column = 1;
                } else if (((unsigned char) bytes[i] & 0xc0) != 0x80) {
                        p.column++;
                }
        }
        return p;
}

static int refuse(struct builder *b, struct place at, const char *text)
{
        complain(b->complaints, SEVERITY_ERROR, at, "%s", text);
        return -EINVAL;
}

static int no_memory(struct builder *b)
{
        b->no_memory = true;
        return -ENOMEM;
}

static struct node *open_node(const struct builder *b)
{
        return b->depth ? b->open[b->depth - 1] : NULL;
}

/* Limits are reported once and end the reading, since what follows would only repeat them. */
static int node_add(struct builder *b, enum node_kind kind, struct place at, struct node **ret)
{
        struct node *parent = open_node(b);

        if (++b->nodes > YAML_NODES_MAX)
                return refuse(b, at, "too many values in one file (more than 2,000,000)");
        if (parent && parent->kind == NODE_MAP && parent->count >= YAML_KEYS_MAX)
                return refuse(b, at, "too many keys in one map (more than 256)");
        struct node *n = arena_take(&b->arena, sizeof(*n));
        if (!n)
                return no_memory(b);
        *n = (struct node) {
                .kind = kind, .place = at, .text = "", .key = b->key, .key_place = b->key_place,
        };
        b->key = NULL;
        b->key_place = (struct place) { 0 };
        if (!parent) {
                b->root = n;
        } else {
                if (parent->last)
                        parent->last->next = n;
                else
                        parent->first = n;
                parent->last = n;
                parent->count++;
        }
        *ret = n;
        return 0;
}

static int on_key(struct builder *b, struct place at, const char *text, size_t len)
{
        const struct node *twin = node_get(open_node(b), text);
        char q[QUOTE_TEXT];

        if (twin)
                complain(b->complaints, SEVERITY_ERROR, at, "duplicate key %s, first given in line %u",
                         quote(text, q), twin->key_place.line);
        b->key = arena_text(&b->arena, text, len);
        b->key_place = at;
        return b->key ? 0 : no_memory(b);
}

static bool expects_key(const struct builder *b)
{
        const struct node *parent = open_node(b);

        return parent && parent->kind == NODE_MAP && !b->key;
}

/* Replaces the variables in a value; a value that cannot be had becomes broken, and reading goes on. */
static int expand(struct builder *b, struct node *n, const char *text)
{
        _cleanup_(buf_done) struct buf out = BUF_EMPTY;
        char why[VARIABLE_WHY];

        if (variables_expand(text, &out, why) < 0) {
                n->kind = NODE_BROKEN;
                complain(b->complaints, SEVERITY_ERROR, n->place, "%s", why);
                return 0;
        }
        const char *expanded = buf_string(&out);
        n->text = expanded ? arena_text(&b->arena, expanded, out.len) : NULL;
        if (!n->text)
                return no_memory(b);
        if (out.len > YAML_TEXT_MAX)
                return refuse(b, n->place, "value is longer than 64 KiB");
        return 0;
}

/* True when nothing but quotes stands between the file's bytes and the text: no escapes, no folded lines. */
static bool is_verbatim(const yaml_event_t *e)
{
        bool quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        size_t characters = utf8_count((const char *) e->data.scalar.value, e->data.scalar.length);

        return e->start_mark.line == e->end_mark.line &&
               e->end_mark.column - e->start_mark.column == characters + (quoted ? 2 : 0);
}

static int on_scalar(struct builder *b, const yaml_event_t *e)
{
        struct place at = mark_place(b, e->start_mark);
        const char *text = (const char *) e->data.scalar.value;
        size_t len = e->data.scalar.length;
        struct node *n;

        if (strlen(text) != len)   /* "\0" in double quotes */
                return refuse(b, at, "NUL byte in a value");
        if (len > YAML_TEXT_MAX)
                return refuse(b, at, "value is longer than 64 KiB");
        if (e->data.scalar.tag)
                return refuse(b, at, "tags (\"!...\") are not supported");
        if (expects_key(b))
                return on_key(b, at, text, len);
        int r = node_add(b, NODE_TEXT, at, &n);
        if (r < 0)
                return r;
        n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        if (variables_in(text))
                return expand(b, n, text);
        n->verbatim = is_verbatim(e);
        n->text = arena_text(&b->arena, text, len);
        return n->text ? 0 : no_memory(b);
}

static int on_open(struct builder *b, const yaml_event_t *e, enum node_kind kind, const yaml_char_t *tag)
{
        struct place at = mark_place(b, e->start_mark);
        struct node *n;

        if (expects_key(b))
                return refuse(b, at, "a key must be a word, not a list or a map");
        if (tag)
                return refuse(b, at, "tags (\"!...\") are not supported");
        if (b->depth >= YAML_DEPTH_MAX)
                return refuse(b, at, "nested too deeply (more than 32 levels)");
        int r = node_add(b, kind, at, &n);
        if (r == 0)
                b->open[b->depth++] = n;
        return r;
}

static int on_alias(struct builder *b, const yaml_event_t *e)
{
        struct place at = mark_place(b, e->start_mark);
        struct node *n;

        (void) refuse(b, at,
                      "aliases (\"*name\") are not supported; \"defaults:\" gives values to all tasks");
        if (expects_key(b))
                return -EINVAL;
        return node_add(b, NODE_BROKEN, at, &n);
}

/* 1 at the end of the file. */
static int on_event(struct builder *b, const yaml_event_t *e)
{
        switch (e->type) {
        case YAML_SCALAR_EVENT:
                return on_scalar(b, e);
        case YAML_SEQUENCE_START_EVENT:
                return on_open(b, e, NODE_LIST, e->data.sequence_start.tag);
        case YAML_MAPPING_START_EVENT:
                return on_open(b, e, NODE_MAP, e->data.mapping_start.tag);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                b->depth--;
                return 0;
        case YAML_ALIAS_EVENT:
                return on_alias(b, e);
        case YAML_DOCUMENT_START_EVENT:
                if (b->documents++)
                        return refuse(b, mark_place(b, e->start_mark), "a second YAML document (\"---\")");
                return 0;
        case YAML_STREAM_END_EVENT:
                return 1;
        default:
                return 0;
        }
}

static int not_yaml(struct builder *b, const char *bytes, size_t len)
{
        const yaml_parser_t *p = &b->parser;
        bool by_offset = p->error == YAML_READER_ERROR;
        struct place at =
                by_offset ? offset_place(b->file, bytes, p->problem_offset < len ? p->problem_offset : len)
                          : mark_place(b, p->problem_mark);

        if (p->error == YAML_MEMORY_ERROR)
                return no_memory(b);
        complain(b->complaints, SEVERITY_ERROR, at, "not YAML: %s%s%s",
                 p->problem ? p->problem : "cannot be read", p->context ? ", " : "",
                 p->context ? p->context : "");
        return -EINVAL;
}

static int build(struct builder *b, const char *bytes, size_t len)
{
        yaml_event_t e;
        int r;

        yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&b->parser, (const unsigned char *) bytes, len);
        do {
                if (!yaml_parser_parse(&b->parser, &e))
                        return not_yaml(b, bytes, len);
                r = on_event(b, &e);
                yaml_event_delete(&e);
        } while (r == 0);
        return r < 0 ? r : 0;
}

/* Some editors begin UTF-8 with a byte order mark. It is no part of the text. */
static size_t mark_length(const char *bytes, size_t len)
{
        return len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int tree_parse(const char *file, const char *bytes, size_t len, struct tree *ret,
               struct complaints *complaints)
{
        struct builder b = { .file = file, .complaints = complaints };
        size_t bad, mark = mark_length(bytes, len);

        bytes += mark;
        len -= mark;
        if (!utf8_valid(bytes, len, &bad))
                return refuse(&b, offset_place(file, bytes, bad),
                              bytes[bad] == '\0' ? "NUL byte; the file is not text"
                                                 : "not UTF-8 from here on");
        if (!yaml_parser_initialize(&b.parser))
                return -ENOMEM;
        int r = build(&b, bytes, len);
        yaml_parser_delete(&b.parser);
        struct tree t = { b.root, b.arena };
        if (r < 0) {
                tree_done(&t);
                return b.no_memory ? -ENOMEM : r;
        }
        *ret = t;
        return 0;
}
