/* What `onced prove` says of instants that were queued: once when they were run later, by whoever, no loss while they
 * wait, and a loss when a later one was run before them. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "cli/prove/unit.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static void plan_queue(struct scene *s, const char *path)
{
        say_plan(s->first, 50, "mail", path, 1000, "\"rev\":1,\"overlap\":\"queue\"");
}

static void say_taken(struct author *a, const char *path, int64_t t_ms, int64_t planned_ms, int fence, int64_t run_ms)
{
        char more[64];

        (void) snprintf(more, sizeof(more), "\"result\":\"done\",\"run_us\":%lld", (long long) run_ms * 1000);
        say_attempt(a, t_ms, "mail", path, planned_ms, "granted", fence);
        say_run(a, t_ms, "mail", path, planned_ms, fence);
        say_finish(a, t_ms + run_ms, "mail", planned_ms, "succeeded", more);
}

/* The run of 1 s goes on until 4.2 s: 2, 3 and 4 wait, and all is run in its order until 10.5 s. */
static void three_wait(struct scene *s, const char *path)
{
        plan_queue(s, path);
        say_attempt(s->first, 1001, "mail", path, 1000, "granted", 101);
        say_run(s->first, 1001, "mail", path, 1000, 101);
        for (int i = 2; i <= 4; i++) {
                say_attempt(s->second, i * 1000 + 1, "mail", path, i * 1000, "queued", 0);
                say_attempt(s->first, i * 1000 + 2, "mail", path, i * 1000, "done", 0);
        }
        say_finish(s->first, 4201, "mail", 1000, "succeeded", "\"result\":\"done\",\"run_us\":3200000");
}

static void the_rest(struct scene *s, const char *path)
{
        for (int i = 5; i <= 10; i++) {
                say_once(s->second, "mail", path, i * 1000, 200 + i);
                say_attempt(s->first, i * 1000 + 2, "mail", path, i * 1000, "done", 0);
        }
        all_stop(s);
}

static void all_taken(struct scene *s, const char *path)
{
        three_wait(s, path);
        say_taken(s->first, path, 4202, 2000, 102, 100);
        say_taken(s->second, path, 4304, 3000, 103, 100);
        say_taken(s->first, path, 4406, 4000, 104, 100);
        the_rest(s, path);
}

static void what_was_queued_and_run_later_is_once(void **state)
{
        struct scene *s = *state;
        all_taken(s, "flock");

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->once, 10);
        assert_int_equal(r->outcomes[OUTCOME_QUEUED], 3);
        assert_int_equal(r->unrun[UNRUN_QUEUED], 0);
        assert_int_equal(s->j->units[0]->queued.count, 0);
        assert_int_equal(r->findings[FINDING_LATE] + r->findings[FINDING_BACK] + r->findings[FINDING_OVERLAP], 0);
        assert_int_equal(s->j->note_count, 0);
}

static void waiting_is_no_lateness(void **state)
{
        struct scene *s = *state;
        all_taken(s, "flock");

        (void) prove_it(s);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->late_count, 7);
        assert_int_equal(r->late_max_us, 1000);
        assert_int_equal(r->waited, 3);
        assert_int_equal(r->wait_max_us, 2202000);
}

/* The taker's line may come before that of who queued it: both are written when their answers come. */
static void a_start_logged_before_the_queueing_waited_too(void **state)
{
        struct scene *s = *state;
        plan_queue(s, "flock");
        say_attempt(s->first, 1001, "mail", "flock", 1000, "granted", 101);
        say_run(s->first, 1001, "mail", "flock", 1000, 101);
        say_finish(s->first, 2001, "mail", 1000, "succeeded", "\"result\":\"done\",\"run_us\":1000000");
        say_attempt(s->first, 2002, "mail", "flock", 2000, "granted", 102);
        say_run(s->first, 2002, "mail", "flock", 2000, 102);
        say_attempt(s->second, 2003, "mail", "flock", 2000, "queued", 0);
        say_finish(s->first, 2010, "mail", 2000, "succeeded", "\"result\":\"done\",\"run_us\":1000");
        for (int i = 3; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, 200 + i);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->once, 10);
        assert_int_equal(row(s, "mail")->waited, 1);
}

