/* When a task is due: `every`, or `cron` with its zone, as they are written, and the schedule they come to. */
#ifndef ONCED_CONFIG_TIMING_H
#define ONCED_CONFIG_TIMING_H

#include "common/config/rules.h"

/* Whether a text is a cron expression, or names a zone of this machine; for the table of fields. */
bool cron_judge(const char *text, struct flaw *ret);
bool zone_judge(const char *text, struct flaw *ret);

/* Makes the schedule of `t`, which has been read from `o`, and warns of what in it is likely a slip. */
void timing_settle(struct reading *rd, const struct origin *o, struct task *t);

/* Between the instants to come: of a cron schedule the next hundred. Zeros when there are none. */
struct intervals {
        int64_t shortest_ms, longest_ms;
};

struct intervals timing_intervals(const struct schedule *s);

#endif
