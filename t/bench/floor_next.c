/* The floor for next: no expression at all. An interval is one division; an instant of a calendar is one date taken
 * apart and put together by libc, in UTC or in the zone that TZ names.
 * usage: floor_next every|utc|zone SECONDS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "t/bench/times.h"

#define START_S  1767225600LL
#define IN_A_ROW 64

static int64_t every_next(int64_t at)
{
        return at - at % 90000 + 90000;
}

static int64_t utc_next(int64_t at)
{
        time_t t = at;
        struct tm tm;

        (void) gmtime_r(&t, &tm);
        tm.tm_min++;
        return timegm(&tm);
}

static int64_t zone_next(int64_t at)
{
        time_t t = at;
        struct tm tm;

        (void) localtime_r(&t, &tm);
        tm.tm_mday++;
        tm.tm_isdst = -1;
        return mktime(&tm);
}

int main(int argc, char **argv)
{
        int64_t (*next)(int64_t) = NULL;
        volatile int64_t seen = 0;   /* or the compiler leaves it all out */
        uint64_t n = 0;

        if (argc == 3)
                next = strcmp(argv[1], "every") == 0  ? every_next
                       : strcmp(argv[1], "utc") == 0  ? utc_next
                       : strcmp(argv[1], "zone") == 0 ? zone_next
                                                      : NULL;
        if (!next)
                return 64;
        int64_t began = times_cpu_ns(), until = began + (int64_t) (atof(argv[2]) * 1e9);
        while (times_cpu_ns() < until) {
                int64_t at = START_S;
                for (int k = 0; k < IN_A_ROW; k++, n++)
                        seen = at = next(at);
        }
        (void) printf("%.0f\n", (double) n * 1e9 / (double) (times_cpu_ns() - began));
        return seen == 0;
}