/* And after all was said of it: then nothing is kept of it. */
static void what_is_said_of_the_queue_too_late_is_nothing_new(void **state)
{
        struct scene *s = *state;
        plan_queue(s, "flock");
        for (int i = 1; i <= 10; i++)
                say_once(s->first, "mail", "flock", i * 1000, 200 + i);
        say_attempt(s->second, 9001, "mail", "flock", 9000, "done", 0);
        say_attempt(s->second, 9001, "mail", "flock", 2000, "queued", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->once, 10);
        assert_int_equal(s->j->units[0]->queued.count, 0);
}

/* The later one was cut off before its start, and had been taken from the queue nevertheless. */
static void what_was_passed_by_one_that_was_cut_off_is_missed_as_well(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_taken(s->first, "flock", 4202, 2000, 102, 100);
        say_attempt(s->first, 4303, "mail", "flock", 4000, "granted", 104);
        say_finish(s->first, 4304, "mail", 4000, "interrupted", "\"cause\":\"stopped\"");
        for (int i = 5; i <= 10; i++)
                say_attempt(s->second, i * 1000 + 1, "mail", "flock", i * 1000, "queued", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_QUEUED], 6);
}

static void two_that_took_one_from_the_queue_are_a_duplicate(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_taken(s->first, "flock", 4202, 2000, 102, 100);
        say_taken(s->second, "flock", 4304, 3000, 103, 100);
        say_taken(s->first, "flock", 4306, 3000, 104, 100);
        say_taken(s->first, "flock", 4408, 4000, 105, 100);
        the_rest(s, "flock");

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        assert_int_equal(row(s, "mail")->once, 9);
}

/* The run of 1 s went on to the end. */
static void wait_to_the_end(struct scene *s, const char *path)
{
        three_wait(s, path);
        for (int i = 5; i <= 10; i++) {
                say_attempt(s->second, i * 1000 + 1, "mail", path, i * 1000, "queued", 0);
                say_attempt(s->first, i * 1000 + 2, "mail", path, i * 1000, "done", 0);
        }
        all_stop(s);
}

static void what_still_waits_is_no_loss(void **state)
{
        struct scene *s = *state;
        wait_to_the_end(s, "flock");

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->once, 1);
        assert_int_equal(r->unrun[UNRUN_QUEUED], 9);
        assert_int_equal(r->verdicts[VERDICT_EXPLAINED], 9);
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        report_table(out, s->e, s->j, false);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "  QUEUED  "));
        assert_non_null(strstr(text, "mail: 9 still queued\n"));
        free(text);
}

/* Siblings are answered that it is decided, and no log says more: that is no trace of a node whose logs are missing. */
static void what_siblings_were_told_of_the_queue_makes_no_strangers(void **state)
{
        struct scene *s = *state;
        wait_to_the_end(s, "redis");

        assert_int_equal(prove_it(s), 0);
        assert_false(s->j->strangers);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_QUEUED], 9);
}

static void what_a_later_one_has_passed_is_missed(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_taken(s->first, "flock", 4202, 2000, 102, 100);
        say_taken(s->first, "flock", 4406, 4000, 104, 100);
        the_rest(s, "flock");

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_QUEUED], 0);
        assert_int_equal(s->j->note_count, 1);
        assert_string_equal(s->j->notes[0], "MISSED mail 2025-11-30T17:00:03.000Z: queued, passed by a later one, and "
                                            "nothing says why");
}

static void what_left_the_queue_unrun_is_explained(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_range(s->second, 4201, "skip", "mail", 2000, 4000, "disabled");
        for (int i = 5; i <= 9; i++)
                say_once(s->second, "mail", "flock", i * 1000, 200 + i);
        say_attempt(s->first, 10001, "mail", "flock", 10000, "decided", 0);
        say_range(s->first, 10001, "skip", "mail", 10000, 10000, "queue_full");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->given_up[CAUSE_DISABLED], 3);
        assert_int_equal(r->unrun[UNRUN_DROPPED], 1);
        assert_int_equal(r->unrun[UNRUN_QUEUED], 0);
        assert_int_equal(r->once, 6);
}

