/* Planned instants as the commands about schedules print them. */
#ifndef ONCED_INSTANTS_H
#define ONCED_INSTANTS_H

#include <stdbool.h>

#include "common/schedule/schedule.h"

/* "2026-11-30T17:00:00Z", or with milliseconds. `ret` holds STAMP_TEXT bytes; returns it. */
const char *instant_plain(struct instant i, bool with_ms, char ret[STAMP_TEXT]);

/* For programs: as an element of a JSON array, with the comma that it needs. */
void instant_print_json(struct instant i, bool with_ms, bool first);

/* For people: the heads, and a line in UTC and on the clock of the schedule's zone. */
void instants_print_heads(const struct schedule *s, const char *indent);
void instant_print(const struct schedule *s, struct instant i, const char *indent);

/* Between two lines: local times of the schedule that are left out, or come twice, in (after, upto]. */
void changes_print(const struct schedule *s, struct instant after, struct instant upto, const char *indent);

#endif
