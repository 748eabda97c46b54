/* The engine against the oracle, on an expression, a zone and a window that are drawn from one number. */
#ifndef ONCED_DIFFER_H
#define ONCED_DIFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct differ_counts {
        uint64_t cases, never, instants, folds;   /* folds: windows in which the clock is put back */
};

/* True when both agree; else `why` names the case and the difference. */
bool differ_case(uint64_t seed, struct differ_counts *counts, char *why, size_t room);

/* The same with a zone and a window given. */
bool differ_in_zone(uint64_t seed, const char *tz, int64_t from_s, int64_t until_s, struct differ_counts *counts, char *why,
                    size_t room);

#endif
