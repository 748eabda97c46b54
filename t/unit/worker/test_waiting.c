/* What waits in a queue: asked for by the run that ends, or by itself; handed on, run and recorded like any other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scoreboard/scoreboard.h"
#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

static struct rig rig, *r = &rig;

static int up(void **state)
{
        (void) state;
        rig_up(r);
        r->task.overlap = (struct overlap) { .policy = OVERLAP_QUEUE, .queue_limit = 10, .max_running = 1 };
        r->job.competes = true;
        return 0;
}

static int down(void **state)
{
        (void) state;
        rig_down(r);
        return 0;
}

/* A run that has ended: its finish is the newest call. */
static const struct finish_in *run_and_end(void)
{
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        assert_int_equal(rig_call(r)->op, LEDGER_FINISH);
        return &rig_call(r)->in.finish;
}

static struct instant waiting(void)
{
        return (struct instant) { rig_due(r).ms - 7200000 };
}

static void answer_finish(enum outcome taken)
{
        struct take_out *t = &rig_call(r)->out.finish.take;

        t->claim.outcome = taken;
        t->planned = waiting();
        (void) snprintf(t->occ, sizeof(t->occ), "waited");
        (void) snprintf(t->claim.fence, sizeof(t->claim.fence), "8");
        rig_answer_call(r, 0);
}

static void answer_take(enum outcome taken)
{
        struct claim *c = rig_claim(r);

        assert_true(c->take);
        if (taken == OUTCOME_GRANTED || taken == OUTCOME_DECIDED) {
                c->planned = waiting();
                (void) snprintf(c->occ, sizeof(c->occ), "waited");
                (void) snprintf(c->answer.fence, sizeof(c->answer.fence), "8");
        }
        rig_answer(r, taken);
}

static void end_the_run(void)
{
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        answer_finish(OUTCOME_DONE);
}

static void a_run_that_ends_hands_on_the_slot(void **state)
{
        (void) state;
        const struct finish_in *in = run_and_end();
        assert_non_null(in->take);
        assert_string_not_equal(in->take->token, in->token);
        assert_string_not_equal(in->take->trig, in->trig);
        assert_string_equal(in->take->owner, "n.0.1.s");
        answer_finish(OUTCOME_GRANTED);
        assert_int_equal(r->hand_overs, 1);
        assert_int_equal(r->releases, 1);
        assert_int_equal(r->run_count, 2);
        assert_int_equal(r->unit->running, 1);
        assert_int_equal(r->spine.handles, 1);
        assert_int_equal(r->spine.count, 1);

        const struct rig_line *taken = rig_line("attempt", 1);
        assert_int_equal(taken->out, OUTCOME_GRANTED);
        assert_int_equal(taken->planned.ms, waiting().ms);
        assert_string_equal(taken->occ, "waited");
        end_the_run();
        assert_string_equal(rig_line("run", 1)->occ, "waited");
        assert_string_equal(rig_line("run", 1)->trig, taken->trig);
        assert_string_equal(rig_line("finish", 1)->occ, "waited");
        assert_int_equal(r->spine.count, 0);
}

static void nothing_waits_and_nothing_is_left(void **state)
{
        (void) state;
        (void) run_and_end();
        answer_finish(OUTCOME_DONE);
        assert_int_equal(r->run_count, 1);
        assert_int_equal(r->hand_overs, 0);
        assert_int_equal(r->unit->running, 0);
        assert_int_equal(rig_lines("attempt"), 1);
}

static void the_grid_goes_on_beside_the_queue(void **state)
{
        (void) state;
        (void) run_and_end();
        answer_finish(OUTCOME_GRANTED);
        assert_int_equal(r->unit->cursor.ms, rig_due(r).ms);
        assert_int_equal(agenda_next(&r->spine.agenda).ms, rig_due(r).ms + 3600000);
        end_the_run();
        assert_int_equal(agenda_next(&r->spine.agenda).ms, rig_due(r).ms + 3600000);
}

static void what_waited_is_not_late(void **state)
{
        (void) state;
        struct task_counts t;
        uint64_t late = 0;

        (void) run_and_end();
        answer_finish(OUTCOME_GRANTED);
        end_the_run();
        assert_true(board_task_totals(r->board, r->task.name, &t));
        for (size_t i = 0; i <= BOARD_BUCKETS; i++)
                late += t.lateness[i];
        assert_int_equal(late, 1);
        assert_int_equal(t.runs[STATE_SUCCEEDED], 2);
}

