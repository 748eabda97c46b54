/* The scoreboard: places, counters, what remains of the dead, and readers that meet garbage. */
#include "t/unit/cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/scoreboard/layout.h"
#include "common/scoreboard/scoreboard.h"

static struct board *board_of(unsigned workers_max)
{
        struct board *b = NULL;

        assert_int_equal(board_create(workers_max, &b), 0);
        return b;
}

static void places_are_taken_until_none_is_left(void **state)
{
        (void) state;
        struct board *b = board_of(2);
        struct place_view v;

        assert_int_equal(board_places(b), 5);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(board_read(b, i, &v), -ENOENT);
                assert_int_equal(board_take(b, ROLE_WORKER, i % 2, 1), (int) i);
        }
        assert_int_equal(board_take(b, ROLE_WORKER, 0, 1), -ENOSPC);
        board_release(b, 3);
        assert_int_equal(board_read(b, 3, &v), -ENOENT);
        assert_int_equal(board_take(b, ROLE_CONSOLE, 2, 9), 3);
        assert_int_equal(board_read(b, 3, &v), 0);
        assert_int_equal(v.role, ROLE_CONSOLE);
        assert_int_equal(v.generation, 9);
        assert_int_equal(v.state, PLACE_STARTING);
        assert_int_equal(board_read(b, 5, &v), -ENOENT);
        board_free(b);
}

static void a_place_shows_what_was_written(void **state)
{
        (void) state;
        struct board *b = board_of(2);
        struct process_id id = { 4711, "81234-a2f3" };
        struct place_view v;

        int place = board_take(b, ROLE_WORKER, 1, 3);
        board_set_process(b, (unsigned) place, &id);
        board_set_state(b, (unsigned) place, PLACE_READY);
        board_set_timer_worker(b, (unsigned) place, true);
        struct board_place *p = board_place(b, (unsigned) place);
        struct mono now = clock_mono();
        place_beat(p, now, 123);
        place_set_up(p, now);
        place_set_term(p, 7);
        place_set_current(p, "9f00", "mail");
        place_add(p, COUNT_TRIGGERED, 2);
        place_add(p, COUNT_TRIGGERED, 3);
        assert_int_equal(board_read(b, (unsigned) place, &v), 0);
        assert_int_equal(v.slot, 1);
        assert_int_equal(v.process.pid, 4711);
        assert_string_equal(v.process.start, "81234-a2f3");
        assert_int_equal(v.state, PLACE_READY);
        assert_true(v.timer_worker);
        assert_int_equal(v.term, 7);
        assert_true(v.beat.ns == now.ns);
        assert_true(v.set_up.ns == now.ns);
        assert_int_equal(v.loop_lag_us, 123);
        assert_string_equal(v.occ, "9f00");
        assert_string_equal(v.task, "mail");
        assert_int_equal(v.counters[COUNT_TRIGGERED], 5);
        place_set_current(p, "", "");
        assert_int_equal(board_read(b, (unsigned) place, &v), 0);
        assert_string_equal(v.occ, "");
        board_free(b);
}

