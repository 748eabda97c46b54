/* Which file is the node's ledger: missing, foreign, older, newer and damaged ones are seen, named and kept,
 * and what an older copy may have forgotten never runs again. */
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/node_id.h"
#include "t/unit/cases.h"

/* Any call, for its error. */
static int probe(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        return c.error;
}

static void lead(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_LEAD };

        c.in.lead = (struct lead_in) { w->node, w->owner, w->boot, w->life };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        ledger_call_done(&c);
}

static struct claim_out claim(struct world *w, struct ask a)
{
        struct ask_texts texts;
        struct ledger_call c;

        ask_claim(w, &a, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.claim;
}

/* Opens, defines, and closes with everything in the one file. */
static void first_life(struct world *w)
{
        world_open(w);
        world_task(w, 1, -30);
        lead(w);
        world_close(w);
        w->life++;
}

static void put_back(struct world *w, const char *copy)
{
        char from[300];

        (void) snprintf(from, sizeof(from), "%s", state_path(w, copy));
        (void) unlink(state_path(w, "ledger.db-wal"));
        (void) unlink(state_path(w, "ledger.db-shm"));
        assert_int_equal(rename(from, state_path(w, "ledger.db")), 0);
}

static void expect_halt(struct world *w, const char *word)
{
        world_open(w);
        assert_int_equal(probe(w), -EUCLEAN);
        assert_int_equal(w->health, LEDGER_HALTED);
        if (!strstr(w->why, word) || !strstr(w->why, "onced recover --ledger -c FILE"))
                fail_msg("unexpected reason: %s", w->why);
        world_close(w);
}

static void files_are_private_and_closed_on_exec(void **state)
{
        struct world *w = *state;
        static const char *const files[] = { "ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock",
                                             "node_id" };
        struct stat st;
        world_open(w);
        world_task(w, 1, -10);

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                assert_int_equal(stat(state_path(w, files[i]), &st), 0);
                assert_int_equal(st.st_mode & 0777, 0600);
        }
        for (int fd = 3; fd < 64; fd++) {
                int flags = fcntl(fd, F_GETFD);
                char path[32], target[300] = "";
                (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                if (flags >= 0 && readlink(path, target, sizeof(target) - 1) > 0 &&
                    strncmp(target, w->config.state_dir, strlen(w->config.state_dir)) == 0)
                        assert_true(flags & FD_CLOEXEC);
        }
}

static void first_open_tells_node_id(void **state)
{
        struct world *w = *state;
        struct node_id n;
        world_open(w);
        assert_int_equal(probe(w), 0);

        assert_int_equal(w->health, LEDGER_UP);
        assert_int_equal(node_id_read(w->config.state_dir, &n), 0);
        assert_int_equal(strlen(n.incarnation), 32);
        assert_int_equal(n.life, 1);
        assert_string_equal(n.boot, w->boot);
        assert_false(n.clean);
        world_close(w);
        assert_int_equal(node_id_read(w->config.state_dir, &n), 0);
        assert_true(n.clean);
}

static void missing_ledger_halts_and_is_not_made_anew(void **state)
{
        struct world *w = *state;
        first_life(w);
        assert_int_equal(unlink(state_path(w, "ledger.db")), 0);

        expect_halt(w, "missing");
        assert_int_equal(access(state_path(w, "ledger.db"), F_OK), -1);
}

static void emptied_ledger_halts(void **state)
{
        struct world *w = *state;
        first_life(w);
        assert_int_equal(truncate(state_path(w, "ledger.db"), 0), 0);

        expect_halt(w, "empty");
}

static void garbage_halts_and_is_kept(void **state)
{
        struct world *w = *state;
        struct stat st;
        char noise[20000];
        first_life(w);
        memset(noise, 'x', sizeof(noise));
        int fd = open(state_path(w, "ledger.db"), O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, noise, sizeof(noise)), 0);
        (void) close(fd);