static void other_policies_ask_for_nothing(void **state)
{
        (void) state;
        r->task.overlap.policy = OVERLAP_DROP;
        assert_null(run_and_end()->take);
        answer_finish(OUTCOME_DONE);
}

static void a_draining_worker_leaves_what_waits(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        spine_drain(&r->spine, &r->job, 1, clock_wall());
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        assert_null(rig_call(r)->in.finish.take);
        answer_finish(OUTCOME_DONE);
        spine_take(&r->spine, r->unit);
        assert_int_equal(r->claim_count, 1);
}

static void without_a_free_handle_the_slot_is_not_handed_on(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        r->spine.o.max_handles = 0;
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        assert_null(rig_call(r)->in.finish.take);
        answer_finish(OUTCOME_DONE);
        spine_take(&r->spine, r->unit);
        assert_int_equal(r->claim_count, 1);
}

static void a_slot_on_its_way_keeps_its_handle(void **state)
{
        (void) state;
        r->spine.o.max_handles = 1;
        (void) run_and_end();
        assert_int_equal(r->spine.handles, 1);
        assert_true(instant_is_none(spine_next(&r->spine)));
        answer_finish(OUTCOME_DONE);
        assert_int_equal(r->spine.handles, 0);
        assert_false(instant_is_none(spine_next(&r->spine)));
}

static void lost_reply_asks_for_the_same_slot_again(void **state)
{
        (void) state;
        char token[TOKEN_TEXT];

        (void) snprintf(token, sizeof(token), "%s", run_and_end()->take->token);
        rig_answer_call(r, -ETIMEDOUT);
        spine_drain(&r->spine, &r->job, 1, clock_wall());
        for (int i = 0; i < 400 && r->call_count == 1; i++)
                rig_pass(r, 5);
        assert_int_equal(r->call_count, 2);
        assert_non_null(rig_call(r)->in.finish.take);
        assert_string_equal(rig_call(r)->in.finish.take->token, token);
        /* It had been handed on: who drains runs what it was given. */
        answer_finish(OUTCOME_GRANTED);
        assert_int_equal(r->run_count, 2);
        end_the_run();
}

static void what_was_surely_not_asked_is_asked_no_more_while_draining(void **state)
{
        (void) state;
        (void) run_and_end();
        rig_answer_call(r, -EAGAIN);
        assert_int_equal(r->spine.count, 1);
        spine_drain(&r->spine, &r->job, 1, clock_wall());
        for (int i = 0; i < 400 && r->call_count == 1; i++)
                rig_pass(r, 5);
        assert_null(rig_call(r)->in.finish.take);
        answer_finish(OUTCOME_DONE);
}

static void what_is_handed_to_a_worker_that_stops_is_not_started(void **state)
{
        (void) state;
        (void) run_and_end();
        spine_stop(&r->spine, &r->job, 1, clock_wall());
        answer_finish(OUTCOME_GRANTED);
        assert_int_equal(r->run_count, 1);
        assert_int_equal(rig_call(r)->in.finish.state, STATE_INTERRUPTED);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_STOPPED);
        assert_string_equal(rig_call(r)->in.finish.occ, "waited");
        answer_finish(OUTCOME_DONE);
        assert_int_equal(rig_lines("run"), 1);
}

static void a_finish_given_up_leaves_nothing(void **state)
{
        (void) state;
        (void) run_and_end();
        rig_answer_call(r, -ECANCELED);
        assert_int_equal(r->spine.count, 0);
        assert_int_equal(rig_lines("finish"), 1);
}

static void queued_behind_a_run_is_left_to_it(void **state)
{
        (void) state;
        rig_go(r);
        (void) snprintf(rig_claim(r)->answer.holder_occ, OCC_TEXT, "running");
        rig_answer(r, OUTCOME_QUEUED);
        assert_int_equal(r->claim_count, 1);
        assert_int_equal(r->unit->cursor.ms, rig_due(r).ms);
        assert_int_equal(rig_line("attempt", 0)->out, OUTCOME_QUEUED);
}

static void queued_behind_nobody_is_asked_for_at_once(void **state)
{
        (void) state;
        rig_go(r);
        rig_answer(r, OUTCOME_QUEUED);
        assert_int_equal(r->claim_count, 2);
        answer_take(OUTCOME_GRANTED);
        assert_int_equal(r->hand_overs, 0);
        assert_int_equal(r->run_count, 1);
        end_the_run();
}

