/* Clocks that are set while logs are written: named in the report, and neither a loss nor a second run. Times are those
 * that the wall clock shows. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define HOUR 3600000LL

/* The clock of the node is set by `jump_ms` and shows `t_ms` now; only workers look at it. */
static void set_all(struct scene *s, int64_t t_ms, int64_t jump_ms)
{
        say_step(s->first, t_ms, jump_ms);
        say_step(s->second, t_ms + 3, jump_ms);
        s->master->set_ms += jump_ms;
}

static void run_seconds(struct scene *s, int64_t from_s, int64_t to_s)
{
        for (int64_t i = from_s; i <= to_s; i++) {
                struct author *winner = i % 2 ? s->first : s->second, *loser = i % 2 ? s->second : s->first;
                say_once(winner, "mail", "flock", i * 1000, (int) (1000 + i));
                say_attempt(loser, i * 1000 + 2, "mail", "flock", i * 1000, "done", 0);
        }
}

static void stop_all(struct scene *s, int64_t t_ms)
{
        say_stop(s->first, t_ms, t_ms - 100, true);
        say_stop(s->second, t_ms, t_ms - 100, false);
        say_gone(s->master, t_ms + 100, s->first, 0);
        say_gone(s->master, t_ms + 100, s->second, 0);
        say_stop(s->master, t_ms + 200, t_ms + 200, false);
}

static unsigned findings(const struct row *r)
{
        unsigned n = 0;

        for (unsigned f = 0; f < FINDING_COUNT_; f++)
                n += (unsigned) r->findings[f];
        return n;
}

/* At 5.5 s the clock goes back to 2.5 s: 3, 4 and 5 come again, and are not run again. */
static void what_the_clock_shows_twice_runs_once(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        for (int i = 3; i <= 5; i++)
                say_attempt(s->first, i * 1000 + 1, "mail", "flock", i * 1000, "done", 0);
        run_seconds(s, 6, 10);
        stop_all(s, 10600);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->once, 10);
        assert_int_equal(r->outside, 0);
        assert_int_equal(findings(r), 0);
        assert_int_equal(s->e->trouble_count, 0);
        assert_int_equal(s->j->note_count, 0);
}

static void what_runs_twice_across_a_step_is_a_duplicate(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        say_once(s->second, "mail", "flock", 3000, 9000);
        run_seconds(s, 6, 10);
        stop_all(s, 10600);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
}

/* The whole of what is judged ends before the step, an hour ahead of where the logs end. */
static void an_hour_back_takes_nothing_from_what_was_decided(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 20);
        set_all(s, 20500 - HOUR, -HOUR);
        stop_all(s, 30000 - HOUR);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_in_range(r->expected, 18, 20);
        assert_int_equal(r->once, r->expected);
        assert_int_equal(findings(r), 0);
}

/* The plan is as old as the ledger: without the step nothing would be due an hour before the first line. */
static void who_begins_after_a_step_back_does_not_widen_the_window(void **state)
{
        struct scene *s = *state;
        say(s->first, 50, "plan",
            "\"task\":\"mail\",\"path\":\"flock\",\"schedule\":\"every 1s\",\"shards\":1,\"enabled\":true,\"rev\":1,"
            "\"valid_from\":%lld", BASE_MS - 5 * HOUR);
        run_seconds(s, 0, 20);
        set_all(s, 20500 - HOUR, -HOUR);
        struct author *third = author_new(&s->book, "n1", "2", 103);
        third->set_ms = -HOUR;
        say_start(third, 25000 - HOUR, "worker", "");
        say_born(s->master, 24900 - HOUR, third);
        say_stop(third, 29000 - HOUR, 28900 - HOUR, false);
        say_gone(s->master, 29100 - HOUR, third, 0);
        stop_all(s, 30000 - HOUR);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(s->j->from_ms, BASE_MS);
        assert_in_range(row(s, "mail")->expected, 18, 20);
}

/* Read while all goes on: the third has seen nothing but times that had come before. */
static void who_goes_on_after_a_step_back_does_not_end_the_window(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 20);
        set_all(s, 20500 - HOUR, -HOUR);
        struct author *third = author_new(&s->book, "n1", "2", 103);
        third->set_ms = -HOUR;
        say_born(s->master, 24900 - HOUR, third);
        say_start(third, 25000 - HOUR, "worker", "");

        assert_int_equal(prove_it(s), 0);
        assert_in_range(row(s, "mail")->expected, 18, 20);
        assert_int_equal(row(s, "mail")->once, row(s, "mail")->expected);
}

/* The third second comes again, a bit earlier by the wall clock than it was run before. */
static void who_was_first_is_told_by_the_steady_clock(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 2);
        say_once(s->first, "mail", "flock", 3000, 1003);
        set_all(s, 2500, -1000);
        say_attempt(s->second, 3000, "mail", "flock", 3000, "granted", 9000);
        say_run(s->second, 3000, "mail", "flock", 3000, 9000);
        say_finish(s->second, 3001, "mail", 3000, "succeeded", "\"result\":\"done\",\"run_us\":1000");
        stop_all(s, 10600);

        (void) prove_it(s);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_DUPLICATE], 1);
        bool told = false;
        for (size_t i = 0; i < s->j->note_count; i++)
                told |= strstr(s->j->notes[i], "DUPLICATE mail 2025-11-30T17:00:03.000Z: run by n1.0.101.") != NULL;
        assert_true(told);
}

