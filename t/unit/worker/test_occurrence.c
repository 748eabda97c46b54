/* Every way an occurrence can go, with claims, runner, log and ledger played by the test. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
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

static int64_t next_wake_ms(void)
{
        return agenda_next(&r->spine.agenda).ms;
}

static int64_t now_ms(void)
{
        return stamp_instant(clock_wall()).ms;
}

static void finish_well(void)
{
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, 0);
}

static void granted_is_run_and_recorded(void **state)
{
        (void) state;
        rig_go(r);
        struct claim *c = rig_claim(r);
        assert_int_equal(c->planned.ms, rig_due(r).ms);
        assert_int_equal(c->gap.count, 0);
        rig_grant(r);
        assert_int_equal(rig_line("attempt", 0)->out, OUTCOME_GRANTED);
        assert_int_equal(rig_lines("run"), 0);
        rig_start_run(r);
        assert_int_equal(rig_lines("run"), 1);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        assert_int_equal(rig_call(r)->op, LEDGER_FINISH);
        assert_int_equal(rig_call(r)->in.finish.state, STATE_SUCCEEDED);
        assert_string_equal(rig_call(r)->in.finish.fence, "7");
        assert_int_equal(rig_lines("finish"), 0);
        assert_int_equal(r->releases, 0);
        rig_answer_call(r, 0);
        assert_int_equal(rig_line("finish", 0)->state, STATE_SUCCEEDED);
        assert_int_equal(r->releases, 1);
        assert_int_equal(rig_counter(r, COUNT_TRIGGERED), 1);
        assert_int_equal(next_wake_ms(), rig_due(r).ms + 3600000);
}

static void lost_to_another_is_logged_and_left(void **state)
{
        (void) state;
        rig_go(r);
        rig_claim(r)->answer.cursor = rig_due(r);
        rig_answer(r, OUTCOME_DONE);
        assert_int_equal(rig_line("attempt", 0)->out, OUTCOME_DONE);
        assert_int_equal(r->run_count, 0);
        assert_int_equal(r->unit->cursor.ms, rig_due(r).ms);
        assert_int_equal(next_wake_ms(), rig_due(r).ms + 3600000);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 1);
}

static void lost_to_a_sibling_is_said_once(void **state)
{
        (void) state;
        rig_go(r);
        struct claim *c = rig_claim(r);
        c->was_lost_local = true;
        c->notice(c, CLAIM_LOST_LOCAL);
        rig_answer(r, OUTCOME_DONE);
        assert_int_equal(rig_lines("attempt"), 1);
        assert_int_equal(rig_line("attempt", 0)->out, OUTCOME_LOST_LOCAL);
}

static void decided_by_this_call_writes_its_line(void **state)
{
        (void) state;
        rig_go(r);
        rig_claim(r)->answer.state = STATE_SKIPPED;
        rig_claim(r)->answer.cause = CAUSE_OVERLAP;
        rig_answer(r, OUTCOME_DECIDED);
        assert_int_equal(rig_line("range", 0)->cause, CAUSE_OVERLAP);
        assert_int_equal(rig_line("range", 0)->first.ms, rig_due(r).ms);
        assert_int_equal(rig_line("range", 0)->count, 1);
        assert_int_equal(r->unit->cursor.ms, rig_due(r).ms);
}

static void busy_is_tried_again_with_the_cursor_standing(void **state)
{
        (void) state;
        rig_go(r);
        int64_t cursor = r->unit->cursor.ms;
        rig_answer(r, OUTCOME_BUSY);
        assert_int_equal(r->unit->cursor.ms, cursor);
        rig_pass(r, 40);
        assert_int_equal(r->claim_count, 2);
        assert_int_equal(rig_claim(r)->planned.ms, rig_due(r).ms);
        rig_answer(r, OUTCOME_DONE);
}

static void down_is_tried_again_and_said_once(void **state)
{
        (void) state;
        rig_go(r);
        char token[TOKEN_TEXT];
        memcpy(token, rig_claim(r)->token, sizeof(token));
        rig_answer(r, OUTCOME_DOWN);
        rig_pass(r, 40);
        assert_int_equal(r->claim_count, 2);
        assert_string_equal(rig_claim(r)->token, token);
        rig_answer(r, OUTCOME_DOWN);
        assert_int_equal(rig_lines("attempt"), 1);
        assert_int_equal(rig_line("attempt", 0)->cause, CAUSE_LEDGER_DOWN);
        assert_true(next_wake_ms() > now_ms() + 20);
}

static void down_beyond_grace_is_a_gap_of_its_cause(void **state)
{
        (void) state;
        r->task.misfire.grace_ms = 20;
        rig_go(r);
        rig_answer(r, OUTCOME_DOWN);
        rig_pass(r, 40);
        assert_true(instant_is_none(rig_claim(r)->planned));
        assert_int_equal(rig_claim(r)->gap.count, 1);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_LEDGER_DOWN);
        rig_claim(r)->answer.gap_written = true;
        rig_answer(r, OUTCOME_DECIDED);
        assert_int_equal(rig_lines("range"), 1);
        assert_int_equal(rig_line("range", 0)->state, STATE_MISSED);
        assert_int_equal(next_wake_ms(), rig_due(r).ms + 3600000);
}

static void ledger_that_is_back_is_asked_at_once(void **state)
{
        (void) state;
        rig_go(r);
        r->unit->backoff_ms = 800;
        rig_answer(r, OUTCOME_DOWN);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 1);
        spine_ledger_up(&r->spine, &r->job, 1, &r->ledger, clock_wall());
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(r->claim_count, 2);
        rig_answer(r, OUTCOME_DONE);
}

static void moved_is_decided_anew_from_the_cursor(void **state)
{
        (void) state;
        r->unit->cursor.ms = rig_due(r).ms - 3 * 3600000 - 1;
        rig_go(r);
        assert_int_equal(rig_claim(r)->gap.count, 3);
        rig_claim(r)->answer.cursor.ms = rig_due(r).ms - 3600000;
        rig_answer(r, OUTCOME_MOVED);
        assert_int_equal(r->claim_count, 2);
        assert_int_equal(rig_claim(r)->gap.count, 0);
        assert_int_equal(rig_claim(r)->expect.ms, rig_due(r).ms - 3600000);
        assert_int_equal(rig_claim(r)->planned.ms, rig_due(r).ms);
        rig_answer(r, OUTCOME_DONE);
}

static void moved_past_what_is_due_asks_nothing(void **state)
{
        (void) state;
        rig_go(r);
        rig_claim(r)->answer.cursor = rig_due(r);
        rig_answer(r, OUTCOME_MOVED);
        assert_int_equal(r->claim_count, 1);
        assert_int_equal(next_wake_ms(), rig_due(r).ms + 3600000);
}

static void moved_again_and_again_gives_way(void **state)
{
        (void) state;
        rig_go(r);
        for (unsigned i = 0; i < 4; i++) {
                rig_claim(r)->answer.cursor.ms = rig_due(r).ms - 1 - (int64_t) i;
                rig_answer(r, OUTCOME_MOVED);
                assert_int_equal(r->claim_count, 2 + i);
        }
        rig_claim(r)->answer.cursor.ms = rig_due(r).ms - 1;
        rig_answer(r, OUTCOME_MOVED);
        assert_int_equal(r->claim_count, 5);
        assert_true(next_wake_ms() > now_ms());
        rig_pass(r, 30);
        assert_int_equal(r->claim_count, 6);
        rig_answer(r, OUTCOME_DONE);
}

static void early_waits_for_the_stores_clock(void **state)
{
        (void) state;
        rig_go(r);
        rig_claim(r)->answer.store_time.ns = instant_stamp(rig_due(r)).ns - 300 * NS_PER_MS;
        rig_answer(r, OUTCOME_EARLY);
        assert_true(next_wake_ms() >= now_ms() + 250 && next_wake_ms() <= now_ms() + 301);
        assert_int_equal(r->unit->cursor.ms, rig_due(r).ms - 1);
}

static void stale_term_ends_leading(void **state)
{
        (void) state;
        r->task.singleton = PATH_DEDICATED;
        r->claims.term = 4;
        rig_go(r);
        rig_claim(r)->answer.term = 5;
        rig_answer(r, OUTCOME_STALE);
        assert_int_equal(r->deposed, 5);
        assert_int_equal(r->claims.term, 0);
        assert_true(instant_is_none(agenda_next(&r->spine.agenda)));
}

static void dedicated_is_not_planned_without_a_term(void **state)
{
        (void) state;
        r->task.singleton = PATH_DEDICATED;
        rig_go(r);
        assert_int_equal(r->claim_count, 0);
}

static void stale_definition_puts_the_unit_to_sleep(void **state)
{
        (void) state;
        rig_go(r);
        rig_claim(r)->answer.rev = 9;
        rig_answer(r, OUTCOME_STALE);
        assert_true(r->job.split);
        assert_int_equal(r->deposed, 0);
        spine_enlist(&r->spine, r->unit);
        assert_true(instant_is_none(agenda_next(&r->spine.agenda)));
}

/* Tasks slept for ever once a person had begun an emptied store anew. */
static void lost_definition_is_put_in_force_again(void **state)
{
        (void) state;
        rig_go(r);
        rig_answer(r, OUTCOME_STALE);
        assert_int_equal(rig_call(r)->op, LEDGER_DEFINE);
        assert_string_equal(rig_call(r)->in.define.task, r->task.name);
        rig_call(r)->out.define.rev = 1;
        rig_answer_call(r, 0);
        assert_false(r->job.split);
        assert_int_equal(r->job.rev, 1);
        assert_true(next_wake_ms() <= now_ms());   /* at once */
}

