/* Cron a second time, slowly: every field is asked value by value from its text, dates come from libc, and instants are
 * found by walking the wall clock minute by minute. It shares the zone data with the engine and not a line of code, so
 * that a mistake in one is a difference to the other. */
#ifndef ONCED_ORACLE_H
#define ONCED_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zone;

struct oracle {
        char fields[6][128];   /* second to day of week, upper case */
        const struct zone *zone;
        bool both;
        bool second[60], minute[60], hour[24], month[13];   /* asked once */
};

/* `expression` must be one that is no macro and that cron_parse accepts. */
void oracle_init(struct oracle *o, const char *expression, const struct zone *zone, bool both);

/* The instants in [from_s, until_s), ascending; returns how many, at most `room`. */
size_t oracle_walk(const struct oracle *o, int64_t from_s, int64_t until_s, int64_t *ret, size_t room);

/* Whether any day of 400 years is one of the expression's. */
bool oracle_comes(const struct oracle *o);

#endif