static void a_take_that_is_not_granted_writes_nothing(void **state)
{
        static const enum outcome outs[] = {
                OUTCOME_DONE, OUTCOME_BUSY, OUTCOME_EARLY, OUTCOME_STALE, OUTCOME_LOST_LOCAL, OUTCOME_UNREGISTERED,
                OUTCOME_DOWN, OUTCOME_HALTED,
        };
        (void) state;

        spine_plan(&r->spine, r->unit);
        struct instant wake = agenda_next(&r->spine.agenda);
        for (size_t i = 0; i < sizeof(outs) / sizeof(outs[0]); i++) {
                spine_take(&r->spine, r->unit);
                assert_int_equal(r->claim_count, i + 1);
                assert_true(r->unit->taking);
                answer_take(outs[i]);
                assert_false(r->unit->taking);
                assert_int_equal(r->spine.count, 0);
                assert_int_equal(agenda_next(&r->spine.agenda).ms, wake.ms);
        }
        assert_int_equal(rig_log.count, 0);
        assert_int_equal(r->call_count, 0);   /* no definition is put in force for it */
        assert_int_equal(rig_counter(r, COUNT_STORAGE_FAILURES), 2);
}

static void a_definition_that_is_old_sends_the_unit_to_sleep(void **state)
{
        (void) state;
        spine_take(&r->spine, r->unit);
        rig_claim(r)->answer.rev = 5;
        answer_take(OUTCOME_STALE);
        assert_true(r->job.split);
        spine_take(&r->spine, r->unit);
        assert_int_equal(r->claim_count, 1);
}

static void what_may_have_run_is_written_off_and_the_next_is_asked_for(void **state)
{
        (void) state;
        spine_take(&r->spine, r->unit);
        answer_take(OUTCOME_DECIDED);
        assert_int_equal(rig_line("range", 0)->first.ms, waiting().ms);
        assert_int_equal(r->claim_count, 2);
        answer_take(OUTCOME_DONE);
        assert_int_equal(r->run_count, 0);
}

static void what_a_finish_wrote_off_is_said_and_the_next_is_asked_for(void **state)
{
        (void) state;
        (void) run_and_end();
        answer_finish(OUTCOME_DECIDED);
        assert_int_equal(rig_line("range", 0)->first.ms, waiting().ms);
        assert_int_equal(r->run_count, 1);
        assert_int_equal(r->hand_overs, 0);   /* what holds the unit is given up with the run */
        assert_int_equal(r->releases, 1);
        answer_take(OUTCOME_DONE);
        assert_int_equal(r->unit->running, 0);
        assert_int_equal(r->spine.count, 0);
}

static void a_take_and_a_claim_of_one_unit_go_on_side_by_side(void **state)
{
        (void) state;
        spine_take(&r->spine, r->unit);
        rig_go(r);
        assert_int_equal(r->claim_count, 2);
        assert_true(r->unit->claiming && r->unit->taking);
        struct claim *take = r->claims_asked[0];
        take->answer.outcome = OUTCOME_BUSY;
        take->done(take);
        assert_true(r->unit->claiming);
        spine_enlist(&r->spine, r->unit);   /* not a second time */
        assert_int_equal(r->unit->node.index, 0);
        (void) snprintf(rig_claim(r)->answer.holder_occ, OCC_TEXT, "running");
        rig_answer(r, OUTCOME_QUEUED);
        assert_int_equal(r->spine.count, 0);
}

static void only_who_may_run_it_asks(void **state)
{
        (void) state;
        r->unit->running = 1;
        spine_take(&r->spine, r->unit);
        r->unit->running = 0;
        r->job.competes = false;
        spine_take(&r->spine, r->unit);
        r->job.competes = true;
        r->task.singleton = PATH_DEDICATED;
        spine_take(&r->spine, r->unit);
        rig_log.state = -EIO;
        r->claims.term = 1;
        spine_take(&r->spine, r->unit);
        assert_int_equal(r->claim_count, 0);
        rig_log.state = 0;
        spine_take(&r->spine, r->unit);
        spine_take(&r->spine, r->unit);   /* one at a time */
        assert_int_equal(r->claim_count, 1);
        answer_take(OUTCOME_DONE);
}

/* Backlogs. */

