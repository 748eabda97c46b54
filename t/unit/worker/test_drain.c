/* Draining and stopping in each state, and the limits of a worker. */
#include <errno.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

static struct rig rig, *r = &rig;

static int up(void **state)
{
        (void) state;
        rig_up(r);
        return 0;
}

static int down(void **state)
{
        (void) state;
        rig_down(r);
        return 0;
}

static void drain(void)
{
        spine_drain(&r->spine, &r->job, 1, clock_wall());
}

static void stop(void)
{
        spine_stop(&r->spine, &r->job, 1, clock_wall());
}

static void finish_well(void)
{
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, 0);
}

/* What the stop line would say now. */
static struct instant ceased(void)
{
        struct cease_line line;

        spine_ceased(&r->spine, &r->job, 1, stamp_instant(clock_wall()), &line);
        return line.local;
}

static void drain_takes_nothing_new(void **state)
{
        (void) state;
        spine_enlist(&r->spine, r->unit);
        drain();
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 0);
        assert_int_equal(rig_counter(r, COUNT_STOP_REJECTIONS), 1);
        assert_int_equal(rig_log.ceased.local.ms, rig_due(r).ms);
        assert_int_equal(ceased().ms, rig_due(r).ms);
}

static void what_stays_undecided_is_not_ceased(void **state)
{
        (void) state;
        rig_go(r);
        drain();
        assert_int_equal(rig_log.ceased.local.ms, rig_due(r).ms);
        rig_answer(r, OUTCOME_DOWN);
        assert_int_equal(ceased().ms, rig_due(r).ms);
}

static void what_was_tried_in_vain_is_not_ceased(void **state)
{
        (void) state;
        rig_go(r);
        rig_answer(r, OUTCOME_DOWN);
        drain();
        assert_int_equal(rig_log.ceased.local.ms, rig_due(r).ms);
}

/* What an attempt was made for is not decided by that: nobody may have got it. */
static void what_was_handed_out_is_not_ceased(void **state)
{
        (void) state;
        rig_go(r);
        drain();
        assert_int_equal(r->unit->handed.ms, rig_due(r).ms);
        assert_int_equal(rig_lines("cease"), 1);
        assert_int_equal(rig_log.ceased.local.ms, rig_due(r).ms);
        rig_answer(r, OUTCOME_DONE);
        assert_true(ceased().ms > rig_log.ceased.local.ms);
}

/* Not all of its units got their turn: the one that lags behind says how far the worker came. */
static void a_unit_that_lags_behind_holds_ceased_back(void **state)
{
        (void) state;
        r->unit->cursor.ms -= 5000;
        struct instant next;
        assert_int_equal(schedule_next(&r->task.schedule, r->unit->cursor, &next), 0);
        drain();
        assert_int_equal(rig_log.ceased.local.ms, next.ms);
}

static void dedicated_tasks_hold_back_only_who_leads(void **state)
{
        (void) state;
        r->task.singleton = PATH_DEDICATED;
        struct instant due = rig_due(r);
        r->unit->cursor.ms = due.ms - 5000;
        r->claims.term = 0;
        drain();
        assert_true(rig_log.ceased.local.ms > due.ms);
        assert_false(rig_log.ceased.led);
}

/* One ledger away does not make the other's tasks unknown. */
static void each_ledger_ceases_by_itself(void **state)
{
        (void) state;
        r->task.singleton = PATH_REDIS;
        struct instant due = rig_due(r);
        r->unit->cursor.ms = due.ms - 5000;
        drain();
        assert_int_equal(rig_log.ceased.group.ms, due.ms);
        assert_true(rig_log.ceased.local.ms > due.ms);
}

static void drain_of_an_idle_worker_ceases_now(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        spine_enlist(&r->spine, r->unit);
        drain();
        int64_t late_ms = stamp_instant(clock_wall()).ms - rig_log.ceased.local.ms;
        assert_true(late_ms >= 0 && late_ms < 2000);
        assert_int_equal(rig_counter(r, COUNT_STOP_REJECTIONS), 0);
}