static void halted_waits_and_starts_nothing(void **state)
{
        (void) state;
        rig_go(r);
        rig_answer(r, OUTCOME_HALTED);
        assert_int_equal(r->run_count, 0);
        assert_true(next_wake_ms() >= now_ms() + 4000);
}

static void unregistered_gets_the_cursor_that_is_known(void **state)
{
        (void) state;
        rig_go(r);
        rig_answer(r, OUTCOME_UNREGISTERED);
        assert_int_equal(rig_lines("attempt"), 0);
        assert_int_equal(rig_call(r)->op, LEDGER_REGISTER);
        assert_int_equal(rig_call(r)->in.reg.cursor.ms, r->unit->cursor.ms);
        assert_int_equal(rig_call(r)->in.reg.cursor.ms, rig_due(r).ms - 1);
        rig_call(r)->out.reg.cursor.ms = rig_due(r).ms - 1;
        rig_answer_call(r, 0);
        spine_turn(&r->spine, clock_wall());
        assert_int_equal(rig_claim(r)->planned.ms, rig_due(r).ms);
        rig_answer(r, OUTCOME_DONE);
}

static void dead_holders_record_is_logged_by_who_ended_it(void **state)
{
        (void) state;
        rig_go(r);
        struct claim *c = rig_claim(r);
        c->answer.ended = calloc(1, sizeof(*c->answer.ended));
        c->answer.ended_count = 1;
        c->answer.ended[0].state = STATE_INTERRUPTED;
        c->answer.ended[0].cause = CAUSE_WORKER_DIED;
        strcpy(c->answer.ended[0].trig, "dead.1");
        rig_answer(r, OUTCOME_DONE);
        assert_string_equal(rig_line("finish", 0)->trig, "dead.1");
        assert_string_equal(rig_line("finish", 0)->what, "of");
        assert_int_equal(rig_counter(r, COUNT_INTERRUPTED), 1);
}