static void counts_of_the_dead_stay_in_the_totals(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        uint64_t totals[BOARD_COUNTER_COUNT_];
        struct task_counts t;

        for (int life = 0; life < 3; life++) {
                int place = board_take(b, ROLE_WORKER, 0, 1);
                struct board_place *p = board_place(b, (unsigned) place);
                struct board_row *r = place_row(p, "mail");
                place_add(p, COUNT_FAILED, 1);
                row_attempt(r, OUTCOME_GRANTED);
                row_started(r, (struct instant) { 1000 + life }, 250);
                row_finished(r, STATE_SUCCEEDED, RESULT_NOOP, 7000);
                row_started(r, (struct instant) { 1100 + life }, 60000001);   /* dies while it runs */
                row_next(r, (struct instant) { 2000 });
                row_queued(r, 3);
                row_queued(r, -1);
                assert_true(board_task_totals(b, "mail", &t));
                assert_int_equal(t.running, 1);
                assert_int_equal(t.queued, 2);
                assert_int_equal(t.next_planned_ms, 2000);
                board_release(b, (unsigned) place);
        }
        board_totals(b, totals);
        assert_int_equal(totals[COUNT_FAILED], 3);
        assert_true(board_task_totals(b, "mail", &t));
        assert_int_equal(t.runs[STATE_SUCCEEDED], 3);
        assert_int_equal(t.attempts[OUTCOME_GRANTED], 3);
        assert_int_equal(t.noop, 3);
        assert_int_equal(t.lateness[1], 3);                 /* 100 us < 250 us <= 500 us */
        assert_int_equal(t.lateness[BOARD_BUCKETS], 3);     /* above 60 s */
        assert_int_equal(t.run_time[4], 3);                 /* 5 ms < 7 ms <= 10 ms */
        assert_int_equal(t.run_time_sum_us, 21000);
        assert_int_equal(t.running, 0);                     /* nobody runs any more */
        assert_int_equal(t.queued, 0);                      /* nor waits there */
        assert_int_equal(t.next_planned_ms, 0);
        assert_int_equal(t.last_planned_ms, 1102);
        assert_false(board_task_totals(b, "other", &t));
        assert_false(board_task_totals(b, NULL, &t));
        board_free(b);
}

static void a_released_place_comes_up_empty(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct place_view v;
        struct task_counts t;

        int place = board_take(b, ROLE_WORKER, 0, 1);
        place_set_current(board_place(b, (unsigned) place), "aa", "mail");
        place_add(board_place(b, (unsigned) place), COUNT_TRIGGERED, 9);
        row_started(place_row(board_place(b, (unsigned) place), "x"), (struct instant) { 5 }, 0);
        board_release(b, (unsigned) place);
        assert_int_equal(board_take(b, ROLE_WORKER, 0, 2), place);
        assert_int_equal(board_read(b, (unsigned) place, &v), 0);
        assert_string_equal(v.task, "");
        assert_int_equal(v.counters[COUNT_TRIGGERED], 0);
        assert_int_equal(v.beat.ns, 0);
        /* the new owner's handle is fresh as well */
        row_started(place_row(board_place(b, (unsigned) place), "y"), (struct instant) { 5 }, 0);
        assert_true(board_task_totals(b, "y", &t));
        assert_int_equal(t.running, 1);
        board_free(b);
}

static void the_thousand_and_first_task_goes_to_other(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct task_counts t;
        char name[32];

        int place = board_take(b, ROLE_WORKER, 0, 1);
        struct board_place *p = board_place(b, (unsigned) place);
        for (int i = 0; i < BOARD_TASKS + 50; i++) {
                (void) snprintf(name, sizeof(name), "task-%d", i);
                row_attempt(place_row(p, name), OUTCOME_DONE);
                row_attempt(place_row(p, name), OUTCOME_DONE);
        }
        assert_true(board_task_totals(b, "task-0", &t));
        assert_int_equal(t.attempts[OUTCOME_DONE], 2);
        assert_true(board_task_totals(b, "task-999", &t));
        assert_false(board_task_totals(b, "task-1000", &t));
        assert_true(board_task_totals(b, "_other", &t));
        assert_int_equal(t.attempts[OUTCOME_DONE], 100);
        board_release(b, (unsigned) place);                 /* and so it is kept */
        assert_true(board_task_totals(b, "_other", &t));
        assert_int_equal(t.attempts[OUTCOME_DONE], 100);
        assert_true(board_task_totals(b, "task-999", &t));
        assert_int_equal(t.attempts[OUTCOME_DONE], 2);
        board_free(b);
}

