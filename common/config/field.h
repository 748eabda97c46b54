/* One row a key. The tables below drive reading, defaults, `check`, `check --dump`, `check --keys` and the
 * hashes, so that adding a key is adding a row. */
#ifndef ONCED_CONFIG_FIELD_H
#define ONCED_CONFIG_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* In brackets: what a row's offset points at. */
enum field_type {
        FIELD_TEXT,      /* [char *] owned, NULL: not set */
        FIELD_SECRET,    /* [char *] text, {file: PATH} or {env: NAME}; never shown */
        FIELD_BOOL,      /* [bool] */
        FIELD_COUNT,     /* [unsigned] */
        FIELD_PERCENT,   /* [unsigned] "10%" or 10 */
        FIELD_MODE,      /* [unsigned] octal */
        FIELD_NUMBER,    /* [int] */
        FIELD_BIG,       /* [int64_t or uint64_t] */
        FIELD_SPAN,      /* [int64_t] ms */
        FIELD_SIZE,      /* [int64_t or uint64_t] bytes */
        FIELD_INSTANT,   /* [int64_t] ms since 1970: RFC 3339 or an integer */
        FIELD_CHOICE,    /* [enum] index into `choices`, CHOICE_UNSET while not set */
        FIELD_LIST,      /* [struct text_list] */
        FIELD_GROUP,     /* [the struct that `group` describes] */
        FIELD_PRESENCE,  /* [enum] `key: true` says all; shown when the enum is special_value */
        FIELD_PART,      /* [nothing] a section with a reader of its own: tasks, defaults, alerts, include */
};

#define CHOICE_UNSET (~0U)

#define VALUE_WHY 320

/* What is wrong with a text, and which bytes of it. */
struct flaw {
        size_t at, length;            /* length 0: the whole of it */
        char text[VALUE_WHY];
};

struct field {
        const char *key;
        enum field_type type;
        size_t offset;
        int64_t min, max;             /* numbers, spans, sizes; text and list: longest, 0: the usual limit */
        int64_t test_min;             /* spans: the least while ONCED_TEST_SHORT_LEASE=1; 0: min */
        const char *special;          /* a word that stands for special_value: "off", "auto" */
        int64_t special_value;
        const char *dflt;             /* as it would be written; NULL: not set */
        const char *const *choices;
        const char *(*check)(const char *text);      /* NULL: fine, else what it must be */
        bool (*judge)(const char *text, struct flaw *ret);   /* the same for texts that have a grammar */
        size_t (*shown)(const char *item);           /* how many bytes of a list item may be shown */
        const char *pair;             /* list: a map is fine too, name and value joined by this */
        const struct field *group;
        const char *word, *number, *list;            /* group: key that a bare text, number, list is for */
        bool one;                     /* list: a bare text is a list of one */
        bool required;
        const char *unless;           /* required: not when this key of the group is given */
        bool own;                     /* a task's own, not for `defaults:` */
        bool when;                    /* part of when_hash: decides what is due where */
        bool schedule;                /* in when_hash by schedule_text: what says the same counts as the same */
        const char *help;
        const char *later;            /* what of it comes with a later version */
        bool blocks;                  /* later, and `onced run` refuses it: later.c names it by its use */
};

/* Tables end with a row without key. */
extern const struct field config_fields[], task_fields[], alert_fields[];

const struct field *field_find(const struct field *rows, const char *key);

/* value.c: values of rows in a struct at `base`. */
int  fields_init(const struct field *rows, void *base);           /* zeroed before; 0 or -ENOMEM */
void fields_free(const struct field *rows, void *base);
int  fields_copy(const struct field *rows, void *to, const void *from);   /* deep; `to` owned nothing before */
bool field_equal(const struct field *f, const void *a, const void *b);    /* group: false */

bool field_is_default(const struct field *f, const void *base);   /* false: no default, list or group */

/* One end of a row's range, as it would be written. */
void bound_text(const struct field *f, int64_t bound, char ret[32]);

/* Reads a text into a field that is neither list nor group. 0, -ENOMEM, or -EINVAL with the reason. */
int value_parse(const struct field *f, const char *text, void *base, char ret_why[VALUE_WHY]);

/* Adds a text to a list. 0 or -ENOMEM. */
struct text_list;
int  text_list_add(struct text_list *l, const char *text);
void text_list_done(struct text_list *l);

/* dump.c: rows as YAML at `indent`; those that are as at `pristine` are left out, NULL: all are shown. */
enum fields_part { FIELDS_ALL, FIELDS_WHEN, FIELDS_REST };
void fields_dump(const struct field *rows, enum fields_part part, const void *base, const void *pristine,
                 unsigned indent, struct buf *ret);

/* Fills hash of `c` and both hashes of all its tasks. */
struct config;
int hashes_fill(struct config *c);

#endif
