/* Verdicts of `onced prove` on logs made for the purpose: each kind of verdict and finding. */
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static void every_instant_run_once_is_once(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_string_equal(report_verdict(s->e, s->j), "ONCE");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->outside, 0);
        assert_int_equal(r->once, 10);
        assert_int_equal(r->runs, 10);
        assert_int_equal(r->results[RESULT_DONE], 10);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 10);
        assert_int_equal(row_sources(r), 2);
        assert_int_equal(r->attempts, 20);
        assert_int_equal(s->e->trouble_count, 0);
        for (unsigned f = 0; f < FINDING_COUNT_; f++)
                assert_int_equal(r->findings[f], 0);
}

static void an_instant_run_twice_is_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_once(s->second, "mail", "flock", 9000, 200);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 9);
}

/* The second run comes when the first was long settled and forgotten as an occurrence. */
static void a_second_run_hours_later_is_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_run(s->second, 10400, "mail", "flock", 3000, 999);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 9);
}

static void two_runs_by_one_process_are_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_once(s->first, "mail", "flock", 5000, 105);
        say_run(s->first, 5001, "mail", "flock", 5000, 105);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
}

static void two_fences_for_one_instant_are_duplicate(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "redis", 10);
        say_attempt(s->first, 10001, "mail", "redis", 10000, "granted", 110);
        say_attempt(s->second, 10001, "mail", "redis", 10000, "granted", 111);
        say_run(s->first, 10002, "mail", "redis", 10000, 110);
        say_finish(s->first, 10003, "mail", 10000, "succeeded", "\"result\":\"done\",\"run_us\":1");
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
}

static void an_instant_without_any_record_is_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 4);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
        assert_int_equal(row(s, "mail")->expected, 10);
        assert_int_equal(row(s, "mail")->runs, 9);
}

static void the_last_instants_before_the_stop_are_missed_too(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 10);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
}

static void a_task_that_never_ran_is_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_plan(s->first, 100, "other", "flock", 10, "\"rev\":1");
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "other")->verdicts[VERDICT_MISSED], 1039);   /* 110, 120 … 10490 */
}

static void a_range_record_explains_its_instants(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        say_once(s->first, "mail", "flock", 1000, 1);
        say_range(s->second, 5001, "skip", "mail", 2000, 4000, "misfire");
        say_range(s->second, 5002, "miss", "mail", 5000, 5000, "ledger_down");
        say_range(s->second, 6001, "skip", "mail", 6000, 6000, "overlap");
        for (int i = 7; i <= 10; i++)
                say_once(s->second, "mail", "flock", i * 1000, i);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->verdicts[VERDICT_EXPLAINED], 5);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 5);
        assert_int_equal(r->unrun[UNRUN_SKIPPED], 3);
        assert_int_equal(r->unrun[UNRUN_MISSED], 1);
        assert_int_equal(r->unrun[UNRUN_DROPPED], 1);
        assert_string_equal(report_verdict(s->e, s->j), "EXPLAINED");
}

static void ranges_alone_are_explained(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        say_range(s->first, 10400, "skip", "mail", 1000, 10000, "overlap");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_string_equal(report_verdict(s->e, s->j), "EXPLAINED");
}

static void a_grant_that_was_interrupted_before_its_run_is_explained(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_attempt(s->first, 5001, "mail", "flock", 5000, "granted", 105);
        say_finish(s->second, 5050, "mail", 5000, "interrupted",
                   "\"cause\":\"worker_died\",\"run_us\":0,\"of\":\"n1.0.101.77-ab12.9\"");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 1);
        assert_int_equal(row(s, "mail")->finals[STATE_INTERRUPTED], 1);
}

static void a_grant_that_nothing_followed_is_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_attempt(s->first, 5001, "mail", "flock", 5000, "granted", 105);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
}

static void a_run_line_that_could_not_be_made_sure_is_no_run(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_run(s->first, 5001, "mail", "flock", 5000, 105);
        say_finish(s->first, 5002, "mail", 5000, "failed", "\"cause\":\"log\",\"run_us\":0");
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->runs, 9);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_EXPLAINED], 1);
}

static void none_runs_once_per_process_and_is_not_judged(void **state)
{
        struct scene *s = *state;
        char verdict[160];
        say_plan(s->first, 50, "plain", "none", 1000, "\"rev\":0");
        for (int i = 1; i <= 10; i++) {
                say_once(s->first, "plain", "none", i * 1000, 0);
                say_once(s->second, "plain", "none", i * 1000, 0);
        }
        ten_seconds(s, "dedicated", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_string_equal(report_verdict(s->e, s->j), "ONCE");
        report_row_verdict(row(s, "plain"), verdict, sizeof(verdict));
        assert_string_equal(verdict, "NOT SINGLE x2 (runs once per process)");
        assert_int_equal(row(s, "plain")->per_instant[2], 10);
}

static void a_lock_that_does_not_hold_shows_the_multiple(void **state)
{
        struct scene *s = *state;
        char verdict[160];
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                say_once(s->first, "mail", "flock", i * 1000, 2 * i);
                say_once(s->second, "mail", "flock", i * 1000, 2 * i + 1);
        }
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
        report_row_verdict(row(s, "mail"), verdict, sizeof(verdict));
        assert_string_equal(verdict, "DUPLICATE x2 (runs once per process)");
}

