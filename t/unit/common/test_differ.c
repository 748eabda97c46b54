/* Ten thousand drawn expressions, zones and windows: the engine against the oracle. Another ten thousand each time; the
 * seed is printed, and ONCED_SEED repeats it. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "t/unit/cases.h"
#include "t/unit/common/differ.h"

#define CASES 10000

static uint64_t first_seed(void)
{
        const char *given = getenv("ONCED_SEED");
        uint32_t seed = 0;

        if (given)
                return strtoull(given, NULL, 10);
        assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
        return seed;
}

static void engine_and_oracle_agree(void **state)
{
        uint64_t seed = first_seed();
        struct differ_counts counts = { 0 };
        char why[512];

        (void) state;
        print_message("ONCED_SEED=%" PRIu64 "\n", seed);
        for (uint64_t i = 0; i < CASES; i++)
                if (!differ_case(seed + i, &counts, why, sizeof(why)))
                        fail_msg("%s", why);
        print_message("%" PRIu64 " instants, %" PRIu64 " expressions that never come, %" PRIu64 " windows with a fold\n",
                      counts.instants, counts.never, counts.folds);
        assert_true(counts.instants > CASES && counts.folds > CASES / 20 && counts.never > CASES / 1000);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(engine_and_oracle_agree),
        };
        return RUN_CASES(argc, argv, "differ", tests);
}
