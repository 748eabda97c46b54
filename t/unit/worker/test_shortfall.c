/* What people are told of runs that did not succeed and of instants that were not run: enough, and not too much. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"
#include "worker/ended.h"
#include "worker/shortfall.h"

#define TASKS 1000

static struct config config;
static struct task tasks[TASKS];
static const struct task *by_name[TASKS];
static char names[TASKS][16];
static struct shortfalls *s;
static FILE *said;
static int before;

static int up(void **state)
{
        (void) state;
        for (unsigned i = 0; i < TASKS; i++) {
                (void) snprintf(names[i], sizeof(names[i]), "t%04u", i);
                tasks[i].name = names[i];
                tasks[i].singleton = PATH_FLOCK;
                by_name[i] = &tasks[i];
        }
        config = (struct config) { .tasks = tasks, .task_count = TASKS, .by_name = by_name };
        s = shortfalls_new(&config);
        assert_non_null(s);
        said = tmpfile();
        assert_non_null(said);
        before = log_use_fd(fileno(said));
        return 0;
}

static int down(void **state)
{
        (void) state;
        (void) log_use_fd(before);
        (void) fclose(said);
        s = shortfalls_free(s);
        return 0;
}

/* What was said so far, and how many lines that is. */
static const char *text(unsigned *ret_lines)
{
        static char all[65536];

        rewind(said);
        all[fread(all, 1, sizeof(all) - 1, said)] = '\0';
        *ret_lines = 0;
        for (const char *at = all; (at = strchr(at, '\n')); at++)
                (*ret_lines)++;
        return all;
}

static void assert_said(const char *what, unsigned lines)
{
        unsigned n;
        const char *all = text(&n);

        if (n != lines || !strstr(all, what))
                fail_msg("%u lines, not %u with \"%s\":\n%s", n, lines, what, all);
}

static void lose(const char *task, uint64_t count)
{
        struct instant_range range = { { 1000 }, { count * 1000 }, count };

        shortfall_range(s, task, &range, STATE_MISSED, CAUSE_NOBODY);
}

static void what_is_missed_is_named_with_its_reason(void **state)
{
        (void) state;
        lose("t0001", 47);
        assert_said("task t0001: 47 instants missed (nobody), from 1970-01-01T00:00:01.000Z to "
                    "1970-01-01T00:00:47.000Z\n", 1);
        lose("t0002", 1);
        assert_said("task t0002: the instant 1970-01-01T00:00:01.000Z missed (nobody)\n", 2);
}

static void what_a_policy_skips_is_no_shortfall(void **state)
{
        struct instant_range range = { { 1000 }, { 9000 }, 9 }, none = { { 0 }, { 0 }, 0 };

        (void) state;
        shortfall_range(s, "t0001", &range, STATE_SKIPPED, CAUSE_MISFIRE);
        shortfall_range(s, "t0001", &none, STATE_MISSED, CAUSE_NOBODY);
        shortfall_run(s, "t0001", "occ", STATE_SUCCEEDED, CAUSE_NONE, "");
        shortfall_range(s, "t0001", &range, STATE_UNKNOWN, CAUSE_BARRIER);
        assert_said("task t0001: 9 instants unknown (barrier), from ", 1);
}

static void a_task_has_a_line_a_minute_and_the_rest_is_counted(void **state)
{
        (void) state;
        lose("t0001", 5);
        lose("t0001", 7);
        shortfall_run(s, "t0001", "0123456789abcdef", STATE_INTERRUPTED, CAUSE_WORKER_DIED, "");
        assert_said("5 instants missed", 1);
        shortfall_run(s, "t0002", "0123456789abcdef", STATE_INTERRUPTED, CAUSE_WORKER_DIED, "");
        assert_said("task t0002: occurrence 0123456789ab interrupted (worker_died)\n", 2);
        shortfalls_age(s, 59000);
        lose("t0001", 1);
        assert_said("", 2);
        shortfalls_age(s, 1000);
        lose("t0001", 3);
        assert_said("task t0001: 3 instants missed (nobody), from 1970-01-01T00:00:01.000Z to "
                    "1970-01-01T00:00:03.000Z; 9 more since the last such line\n", 3);
}

