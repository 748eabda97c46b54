/* An answer holds for all the time between the two instants it was about. A grid is arithmetic, and needs none. */
#include "cli/prove/near.h"

#include <errno.h>

static int answer(int64_t next_ms, struct instant *ret)
{
        if (next_ms == INT64_MAX)
                return -ENOENT;
        ret->ms = next_ms;
        return 0;
}

int near_next(struct near *n, const struct schedule *s, struct instant after, struct instant *ret)
{
        struct instant next;

        if (s->kind != SCHEDULE_CRON)
                return schedule_next(s, after, ret);
        for (unsigned i = 0; i < NEAR_KEPT; i++)
                if (n->kept[i].of == s && after.ms >= n->kept[i].after && after.ms < n->kept[i].next)
                        return answer(n->kept[i].next, ret);
        if (schedule_next(s, after, &next) < 0)
                next.ms = INT64_MAX;
        unsigned at = n->oldest++ % NEAR_KEPT;
        n->kept[at].of = s;
        n->kept[at].after = after.ms;
        n->kept[at].next = next.ms;
        return answer(next.ms, ret);
}

uint64_t near_count(struct near *n, const struct schedule *s, struct instant after, struct instant upto)
{
        struct instant first, second;

        if (s->kind != SCHEDULE_CRON)
                return schedule_count(s, after, upto);
        if (upto.ms <= after.ms || near_next(n, s, after, &first) < 0 || first.ms > upto.ms)
                return 0;
        if (near_next(n, s, first, &second) < 0 || second.ms > upto.ms)
                return 1;
        return schedule_count(s, after, upto);
}
