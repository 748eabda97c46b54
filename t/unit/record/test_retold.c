/* `onced prove` on what was logged in place of a dead process: it explains as if the dead had said it, and what is
 * told twice is one fact. */
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define DEAD "n1.0.101.77-ab12"

static void say_told(struct author *a, int64_t t_ms, const char *e, int64_t first_ms, int64_t last_ms, int count,
                     const char *cause)
{
        say(a, t_ms, e,
            "\"task\":\"mail\",\"key\":\"\",\"shard\":0,\"first\":%lld,\"last\":%lld,\"count\":%d,\"state\":\"%s\","
            "\"cause\":\"%s\",\"of\":\"" DEAD "\"",
            (long long) (BASE_MS + first_ms), (long long) (BASE_MS + last_ms), count,
            strcmp(e, "skip") == 0 ? "skipped" : "missed", cause);
}

/* Ten seconds of which the fourth to the sixth were run by nobody. */
static void without_three(struct scene *s)
{
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++)
                if (i < 4 || i > 6)
                        say_once(i % 2 ? s->first : s->second, "mail", "flock", i * 1000, i);
}

static void assert_three_explained(struct scene *s)
{
        all_stop(s);
        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->verdicts[VERDICT_EXPLAINED], 3);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 7);
        assert_int_equal(r->unrun[UNRUN_SKIPPED], 2);
        assert_int_equal(r->unrun[UNRUN_MISSED], 1);
        for (unsigned f = 0; f < FINDING_COUNT_; f++)
                assert_int_equal(r->findings[f], 0);
        assert_int_equal(s->j->note_count, 0);
}

static void what_is_told_in_place_of_the_dead_explains(void **state)
{
        struct scene *s = *state;
        without_three(s);
        say_told(s->second, 10200, "skip", 4000, 5000, 2, "misfire");
        say_told(s->second, 10200, "miss", 6000, 6000, 1, "late");
        assert_three_explained(s);
}

static void told_by_the_author_as_well_is_one_fact(void **state)
{
        struct scene *s = *state;
        without_three(s);
        say_range(s->first, 10100, "skip", "mail", 4000, 5000, "misfire");
        say_told(s->second, 10200, "skip", 4000, 5000, 2, "misfire");
        say_told(s->second, 10200, "miss", 6000, 6000, 1, "late");
        assert_three_explained(s);
}

/* The order of logs is no order of time: the author's line may be read last. */
static void told_before_the_author_is_read_is_one_fact(void **state)
{
        struct scene *s = *state;
        without_three(s);
        say_told(s->first, 10200, "skip", 4000, 5000, 2, "misfire");
        say_told(s->first, 10200, "miss", 6000, 6000, 1, "late");
        say_range(s->second, 10100, "skip", "mail", 4000, 5000, "misfire");
        say_range(s->second, 10100, "miss", "mail", 6000, 6000, "late");
        assert_three_explained(s);
}

static void two_who_tell_it_are_one_fact(void **state)
{
        struct scene *s = *state;
        without_three(s);
        for (int i = 0; i < 2; i++) {
                struct author *a = i ? s->first : s->second;
                say_told(a, 10200, "skip", 4000, 5000, 2, "misfire");
                say_told(a, 10200, "miss", 6000, 6000, 1, "late");
        }
        assert_three_explained(s);
}

static void what_nobody_tells_stays_missed(void **state)
{
        struct scene *s = *state;
        without_three(s);
        say_told(s->second, 10200, "skip", 4000, 5000, 2, "misfire");
        all_stop(s);
        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
}

/* The run stands whoever says that there was none. */
static void a_run_is_not_told_away(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_told(s->second, 10200, "skip", 5000, 5000, 1, "misfire");
        say_run(s->second, 10300, "mail", "flock", 6000, 999);
        say_told(s->second, 10400, "skip", 6000, 6000, 1, "misfire");
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 9);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 0);
}

static void an_end_told_twice_is_one_end(void **state)
{
        static const char end[] = "\"cause\":\"worker_died\",\"run_us\":0,\"of\":\"" DEAD ".9\"";
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_attempt(s->first, 5001, "mail", "flock", 5000, "granted", 105);
        say_finish(s->second, 5050, "mail", 5000, "interrupted", end);
        say_finish(s->second, 10300, "mail", 5000, "interrupted", end);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 1);
        assert_int_equal(row(s, "mail")->finals[STATE_INTERRUPTED], 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_is_told_in_place_of_the_dead_explains),
                CASE(told_by_the_author_as_well_is_one_fact),
                CASE(told_before_the_author_is_read_is_one_fact),
                CASE(two_who_tell_it_are_one_fact),
                CASE(what_nobody_tells_stays_missed),
                CASE(a_run_is_not_told_away),
                CASE(an_end_told_twice_is_one_end),
        };

        return RUN_CASES(argc, argv, "retold", tests);
}