static void gap_from_before_this_life_is_the_misfire_rules(void **state)
{
        (void) state;
        r->unit->cursor.ms = rig_due(r).ms - 2 * 3600000 - 1;
        rig_go(r);
        assert_int_equal(rig_claim(r)->gap.count, 2);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_MISFIRE);
        rig_claim(r)->answer.gap_written = true;
        rig_grant(r);
        assert_int_equal(rig_line("range", 0)->state, STATE_SKIPPED);
        rig_start_run(r);
        finish_well();
}

static void gap_of_this_life_is_nobodys(void **state)
{
        (void) state;
        assert_int_equal(schedule_every(1000, r->task.schedule.anchor_ms, &r->task.schedule), 0);
        r->unit->cursor.ms = rig_due(r).ms - 3000;
        rig_go(r);
        assert_int_equal(rig_claim(r)->gap.count, 2);
        assert_int_equal(rig_claim(r)->gap_cause, CAUSE_NOBODY);
        rig_answer(r, OUTCOME_DONE);
}

static void lease_lost_ends_the_run(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_claim(r)->notice(rig_claim(r), CLAIM_LEASE_LOST);
        assert_int_equal(r->stops, 1);
        assert_int_equal(r->stop_why, RUN_STOP_LEASE_LOST);
        assert_string_equal(rig_line("lease", 0)->what, "lost");
        rig_end_run(r, STATE_INTERRUPTED, CAUSE_LEASE_LOST);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_LEASE_LOST);
        rig_call(r)->out.finish.finished = FINISHED_FENCED;
        rig_answer_call(r, 0);
        assert_int_equal(rig_counter(r, COUNT_LEASE_CONFLICTS), 2);
        assert_false(r->spine.killed);
}

