/* Schedules as the cases of t/vectors write them. */
#ifndef ONCED_VECTORS_SCHEDULE_H
#define ONCED_VECTORS_SCHEDULE_H

#include <jansson.h>

#include "common/schedule/schedule.h"

/* {expr, tz, overlap} or {every_ms, anchor_ms}; the answer of schedule_cron or schedule_every. */
int vector_schedule(const json_t *from, struct schedule *ret);

#endif
