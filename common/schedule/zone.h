/* Time zones from the system's TZif files (RFC 9636), by a reader of our own: libc's zone is one for the whole
 * process and taken from its environment, and a task's zone is neither. A zone is read once, never changes and is
 * never freed: a pointer to it may be kept and used by any thread. New zone data on the disk are seen after a
 * restart, and children of a process see what it had read: all of them have the same zones. */
#ifndef ONCED_ZONE_H
#define ONCED_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zone;

#define ZONE_NAME_MAX 64     /* bytes of a zone's name, NUL included */
#define ZONE_WHY      256    /* bytes of the text that says why there is none */

/* The zone called `name`: an IANA name ("Europe/Berlin", "UTC"), from $TZDIR or /usr/share/zoneinfo. Fails with
 * -EINVAL (no name of a zone: a path, a folder, an offset, a POSIX rule), -ENOENT (no such zone; `why` has near
 * names), -EBADMSG (the file is damaged or counts leap seconds), -ENOMEM, or the errno of reading it. `why` gets at
 * most `room` bytes for people, NUL included. */
int zone_get(const char *name, const struct zone **ret, char *why, size_t room);

const char *zone_name(const struct zone *z);

/* A stretch of UTC seconds [from_s, until_s) with one offset; INT64_MIN and INT64_MAX at the ends. The stretches of a
 * zone follow each other without a gap; two neighbours may have the same offset. */
struct zone_span {
        int64_t from_s, until_s;
        int32_t offset_s;        /* local = UTC + offset; more than -25 h, less than 26 h */
        bool is_dst;
        char abbreviation[12];   /* "CEST" */
};

/* The stretch that `utc_s` lies in. After the file's table the footer's rule goes on for all years. */
void zone_span_at(const struct zone *z, int64_t utc_s, struct zone_span *ret);

/* The release of the zone data ("2024b"), from tzdata.zi or +VERSION beside the files; "unknown" without either.
 * Read once. */
const char *zone_data_version(void);

#endif