static void findings_are_told_apart(void **state)
{
        struct scene *s = *state;
        struct author *first = author_of(&s->book, "n1", "2", 103, "worker", 12);
        struct author *second = author_of(&s->book, "n1", "3", 104, "worker", 13);
        say_born(s->master, 12, first);
        say_born(s->master, 13, second);
        ten_seconds(s, "flock", 0);
        say_plan(first, 60, "f", "flock", 1000, "\"rev\":1");
        say_run(first, 1001, "f", "flock", 1000, 7);          /* OVERLAP with the next one */
        say_finish(first, 2300, "f", 1000, "succeeded", "\"result\":\"done\",\"run_us\":1200000");
        say_once(second, "f", "flock", 2000, 8);
        say_run(second, 2900, "f", "flock", 3000, 9);         /* EARLY */
        say_finish(second, 2901, "f", 3000, "succeeded", "\"result\":\"done\",\"run_us\":1");
        say_run(first, 6200, "f", "flock", 4000, 10);         /* LATE */
        say_finish(first, 6201, "f", 4000, "succeeded", "\"result\":\"done\",\"run_us\":1");
        say_finish(first, 6202, "f", 5000, "succeeded", "\"result\":\"done\",\"run_us\":1"); /* ORPHAN */
        say_run(second, 6203, "f", "flock", 6000, 11);        /* UNFINISHED */
        say_once(second, "f", "flock", 7000, 5);              /* FENCE */
        say_once(first, "f", "flock", 7500, 12);              /* PHANTOM */
        say_once(first, "f", "flock", 8000, 13);
        say_once(first, "f", "flock", 9000, 14);
        say_once(first, "f", "flock", 10000, 15);
        say_stop(first, 10600, 10500, false);
        say_stop(second, 10600, 10500, false);
        all_stop(s);

        (void) prove_it(s);
        const struct row *r = row(s, "f");
        assert_int_equal(r->findings[FINDING_OVERLAP], 1);
        assert_int_equal(r->findings[FINDING_EARLY], 1);
        assert_int_equal(r->findings[FINDING_LATE], 1);
        assert_int_equal(r->findings[FINDING_ORPHAN], 1);
        assert_int_equal(r->findings[FINDING_UNFINISHED], 1);
        assert_int_equal(r->findings[FINDING_FENCE], 1);
        assert_int_equal(r->findings[FINDING_PHANTOM], 1);
        assert_int_equal(r->findings[FINDING_BACK], 0);
        for (unsigned f = 0; f < FINDING_COUNT_; f++)
                assert_int_equal(row(s, "mail")->findings[f], 0);
}

static void an_older_instant_started_later_is_back(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                if (i == 4)
                        continue;
                say_once(s->first, "mail", "flock", i * 1000, i);
                if (i == 8)
                        say_run(s->first, 8500, "mail", "flock", 4000, 4);
        }
        all_stop(s);

        (void) prove_it(s);
        assert_int_equal(row(s, "mail")->findings[FINDING_BACK], 1);
}

static void one_revision_with_two_schedules_is_split(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_plan(s->second, 50, "mail", "flock", 2000, "\"rev\":1");
        all_stop(s);

        (void) prove_it(s);
        assert_int_equal(row(s, "mail")->findings[FINDING_SPLIT], 1);
}

static void a_plan_said_again_counts_once(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say(s->second, 5500, "plan",
            "\"task\":\"mail\",\"path\":\"flock\",\"schedule\":\"every 1s\","
            "\"grace\":-1,\"scope\":\"auto\",\"shards\":1,\"enabled\":true,\"rev\":1,\"valid_from\":%lld",
            BASE_MS + 50);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 10);
}

/* rev 2 from 5.5 s on runs every two seconds; then the task is disabled. */
static void each_plan_counts_for_its_own_time(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 5; i++)
                say_once(s->first, "mail", "flock", i * 1000, i);
        say_plan(s->first, 5500, "mail", "flock", 2000, "\"rev\":2");
        say_once(s->second, "mail", "flock", 6000, 6);
        say(s->first, 7500, "plan",
            "\"task\":\"mail\",\"path\":\"flock\",\"schedule\":\"every 2s\","
            "\"grace\":-1,\"scope\":\"auto\",\"shards\":1,\"enabled\":false,\"rev\":3,\"valid_from\":%lld",
            BASE_MS + 7500);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 6);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 6);
}

static void only_the_leader_answers_for_dedicated_tasks(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "dedicated", 1000, "\"rev\":1");
        for (int i = 1; i <= 5; i++)
                say_once(s->first, "mail", "dedicated", i * 1000, i);
        say_stop(s->first, 5600, 5500, true);
        say_gone(s->master, 5700, s->first, 0);
        say_stop(s->second, 10600, 10500, false);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 10800, 10800, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 5);
}

