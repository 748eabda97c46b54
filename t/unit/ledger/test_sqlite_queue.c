/* Queues in the local ledger under what only a file can go through: an older copy, a clock that went back, a zone that
 * is gone, a power loss. */
#include "t/unit/cases.h"
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ledger/recover.h"

static const struct ask first = { .at = -9, .expect = -10, .overlap = OVERLAP_QUEUE };

static int begin(void **state)
{
        (void) sqlite_case(state);
        world_open(*state);
        world_task(*state, 1, -10);
        return 0;
}

static enum outcome claim(struct world *w, int at, struct ask_texts *texts)
{
        struct ledger_call c;

        ask_claim(w, &(struct ask) { .at = at, .expect = at - 1, .overlap = OVERLAP_QUEUE }, texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c.out.claim.fence);
        return c.out.claim.outcome;
}

/* The first one runs, two wait. */
static void fill(struct world *w, struct ask_texts *texts)
{
        struct ask_texts more;

        assert_int_equal(claim(w, -9, texts), OUTCOME_GRANTED);
        assert_int_equal(claim(w, -8, &more), OUTCOME_QUEUED);
        assert_int_equal(claim(w, -7, &more), OUTCOME_QUEUED);
}

static void finish(struct world *w, struct ask_texts *texts)
{
        struct ledger_call c;

        ask_finish(w, &first, texts, STATE_SUCCEEDED, &c);
        world_call(w, &c);
        assert_int_equal(c.out.finish.finished, FINISHED_OK);
}

static struct take_out take(struct world *w, int n)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;

        ask_take(w, NULL, n, &words, &c.in.take);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.take;
}

static int64_t number(const struct world *w, const char *sql)
{
        return file_number(w, "ledger.db", sql);
}

static void copy_out(const struct world *w)
{
        char into[400];

        (void) snprintf(into, sizeof(into), "VACUUM INTO '%s'", state_path(w, "copy.db"));
        file_sql(w, "ledger.db", into);
}

/* The next life finds the copy. */
static void copy_back(struct world *w)
{
        static const char *const old[] = { "ledger.db-wal", "ledger.db-shm" };
        char from[300];

        world_close(w);
        w->life++;
        for (size_t i = 0; i < 2; i++)
                (void) unlink(state_path(w, old[i]));
        (void) snprintf(from, sizeof(from), "%s", state_path(w, "copy.db"));
        assert_int_equal(rename(from, state_path(w, "ledger.db")), 0);
        world_open(w);
}

/* What waited when the copy was made may have been run since. */
static void what_waits_in_an_older_copy_is_not_run(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        fill(w, &texts);
        finish(w, &texts);
        copy_out(w);
        assert_int_equal(take(w, 1).claim.outcome, OUTCOME_GRANTED);
        copy_back(w);

        for (int i = 0; i < 2; i++) {
                struct take_out out = take(w, 2);
                assert_int_equal(out.claim.outcome, OUTCOME_DECIDED);
                assert_int_equal(out.claim.state, STATE_UNKNOWN);
                assert_int_equal(out.claim.cause, CAUSE_BARRIER);
                assert_int_equal(out.claim.replay, i == 1);
                assert_int_equal(out.planned.ms, world_at(w, -8).ms);
        }
        assert_int_equal(take(w, 3).planned.ms, world_at(w, -7).ms);
        assert_int_equal(take(w, 4).claim.outcome, OUTCOME_DONE);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE cause = 'barrier' AND state = 'unknown'"), 2);
        c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c.in.interrupt = (struct interrupt_in) { w->owner, true };
        world_call(w, &c);
        assert_int_equal(c.out.interrupt.told_count, 2);
        ledger_call_done(&c);
}

static void finish_of_a_take_that_was_lost_restores_it(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct take_texts words;
        struct take_in taken;
        struct ledger_call c;
        fill(w, &texts);
        finish(w, &texts);
        copy_out(w);
        struct take_out out = take(w, 1);
        assert_int_equal(out.claim.outcome, OUTCOME_GRANTED);
        copy_back(w);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'queued'"), 2);

        ask_take(w, NULL, 1, &words, &taken);
        ask_finish(w, &(struct ask) { .at = -8 }, &texts, STATE_SUCCEEDED, &c);
        c.in.finish.token = words.token;
        c.in.finish.fence = out.claim.fence;
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.finish.finished, FINISHED_RECOVERED);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'queued'"), 1);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'succeeded'"), 2);
}

static void what_was_queued_before_the_clock_went_back_waits_for_its_time(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        char sql[160];
        fill(w, &texts);
        finish(w, &texts);
        (void) snprintf(sql, sizeof(sql), "UPDATE record SET planned = %lld WHERE state = 'queued'",
                        (long long) world_at(w, 3600).ms);
        file_sql(w, "ledger.db", sql);

        assert_int_equal(take(w, 1).claim.outcome, OUTCOME_EARLY);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'queued'"), 2);
}

