/* What a ledger must do of a task that moves between it and another: it ends here before it begins there, and nothing
 * is passed over or claimed in both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/rules.h"
#include "t/unit/ledger/conformance_cases.h"

static struct define_out define(struct world *w, struct ledger_call *c)
{
        world_call(w, c);
        assert_int_equal(c->error, 0);
        struct define_out out = c->out.define;
        ledger_call_done(c);
        return out;
}

static struct define_out leave(struct world *w, enum path to, bool noted)
{
        struct ledger_call c = { .op = LEDGER_DEFINE };

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = rules_place(to), .def_hash = "",
                                           .shards = 1, .node = w->node, .schedule = { .kind = SCHEDULE_NONE },
                                           .away = true, .noted = noted };
        return define(w, &c);
}

static void prepare(struct world *w, struct ledger_call *ret)
{
        *ret = (struct ledger_call) { .op = LEDGER_DEFINE };
        ret->in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "0123456789abcdef",
                                              .def_hash = "fedcba9876543210", .shards = 1, .competes = true,
                                              .node = w->node, .asked = true };
        assert_int_equal(schedule_every(1000, 0, &ret->in.define.schedule), 0);
        w->shards = 1;
}

static struct define_out come(struct world *w, struct instant left, const char *fence)
{
        struct ledger_call c;

        prepare(w, &c);
        c.in.define.left = left;
        c.in.define.fence = fence;
        struct define_out out = define(w, &c);
        w->rev = out.rev;
        return out;
}

/* What a register that wants a window is told. */
static struct register_out windowed(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_REGISTER };

        c.in.reg = (struct register_in) { .unit = { "", WORLD_TASK, 0 }, .cursor = world_at(w, -3600) };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.reg;
}

static void task_that_leaves_ends_in_one_range(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        world_task(w, 1, -10);

        struct define_out out = leave(w, PATH_NONE, false);
        assert_true(out.changed);
        assert_true(out.ended);
        assert_int_equal(out.cause, CAUSE_DISABLED);
        assert_int_equal(out.revised.first.ms, world_at(w, -9).ms);
        assert_true(out.revised.count >= 10);
        assert_int_equal(out.left.ms, out.valid_from.ms);
        assert_int_equal(peeked(w, 0).cursor.ms, out.left.ms);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);
        assert_int_equal(try_claim(w, (struct ask) { .at = 3600, .expect = -10 }, NULL), OUTCOME_STALE);

        /* Every process of the node says so, and again at each start. */
        struct define_out again = leave(w, PATH_NONE, false);
        assert_false(again.changed);
        assert_false(again.ended);
        assert_int_equal(again.left.ms, out.left.ms);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);
}

static void task_that_never_was_here_leaves_nothing(void **state)
{
        struct world *w = conformance_world(state, 0);

        struct define_out out = leave(w, PATH_NONE, false);
        assert_false(out.changed);
        assert_int_equal(out.left.ms, 0);
        /* So that it begins with its window when it comes. */
        world_task(w, 1, -10);
        assert_int_equal(w->rev, 1);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -10).ms);
}

static void task_noted_elsewhere_has_no_window_here(void **state)
{
        struct world *w = conformance_world(state, 0);

        struct define_out noted = leave(w, PATH_NONE, true);
        assert_true(noted.changed);
        assert_false(noted.ended);
        struct define_out out = come(w, (struct instant) { 0 }, NULL);
        struct register_out reg = windowed(w);
        assert_false(reg.created);
        assert_int_equal(reg.cursor.ms, out.valid_from.ms);
        assert_true(out.valid_from.ms >= noted.valid_from.ms);
}

static void new_task_begins_where_another_ledger_left_it(void **state)
{
        struct world *w = conformance_world(state, 0);

        struct define_out out = come(w, world_at(w, -7), NULL);
        assert_int_equal(out.valid_from.ms, world_at(w, -7).ms);
        struct register_out reg = windowed(w);
        assert_false(reg.created);
        assert_int_equal(reg.cursor.ms, world_at(w, -7).ms);
        /* What the sibling says that comes second changes nothing. */
        assert_false(come(w, world_at(w, -3), NULL).changed);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, -7).ms);
}

static void task_that_comes_back_gives_up_nothing_again(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        world_task(w, 1, -10);
        struct define_out away = leave(w, PATH_NONE, false);

        struct instant left = { away.valid_from.ms + 5 };
        struct define_out out = come(w, left, NULL);
        assert_true(out.changed);
        assert_int_equal(out.revised.count, 0);
        assert_int_equal(out.valid_from.ms, left.ms);
        assert_int_equal(peeked(w, 0).cursor.ms, left.ms);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);
}

