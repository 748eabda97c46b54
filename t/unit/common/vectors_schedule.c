#include "t/unit/common/vectors_schedule.h"

#include <string.h>

#include "t/unit/common/vectors.h"

int vector_schedule(const json_t *from, struct schedule *ret)
{
        struct cron_error error;

        if (json_object_get(from, "every_ms"))
                return schedule_every(vector_int(from, "every_ms"), vector_int(from, "anchor_ms"), ret);
        bool both = strcmp(vector_text(from, "overlap"), "both") == 0;
        return schedule_cron(vector_text(from, "expr"), vector_text(from, "tz"), both, ret, &error);
}
