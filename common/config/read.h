/* Nodes to fields. One reading is one file; whatever is wrong in it is complained of, and reading goes on. */
#ifndef ONCED_CONFIG_READ_H
#define ONCED_CONFIG_READ_H

#include <stdbool.h>

#include "common/config/field.h"
#include "common/config/node.h"

#define NOTED_MAX 64

struct reading {
        struct complaints *complaints;
        const char *folder;            /* of the file being read: relative secrets are found there */
        bool world_readable;           /* the file being read */
        bool in_defaults;
        const char *task;              /* whose map is read; NULL: the top level */
        const struct field *noted[NOTED_MAX];   /* `later` keys that had their note already */
        unsigned noted_count;
        const struct node *cron_said;  /* the newest `cron` that was complained of: one of defaults is said once */
        int error;                     /* -ENOMEM: stop */
};

/* Reads the map `n` into the struct at `base`; complaints name the keys behind `prefix`, NULL: none. */
void fields_read(struct reading *rd, const struct field *rows, const struct node *n, void *base,
                 const char *prefix);

/* Complaints with `task "x": key: ` in front; key may be NULL. */
void read_error(struct reading *rd, struct place at, const char *key, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void read_note(struct reading *rd, struct place at, const char *key, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void read_warning(struct reading *rd, struct place at, const char *key, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Why file_read of a file of at most `limit` bytes failed, for people. */
#define READ_WHY 64
const char *read_why(int error, size_t limit, char ret[READ_WHY]);

/* Reads a secret from `n`: text, {file: PATH} or {env: NAME}. Allocated, NULL when complained of. secret.c */
char *secret_read(struct reading *rd, const struct node *n, const char *key);

#endif
