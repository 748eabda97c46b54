/* Configurations in a folder of their own, and what was complained about them. */
#ifndef ONCED_TEST_CONFIG_FIXTURE_H
#define ONCED_TEST_CONFIG_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/complaint.h"

struct config;

struct fixture {
        char folder[64];
        char path[96];             /* onced.yaml in it */
        struct config *config;     /* NULL: loading failed */
        struct complaints complaints;
        int result;
};

int fixture_setup(void **state);        /* for cmocka: *state is the fixture */
int fixture_teardown(void **state);

/* Writes `bytes` as the file `name` in the folder, mode 0600. */
void fixture_write(struct fixture *f, const char *name, const char *bytes, size_t len);

/* Loads `text` as onced.yaml; what the load before gave is freed. */
void fixture_load(struct fixture *f, const char *text);
void fixture_load_bytes(struct fixture *f, const char *bytes, size_t len);

/* True when a complaint of that severity at line:column (0: do not care) holds `fragment`. */
bool complained(const struct fixture *f, enum severity severity, unsigned line, unsigned column,
                const char *fragment);

/* The same, but of the file whose name ends in `file`. */
bool complained_in(const struct fixture *f, const char *file, enum severity severity, const char *fragment);

/* Prints all complaints, for a case that is about to fail. */
void print_complaints(const struct fixture *f);

#endif
