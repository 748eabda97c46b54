/* /metrics: the counters of the scoreboard for machines, as OpenMetrics text or as JSON. No label ever holds
 * the id of an occurrence or of a trigger: each would be a new time series. */
#ifndef ONCED_METRICS_H
#define ONCED_METRICS_H

#include "console/view.h"
#include "console/workers.h"

struct buf;

/* 0 or -ENOMEM. */
int metrics_text(const struct view *v, const struct workers *w, struct buf *ret);
json_t *metrics_json(const struct view *v, const struct workers *w);

#endif