static void a_thousand_tasks_are_no_thousand_lines(void **state)
{
        (void) state;
        for (unsigned i = 0; i < TASKS; i++)
                lose(names[i], 2);
        assert_said("more tasks have runs that did not succeed or instants that were not run", SHORTFALL_LINES + 1);
        shortfalls_age(s, 60000);
        lose("t0999", 1);
        assert_said("task t0999: the instant 1970-01-01T00:00:01.000Z missed (nobody); 2 more since", SHORTFALL_LINES + 3);
        assert_said("lines about runs and instants that were left out: 950\n", SHORTFALL_LINES + 3);
}

static void tasks_that_the_configuration_lost_share_a_line(void **state)
{
        (void) state;
        lose("gone", 2);
        lose("gone-too", 2);
        assert_said("task gone: 2 instants", 1);
}

/* The word alone sends a person to the manual. */
static void what_may_have_run_before_a_loss_is_said_in_words(void **state)
{
        struct instant_range range = { { 1000 }, { 9000 }, 9 };

        (void) state;
        tasks[1].singleton = PATH_REDIS;
        shortfall_range(s, "t0001", &range, STATE_UNKNOWN, CAUSE_BARRIER);
        assert_said("to 1970-01-01T00:00:09.000Z: may have run before Redis restarted, failed over or lost data; not run "
                    "again\n", 1);
        shortfall_range(s, "t0002", &range, STATE_UNKNOWN, CAUSE_BARRIER);
        assert_said(": may have run before the ledger was lost or put back; not run again\n", 2);
}

static void under_none_it_is_said_whose_timer_it_was(void **state)
{
        (void) state;
        tasks[1].singleton = PATH_NONE;
        lose("t0001", 2);
        assert_said("to 1970-01-01T00:00:02.000Z; each worker has its own timer\n", 1);
}

/* Of a dead process, by who hears of it. */
static void what_a_dead_owner_left_is_said(void **state)
{
        struct ended_record ended[] = {
                { .task = "t0001", .occ = "0123456789abcdef", .state = STATE_INTERRUPTED, .cause = CAUSE_WORKER_DIED },
                { .task = "t0002", .occ = "1123456789abcdef", .state = STATE_FAILED, .cause = CAUSE_NOT_SENT },
        };
        struct told_range told[] = {
                { .task = "t0003", .first = { 1000 }, .last = { 3000 }, .count = 3, .state = STATE_MISSED,
                  .cause = CAUSE_LOG },
                { .task = "t0004", .first = { 1000 }, .last = { 3000 }, .count = 3, .state = STATE_SKIPPED,
                  .cause = CAUSE_OVERLAP },
        };
        struct board *board;

        (void) state;
        assert_int_equal(board_create(1, &board), 0);
        int place = board_take(board, ROLE_WORKER, 0, 1);
        assert_true(place >= 0);
        ended_log(NULL, board_place(board, (unsigned) place), s, ended, 2);
        assert_said("task t0001: occurrence 0123456789ab interrupted (worker_died)\n", 1);
        told_log(NULL, s, told, 2);
        assert_said("task t0003: 3 instants missed (log), from ", 2);
        (void) board_free(board);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(what_is_missed_is_named_with_its_reason),
                CASE(what_a_policy_skips_is_no_shortfall),
                CASE(a_task_has_a_line_a_minute_and_the_rest_is_counted),
                CASE(a_thousand_tasks_are_no_thousand_lines),
                CASE(tasks_that_the_configuration_lost_share_a_line),
                CASE(what_may_have_run_before_a_loss_is_said_in_words),
                CASE(under_none_it_is_said_whose_timer_it_was),
                CASE(what_a_dead_owner_left_is_said),
        };

        return RUN_CASES(argc, argv, "shortfall", tests);
}