static void task_of_another_ledger_waits_until_that_was_asked(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c;
        world_task(w, 1, -10);
        struct define_out away = leave(w, PATH_REDIS, false);

        prepare(w, &c);
        c.in.define.asked = false;
        struct define_out out = define(w, &c);
        assert_true(out.waits);
        assert_false(out.changed);
        assert_int_equal(try_claim(w, (struct ask) { .at = 3600, .expect = -10, .rev = away.rev + 1 }, NULL),
                         OUTCOME_STALE);
        out = come(w, away.left, NULL);
        assert_false(out.waits);
        assert_true(out.changed);
        /* Here from now on: nobody is to be asked any more. */
        prepare(w, &c);
        c.in.define.asked = false;
        assert_false(define(w, &c).waits);
}

static void change_of_place_elsewhere_moves_where_it_was_left(void **state)
{
        struct world *w = conformance_world(state, 1u << LEDGER_HISTORY);
        world_task(w, 1, -10);
        struct define_out first = leave(w, PATH_REDIS, false);

        /* It ran with nobody since, who tells no ledger until when. */
        struct define_out second = leave(w, PATH_NONE, false);
        assert_true(second.changed);
        assert_false(second.ended);
        assert_true(second.left.ms >= first.left.ms);
        assert_int_equal(second.rev, first.rev + 1);
        assert_int_equal(history_count(w, STATE_SKIPPED), 1);
}

static void departure_lies_behind_all_that_was_claimed(void **state)
{
        struct world *w = conformance_world(state, 0);
        world_task(w, 1, 3600);

        assert_int_equal(leave(w, PATH_NONE, false).left.ms, world_at(w, 3600).ms);
        assert_int_equal(peeked(w, 0).cursor.ms, world_at(w, 3600).ms);
}

static void departure_makes_no_units(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ledger_call c = { .op = LEDGER_DEFINE };
        world_task(w, 1, -10);

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = rules_place(PATH_NONE), .def_hash = "",
                                           .shards = 3, .node = w->node, .schedule = { .kind = SCHEDULE_NONE },
                                           .away = true };
        assert_true(define(w, &c).changed);
        assert_true(peeked(w, 0).registered);
        assert_false(peeked(w, 2).registered);
}

static void fences_follow_the_clock_and_the_other_ledger(void **state)
{
        struct world *w = conformance_world(state, 0);
        struct ask_texts one, two;
        char theirs[FENCE_TEXT];
        world_task(w, 1, -10);
        granted(w, (struct ask) { .at = -9, .expect = -10 }, &one);
        assert_true(strtoll(one.fence, NULL, 10) >= world_at(w, 0).ms * 1000);

        struct define_out away = leave(w, PATH_NONE, false);
        assert_true(strtoll(away.fence, NULL, 10) >= strtoll(one.fence, NULL, 10));
        (void) snprintf(theirs, sizeof(theirs), "%lld", (long long) world_at(w, 7200).ms * 1000);
        (void) come(w, world_at(w, -1), theirs);
        struct ledger_call c;
        struct ask beside = { .at = 0, .expect = -1, .overlap = OVERLAP_CONCURRENT, .max_running = 2 };
        ask_claim(w, &beside, &two, &c);
        c.in.claim.expect = peeked(w, 0).cursor;
        c.in.claim.planned.ms = c.in.claim.expect.ms + 1;
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_true(strtoll(c.out.claim.fence, NULL, 10) > strtoll(theirs, NULL, 10));
        ledger_call_done(&c);
}

const struct CMUnitTest move_cases[] = {
        CONFORMANCE_CASE(task_that_leaves_ends_in_one_range),
        CONFORMANCE_CASE(task_that_never_was_here_leaves_nothing),
        CONFORMANCE_CASE(task_noted_elsewhere_has_no_window_here),
        CONFORMANCE_CASE(new_task_begins_where_another_ledger_left_it),
        CONFORMANCE_CASE(task_that_comes_back_gives_up_nothing_again),
        CONFORMANCE_CASE(task_of_another_ledger_waits_until_that_was_asked),
        CONFORMANCE_CASE(change_of_place_elsewhere_moves_where_it_was_left),
        CONFORMANCE_CASE(departure_lies_behind_all_that_was_claimed),
        CONFORMANCE_CASE(departure_makes_no_units),
        CONFORMANCE_CASE(fences_follow_the_clock_and_the_other_ledger),
};
const size_t move_case_count = sizeof(move_cases) / sizeof(move_cases[0]);