static void a_skipped_one_counts_as_state_alone(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct task_counts t;

        struct board_row *r = place_row(board_place(b, (unsigned) board_take(b, ROLE_WORKER, 0, 1)), "t");
        row_started(r, (struct instant) { 5 }, 0);
        row_finished(r, STATE_SKIPPED, RESULT_NONE, -1);
        assert_true(board_task_totals(b, "t", &t));
        assert_int_equal(t.runs[STATE_SKIPPED], 1);
        assert_int_equal(t.running, 1);
        assert_int_equal(t.run_time[0], 0);
        board_free(b);
}

static void what_waited_in_a_queue_is_not_late(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct task_counts t;
        uint64_t late = 0;

        struct board_row *r = place_row(board_place(b, (unsigned) board_take(b, ROLE_WORKER, 0, 1)), "t");
        row_started(r, (struct instant) { 5 }, LATE_UNCOUNTED);
        assert_true(board_task_totals(b, "t", &t));
        for (size_t i = 0; i <= BOARD_BUCKETS; i++)
                late += t.lateness[i];
        assert_int_equal(late, 0);
        assert_int_equal(t.lateness_sum_us, 0);
        assert_int_equal(t.running, 1);
        assert_int_equal(t.last_planned_ms, 5);
        board_free(b);
}

static bool ends_within(const char *text, size_t room)
{
        return memchr(text, 0, room) != NULL;
}

/* Any bytes at all: nothing crashes, all texts end, all enums are in range. */
static void garbage_is_clamped_or_left_out(void **state)
{
        (void) state;
        struct board *b = board_of(2);
        struct place_view v;
        struct task_counts t;
        struct master_facts f;
        uint64_t totals[BOARD_COUNTER_COUNT_];
        unsigned seen = 0;

        srandom(42);
        for (int round = 0; round < 60; round++) {
                for (size_t i = 0; i < b->size; i += sizeof(int)) {
                        int word = (int) random();
                        memcpy(b->base + i, &word, sizeof(word));
                }
                for (unsigned place = 0; place < board_places(b); place++) {
                        struct shared_place *p = board_shared_place(b, place);
                        if (round % 2) {   /* plausible enough to be read on */
                                p->role = ROLE_WORKER;
                                p->state = (uint32_t) (random() % 8);
                                p->slot = (uint32_t) (random() % 4);
                                p->pid = (uint64_t) random() % 100000;
                        }
                        if (board_read(b, place, &v) < 0)
                                continue;
                        seen++;
                        assert_true(v.role == ROLE_WORKER || v.role == ROLE_CONSOLE);
                        assert_true(v.state > PLACE_FREE && v.state < PLACE_STATE_COUNT_);
                        assert_true(v.slot <= 2 && v.process.pid >= 0);
                        assert_true(ends_within(v.occ, sizeof(v.occ)) && ends_within(v.task, sizeof(v.task)));
                        assert_true(ends_within(v.process.start, sizeof(v.process.start)));
                        assert_true(v.beat.ns >= 0 && v.beat.ns <= clock_mono().ns && v.loop_lag_us >= 0);
                }
                (void) board_task_totals(b, "mail", &t);
                (void) board_task_totals(b, "_other", &t);
                board_totals(b, totals);
                board_get_master(b, &f);
                assert_true(f.ready == 0 || f.ready == 1);
                assert_true(ends_within(f.process.start, sizeof(f.process.start)));
        }
        assert_true(seen > 0);
        for (unsigned place = 0; place < board_places(b); place++)
                board_release(b, place);
        assert_int_equal(board_take(b, ROLE_WORKER, 0, 1), 0);
        assert_int_equal(board_read(b, 0, &v), 0);
        board_free(b);
}

static void a_writer_dead_in_the_middle_freezes_nobody(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct place_view v;

        unsigned place = (unsigned) board_take(b, ROLE_WORKER, 0, 1);
        place_set_current(board_place(b, place), "aa", "mail");
        sequence_begin(&board_shared_place(b, place)->sequence);
        assert_int_equal(board_read(b, place, &v), 0);
        assert_string_equal(v.task, "");
        place_set_current(board_place(b, place), "bb", "next");   /* and writing goes on after it */
        assert_int_equal(board_read(b, place, &v), 0);
        assert_string_equal(v.task, "next");
        board_free(b);
}

