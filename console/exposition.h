/* Writes OpenMetrics text: families, samples, labels, all escaped as its grammar wants. */
#ifndef ONCED_EXPOSITION_H
#define ONCED_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

struct buf;

struct exposition {
        struct buf *out;     /* borrowed */
        const char *name;    /* of the family that is being written; static */
};

struct label {
        const char *name, *value;
};

/* A list of labels, ended by one without a name. */
#define LABELS(...) ((const struct label[]) { __VA_ARGS__, { NULL, NULL } })
#define NO_LABELS   ((const struct label[]) { { NULL, NULL } })

/* Begins a family; all its samples follow before the next one begins. `unit` "" for none; a unit must be the
 * end of the name. */
void exposition_family(struct exposition *x, const char *name, const char *type, const char *unit,
                       const char *help);

/* One sample, `suffix` "_total" for counters, "" for gauges. */
void exposition_uint(struct exposition *x, const char *suffix, const struct label *labels, uint64_t value);
void exposition_real(struct exposition *x, const char *suffix, const struct label *labels, double value);

/* Buckets, sum and count in seconds; `counts` holds one more than `bounds`, each for its own bucket alone. */
void exposition_histogram(struct exposition *x, const struct label *labels, const uint32_t *bounds_us,
                          size_t bounds, const uint64_t *counts, uint64_t sum_us);

/* The last line. */
void exposition_end(struct exposition *x);

#endif