/* Taken, and killed before it wrote a word. */
static void who_died_with_one_that_was_queued_loses_it_to_no_doubt(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_finish(s->second, 4300, "mail", 2000, "interrupted", "\"cause\":\"worker_died\",\"of\":\"n1.0.101.77-ab12.9\"");
        say_taken(s->second, "flock", 4304, 3000, 103, 100);
        say_taken(s->second, "flock", 4406, 4000, 104, 100);
        for (int i = 5; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, 200 + i);
        say_gone(s->master, 4250, s->first, 9);
        say_stop(s->second, 10600, 10500, false);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 10800, 10800, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_CUT], 1);
        assert_int_equal(row(s, "mail")->once, 9);
}

/* Its log had gone on to later instants before it ran this one: the word of its end is read before the run. */
static void who_died_in_a_run_that_had_waited_is_told_once(void **state)
{
        struct scene *s = *state;
        plan_queue(s, "flock");
        say_attempt(s->first, 1001, "mail", "flock", 1000, "granted", 101);
        say_run(s->first, 1001, "mail", "flock", 1000, 101);
        for (int i = 2; i <= 4; i++)
                say_attempt(s->first, i * 1000 + 1, "mail", "flock", i * 1000, "queued", 0);
        say_finish(s->first, 4201, "mail", 1000, "succeeded", "\"result\":\"done\",\"run_us\":3200000");
        say_attempt(s->first, 4202, "mail", "flock", 2000, "granted", 102);
        say_run(s->first, 4202, "mail", "flock", 2000, 102);
        say_gone(s->master, 4250, s->first, 9);
        say_finish(s->second, 4300, "mail", 2000, "interrupted", "\"cause\":\"worker_died\",\"of\":\"n1.0.101.77-ab12.9\"");
        say_taken(s->second, "flock", 4304, 3000, 103, 100);
        say_taken(s->second, "flock", 4406, 4000, 104, 100);
        for (int i = 5; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, 200 + i);
        say_stop(s->second, 10600, 10500, false);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 10800, 10800, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->finals[STATE_INTERRUPTED], 1);
        assert_int_equal(row(s, "mail")->findings[FINDING_UNFINISHED], 0);
        assert_int_equal(row(s, "mail")->once, 10);
}

static void where_something_went_unseen_the_queue_is_unknown(void **state)
{
        struct scene *s = *state;
        wait_to_the_end(s, "flock");
        line_drop(s->first, line_find(s->first, "finish", "3200000"));

        assert_int_equal(prove_it(s), 3);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->verdicts[VERDICT_MISSED], 0);
        assert_true(r->verdicts[VERDICT_UNKNOWN] > 0);
        assert_true(r->unrun[UNRUN_QUEUED] < 9);
}

/* Under drop nothing is queued, and an instant passed over is what it always was. */
static void a_queue_of_an_earlier_policy_is_not_held_against_the_later(void **state)
{
        struct scene *s = *state;
        three_wait(s, "flock");
        say_plan(s->first, 4500, "mail", "flock", 1000, "\"rev\":2,\"overlap\":\"drop\"");
        the_rest(s, "flock");

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->unrun[UNRUN_QUEUED], 3);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_was_queued_and_run_later_is_once),
                CASE(waiting_is_no_lateness),
                CASE(a_start_logged_before_the_queueing_waited_too),
                CASE(what_is_said_of_the_queue_too_late_is_nothing_new),
                CASE(what_was_passed_by_one_that_was_cut_off_is_missed_as_well),
                CASE(two_that_took_one_from_the_queue_are_a_duplicate),
                CASE(what_still_waits_is_no_loss),
                CASE(what_siblings_were_told_of_the_queue_makes_no_strangers),
                CASE(what_a_later_one_has_passed_is_missed),
                CASE(what_left_the_queue_unrun_is_explained),
                CASE(who_died_with_one_that_was_queued_loses_it_to_no_doubt),
                CASE(who_died_in_a_run_that_had_waited_is_told_once),
                CASE(where_something_went_unseen_the_queue_is_unknown),
                CASE(a_queue_of_an_earlier_policy_is_not_held_against_the_later),
        };
        return RUN_CASES(argc, argv, "queue", tests);
}