        expect_halt(w, "damaged");
        assert_int_equal(stat(state_path(w, "ledger.db"), &st), 0);
        assert_int_equal(st.st_size, sizeof(noise));
}

static void newer_layout_halts(void **state)
{
        struct world *w = *state;
        first_life(w);
        file_sql(w, "ledger.db", "PRAGMA user_version = 3");

        expect_halt(w, "layout 3");
}

static void other_database_halts(void **state)
{
        struct world *w = *state;
        first_life(w);
        file_sql(w, "ledger.db", "PRAGMA application_id = 7");

        expect_halt(w, "no ledger of onced");
}

static void foreign_ledger_halts(void **state)
{
        struct world *w = *state;
        first_life(w);
        file_sql(w, "ledger.db", "UPDATE meta SET incarnation = 'ffff'");

        expect_halt(w, "another ledger");
}

static void older_node_id_halts(void **state)
{
        struct world *w = *state;
        first_life(w);
        file_sql(w, "ledger.db", "UPDATE meta SET life = 9");

        expect_halt(w, "node_id is an older copy");
}

static void link_in_place_of_the_file_halts(void **state)
{
        struct world *w = *state;
        char moved[300];
        first_life(w);
        (void) snprintf(moved, sizeof(moved), "%s", state_path(w, "moved.db"));
        assert_int_equal(rename(state_path(w, "ledger.db"), moved), 0);
        assert_int_equal(symlink(moved, state_path(w, "ledger.db")), 0);

        expect_halt(w, "is no file");
}

static void ledger_removed_while_open_halts(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        world_open(w);
        world_task(w, 1, -10);
        assert_int_equal(unlink(state_path(w, "ledger.db")), 0);

        ask_claim(w, &(struct ask) { .at = -9, .expect = -10 }, &texts, &c);
        world_call(w, &c);
        assert_int_equal(c.error, -EUCLEAN);
        assert_int_equal(w->health, LEDGER_HALTED);
}

static void copy_of_an_earlier_life_runs_nothing_again(void **state)
{
        struct world *w = *state;
        first_life(w);
        file_sql(w, "ledger.db", "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL");
        char into[400];
        (void) snprintf(into, sizeof(into), "VACUUM INTO '%s'", state_path(w, "copy.db"));
        file_sql(w, "ledger.db", into);
        world_open(w);
        struct claim_out ran = claim(w, (struct ask) { .at = -29, .expect = -30 });
        assert_int_equal(ran.outcome, OUTCOME_GRANTED);
        world_close(w);
        w->life++;
        put_back(w, "copy.db");

        world_open(w);
        assert_int_equal(probe(w), 0);
        assert_non_null(strstr(w->why, "older copy"));
        struct claim_out again = claim(w, (struct ask) { .at = -29, .expect = -30 });
        assert_int_equal(again.outcome, OUTCOME_DECIDED);
        assert_int_equal(again.state, STATE_UNKNOWN);
        assert_int_equal(again.cause, CAUSE_BARRIER);
        /* Fences come from time: the lost counter does not bring an old one back. */
        file_sql(w, "ledger.db", "UPDATE meta SET barrier = NULL");
        struct claim_out next = claim(w, (struct ask) { .at = -28, .expect = -29 });
        assert_int_equal(next.outcome, OUTCOME_GRANTED);
        assert_true(strtoull(next.fence, NULL, 10) > strtoull(ran.fence, NULL, 10));
}

static void copy_taken_while_running_is_older_than_a_clean_stop(void **state)
{
        struct world *w = *state;
        char into[400];
        world_open(w);
        world_task(w, 1, -30);
        (void) snprintf(into, sizeof(into), "VACUUM INTO '%s'", state_path(w, "copy.db"));
        file_sql(w, "ledger.db", into);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        world_close(w);
        w->life++;
        put_back(w, "copy.db");

        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).cause, CAUSE_BARRIER);
}

