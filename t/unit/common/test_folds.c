/* Folds upon folds: zones drawn at random, whose clock is moved again before the last move is over, against the oracle.
 * No real zone does so, and a zone file may. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/schedule/zone.h"
#include "t/unit/cases.h"
#include "t/unit/common/differ.h"
#include "t/unit/common/draw_cron.h"

#define ZONES     60
#define MOVES_MAX 24
#define BEGIN_S   1700000000

static char folder[] = "/tmp/onced-folds-XXXXXX";

static void put_u32(uint8_t **at, uint32_t v)
{
        for (int shift = 24; shift >= 0; shift -= 8)
                *(*at)++ = (uint8_t) (v >> shift);
}

/* A file of version 1: moves with 32 bits, a kind of offset to each and one before them. Once read, it is not needed
 * any more. Returns when the last move is. */
static int64_t zone_make(const char *name, uint64_t *seed)
{
        uint8_t file[512] = "TZif", *at = file + 20;
        uint32_t moves = 2 + draw_below(seed, MOVES_MAX - 1), when = BEGIN_S;
        char path[64], why[ZONE_WHY];
        const struct zone *zone;

        for (int i = 0; i < 3; i++)
                put_u32(&at, 0);
        put_u32(&at, moves);
        put_u32(&at, moves + 1);
        put_u32(&at, 4);
        for (uint32_t i = 0; i < moves; i++) {
                put_u32(&at, when);
                when += 1 + draw_below(seed, draw_below(seed, 3) == 0 ? 90000 : 5000);
        }
        for (uint32_t i = 0; i < moves; i++)
                *at++ = (uint8_t) (i + 1);
        for (uint32_t i = 0; i <= moves; i++) {
                bool far = draw_below(seed, 3) == 0;
                int32_t offset = far ? (int32_t) draw_below(seed, 180000) - 89999 : (int32_t) draw_below(seed, 10800) - 5400;
                put_u32(&at, (uint32_t) (draw_below(seed, 2) ? offset - offset % 900 : offset));
                *at++ = 0;
                *at++ = 0;
        }
        memcpy(at, "XXX", 4);
        (void) snprintf(path, sizeof(path), "%s/%s", folder, name);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(file, (size_t) (at + 4 - file), 1, f), 1);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(zone_get(name, &zone, why, sizeof(why)), 0);
        assert_int_equal(unlink(path), 0);
        return when;
}

static void zones_of_folds_upon_folds_agree(void **state)
{
        const char *given = getenv("ONCED_SEED");
        uint32_t some = 0;
        struct differ_counts counts = { 0 };
        char why[512], name[16];

        (void) state;
        assert_int_equal(getrandom(&some, sizeof(some), 0), sizeof(some));
        uint64_t first = given ? strtoull(given, NULL, 10) : some;
        print_message("ONCED_SEED=%" PRIu64 "\n", first);
        for (uint64_t seed = first; seed < first + ZONES; seed++) {
                uint64_t series = seed;
                (void) snprintf(name, sizeof(name), "Drawn%" PRIu64, seed - first);
                int64_t end = zone_make(name, &series);
                for (uint64_t i = 0; i < 12; i++) {
                        int64_t from = BEGIN_S - 90000 + (int64_t) (draw(&series) % (uint64_t) (end - BEGIN_S + 90000));
                        if (!differ_in_zone(draw(&series), name, from, from + 20000, &counts, why, sizeof(why)))
                                fail_msg("zone of seed %" PRIu64 ": %s", seed, why);
                }
        }
        assert_true(counts.instants > ZONES);
}

static int folder_made(void **state)
{
        (void) state;
        return mkdtemp(folder) && setenv("TZDIR", folder, 1) == 0 ? 0 : -1;
}

static int folder_removed(void **state)
{
        (void) state;
        return rmdir(folder);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(zones_of_folds_upon_folds_agree, folder_made, folder_removed),
        };
        return RUN_CASES(argc, argv, "folds", tests);
}
