/* Agenda, units and watches: time is a value. */
#include <string.h>

#include "t/unit/cases.h"
#include "worker/agenda.h"
#include "worker/claim/watch.h"
#include "worker/unit.h"

static struct instant at(int64_t ms)
{
        return (struct instant) { ms };
}

static void due_units_come_in_order(void **state)
{
        static const int64_t wakes[] = { 50, 10, 40, 10, 30 };
        struct unit units[5] = { 0 };
        struct agenda a;
        (void) state;

        agenda_init(&a, 0);
        for (int i = 0; i < 5; i++)
                agenda_put(&a, &units[i], at(wakes[i]));
        assert_int_equal(agenda_next(&a).ms, 10);
        int64_t last = 0;
        for (int i = 0; i < 4; i++) {
                struct unit *u = agenda_take(&a, at(49));
                assert_non_null(u);
                assert_true(u->wake.ms >= last);
                last = u->wake.ms;
        }
        assert_null(agenda_take(&a, at(49)));
        assert_int_equal(agenda_next(&a).ms, 50);
        agenda_done(&a);
}

static void moved_unit_is_there_once(void **state)
{
        struct unit u = { 0 };
        struct agenda a;
        (void) state;

        agenda_init(&a, 0);
        agenda_put(&a, &u, at(10));
        agenda_put(&a, &u, at(20));
        assert_null(agenda_take(&a, at(10)));
        assert_ptr_equal(agenda_take(&a, at(20)), &u);
        assert_null(agenda_take(&a, at(1000)));
        agenda_put(&a, &u, at(5));
        agenda_remove(&a, &u);
        agenda_remove(&a, &u);
        assert_true(instant_is_none(agenda_next(&a)));
        agenda_done(&a);
}

static void skewed_timer_wakes_later_for_the_same_instant(void **state)
{
        struct unit u = { 0 };
        struct agenda a;
        (void) state;

        agenda_init(&a, 30);
        agenda_put(&a, &u, at(100));
        assert_int_equal(agenda_next(&a).ms, 130);
        assert_null(agenda_take(&a, at(129)));
        assert_ptr_equal(agenda_take(&a, at(130)), &u);
        assert_int_equal(u.wake.ms, 100);
        agenda_done(&a);
}

static void late_wake_up_keeps_the_grid(void **state)
{
        static const int64_t turns[] = { 1000, 1107, 1211, 1300, 1689, 1700, 1799, 1805 };
        static const int64_t planned[] = { 1000, 1100, 1200, 1300, 1600, 1700, -1, 1800 };
        struct misfire m = { .policy = MISFIRE_SKIP, .grace_ms = -1 };
        struct schedule s;
        struct agenda a;
        struct unit u = { .cursor = { 999 } };
        struct misfire_plan p;
        (void) state;

        assert_int_equal(schedule_every(100, 0, &s), 0);
        agenda_init(&a, 0);
        agenda_put(&a, &u, at(1000));
        for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
                struct unit *due = agenda_take(&a, at(turns[i]));
                assert_int_equal(due != NULL, planned[i] >= 0);
                if (!due)
                        continue;
                misfire_decide(&m, &s, u.cursor, at(turns[i]), &p);
                assert_int_equal(p.run.ms, planned[i]);
                unit_advance(&u, p.run);
                struct instant next;
                assert_int_equal(schedule_next(&s, u.cursor, &next), 0);
                agenda_put(&a, &u, next);
        }
        agenda_done(&a);
}

static void known_cursor_only_goes_forward(void **state)
{
        struct unit u = { .cursor = { 100 }, .trouble = CAUSE_LATE, .backoff_ms = 40, .handed = { 50 } };
        (void) state;

        unit_advance(&u, at(90));
        unit_advance(&u, INSTANT_NONE);
        assert_int_equal(u.cursor.ms, 100);
        assert_int_equal(u.trouble, CAUSE_LATE);
        unit_advance(&u, at(110));
        assert_int_equal(u.cursor.ms, 110);
        assert_int_equal(u.trouble, CAUSE_NONE);
        assert_int_equal(u.backoff_ms, 0);
        assert_int_equal(unit_handed(&u).ms, 110);
        u.handed = at(120);
        assert_int_equal(unit_handed(&u).ms, 120);
}

static void waits_after_trouble_grow_to_a_second(void **state)
{
        struct unit u = { 0 };
        (void) state;

        assert_int_equal(unit_back_off(&u), 20);
        assert_int_equal(unit_back_off(&u), 40);
        for (int i = 0; i < 20; i++)
                (void) unit_back_off(&u);
        assert_int_equal(unit_back_off(&u), 1000);
}

static void watch_ripens_after_a_lease_and_a_fifth(void **state)
{
        struct watch *w = NULL;
        char occ[OCC_TEXT];
        (void) state;

        watch_note(&w, "x", 3, 1000, (struct mono) { 0 });
        watch_note(&w, "x", 3, 1000, (struct mono) { 600 * NS_PER_MS });
        watch_ripe(w, occ);
        assert_string_equal(occ, "");
        watch_note(&w, "x", 3, 1000, (struct mono) { 1199 * NS_PER_MS });
        watch_ripe(w, occ);
        assert_string_equal(occ, "");
        watch_note(&w, "x", 3, 1000, (struct mono) { 1201 * NS_PER_MS });
        watch_ripe(w, occ);
        assert_string_equal(occ, "x");
        watch_free(w);
}

static void watch_needs_two_answers_after_the_first(void **state)
{
        struct watch *w = NULL;
        char occ[OCC_TEXT];
        (void) state;

        watch_note(&w, "x", 3, 1000, (struct mono) { 0 });
        watch_note(&w, "x", 3, 1000, (struct mono) { 5000 * NS_PER_MS });
        watch_ripe(w, occ);
        assert_string_equal(occ, "");
        watch_free(w);
}

static void moving_holder_is_never_ripe(void **state)
{
        struct watch *w = NULL;
        char occ[OCC_TEXT];
        (void) state;

        for (uint64_t i = 0; i < 20; i++) {
                watch_note(&w, "x", i / 2, 1000, (struct mono) { (int64_t) i * 1000 * NS_PER_MS });
                watch_ripe(w, occ);
                assert_string_equal(occ, "");
        }
        watch_note(&w, "y", 9, 1000, (struct mono) { 30000 * NS_PER_MS });
        watch_ripe(w, occ);
        assert_string_equal(occ, "");
        watch_note(&w, "", 0, 1000, (struct mono) { 31000 * NS_PER_MS });
        assert_null(w);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(due_units_come_in_order),
                cmocka_unit_test(moved_unit_is_there_once),
                cmocka_unit_test(skewed_timer_wakes_later_for_the_same_instant),
                cmocka_unit_test(late_wake_up_keeps_the_grid),
                cmocka_unit_test(known_cursor_only_goes_forward),
                cmocka_unit_test(waits_after_trouble_grow_to_a_second),
                cmocka_unit_test(watch_ripens_after_a_lease_and_a_fifth),
                cmocka_unit_test(watch_needs_two_answers_after_the_first),
                cmocka_unit_test(moving_holder_is_never_ripe),
        };

        return RUN_CASES(argc, argv, "agenda", tests);
}