/* Ledger and node_id together, as when the folder is put back; the witness lies elsewhere. */
static struct node_id node_aside;

static void state_aside(struct world *w)
{
        char into[400];

        file_sql(w, "ledger.db", "PRAGMA wal_checkpoint(TRUNCATE)");
        (void) snprintf(into, sizeof(into), "VACUUM INTO '%s'", state_path(w, "copy.db"));
        file_sql(w, "ledger.db", into);
        assert_int_equal(node_id_read(w->config.state_dir, &node_aside), 0);
}

static void state_put_back(struct world *w)
{
        put_back(w, "copy.db");
        assert_int_equal(node_id_write(w->config.state_dir, &node_aside), 0);
        w->life = node_aside.life + 1;
}

static void expect_barrier(struct world *w, const char *word)
{
        world_open(w);
        struct claim_out again = claim(w, (struct ask) { .at = -29, .expect = -30 });
        assert_int_equal(again.outcome, OUTCOME_DECIDED);
        assert_int_equal(again.cause, CAUSE_BARRIER);
        assert_int_equal(w->health, LEDGER_UP);
        if (!strstr(w->why, word) || !strstr(w->why, "unknown and do not run"))
                fail_msg("unexpected note: %s", w->why);
        world_close(w);
}

static void state_of_an_earlier_life_is_seen_by_the_witness(void **state)
{
        struct world *w = *state;
        first_life(w);
        state_aside(w);
        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        world_close(w);
        state_put_back(w);

        expect_barrier(w, "start 2 of node here-0a1b2c3d ran here, this knows of 1");
        /* Once: what runs from here on is known again. */
        w->life++;
        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -28, .expect = -29 }).cause, CAUSE_BARRIER);
        assert_string_equal(w->why, "");
}

static void state_copied_while_running_is_seen_by_the_witness(void **state)
{
        struct world *w = *state;
        world_open(w);
        world_task(w, 1, -30);
        state_aside(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        world_close(w);
        state_put_back(w);

        expect_barrier(w, "copy from the middle of start 1");
}

static void state_copied_while_running_is_another_file_also_without_a_witness(void **state)
{
        struct world *w = *state;
        world_open(w);
        world_task(w, 1, -30);
        state_aside(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        world_close(w);
        state_put_back(w);
        assert_int_equal(unlink(state_path(w, "witness")), 0);

        expect_barrier(w, "copy from the middle of start 1");
}

static void state_moved_after_a_clean_stop_is_the_same(void **state)
{
        struct world *w = *state;
        first_life(w);
        state_aside(w);
        state_put_back(w);

        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        assert_string_equal(w->why, "");
}

static void new_state_where_another_node_ran_has_a_barrier(void **state)
{
        struct world *w = *state;
        struct node_id n = { .node = "here-99999999" };
        first_life(w);
        assert_int_equal(unlink(state_path(w, "ledger.db")), 0);
        (void) unlink(state_path(w, "ledger.db-wal"));
        (void) unlink(state_path(w, "ledger.db-shm"));
        assert_int_equal(node_id_write(w->config.state_dir, &n), 0);
        w->node = n.node;
        w->life = 1;

        world_open(w);
        world_task(w, 1, -30);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).cause, CAUSE_BARRIER);
        assert_non_null(strstr(w->why, "node here-0a1b2c3d ran here last, this is here-99999999"));
        world_close(w);
}

static void run_dir_that_cannot_be_written_stops_nothing(void **state)
{
        struct world *w = *state;
        free(w->config.run_dir);
        w->config.run_dir = strdup("/proc/none");
        assert_non_null(w->config.run_dir);

        world_open(w);
        world_task(w, 1, -30);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        assert_string_equal(w->why, "");
}

