/* Planned instants a second of CPU, one after the other from 2026 on, by kind of schedule.
 * usage: next every|minute|daily|weekly|rare|count SECONDS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/schedule.h"
#include "t/bench/times.h"

#define START_MS 1767225600000LL   /* 2026 */
#define IN_A_ROW 64                /* before the start again: the rare ones are 28 years apart, and years end at 9999 */

static const struct {
        const char *kind, *text;
} kinds[] = {
        { "every", "every 90s" },
        { "minute", "cron * * * * * tz UTC" },
        { "daily", "cron 30 5 * * * tz Europe/Berlin" },
        { "weekly", "cron 0 9 * * 1-5 tz America/New_York" },
        { "rare", "cron 0 0 * 2 1#5 tz Europe/Berlin" },
        { "count", "cron * * * * * * tz Europe/Berlin" },
};

static uint64_t walk(const struct schedule *s, int64_t until_ns)
{
        uint64_t found = 0;

        while (times_cpu_ns() < until_ns) {
                struct instant i = { START_MS };
                for (int k = 0; k < IN_A_ROW; k++, found++)
                        if (schedule_next(s, i, &i) < 0)
                                return 0;
        }
        return found;
}

/* A cursor 366 days back, as after a long stop. */
static uint64_t count(const struct schedule *s, int64_t until_ns)
{
        uint64_t done = 0;

        for (; times_cpu_ns() < until_ns; done++)
                if (schedule_count(s, (struct instant) { START_MS + (int64_t) done },
                                   (struct instant) { START_MS + (int64_t) done + EVERY_MAX_MS }) == 0)
                        return 0;
        return done;
}

int main(int argc, char **argv)
{
        struct schedule s;
        size_t k = 0;

        while (argc == 3 && k < ARRAY_SIZE(kinds) && strcmp(argv[1], kinds[k].kind) != 0)
                k++;
        if (argc != 3 || k == ARRAY_SIZE(kinds) || schedule_parse(kinds[k].text, &s) < 0)
                return 64;
        int64_t began = times_cpu_ns(), until = began + (int64_t) (atof(argv[2]) * 1e9);
        uint64_t n = strcmp(argv[1], "count") == 0 ? count(&s, until) : walk(&s, until);
        (void) printf("%.0f\n", (double) n * 1e9 / (double) (times_cpu_ns() - began));
        return n == 0;
}
