/* A table for people: columns aligned, two spaces between them, no colours. Cells may hold anything a task
 * has printed: what could steer a terminal is replaced. */
#ifndef ONCED_TABLE_H
#define ONCED_TABLE_H

#include <stdio.h>

struct table;

/* `heads`: NULL-terminated, borrowed; one that begins with `>` heads a column aligned to the right. If the
 * first is "", no heads are printed. */
struct table *table_new(const char *const *heads);
struct table *table_free(struct table *t);   /* NULL is fine; returns NULL */

/* The next cell, row by row. Copied; "" and NULL are shown as "-". */
void table_cell(struct table *t, const char *text);
void table_format(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0, or -ENOMEM if a cell is missing for want of memory, or -EIO. */
int table_print(const struct table *t, FILE *out);

#endif
