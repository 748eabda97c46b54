/* What a dead owner decided, in the local ledger: how far back it is told, and what is kept for it. */
#include "t/unit/cases.h"
#include "t/unit/ledger/sqlite_backend.h"

#define DEAD "dead-0a1b2c3d.1.77.9-cccc"

static int begin(void **state)
{
        (void) sqlite_case(state);
        world_open(*state);
        world_task(*state, 1, -20);
        return 0;
}

static void give_up(struct world *w, int at)
{
        struct ask a = { .owner = DEAD, .gap_alone = true, .expect = at - 1, .gap_first = at, .gap_last = at };
        struct ask_texts texts;
        struct ledger_call c;

        ask_claim(w, &a, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DECIDED);
}

static void told(struct world *w, struct ledger_call *c)
{
        *c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c->in.interrupt = (struct interrupt_in) { DEAD, true };
        world_call(w, c);
        assert_int_equal(c->error, 0);
}

/* Counted from its newest decision, however long ago that was. */
static void only_the_newest_seconds_are_told(void **state)
{
        struct world *w = *state;
        struct ledger_call c;
        for (int at = -19; at < -16; at++)
                give_up(w, at);
        file_sql(w, "ledger.db", "UPDATE record SET ended = ended - 3600000000000");
        file_sql(w, "ledger.db",
                 "UPDATE record SET ended = ended - 5100000000 WHERE id = (SELECT min(id) FROM record)");

        told(w, &c);
        assert_int_equal(c.out.interrupt.told_count, 2);
        for (size_t i = 0; i < 2; i++)
                assert_true(c.out.interrupt.told[i].first.ms >= world_at(w, -18).ms);
        ledger_call_done(&c);
}

static void said_owners_leave_no_trace(void **state)
{
        struct world *w = *state;
        struct ledger_call c, said = { .op = LEDGER_SAID };
        give_up(w, -19);
        give_up(w, -18);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM untold"), 1);
        told(w, &c);
        ledger_call_done(&c);

        said.in.said = (struct said_in) { DEAD, w->node, w->life };
        world_call(w, &said);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM untold"), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, sqlite_case_end)

int main(int argc, char **argv)
{
        static const struct CMUnitTest cases[] = {
                CASE(only_the_newest_seconds_are_told),
                CASE(said_owners_leave_no_trace),
        };

        return RUN_CASES(argc, argv, "sqlite_untold", cases);
}
