/* Cells are kept until all are there, since a column is as wide as its widest one. */
#include "cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct table {
        const char *const *heads;   /* borrowed */
        size_t columns;
        char **cells;               /* owned, row by row */
        size_t count, room;
        bool failed;
};

/* A cell longer than this is cut: one long error must not push all columns off the screen. */
#define CELL_MAX 200

struct table *table_new(const char *const *heads)
{
        struct table *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->heads = heads;
        while (heads[t->columns])
                t->columns++;
        return t;
}

struct table *table_free(struct table *t)
{
        if (!t)
                return NULL;
        for (size_t i = 0; i < t->count; i++)
                free(t->cells[i]);
        free(t->cells);
        free(t);
        return NULL;
}

static bool continues_character(char c)
{
        return ((unsigned char) c & 0xc0) == 0x80;
}

/* Control characters, also those of C1 in UTF-8 (c2 80..9f), become question marks, line ends spaces. */
static char *clean_copy(const char *text)
{
        size_t len = strnlen(text, CELL_MAX + 1);
        bool cut = len > CELL_MAX;

        if (cut)
                for (len = CELL_MAX - 3; len > 0 && continues_character(text[len]);)
                        len--;
        char *copy = malloc(len + 4);
        if (!copy)
                return NULL;
        while (len > 0 && !cut && strchr(" \n\r\t", text[len - 1]))
                len--;   /* most outputs end with a newline */
        if (len == 0) {
                text = "-";
                len = 1;
        }
        memcpy(copy, text, len);
        memcpy(copy + len, cut ? "..." : "", cut ? 4 : 1);
        for (unsigned char *p = (unsigned char *) copy; *p; p++) {
                if (*p == '\n' || *p == '\r' || *p == '\t')
                        *p = ' ';
                else if (*p < 0x20 || *p == 0x7f)
                        *p = '?';
                else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
                        p[0] = p[1] = '?';
        }
        return copy;
}

void table_cell(struct table *t, const char *text)
{
        if (t->count == t->room) {
                size_t room = t->room * 2 + 64;
                char **cells = reallocarray(t->cells, room, sizeof(*cells));
                if (!cells) {
                        t->failed = true;
                        return;
                }
                t->cells = cells;
                t->room = room;
        }
        char *copy = clean_copy(text ? text : "");
        if (copy)
                t->cells[t->count++] = copy;
        else
                t->failed = true;
}

void table_format(struct table *t, const char *format, ...)
{
        char text[CELL_MAX + 64];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        table_cell(t, text);
}

/* Characters, not bytes: enough for names and messages of most languages. */
static size_t width(const char *text)
{
        size_t n = 0;

        for (; *text; text++)
                n += !continues_character(*text);
        return n;
}

static bool to_the_right(const struct table *t, size_t column)
{
        return t->heads[column][0] == '>';
}

static const char *head(const struct table *t, size_t column)
{
        return t->heads[column] + to_the_right(t, column);
}

static size_t column_width(const struct table *t, size_t column)
{
        size_t widest = width(head(t, column));

        for (size_t i = column; i < t->count; i += t->columns) {
                size_t w = width(t->cells[i]);
                widest = w > widest ? w : widest;
        }
        return widest;
}

static void print_cell(const struct table *t, FILE *out, const char *text, size_t column, size_t wide)
{
        int pad = (int) (wide - width(text));
        bool last = column + 1 == t->columns;

        if (to_the_right(t, column))
                (void) fprintf(out, "%*s%s", pad, "", text);
        else
                (void) fprintf(out, "%s%*s", text, last ? 0 : pad, "");
        (void) fputs(last ? "\n" : "  ", out);
}

int table_print(const struct table *t, FILE *out)
{
        size_t *wide = calloc(t->columns, sizeof(*wide));

        if (!wide || t->failed) {
                free(wide);
                return -ENOMEM;
        }
        for (size_t c = 0; c < t->columns; c++)
                wide[c] = column_width(t, c);
        for (size_t c = 0; c < t->columns && *t->heads[0]; c++)
                print_cell(t, out, head(t, c), c, wide[c]);
        for (size_t i = 0; i + t->columns <= t->count; i += t->columns)
                for (size_t c = 0; c < t->columns; c++)
                        print_cell(t, out, t->cells[i + c], c, wide[c]);
        free(wide);
        return ferror(out) ? -EIO : 0;
}