static void lease_lost_may_leave_the_run_to_its_fence(void **state)
{
        (void) state;
        r->task.on_lease_lost = LEASE_LOST_CONTINUE;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_claim(r)->notice(rig_claim(r), CLAIM_LEASE_LOST);
        assert_int_equal(r->stops, 0);
        finish_well();
}

static void deadline_is_recorded_as_the_runner_says(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        assert_int_equal(r->runs[0]->timeout_ms, 10000);
        assert_true(r->runs[0]->context->deadline.ns > clock_wall().ns + 9 * NS_PER_S);
        rig_start_run(r);
        rig_end_run(r, STATE_UNKNOWN, CAUSE_TIMEOUT);
        assert_int_equal(rig_call(r)->in.finish.state, STATE_UNKNOWN);
        rig_answer_call(r, 0);
        assert_int_equal(rig_line("finish", 0)->cause, CAUSE_TIMEOUT);
}

static void run_line_that_fails_forbids_the_start(void **state)
{
        (void) state;
        rig_log.run_error = -ENOSPC;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        assert_int_equal(rig_counter(r, COUNT_TRIGGERED), 0);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_LOG);
        rig_answer_call(r, 0);
        assert_int_equal(rig_line("finish", 0)->state, STATE_FAILED);
}

static void log_that_cannot_be_written_stops_claims(void **state)
{
        (void) state;
        rig_log.state = -ENOSPC;
        rig_go(r);
        assert_int_equal(r->claim_count, 0);
        rig_log.state = 0;
        rig_pass(r, 520);
        assert_int_equal(r->claim_count, 1);
        rig_answer(r, OUTCOME_DONE);
}

static void runner_that_cannot_start_is_recorded(void **state)
{
        (void) state;
        r->start_error = -EMFILE;
        rig_go(r);
        rig_grant(r);
        assert_int_equal(rig_call(r)->in.finish.state, STATE_FAILED);
        assert_int_equal(rig_call(r)->in.finish.cause, CAUSE_NOT_SENT);
        rig_answer_call(r, 0);
        assert_int_equal(rig_lines("run"), 0);
}

static void finish_is_repeated_until_it_is_answered(void **state)
{
        (void) state;
        rig_go(r);
        rig_grant(r);
        rig_start_run(r);
        rig_end_run(r, STATE_SUCCEEDED, CAUSE_NONE);
        rig_answer_call(r, -ETIMEDOUT);
        assert_int_equal(r->releases, 0);
        rig_pass(r, 70);
        assert_int_equal(r->call_count, 2);
        rig_answer_call(r, -EAGAIN);
        rig_pass(r, 120);
        assert_int_equal(r->call_count, 3);
        assert_int_equal(rig_lines("finish"), 0);
        rig_answer_call(r, 0);
        assert_int_equal(rig_lines("finish"), 1);
        assert_int_equal(r->releases, 1);
}

