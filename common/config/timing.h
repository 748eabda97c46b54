/* When a task is due: `every`, or `cron` with its zone, as they are written, and the schedule they come to. */
#ifndef ONCED_CONFIG_TIMING_H
#define ONCED_CONFIG_TIMING_H

#include "common/config/rules.h"

/* Whether a text is a cron expression, or names a zone of this machine; for the table of fields. */
bool cron_judge(const char *text, struct flaw *ret);
bool zone_judge(const char *text, struct flaw *ret);

/* Whether anything of a schedule is still to come: the clock of a zone may skip all that an expression names. If not,
 * `ret_why` says so, for people; NEVER_WHY bytes are enough. */
#define NEVER_WHY 160
bool timing_comes(const struct schedule *s, char *ret_why, size_t room);

/* Makes the schedule of `t`, which has been read from `o`, and warns of what in it is likely a slip. */
void timing_settle(struct reading *rd, const struct origin *o, struct task *t);

/* Whether all intervals to come are shorter, or longer, than `ms`; of a cron schedule the next hundred are looked at. */
bool timing_all_shorter(const struct schedule *s, int64_t ms);
bool timing_all_longer(const struct schedule *s, int64_t ms);

#endif
