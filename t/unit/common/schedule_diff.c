/* The engine against the oracle for as long as one likes: schedule-diff --count N [--seed S]. Case i is drawn from the
 * number S + i, so that `--count 1 --seed` and the number that a difference begins with repeat it. Exit 1 when there is
 * a difference. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "t/unit/cases.h"
#include "t/unit/common/differ.h"

#define SHOWN 20

int main(int argc, char **argv)
{
        static const struct option options[] = {
                { "count", required_argument, NULL, 'c' }, { "seed", required_argument, NULL, 's' }, { 0 },
        };
        uint64_t count = 0, seed = 1, wrong = 0;
        struct differ_counts counts = { 0 };
        char why[512];

        for (int o; (o = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
                if (o == 'c')
                        count = strtoull(optarg, NULL, 10);
                else if (o == 's')
                        seed = strtoull(optarg, NULL, 10);
                else
                        return 64;
        }
        if (count == 0 || optind < argc)
                return 64;
        for (uint64_t i = 0; i < count && wrong < SHOWN; i++)
                if (!differ_case(seed + i, &counts, why, sizeof(why))) {
                        wrong++;
                        (void) printf("%s\n", why);
                }
        (void) printf("schedule-diff: %" PRIu64 " cases from seed %" PRIu64 ", %" PRIu64 " instants, %" PRIu64
                      " that never come, %" PRIu64 " windows with a fold; %" PRIu64 " differ\n",
                      counts.cases, seed, counts.instants, counts.never, counts.folds, wrong);
        return wrong > 0;
}