static void a_child_writes_and_the_parent_reads(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct place_view v;
        int status;

        unsigned place = (unsigned) board_take(b, ROLE_WORKER, 0, 1);
        pid_t pid = fork();
        if (pid == 0) {
                struct board_place *p = board_place(b, place);
                for (int i = 0; i < 20000; i++)
                        place_set_current(p, i % 2 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb",
                                          i % 2 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb");
                place_add(p, COUNT_TRIGGERED, 1);
                _exit(0);
        }
        do {   /* never the one with the other's task */
                assert_int_equal(board_read(b, place, &v), 0);
                assert_string_equal(v.occ, v.task);
        } while (v.counters[COUNT_TRIGGERED] == 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        board_free(b);
}

static void the_masters_facts_come_back(void **state)
{
        (void) state;
        struct board *b = board_of(1);
        struct master_facts f = { .workers = 4, .restarts = 7, .ready = true, .process = { 12, "5-ab" } }, g;

        f.last_exit[3] = 9;
        board_set_master(b, &f);
        board_get_master(b, &g);
        assert_int_equal(g.workers, 4);
        assert_int_equal(g.restarts, 7);
        assert_true(g.ready);
        assert_false(g.draining);
        assert_int_equal(g.last_exit[3], 9);
        assert_string_equal(g.process.start, "5-ab");
        board_free(b);
}

static void the_newest_word_of_the_group_counts_whoever_heard_it(void **state)
{
        (void) state;
        struct board *b = board_of(2);
        unsigned first = (unsigned) board_take(b, ROLE_WORKER, 0, 1), second = (unsigned) board_take(b, ROLE_WORKER, 1, 1);
        struct group_facts f = { .heard = { 5 }, .main = "old" }, g = { .heard = { 9 } };

        assert_false(board_get_group(b, &g));
        assert_int_equal(g.heard.ns, 9);
        place_set_group(board_place(b, first), &f);
        f = (struct group_facts) { .heard = { 7 }, .main_until = { 70 }, .online = 3, .main = "new", .is_clone = 1 };
        place_set_group(board_place(b, second), &f);
        assert_true(board_get_group(b, &g));
        assert_string_equal(g.main, "new");
        assert_int_equal(g.main_until.ns, 70);
        assert_int_equal(g.online, 3);
        assert_true(g.is_clone);

        f.heard.ns = INT64_MAX;   /* a process gone mad: nobody heard anything in the future */
        memset(f.main, 'x', sizeof(f.main));
        place_set_group(board_place(b, second), &f);
        assert_true(board_get_group(b, &g));
        assert_string_equal(g.main, "old");
        f.heard.ns = 8;
        place_set_group(board_place(b, second), &f);
        assert_true(board_get_group(b, &g));
        assert_string_equal(g.main, "");
        board_release(b, second);
        assert_true(board_get_group(b, &g));
        assert_int_equal(g.heard.ns, 5);
        board_free(b);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(places_are_taken_until_none_is_left),
                cmocka_unit_test(a_place_shows_what_was_written),
                cmocka_unit_test(counts_of_the_dead_stay_in_the_totals),
                cmocka_unit_test(a_released_place_comes_up_empty),
                cmocka_unit_test(the_thousand_and_first_task_goes_to_other),
                cmocka_unit_test(a_skipped_one_counts_as_state_alone),
                cmocka_unit_test(what_waited_in_a_queue_is_not_late),
                cmocka_unit_test(garbage_is_clamped_or_left_out),
                cmocka_unit_test(a_writer_dead_in_the_middle_freezes_nobody),
                cmocka_unit_test(a_child_writes_and_the_parent_reads),
                cmocka_unit_test(the_masters_facts_come_back),
                cmocka_unit_test(the_newest_word_of_the_group_counts_whoever_heard_it),
        };

        return RUN_CASES(argc, argv, "scoreboard", tests);
}
