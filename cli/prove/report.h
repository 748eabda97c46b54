/* What `onced prove` says: a table for people, or one JSON object for programs. */
#ifndef ONCED_PROVE_REPORT_H
#define ONCED_PROVE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

struct buf;
struct evidence;
struct judge;

void report_table(FILE *out, const struct evidence *e, const struct judge *j, bool verbose);
void report_json(struct buf *out, const struct evidence *e, const struct judge *j);

/* The verdict over all in one word, "NOTHING" when nothing was due, "NOT SINGLE" when only tasks under `none` were; and the exit code it has. */
const char *report_verdict(const struct evidence *e, const struct judge *j);
int report_exit(const struct evidence *e, const struct judge *j);

/* "NOT SINGLE x4 (runs once per process)" for path none, else the word and an exact multiple. */
struct row;
void report_row_verdict(const struct row *r, char *ret, size_t room);

#endif