static void since_and_until_bound_what_is_judged(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 4);
        all_stop(s);

        assert_int_equal(prove_with(s, &(struct judge_options) { .since_ms = BASE_MS + 5000,
                                                               .until_ms = BASE_MS + 8000 }),
                         0);
        assert_int_equal(row(s, "mail")->expected, 3);
        assert_int_equal(row(s, "mail")->runs, 3);
}

static void only_the_named_tasks_are_judged(void **state)
{
        struct scene *s = *state;
        char *names[] = { (char[]) { "mail" } };
        ten_seconds(s, "flock", 0);
        say_plan(s->first, 60, "other", "flock", 1000, "\"rev\":1");
        all_stop(s);

        assert_int_equal(prove_with(s, &(struct judge_options) { INT64_MIN, INT64_MAX, names, 1 }), 0);
        assert_int_equal(s->j->row_count, 1);
}

static void once_on_a_node(struct author *a, int i)
{
        say(a, i * 1000 + 1, "run",
            "\"task\":\"mail\",\"key\":\"%s\",\"shard\":0,\"planned\":%lld,\"by\":\"schedule\",\"path\":\"flock\","
            "\"fence\":\"%d\"", a->node, BASE_MS + i * 1000, i);
        say(a, i * 1000 + 2, "finish",
            "\"task\":\"mail\",\"key\":\"%s\",\"shard\":0,\"planned\":%lld,\"by\":\"schedule\",\"state\":\"succeeded\","
            "\"result\":\"done\",\"run_us\":900", a->node, BASE_MS + i * 1000);
}

static void units_of_all_nodes_are_their_own(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1,\"key\":\"n1\"");
        for (int i = 1; i <= 10; i++)
                once_on_a_node(s->first, i);
        struct author *m = author_of(&s->book, "n2", "m", 100, "master", 0);
        struct author *w = author_of(&s->book, "n2", "0", 101, "worker", 10);
        say_born(m, 5, w);
        say_plan(w, 50, "mail", "flock", 1000, "\"rev\":1,\"key\":\"n2\"");
        for (int i = 1; i <= 10; i++)
                once_on_a_node(w, i);
        say_stop(w, 10600, 10500, true);
        say_gone(m, 10700, w, 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 20);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_ONCE], 20);
}

static void a_manual_run_is_no_phantom(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say(s->first, 5400, "run",
            "\"occ\":\"byhand1\",\"task\":\"mail\",\"shard\":0,\"planned\":%lld,\"by\":\"manual\","
            "\"path\":\"flock\",\"fence\":\"3000\"",
            BASE_MS + 5399);
        say(s->first, 5401, "finish",
            "\"occ\":\"byhand1\",\"task\":\"mail\",\"shard\":0,\"planned\":%lld,\"by\":\"manual\","
            "\"state\":\"succeeded\",\"result\":\"done\",\"run_us\":5",
            BASE_MS + 5399);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->manual, 1);
        assert_int_equal(row(s, "mail")->runs, 10);
        assert_int_equal(row(s, "mail")->findings[FINDING_PHANTOM], 0);
}

/* Twenty thousand instants: what is in memory is what is open, and that is a handful. */
static void memory_holds_only_what_is_open(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 0, "fast", "flock", 10, "\"rev\":1");
        for (int i = 1; i <= 20000; i++)
                say_once(i % 3 ? s->first : s->second, "fast", "flock", i * 10, i);
        say_stop(s->first, 200010, 200010, true);
        say_stop(s->second, 200010, 200010, false);
        say_gone(s->master, 200020, s->first, 0);
        say_gone(s->master, 200020, s->second, 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "fast")->verdicts[VERDICT_ONCE], 20000);
        assert_in_range(s->j->open_max, 1, 8);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(every_instant_run_once_is_once),
                CASE(an_instant_run_twice_is_duplicate),
                CASE(a_second_run_hours_later_is_duplicate),
                CASE(two_runs_by_one_process_are_duplicate),
                CASE(two_fences_for_one_instant_are_duplicate),
                CASE(an_instant_without_any_record_is_missed),
                CASE(the_last_instants_before_the_stop_are_missed_too),
                CASE(a_task_that_never_ran_is_missed),
                CASE(a_range_record_explains_its_instants),
                CASE(ranges_alone_are_explained),
                CASE(a_grant_that_was_interrupted_before_its_run_is_explained),
                CASE(a_grant_that_nothing_followed_is_missed),
                CASE(a_run_line_that_could_not_be_made_sure_is_no_run),
                CASE(none_runs_once_per_process_and_is_not_judged),
                CASE(a_lock_that_does_not_hold_shows_the_multiple),
                CASE(findings_are_told_apart),
                CASE(an_older_instant_started_later_is_back),
                CASE(one_revision_with_two_schedules_is_split),
                CASE(a_plan_said_again_counts_once),
                CASE(each_plan_counts_for_its_own_time),
                CASE(only_the_leader_answers_for_dedicated_tasks),
                CASE(since_and_until_bound_what_is_judged),
                CASE(only_the_named_tasks_are_judged),
                CASE(units_of_all_nodes_are_their_own),
                CASE(a_manual_run_is_no_phantom),
                CASE(memory_holds_only_what_is_open),
        };

        return RUN_CASES(argc, argv, "prove", tests);
}