static void an_hour_ahead_is_explained_by_the_range_that_names_it(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 5500 + HOUR, HOUR);
        say_range(s->first, 5501 + HOUR, "skip", "mail", 6000, 4000 + HOUR, "misfire");
        say_attempt(s->first, 5502 + HOUR, "mail", "flock", 5000 + HOUR, "granted", 3000);
        say_run(s->first, 5502 + HOUR, "mail", "flock", 5000 + HOUR, 3000);
        say_finish(s->first, 5503 + HOUR, "mail", 5000 + HOUR, "succeeded", "\"result\":\"done\",\"run_us\":1000");
        say_attempt(s->second, 5504 + HOUR, "mail", "flock", 5000 + HOUR, "done", 0);
        run_seconds(s, 3606, 3610);
        stop_all(s, 10600 + HOUR);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 3610);
        assert_int_equal(r->once, 11);
        assert_int_equal(r->given_up[CAUSE_MISFIRE], 3599);
        assert_int_equal(findings(r), 0);
}

static void an_hour_ahead_that_nothing_names_is_missed(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 5500 + HOUR, HOUR);
        run_seconds(s, 3606, 3610);
        stop_all(s, 10600 + HOUR);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 3600);
}

/* Asked for by one clock, written down by the other. */
static void a_start_around_a_step_is_neither_early_nor_late(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 4);
        say_attempt(s->first, 5001, "mail", "flock", 5000, "granted", 1005);
        s->first->set_ms -= 2500;
        say_run(s->first, 2502, "mail", "flock", 5000, 1005);
        say_finish(s->first, 2503, "mail", 5000, "succeeded", "\"result\":\"done\",\"run_us\":1000");
        s->first->set_ms += 2500;
        set_all(s, 2504, -2500);
        run_seconds(s, 6, 8);
        say_attempt(s->first, 9001, "mail", "flock", 9000, "granted", 1009);
        s->first->set_ms += 60000;
        say_run(s->first, 69002, "mail", "flock", 9000, 1009);
        say_finish(s->first, 69003, "mail", 9000, "succeeded", "\"result\":\"done\",\"run_us\":1000");
        s->first->set_ms -= 60000;
        set_all(s, 69004, 60000);
        say_range(s->first, 69005, "skip", "mail", 10000, 69000, "misfire");
        stop_all(s, 69500);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->once, 9);
        assert_int_equal(findings(r), 0);
        assert_int_equal(r->late_max_us, 1000);
}

static void far_from_a_step_an_early_start_is_early(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 2);
        set_all(s, 2504, -3000);
        run_seconds(s, 3, 6);
        say_attempt(s->first, 70000, "mail", "flock", 70500, "granted", 2000);
        say_run(s->first, 70000, "mail", "flock", 71000, 2000);
        (void) prove_it(s);

        assert_int_equal(row(s, "mail")->findings[FINDING_EARLY], 1);
}

/* The clock goes back by a minute while a run goes on: by the wall clock the next run would be in the middle of it. */
static void order_and_overlap_are_told_by_the_steady_clock(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 60000, "\"rev\":1");
        for (int i = 1; i <= 2; i++)
                say_once(s->first, "mail", "flock", i * 60000, 100 + i);
        set_all(s, 121000 - 90000, -90000);
        for (int i = 3; i <= 4; i++)
                say_once(s->second, "mail", "flock", i * 60000, 100 + i);
        stop_all(s, 250000);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(findings(row(s, "mail")), 0);
}

/* Killed as a whole after a step back; the next life begins at a time that the first had seen before. */
static void the_next_life_ends_the_one_before_whatever_the_clock_shows(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 20);
        set_all(s, 20500 - HOUR, -HOUR);
        struct author *m = author_new(&s->book, "n1", "m", 200);
        m->set_ms = -HOUR;
        say_start(m, 40000 - HOUR, "master", "");
        say_stop(m, 45000 - HOUR, 45000 - HOUR, false);

        (void) prove_it(s);
        for (size_t i = 0; i < s->e->process_count; i++)
                assert_true(s->e->processes[i]->ended);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
}

/* Every 2 s from 5.6 s on, as the ledger had it before the step; the new plan says 2.6 s, which it takes for now. */
static void a_plan_made_after_a_step_back_follows_the_one_before(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        say_plan(s->first, 2600, "mail", "flock", 2000, "\"rev\":2");
        for (int i = 6; i <= 10; i += 2)
                say_once(s->first, "mail", "flock", i * 1000, 1000 + i);
        stop_all(s, 10600);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 8);
        assert_int_equal(r->once, 8);
        assert_int_equal(r->between.count, 0);
}

