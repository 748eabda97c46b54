/* What may be called a zone, and which names of the zone folder are near to one that is not there. */
#ifndef ONCED_ZONE_NAMES_H
#define ONCED_ZONE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* NULL when `name` may be that of a zone file; else why not, to follow "is ": "an offset, no time zone". */
const char *zone_name_fault(const char *name);

/* True for a POSIX rule without commas ("CST-8", "UTC+8"). Files may have such names too ("GMT+0"), so that it is
 * asked only when there is none. */
bool zone_name_is_rule(const char *name);

/* The zones of `folder` nearest to `name`, up to three, nearest first, as "A, B, C"; "" when none is near. Walks the
 * folder: for the way to an error only. `ret` gets at most `room` bytes, NUL included; no name is cut. */
void zone_names_near(const char *folder, const char *name, char *ret, size_t room);

#endif
