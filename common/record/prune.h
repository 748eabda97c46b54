/* Deletes old trigger files. The newest file of a process that lives is never touched, nor any file of a
 * living master: it is small, and says which processes existed. */
#ifndef ONCED_PRUNE_H
#define ONCED_PRUNE_H

#include <stdint.h>

#include "common/clock.h"

/* Whole files of `dir`, oldest (by last write) first: those older than `keep_ms` (0: no limit of age), then
 * as many as bring the sum of sizes under `max_bytes` (0: no limit). Files with other names are left alone.
 * Returns how many were deleted, or -errno when the folder cannot be read. */
int triglog_prune(const char *dir, int64_t keep_ms, int64_t max_bytes, struct stamp now);

#endif