static void gap_over_the_barrier_is_unknown_up_to_it(void **state)
{
        struct world *w = *state;
        char sql[100];
        first_life(w);
        (void) snprintf(sql, sizeof(sql), "UPDATE meta SET barrier = %lld", (long long) world_at(w, -20).ms);
        file_sql(w, "ledger.db", sql);
        world_open(w);

        struct claim_out c = claim(w, (struct ask) { .at = -9, .expect = -30, .gap_first = -29, .gap_last = -10 });
        assert_int_equal(c.outcome, OUTCOME_GRANTED);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count FROM record WHERE cause = 'barrier'"), 10);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count FROM record WHERE cause = 'misfire'"), 10);
}

static void power_loss_under_durability_process_sets_the_barrier(void **state)
{
        struct world *w = *state;
        w->config.durability = DURABILITY_PROCESS;
        world_open(w);
        world_task(w, 1, -30);
        world_close(w);
        file_sql(w, "ledger.db", "UPDATE meta SET clean = 0");
        struct node_id n;
        assert_int_equal(node_id_read(w->config.state_dir, &n), 0);
        n.clean = false;
        assert_int_equal(node_id_write(w->config.state_dir, &n), 0);
        w->life++;
        w->boot = "b117b117b117b117";

        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).cause, CAUSE_BARRIER);
}

static void clean_stop_before_a_reboot_needs_no_barrier(void **state)
{
        struct world *w = *state;
        w->config.durability = DURABILITY_PROCESS;
        world_open(w);
        world_task(w, 1, -30);
        world_close(w);
        w->life++;
        w->boot = "b117b117b117b117";

        world_open(w);
        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
}

static void write_after_a_clean_mark_takes_it_away(void **state)
{
        struct world *w = *state, *sibling = calloc(1, sizeof(*sibling));
        struct node_id n;
        world_open(w);
        world_task(w, 1, -30);
        assert_non_null(sibling);
        *sibling = *w;
        sibling->ledger = NULL;
        assert_int_equal(uv_loop_init(&sibling->loop), 0);
        world_open(sibling);
        assert_int_equal(probe(sibling), 0);
        world_close(sibling);
        assert_int_equal(uv_loop_close(&sibling->loop), 0);
        free(sibling);
        assert_int_equal(node_id_read(w->config.state_dir, &n), 0);
        assert_true(n.clean);

        assert_int_equal(claim(w, (struct ask) { .at = -29, .expect = -30 }).outcome, OUTCOME_GRANTED);
        assert_int_equal(node_id_read(w->config.state_dir, &n), 0);
        assert_false(n.clean);
        assert_int_equal(file_number(w, "ledger.db", "SELECT clean FROM meta"), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, sqlite_case, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(files_are_private_and_closed_on_exec),
                CASE(first_open_tells_node_id),
                CASE(missing_ledger_halts_and_is_not_made_anew),
                CASE(emptied_ledger_halts),
                CASE(garbage_halts_and_is_kept),
                CASE(newer_layout_halts),
                CASE(other_database_halts),
                CASE(foreign_ledger_halts),
                CASE(older_node_id_halts),
                CASE(link_in_place_of_the_file_halts),
                CASE(ledger_removed_while_open_halts),
                CASE(copy_of_an_earlier_life_runs_nothing_again),
                CASE(copy_taken_while_running_is_older_than_a_clean_stop),
                CASE(state_of_an_earlier_life_is_seen_by_the_witness),
                CASE(state_copied_while_running_is_seen_by_the_witness),
                CASE(state_copied_while_running_is_another_file_also_without_a_witness),
                CASE(state_moved_after_a_clean_stop_is_the_same),
                CASE(new_state_where_another_node_ran_has_a_barrier),
                CASE(run_dir_that_cannot_be_written_stops_nothing),
                CASE(gap_over_the_barrier_is_unknown_up_to_it),
                CASE(power_loss_under_durability_process_sets_the_barrier),
                CASE(clean_stop_before_a_reboot_needs_no_barrier),
                CASE(write_after_a_clean_mark_takes_it_away),
        };

        return RUN_CASES(argc, argv, "sqlite_identity", tests);
}
