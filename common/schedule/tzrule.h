/* The rule for all years behind a zone file's table: a POSIX TZ string as a file's footer has it (RFC 9636), such as
 * "CET-1CEST,M3.5.0,M10.5.0/3". */
#ifndef ONCED_TZRULE_H
#define ONCED_TZRULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zone_span;

/* What a wall clock shows. Offsets are more than -25 h and less than 26 h. */
struct zone_kind {
        int32_t offset_s;        /* local = UTC + offset */
        bool is_dst;
        char abbreviation[12];
};

#define OFFSET_MIN_S (-25 * 3600 + 1)
#define OFFSET_MAX_S (26 * 3600 - 1)

/* The `length` bytes as an abbreviation: letters, digits, signs, and room for all of them. 0, or -EBADMSG. */
int zone_kind_name(struct zone_kind *k, const char *text, size_t length);

enum tzrule_form {
        DAY_OF_YEAR,        /* n: 0..365, 29 February counts */
        DAY_WITHOUT_LEAP,   /* Jn: 1..365, 29 February is never meant */
        DAY_OF_MONTH,       /* Mm.w.d */
};

struct tzrule_date {
        enum tzrule_form form;
        int day;                   /* of the year */
        int month, week, weekday;  /* 1..12; 1..5, 5 is the last; 0..6, Sunday is 0 */
        int32_t time_s;            /* of the wall clock before the change, from midnight; within a week */
};

struct tzrule {
        struct zone_kind standard, summer;   /* "summer" may be winter: Dublin's is, and is behind standard time */
        struct tzrule_date begin, end;       /* of summer */
        bool never_changes;                  /* standard time, or summer, all the years */
        bool always_summer;
};

/* 0, or -EBADMSG. A name for summer without its dates is refused: what they are would be a guess. */
int tzrule_parse(const char *text, size_t length, struct tzrule *ret);

/* The stretch of one offset around `utc_s`, by the rule alone, for all of int64_t. */
void tzrule_span_at(const struct tzrule *r, int64_t utc_s, struct zone_span *ret);

#endif
