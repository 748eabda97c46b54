/* What the local ledger notes of tasks that are elsewhere, until the group's ledger knows where they begin. */
#include "ledger/rules.h"
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/sqlite_backend.h"

static struct define_out leave(struct world *w, enum path to, bool handed)
{
        struct ledger_call c = { .op = LEDGER_DEFINE };

        c.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = rules_place(to), .def_hash = "",
                                           .shards = 1, .node = w->node, .schedule = { .kind = SCHEDULE_NONE },
                                           .away = true, .noted = true, .handed = handed };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        struct define_out out = c.out.define;
        ledger_call_done(&c);
        return out;
}

static void what_was_handed_on_is_told_no_more(void **state)
{
        struct world *w = *state;
        world_open(w);
        world_task(w, 1, -10);

        struct define_out out = leave(w, PATH_REDIS, false);
        assert_true(out.left.ms != 0);
        /* Its process may die before the group's ledger has it. */
        assert_int_equal(leave(w, PATH_REDIS, false).left.ms, out.left.ms);
        (void) leave(w, PATH_REDIS, true);
        assert_int_equal(leave(w, PATH_REDIS, false).left.ms, 0);
        assert_false(leave(w, PATH_REDIS, false).changed);
}

static void next_move_is_to_be_handed_on_again(void **state)
{
        struct world *w = *state;
        world_open(w);
        world_task(w, 1, -10);
        (void) leave(w, PATH_REDIS, false);
        (void) leave(w, PATH_REDIS, true);

        struct define_out out = leave(w, PATH_NONE, false);
        assert_true(out.changed);
        assert_int_equal(out.left.ms, out.valid_from.ms);
}

/* A new task on Redis has its window there, also when the processes of its node come one after another. */
static void new_note_hands_nothing_on(void **state)
{
        struct world *w = *state;
        world_open(w);

        struct define_out out = leave(w, PATH_REDIS, false);
        assert_true(out.changed);
        assert_int_equal(out.left.ms, 0);
        assert_int_equal(leave(w, PATH_REDIS, false).left.ms, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, sqlite_case, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                CASE(what_was_handed_on_is_told_no_more),
                CASE(next_move_is_to_be_handed_on_again),
                CASE(new_note_hands_nothing_on),
        };

        return RUN_CASES(argc, argv, "sqlite_move", cases);
}