/* What is open again must not be found decided. */
static void cursor_set_back_opens_what_waits_as_well(void **state)
{
        struct world *w = *state;
        struct recover_ahead ahead;
        struct ask_texts texts;
        char sql[200], why[RECOVER_TEXT] = "";
        fill(w, &texts);
        (void) snprintf(sql, sizeof(sql), "UPDATE unit SET cursor = %lld; "
                        "UPDATE record SET planned = planned + 3600000, last = last + 3600000 "
                        "WHERE state = 'queued' AND planned = %lld", (long long) world_at(w, 3600).ms,
                        (long long) world_at(w, -7).ms);
        file_sql(w, "ledger.db", sql);
        world_close(w);

        assert_int_equal(recover_cursor_local(&w->config, WORLD_TASK, true, &ahead, why), 0);
        assert_int_equal(ahead.units, 1);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'queued'"), 1);
        world_open(w);
}

static void define(struct world *w, const char *when_hash, bool all_scope, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_DEFINE };
        ret->in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = when_hash, .def_hash = "d", .shards = 1,
                                              .competes = true, .all_scope = all_scope, .node = w->node };
        assert_int_equal(schedule_every(1000, 0, &ret->in.define.schedule), 0);
        world_call(w, ret);
        assert_int_equal(ret->error, 0);
}

static void other_scope_gives_up_what_waits_in_the_old_one(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        fill(w, &texts);

        define(w, "all", true, &c);
        assert_int_equal(c.out.define.told_count, 2);
        assert_int_equal(c.out.define.told[0].cause, CAUSE_REVISED);
        assert_string_equal(c.out.define.told[0].scope_key, "");
        assert_string_equal(c.why, "");
        ledger_call_done(&c);
        assert_int_equal(number(w, "SELECT count(*) FROM record WHERE state = 'queued'"), 0);
}

static void schedule_whose_zone_is_gone_is_not_counted(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        file_sql(w, "ledger.db", "UPDATE task SET schedule = 'cron 0 5 * * * tz Atlantis/Poseidonis'");

        define(w, "other", false, &c);
        assert_true(c.out.define.changed);
        assert_non_null(strstr(c.why, "Atlantis/Poseidonis"));
        assert_int_equal(c.out.define.revised.count, 0);
        assert_int_equal(number(w, "SELECT count(*) FROM record"), 0);
        /* The old time is behind all the same, and what follows is counted again. */
        assert_int_equal(number(w, "SELECT cursor FROM unit"), c.out.define.valid_from.ms);
        define(w, "third", false, &c);
        assert_string_equal(c.why, "");
}

static void cron_schedule_is_counted_when_it_ends(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        file_sql(w, "ledger.db", "UPDATE task SET schedule = 'cron * * * * * * tz Europe/Berlin'");

        define(w, "other", false, &c);
        assert_string_equal(c.why, "");
        assert_int_equal(c.out.define.revised.first.ms, world_at(w, -9).ms);
        assert_true(c.out.define.revised.count >= 10);
}

static void broken_word_in_a_taken_record_halts(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;
        struct ask_texts texts;
        fill(w, &texts);
        finish(w, &texts);
        assert_int_equal(take(w, 1).claim.outcome, OUTCOME_GRANTED);
        file_sql(w, "ledger.db", "UPDATE record SET cause = 'moonshine' WHERE taken = 1");

        ask_take(w, NULL, 1, &words, &c.in.take);
        world_call(w, &c);
        assert_int_equal(c.error, -EUCLEAN);
        assert_int_equal(w->health, LEDGER_HALTED);
}

static void take_that_does_not_fit_is_turned_away(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_TAKE }, q = { .op = LEDGER_QUEUED }, f;
        struct take_texts words;
        struct ask_texts texts;
        struct take_in none;
        char long_word[300];
        memset(long_word, 'x', sizeof(long_word) - 1);
        long_word[sizeof(long_word) - 1] = '\0';
        fill(w, &texts);

        ask_take(w, NULL, 1, &words, &c.in.take);
        c.in.take.token = "";   /* it would find what was never taken */
        world_call(w, &c);
        assert_int_equal(c.error, -EINVAL);
        ask_take(w, NULL, 1, &words, &none);
        none.owner = long_word;
        ask_finish(w, &first, &texts, STATE_SUCCEEDED, &f);
        f.in.finish.take = &none;
        world_call(w, &f);
        assert_int_equal(f.error, -EINVAL);
        q.in.queued.node = long_word;
        world_call(w, &q);
        assert_int_equal(q.error, -EINVAL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(what_waits_in_an_older_copy_is_not_run),
                CASE(finish_of_a_take_that_was_lost_restores_it),
                CASE(what_was_queued_before_the_clock_went_back_waits_for_its_time),
                CASE(cursor_set_back_opens_what_waits_as_well),
                CASE(other_scope_gives_up_what_waits_in_the_old_one),
                CASE(schedule_whose_zone_is_gone_is_not_counted),
                CASE(cron_schedule_is_counted_when_it_ends),
                CASE(broken_word_in_a_taken_record_halts),
                CASE(take_that_does_not_fit_is_turned_away),
        };

        return RUN_CASES(argc, argv, "sqlite_queue", tests);
}