static void granted_while_draining_runs_to_its_end(void **state)
{
        (void) state;
        rig_go(r);
        drain();
        assert_int_equal(r->hurries, 1);
        assert_true(rig_claim(r)->hurried);
        assert_false(rig_claim(r)->given_up);
        rig_grant(r);
        assert_int_equal(r->run_count, 1);
        rig_start_run(r);
        finish_well();
        assert_int_equal(rig_line("finish", 0)->state, STATE_SUCCEEDED);
        assert_true(ceased().ms > rig_due(r).ms);
}

static void drain_leaves_a_run_alone(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        drain();
        assert_int_equal(r->stops, 0);
        finish_well();
        assert_false(r->spine.killed);
}

static void drain_waits_for_the_finish(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        drain();
        assert_int_equal(r->spine.count, 1);
        rig_answer_call(r, -EAGAIN);
        rig_pass(r, 70);
        assert_int_equal(r->call_count, 2);
        rig_answer_call(r, 0);
        assert_int_equal(r->spine.count, 0);
}

static void drain_does_not_ask_again_when_moved(void **state)
{
        (void) state;
        rig_go(r);
        drain();
        rig_claim(r)->answer.cursor.ms = rig_due(r).ms - 500;
        rig_answer(r, OUTCOME_MOVED);
        assert_int_equal(r->claim_count, 1);
        assert_int_equal(r->spine.count, 0);
}

static void stop_ends_a_run_and_says_so(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        stop();
        stop();
        assert_int_equal(r->stops, 1);
        assert_int_equal(r->stop_why, RUN_STOP_DRAIN);
        rig_end_run(r, STATE_INTERRUPTED, CAUSE_STOPPED);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_STOPPED);
        rig_answer_call(r, 0);
        assert_true(r->spine.killed);
}

static void grant_after_stop_is_not_started(void **state)
{
        (void) state;
        rig_go(r);
        stop();
        assert_true(rig_claim(r)->given_up);
        rig_grant(r);
        assert_int_equal(r->run_count, 0);
        assert_int_equal(rig_call(r)->in.finish.state, STATE_INTERRUPTED);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_STOPPED);
        assert_false(r->spine.killed);   /* nothing had been started */
        rig_answer_call(r, 0);
        assert_int_equal(rig_lines("run"), 0);
}

static void stop_tries_a_waiting_finish_at_once(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, -EAGAIN);
        stop();
        assert_int_equal(r->call_count, 2);
        rig_answer_call(r, -EAGAIN);
        for (unsigned calls = 2; r->spine.count > 0 && r->call_count < 20;) {
                rig_pass(r, 1000);
                if (r->call_count > calls) {
                        calls = r->call_count;
                        rig_answer_call(r, -EAGAIN);
                }
        }
        assert_int_equal(r->spine.count, 0);
        assert_int_equal(rig_lines("finish"), 1);
}

static void closed_ledger_ends_a_finish(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        stop();
        rig_answer_call(r, -ECANCELED);
        assert_int_equal(r->spine.count, 0);
        assert_int_equal(r->releases, 1);
        /* How it ended is in the log all the same. */
        assert_int_equal(rig_line("finish", 0)->state, STATE_SUCCEEDED);
}

static void halted_ledger_is_not_waited_for_by_a_drain(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, -EUCLEAN);
        assert_int_equal(r->spine.count, 1);   /* while it works, a person may cure it */
        assert_int_equal(rig_lines("finish"), 0);
        drain();
        rig_pass(r, 70);
        rig_answer_call(r, -EUCLEAN);
        assert_int_equal(r->spine.count, 0);
        assert_int_equal(rig_line("finish", 0)->state, STATE_SUCCEEDED);
}

static void redis_that_is_away_is_waited_for_a_few_seconds_by_a_drain(void **state)
{
        (void) state;
        rig_go(r);
        r->task.singleton = PATH_REDIS;
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        drain();
        struct mono began = clock_mono();
        for (unsigned answered = 0; r->spine.count > 0 && mono_since_ms(began, clock_mono()) < 9000; rig_pass(r, 20))
                for (; answered < r->call_count && r->spine.count > 0; answered++) {
                        r->calls[answered]->error = -EAGAIN;
                        r->calls[answered]->done(r->calls[answered]);
                }
        assert_in_range(mono_since_ms(began, clock_mono()), 4500, 7000);
        assert_int_equal(rig_line("finish", 0)->state, STATE_SUCCEEDED);
}

