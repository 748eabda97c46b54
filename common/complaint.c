/* Complaints are kept whole until the end of reading, so that a person sees all of them at once. */
#include "common/complaint.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void complaints_done(struct complaints *c)
{
        for (size_t i = 0; i < c->count; i++) {
                free(c->list[i].text);
                free((void *) (uintptr_t) c->list[i].place.file);
        }
        free(c->list);
        *c = COMPLAINTS_NONE;
}

static struct complaint *complaint_new(struct complaints *c)
{
        if (c->count >= COMPLAINTS_MAX) {
                c->dropped++;
                return NULL;
        }
        struct complaint *list = realloc(c->list, (c->count + 1) * sizeof(*list));
        if (!list) {
                c->dropped++;
                return NULL;
        }
        c->list = list;
        return &list[c->count];
}

/* A complaint is one line on a terminal, whatever it quotes: control characters, those of two bytes too, become
 * question marks. */
static void clean(char *text)
{
        for (unsigned char *p = (unsigned char *) text; p && *p; p++) {
                if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
                        p[0] = p[1] = '?';
                else if (*p < 0x20 || *p == 0x7f)
                        *p = '?';
        }
}

void complain(struct complaints *c, enum severity severity, struct place place, const char *format, ...)
{
        va_list ap;
        char *text = NULL;

        c->errors += severity == SEVERITY_ERROR;
        c->warnings += severity == SEVERITY_WARNING;
        struct complaint *new = complaint_new(c);
        if (!new)
                return;
        va_start(ap, format);
        if (vasprintf(&text, format, ap) < 0)
                text = NULL;
        va_end(ap);
        char *file = place.file ? strdup(place.file) : NULL;
        clean(text);
        clean(file);
        place.file = file;
        *new = (struct complaint) { .severity = severity, .place = place, .text = text };
        c->count++;
}

/* A file from top to bottom; what was said of one place stays in its order. */
static int by_place(const void *left, const void *right)
{
        const struct complaint *a = *(const struct complaint *const *) left;
        const struct complaint *b = *(const struct complaint *const *) right;
        int r = strcmp(a->place.file ? a->place.file : "", b->place.file ? b->place.file : "");

        if (r)
                return r;
        if (a->place.line != b->place.line)
                return a->place.line < b->place.line ? -1 : 1;
        if (a->place.column != b->place.column)
                return a->place.column < b->place.column ? -1 : 1;
        return (a > b) - (a < b);
}

static void print_one(const struct complaint *x, FILE *out)
{
        static const char *const words[] = { "note", "warning", "error" };

        if (x->place.file && x->place.line)
                fprintf(out, "%s:%u:%u: ", x->place.file, x->place.line, x->place.column);
        else if (x->place.file)
                fprintf(out, "%s: ", x->place.file);
        fprintf(out, "%s: %s\n", words[x->severity], x->text ? x->text : "out of memory");
}

void complaints_print(const struct complaints *c, FILE *out)
{
        const struct complaint *sorted[COMPLAINTS_MAX];

        for (size_t i = 0; i < c->count; i++)
                sorted[i] = &c->list[i];
        qsort(sorted, c->count, sizeof(*sorted), by_place);
        for (size_t i = 0; i < c->count; i++)
                print_one(sorted[i], out);
        if (c->dropped)
                fprintf(out, "%zu more are not shown\n", c->dropped);
}

#define WORD_MAX 64

/* One row of the table at a time. */
size_t edit_distance(const char *a, const char *b)
{
        size_t row[WORD_MAX + 1];
        size_t la = strlen(a), lb = strlen(b);

        if (la > WORD_MAX || lb > WORD_MAX)
                return SIZE_MAX;
        for (size_t j = 0; j <= lb; j++)
                row[j] = j;
        for (size_t i = 1; i <= la; i++) {
                size_t diagonal = row[0];
                row[0] = i;
                for (size_t j = 1; j <= lb; j++) {
                        size_t best = diagonal + (a[i - 1] != b[j - 1]);
                        diagonal = row[j];
                        if (row[j] + 1 < best)
                                best = row[j] + 1;
                        if (row[j - 1] + 1 < best)
                                best = row[j - 1] + 1;
                        row[j] = best;
                }
        }
        return row[lb];
}

const char *nearest_word(const char *text, const char *const *words)
{
        const char *nearest = NULL;
        size_t limit = strlen(text) / 3 + 2;   /* farther away it is another word, not a slip */

        for (; *words; words++) {
                size_t d = edit_distance(text, *words);
                if (d < limit) {
                        limit = d;
                        nearest = *words;
                }
        }
        return nearest;
}
