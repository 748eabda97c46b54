/* One case of the engine against the oracle: an expression, a zone and a window, all drawn from one number. */
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

#endif