static char ended_occ[OCC_TEXT];

/* Runs the due instant (again) to its end in `state`; what the log for people got meanwhile. */
static const char *said_when_ended(enum state state, enum cause cause, const char *error)
{
        static char text[4096];
        FILE *log = tmpfile();

        assert_non_null(log);
        r->unit->cursor.ms = rig_due(r).ms - 1;
        r->unit->handed = INSTANT_NONE;
        spine_wake(&r->spine, r->unit, stamp_instant(clock_wall()));
        spine_turn(&r->spine, clock_wall());
        rig_grant(r);
        rig_start_run(r);
        (void) snprintf(ended_occ, sizeof(ended_occ), "%s", rig_claim(r)->occ);
        int before = log_use_fd(fileno(log));
        (void) snprintf(r->runs[r->run_count - 1]->outcome.error, RUN_ERROR_MAX, "%s", error);
        rig_end_run(r, state, cause);
        rig_answer_call(r, 0);
        (void) log_use_fd(before);
        rewind(log);
        text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
        (void) fclose(log);
        return text;
}

static void failed_run_is_one_warning_a_minute(void **state)
{
        char expected[128];

        (void) state;
        spine_enlist(&r->spine, r->unit);
        assert_string_equal(said_when_ended(STATE_SUCCEEDED, CAUSE_NONE, "ended 1 process that it left behind"), "");
        const char *said = said_when_ended(STATE_FAILED, CAUSE_STATUS, "exit code 3: err");
        (void) snprintf(expected, sizeof(expected), "warning onced[%d]: task mail: occurrence %.12s failed (status): "
                        "exit code 3: err\n", (int) getpid(), ended_occ);
        if (!strstr(said, expected))
                fail_msg("%s", said);
        assert_string_equal(said_when_ended(STATE_FAILED, CAUSE_STATUS, "exit code 3: err"), "");
        assert_string_equal(said_when_ended(STATE_UNKNOWN, CAUSE_NO_ANSWER, "sent, no whole answer"), "");
        shortfalls_age(r->shortfalls, 61000);
        said = said_when_ended(STATE_UNKNOWN, CAUSE_TIMEOUT, "");
        if (!strstr(said, " unknown (timeout); 2 more since the last such line\n"))
                fail_msg("%s", said);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(granted_is_run_and_recorded),
                CASE(lost_to_another_is_logged_and_left),
                CASE(lost_to_a_sibling_is_said_once),
                CASE(decided_by_this_call_writes_its_line),
                CASE(busy_is_tried_again_with_the_cursor_standing),
                CASE(down_is_tried_again_and_said_once),
                CASE(down_beyond_grace_is_a_gap_of_its_cause),
                CASE(ledger_that_is_back_is_asked_at_once),
                CASE(moved_is_decided_anew_from_the_cursor),
                CASE(moved_past_what_is_due_asks_nothing),
                CASE(moved_again_and_again_gives_way),
                CASE(early_waits_for_the_stores_clock),
                CASE(stale_term_ends_leading),
                CASE(dedicated_is_not_planned_without_a_term),
                CASE(stale_definition_puts_the_unit_to_sleep),
                CASE(lost_definition_is_put_in_force_again),
                CASE(halted_waits_and_starts_nothing),
                CASE(unregistered_gets_the_cursor_that_is_known),
                CASE(dead_holders_record_is_logged_by_who_ended_it),
                CASE(gap_from_before_this_life_is_the_misfire_rules),
                CASE(gap_of_this_life_is_nobodys),
                CASE(lease_lost_ends_the_run),
                CASE(lease_lost_may_leave_the_run_to_its_fence),
                CASE(deadline_is_recorded_as_the_runner_says),
                CASE(run_line_that_fails_forbids_the_start),
                CASE(log_that_cannot_be_written_stops_claims),
                CASE(runner_that_cannot_start_is_recorded),
                CASE(finish_is_repeated_until_it_is_answered),
                CASE(failed_run_is_one_warning_a_minute),
        };

        return RUN_CASES(argc, argv, "occurrence", tests);
}