static void a_backlog_is_asked_for_one_by_one_oldest_first(void **state)
{
        (void) state;
        int64_t due = rig_due(r).ms;

        r->task.misfire = (struct misfire) { .policy = MISFIRE_CATCH_UP, .limit = 3, .lookback_ms = 24 * 3600000LL };
        r->unit->cursor.ms = due - 10 * 3600000LL;
        r->spine.began.ms = due;
        rig_go(r);
        assert_int_equal(rig_claim(r)->planned.ms, due - 2 * 3600000LL);
        assert_int_equal(rig_claim(r)->gap.count, 7);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_MISFIRE);
        rig_claim(r)->answer.gap_written = true;
        rig_grant(r);
        for (unsigned i = 0; i < 2; i++) {
                rig_pass(r, 2);
                assert_int_equal(r->claim_count, i + 2);
                assert_int_equal(rig_claim(r)->planned.ms, due - (1 - (int64_t) i) * 3600000LL);
                assert_int_equal(rig_claim(r)->expect.ms, rig_claim(r)->planned.ms - 3600000LL);
                assert_int_equal(rig_claim(r)->gap.count, 0);
                (void) snprintf(rig_claim(r)->answer.holder_occ, OCC_TEXT, "running");
                rig_answer(r, OUTCOME_QUEUED);
        }
        rig_pass(r, 2);
        assert_int_equal(r->claim_count, 3);
        assert_int_equal(rig_lines("range"), 1);
        end_the_run();
}

/* With room for one claim a turn, a unit that is ten behind would keep the other from its own for ten turns. */
static void a_backlog_stands_in_line_with_what_is_due(void **state)
{
        (void) state;
        struct job keep = r->job;
        unsigned asked[2];
        int64_t due = rig_due(r).ms;

        job_done(&r->job);
        r->task.shards = 2;
        assert_int_equal(job_init(&r->job, &r->task, "n"), 0);
        r->job.claimer = keep.claimer;
        r->job.ledger = keep.ledger;
        r->job.row = keep.row;
        r->task.misfire = (struct misfire) { .policy = MISFIRE_CATCH_UP, .limit = 10, .lookback_ms = 24 * 3600000LL };
        r->spine.o.tick_limit = 1;
        for (unsigned i = 0; i < 2; i++) {
                r->job.units[i].registered = true;
                r->job.units[i].cursor.ms = due - (i == 0 ? 10 * 3600000LL : 1);
                spine_enlist(&r->spine, &r->job.units[i]);
        }
        for (unsigned i = 0; i < 2; i++) {
                rig_pass(r, 3);
                assert_int_equal(r->claim_count, i + 1);
                asked[i] = rig_claim(r)->unit->shard;
                (void) snprintf(rig_claim(r)->answer.holder_occ, OCC_TEXT, "running");
                rig_answer(r, OUTCOME_QUEUED);
        }
        assert_int_equal(asked[0] + asked[1], 1);
        assert_int_equal(rig_counter(r, COUNT_LIMIT_REACHED) > 0, 1);
}

static void a_schedule_that_never_comes_again_lets_its_unit_sleep(void **state)
{
        (void) state;
        struct task_counts t;

        spine_enlist(&r->spine, r->unit);
        r->task.schedule.kind = SCHEDULE_NONE;
        spine_plan(&r->spine, r->unit);
        assert_true(instant_is_none(spine_next(&r->spine)));
        assert_true(board_task_totals(r->board, r->task.name, &t));
        assert_int_equal(t.next_planned_ms, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(a_run_that_ends_hands_on_the_slot),
                CASE(nothing_waits_and_nothing_is_left),
                CASE(the_grid_goes_on_beside_the_queue),
                CASE(what_waited_is_not_late),
                CASE(other_policies_ask_for_nothing),
                CASE(a_draining_worker_leaves_what_waits),
                CASE(without_a_free_handle_the_slot_is_not_handed_on),
                CASE(a_slot_on_its_way_keeps_its_handle),
                CASE(lost_reply_asks_for_the_same_slot_again),
                CASE(what_was_surely_not_asked_is_asked_no_more_while_draining),
                CASE(what_is_handed_to_a_worker_that_stops_is_not_started),
                CASE(a_finish_given_up_leaves_nothing),
                CASE(queued_behind_a_run_is_left_to_it),
                CASE(queued_behind_nobody_is_asked_for_at_once),
                CASE(a_take_that_is_not_granted_writes_nothing),
                CASE(a_definition_that_is_old_sends_the_unit_to_sleep),
                CASE(what_may_have_run_is_written_off_and_the_next_is_asked_for),
                CASE(what_a_finish_wrote_off_is_said_and_the_next_is_asked_for),
                CASE(a_take_and_a_claim_of_one_unit_go_on_side_by_side),
                CASE(only_who_may_run_it_asks),
                CASE(a_backlog_is_asked_for_one_by_one_oldest_first),
                CASE(a_backlog_stands_in_line_with_what_is_due),
                CASE(a_schedule_that_never_comes_again_lets_its_unit_sleep),
        };

        return RUN_CASES(argc, argv, "waiting", tests);
}
