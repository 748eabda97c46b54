/* Three kinds of time, never mixed: an instant is planned, a stamp is measured, a mono is a deadline.
 * Spans are plain integers with their unit in the name (…_ms, …_us, …_ns). */
#ifndef ONCED_CLOCK_H
#define ONCED_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* A planned instant: UTC milliseconds since 1970-01-01; may be negative. */
struct instant {
        int64_t ms;
};

/* A measured wall time: CLOCK_REALTIME nanoseconds since 1970-01-01. */
struct stamp {
        int64_t ns;
};

/* A point on CLOCK_BOOTTIME in nanoseconds; steps of the wall clock do not move it, suspend counts. */
struct mono {
        int64_t ns;
};

#define INSTANT_NONE ((struct instant) { INT64_MIN })

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL
#define MS_PER_S  1000LL
#define MS_PER_DAY 86400000LL

struct stamp clock_wall(void);
struct mono clock_mono(void);

/* The newest whole millisecond at or before `s` (floor, also before 1970). */
struct instant stamp_instant(struct stamp s);
struct stamp instant_stamp(struct instant i);

static inline bool instant_is_none(struct instant i)
{
        return i.ms == INT64_MIN;
}

static inline int64_t mono_since_ms(struct mono earlier, struct mono later)
{
        return (later.ns - earlier.ns) / NS_PER_MS;
}

static inline struct mono mono_plus_ms(struct mono m, int64_t ms)
{
        return (struct mono) { m.ns + ms * NS_PER_MS };
}

/* RFC 3339 in UTC: "2026-11-30T17:00:00.000213Z". `ret` holds STAMP_TEXT bytes; years 0000 to 9999. */
#define STAMP_TEXT 32
void stamp_text(struct stamp s, char ret[STAMP_TEXT]);      /* microseconds */
void instant_text(struct instant i, char ret[STAMP_TEXT]);  /* milliseconds, always three digits */

/* Reads RFC 3339 with `Z` or ±hh:mm, fraction optional (cut to ms). 0, or -EINVAL. */
int instant_parse(const char *text, struct instant *ret);

/* Boot id of this kernel as 32 lower-case hex digits (no dashes). 0 or -errno. */
#define BOOT_ID_TEXT 33
int clock_boot_id(char ret[BOOT_ID_TEXT]);

#endif