static void a_step_is_named_once_with_who_noticed_it(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        run_seconds(s, 6, 8);
        set_all(s, 8800, 250);
        run_seconds(s, 9, 10);
        stop_all(s, 10600);
        char *text = NULL;
        size_t len = 0;

        assert_int_equal(prove_it(s), 0);
        FILE *out = open_memstream(&text, &len);
        report_table(out, s->e, s->j, false);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "What one should know of the logs:\n"
                                     "  n1: its clock was set back by 3.000 s, from 2025-11-30T17:00:05.500Z to "
                                     "2025-11-30T17:00:02.500Z (noticed by 2 processes)\n"
                                     "  n1: its clock was set forward by 0.250 s, from 2025-11-30T17:00:08.550Z to "
                                     "2025-11-30T17:00:08.800Z (noticed by 2 processes)\n"));
        free(text);
        struct buf b = BUF_EMPTY;
        report_json(&b, s->e, s->j);
        assert_non_null(strstr(buf_string(&b), "\"steps\":[{\"node\":\"n1\",\"from\":\"2025-11-30T17:00:05.500Z\",\"to\":"
                                               "\"2025-11-30T17:00:02.500Z\",\"jump_ms\":-3000,\"processes\":2},"));
        buf_done(&b);
}

/* Logs begin their next file at a new day, which a step may bring. */
static void a_step_is_one_though_the_log_goes_on_in_a_next_file(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        say(s->first, 2600, "rotate",
            "\"node\":\"n1\",\"slot\":\"0\",\"pid\":101,\"pstart\":\"77-ab12\",\"boot\":\"b00t\",\"role\":\"worker\"");
        run_seconds(s, 6, 10);
        stop_all(s, 10600);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(s->e->step_count, 1);
        assert_int_equal(s->e->steps[0].processes, 2);
}

static void two_equal_steps_of_one_process_are_two(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 5250, -250);
        set_all(s, 5300, -250);
        run_seconds(s, 6, 10);
        stop_all(s, 10600);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(s->e->step_count, 2);
}

/* All processes were stopped, or the machine slept: no clock was set, only nothing happened for an hour. */
static void a_pause_of_all_is_explained_by_its_range(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        say_range(s->second, 5501 + HOUR, "skip", "mail", 6000, 5000 + HOUR, "misfire");
        run_seconds(s, 3606, 3610);
        stop_all(s, 10600 + HOUR);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->given_up[CAUSE_MISFIRE], 3600);
        assert_int_equal(s->e->step_count, 0);
}

/* Taken out of the logs it shows, as any line. */
static void a_step_line_taken_out_shows(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 5);
        set_all(s, 2500, -3000);
        run_seconds(s, 6, 10);
        stop_all(s, 10600);
        line_drop(s->first, line_find(s->first, "step", "-3000"));

        assert_int_equal(prove_it(s), 3);
}

/* More than anybody sets a clock: none of it is kept without end, and all of it is said. */
static void a_clock_that_never_rests_is_counted(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "flock", 1000, "\"rev\":1");
        run_seconds(s, 1, 1);
        for (int i = 0; i < 1100; i++)
                say_step(s->first, 1500 + i, i % 2 ? 200 : -200);
        run_seconds(s, 3, 3);
        (void) prove_it(s);

        assert_int_equal(s->e->step_count, 1000);
        assert_int_equal(s->e->steps_dropped, 100);
        struct buf b = BUF_EMPTY;
        report_json(&b, s->e, s->j);
        assert_non_null(strstr(buf_string(&b), "\"steps_dropped\":100"));
        buf_done(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_the_clock_shows_twice_runs_once),
                CASE(what_runs_twice_across_a_step_is_a_duplicate),
                CASE(an_hour_back_takes_nothing_from_what_was_decided),
                CASE(who_begins_after_a_step_back_does_not_widen_the_window),
                CASE(who_goes_on_after_a_step_back_does_not_end_the_window),
                CASE(who_was_first_is_told_by_the_steady_clock),
                CASE(an_hour_ahead_is_explained_by_the_range_that_names_it),
                CASE(an_hour_ahead_that_nothing_names_is_missed),
                CASE(a_start_around_a_step_is_neither_early_nor_late),
                CASE(far_from_a_step_an_early_start_is_early),
                CASE(order_and_overlap_are_told_by_the_steady_clock),
                CASE(the_next_life_ends_the_one_before_whatever_the_clock_shows),
                CASE(a_plan_made_after_a_step_back_follows_the_one_before),
                CASE(a_step_is_named_once_with_who_noticed_it),
                CASE(a_step_is_one_though_the_log_goes_on_in_a_next_file),
                CASE(two_equal_steps_of_one_process_are_two),
                CASE(a_pause_of_all_is_explained_by_its_range),
                CASE(a_step_line_taken_out_shows),
                CASE(a_clock_that_never_rests_is_counted),
        };
        return RUN_CASES(argc, argv, "steps", tests);
}
