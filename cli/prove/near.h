/* Schedules asked again and again about nearly the same instants, as the lines of many processes about one of them
 * do: the newest answers are kept, so that a cron expression is evaluated once an instant and not once a line. */
#ifndef ONCED_PROVE_NEAR_H
#define ONCED_PROVE_NEAR_H

#include <stdint.h>

#include "common/schedule/schedule.h"

#define NEAR_KEPT 4

struct near {
        struct {
                const struct schedule *of;   /* borrowed, stays where it is as long as this is used; NULL: empty */
                int64_t after, next;         /* no instant lies between; INT64_MAX: none comes */
        } kept[NEAR_KEPT];
        unsigned oldest;
};

/* As schedule_next and schedule_count. */
int near_next(struct near *n, const struct schedule *s, struct instant after, struct instant *ret);
uint64_t near_count(struct near *n, const struct schedule *s, struct instant after, struct instant upto);

#endif