static void handles_bound_what_is_claimed(void **state)
{
        (void) state;
        r->spine.o.max_handles = 1;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        assert_int_equal(schedule_every(10, 0, &r->task.schedule), 0);
        spine_plan(&r->spine, r->unit);
        assert_true(instant_is_none(spine_next(&r->spine)));
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 1);
        finish_well();
        assert_false(instant_is_none(spine_next(&r->spine)));
        rig_pass(r, 20);
        assert_int_equal(r->claim_count, 2);
        rig_answer(r, OUTCOME_DONE);
}

static void tick_limit_leaves_the_rest_to_the_next_turn(void **state)
{
        (void) state;
        job_done(&r->job);
        r->task.shards = 5;
        struct job before = r->job;
        assert_int_equal(job_init(&r->job, &r->task, "n"), 0);
        r->job.claimer = before.claimer;
        r->job.ledger = before.ledger;
        r->job.runner_kind = before.runner_kind;
        r->job.row = before.row;
        r->spine.o.tick_limit = 3;
        for (unsigned i = 0; i < 5; i++) {
                r->job.units[i].cursor.ms = rig_due(r).ms - 1;
                r->job.units[i].registered = true;
                spine_enlist(&r->spine, &r->job.units[i]);
        }
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 3);
        assert_int_equal(rig_counter(r, COUNT_LIMIT_REACHED), 1);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 5);
        assert_int_equal(rig_counter(r, COUNT_LIMIT_REACHED), 1);
        for (unsigned i = 0; i < 5; i++) {
                r->claims_asked[i]->answer.outcome = OUTCOME_DONE;
                r->claims_asked[i]->done(r->claims_asked[i]);
        }
}

static void clock_set_forward_looks_at_all_anew(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        spine_enlist(&r->spine, r->unit);
        struct stamp later = { instant_stamp(rig_due(r)).ns + 3 * 3600 * NS_PER_S + NS_PER_S };
        spine_stepped(&r->spine, &r->job, 1, later);
        spine_turn(&r->spine, later);
        assert_int_equal(rig_claim(r)->planned.ms, rig_due(r).ms + 3 * 3600000);
        assert_int_equal(rig_claim(r)->gap.count, 2);
        rig_answer(r, OUTCOME_DONE);
}

static void clock_set_back_runs_nothing_twice(void **state)
{
        (void) state;
        r->unit->cursor = rig_due(r);
        spine_enlist(&r->spine, r->unit);
        struct stamp earlier = { instant_stamp(rig_due(r)).ns - 1800 * NS_PER_S };
        spine_stepped(&r->spine, &r->job, 1, earlier);
        for (int minutes = -30; minutes < 60; minutes++)
                spine_turn(&r->spine, (struct stamp) { instant_stamp(rig_due(r)).ns + minutes * 60 * NS_PER_S });
        assert_int_equal(r->claim_count, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(drain_takes_nothing_new),
                CASE(what_stays_undecided_is_not_ceased),
                CASE(what_was_tried_in_vain_is_not_ceased),
                CASE(what_was_handed_out_is_not_ceased),
                CASE(a_unit_that_lags_behind_holds_ceased_back),
                CASE(dedicated_tasks_hold_back_only_who_leads),
                CASE(each_ledger_ceases_by_itself),
                CASE(drain_of_an_idle_worker_ceases_now),
                CASE(granted_while_draining_runs_to_its_end),
                CASE(drain_leaves_a_run_alone),
                CASE(drain_waits_for_the_finish),
                CASE(drain_does_not_ask_again_when_moved),
                CASE(stop_ends_a_run_and_says_so),
                CASE(grant_after_stop_is_not_started),
                CASE(stop_tries_a_waiting_finish_at_once),
                CASE(closed_ledger_ends_a_finish),
                CASE(halted_ledger_is_not_waited_for_by_a_drain),
                CASE(redis_that_is_away_is_waited_for_a_few_seconds_by_a_drain),
                CASE(handles_bound_what_is_claimed),
                CASE(tick_limit_leaves_the_rest_to_the_next_turn),
                CASE(clock_set_forward_looks_at_all_anew),
                CASE(clock_set_back_runs_nothing_twice),
        };

        return RUN_CASES(argc, argv, "drain", tests);
}
