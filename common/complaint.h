/* What is wrong with an input, gathered so that all errors are reported at once.
 * A complaint names the place, quotes the text and says what would be right. */
#ifndef ONCED_COMPLAINT_H
#define ONCED_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum severity {
        SEVERITY_NOTE,     /* nothing is wrong: worth knowing, as a key whose feature comes later */
        SEVERITY_WARNING,
        SEVERITY_ERROR,
};

struct place {
        const char *file;      /* borrowed; a complaint keeps a copy of its own */
        unsigned line, column; /* from 1; 0: the file as a whole */
};

struct complaint {
        enum severity severity;
        struct place place;
        char *text;            /* owned */
};

struct complaints {
        struct complaint *list; /* owned */
        size_t count;
        size_t errors, warnings;
        size_t dropped;         /* beyond COMPLAINTS_MAX: counted, not kept */
};

#define COMPLAINTS_MAX 200

#define COMPLAINTS_NONE ((struct complaints) { 0 })

void complaints_done(struct complaints *c);
void complain(struct complaints *c, enum severity severity, struct place place, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* One line each, "file:line:column: error: text", by file and place; then what was dropped. */
void complaints_print(const struct complaints *c, FILE *out);

/* The one of `words` (NULL-terminated) nearest to `text` by edit distance, NULL if none is near. */
const char *nearest_word(const char *text, const char *const *words);

/* How many bytes must be put in, taken out or changed to make `a` of `b`; SIZE_MAX for words of over 64 bytes. */
size_t edit_distance(const char *a, const char *b);

#endif
