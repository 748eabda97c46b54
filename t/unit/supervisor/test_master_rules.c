/* The master's rules as tables: restart, hang, election, moves of a slot, unsettled deaths, signals. */
#include "t/unit/cases.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/exits.h"
#include "supervisor/elect.h"
#include "supervisor/gone.h"
#include "supervisor/hang.h"
#include "supervisor/restart.h"
#include "supervisor/slot.h"
#include "supervisor/verb.h"

#define EXITED(code) W_EXITCODE(code, 0)
#define KILLED(sig) W_EXITCODE(0, sig)
#define MIDDLE (JITTER_SCALE / 2)   /* this jitter changes nothing */

static void restart_follows_its_table(void **state)
{
        (void) state;
        static const struct {
                const char *claim;
                struct death death;
                struct verdict verdict;
        } rows[] = {
                { "a long life is forgiven at once",
                  { KILLED(SIGKILL), true, STABLE_MS, 7 }, { RESTART_NOW, 0, 0 } },
                { "one millisecond less is a short life",
                  { KILLED(SIGKILL), true, STABLE_MS - 1, 0 }, { RESTART_AFTER_BACKOFF, 100, 1 } },
                { "the second death waits twice as long",
                  { KILLED(SIGSEGV), true, 10, 1 }, { RESTART_AFTER_BACKOFF, 200, 2 } },
                { "and so on",
                  { EXITED(EXIT_FAILED), true, 10, 4 }, { RESTART_AFTER_BACKOFF, 1600, 5 } },
                { "up to the limit",
                  { EXITED(EXIT_FAILED), false, 10, 40 }, { RESTART_AFTER_BACKOFF, BACKOFF_MAX_MS, 41 } },
                { "who never was ready had no long life",
                  { KILLED(SIGABRT), false, 60000, 0 }, { RESTART_AFTER_BACKOFF, 100, 1 } },
                { "an early end by own will is a short life too",
                  { EXITED(EXIT_FINE), true, 5, 2 }, { RESTART_AFTER_BACKOFF, 400, 3 } },
                { "an end by own will after a long life is followed at once",
                  { EXITED(EXIT_FINE), true, STABLE_MS + 1, 2 }, { RESTART_NOW, 0, 0 } },
                { "a configuration error is not tried again",
                  { EXITED(EXIT_CONFIGURATION), false, 10, 0 }, { RESTART_NEVER, 0, 0 } },
                { "nor after a long life",
                  { EXITED(EXIT_CONFIGURATION), true, 99999, 3 }, { RESTART_NEVER, 0, 3 } },
                { "a signal of the same number is no configuration error",
                  { KILLED(EXIT_CONFIGURATION & 0x3f), true, 99999, 0 }, { RESTART_NOW, 0, 0 } },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct verdict v = restart_verdict(&rows[i].death, MIDDLE);
                if (v.restart != rows[i].verdict.restart || v.after_ms != rows[i].verdict.after_ms ||
                    v.recent != rows[i].verdict.recent)
                        fail_msg("%s: got %d after %lld ms, recent %u", rows[i].claim, v.restart,
                                 (long long) v.after_ms, v.recent);
        }
}

static void jitter_stays_within_a_fifth_and_the_limit(void **state)
{
        (void) state;
        for (unsigned deaths = 1; deaths < 20; deaths++) {
                int64_t middle = restart_backoff_ms(deaths, MIDDLE);
                assert_true(restart_backoff_ms(deaths, 0) == middle * 4 / 5);
                for (unsigned j = 0; j <= JITTER_SCALE + 5; j++) {
                        int64_t ms = restart_backoff_ms(deaths, j);
                        assert_true(ms >= middle * 4 / 5 && ms <= middle * 6 / 5 && ms <= BACKOFF_MAX_MS);
                }
        }
        assert_int_equal(restart_backoff_ms(1, JITTER_SCALE), 120);
}

static struct mono at(int64_t ms)
{
        return (struct mono) { ms * NS_PER_MS };
}

static void hang_follows_its_table(void **state)
{
        (void) state;
        enum { BOOT = 10000, HANG = 4000, NOW = 100000 };
        static const struct {
                const char *claim;
                bool ready;
                int64_t born, said, beat, deaf, counted, set_up;
                enum hang hang;
                int64_t due;
        } rows[] = {
                { "starting, within its time", false, 95000, 0, 0, 0, 0, 0, HANG_NONE, 105000 },
                { "starting, time over", false, 90000, 0, 0, 0, 0, 0, HANG_BOOT, 100000 },
                { "beats do not replace READY", false, 90000, 0, 99999, 0, 0, 0, HANG_BOOT, 100000 },
                { "starting may last longer than hang_timeout", false, 93000, 0, 0, 0, 0, 0, HANG_NONE, 103000 },
                { "starting, one step nearer", false, 50000, 0, 0, 0, 0, 92000, HANG_NONE, 102000 },
                { "starting, no step for too long", false, 50000, 0, 99999, 0, 0, 90000, HANG_BOOT, 100000 },
                { "a step of the future is one of now", false, 50000, 0, 0, 0, 0, 999999, HANG_NONE, 110000 },
                { "steps do not replace beats", true, 1000, 2000, 96000, 0, 0, 99999, HANG_BEAT, 100000 },
                { "fresh beat", true, 1000, 2000, 99000, 0, 0, 0, HANG_NONE, 103000 },
                { "old beat", true, 1000, 2000, 96000, 0, 0, 0, HANG_BEAT, 100000 },
                { "one millisecond less", true, 1000, 2000, 96001, 0, 0, 0, HANG_NONE, 100001 },
                { "never a beat, just ready", true, 1000, 98000, 0, 0, 0, 0, HANG_NONE, 102000 },
                { "never a beat since", true, 1000, 90000, 0, 0, 0, 0, HANG_BEAT, 94000 },
                { "a beat of the future is one of now", true, 1000, 2000, 999999, 0, 0, 0, HANG_NONE, 104000 },
                { "after a pause beats count from its end", true, 1000, 2000, 50000, 0, 99500, 0, HANG_NONE, 103500 },
                { "after a pause a boot has its time anew", false, 50000, 0, 0, 0, 99500, 0, HANG_NONE, 109500 },
                { "the pause is long over", true, 1000, 2000, 50000, 0, 96000, 0, HANG_BEAT, 100000 },
                { "deaf, but perhaps ending", true, 1000, 2000, 99999, 97000, 0, 0, HANG_NONE, 101000 },
                { "deaf for too long, however it beats", true, 1000, 2000, 99999, 96000, 0, 0, HANG_DEAF, 100000 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct life_signs s = {
                        .said_ready = rows[i].ready, .born = at(rows[i].born), .ready = at(rows[i].said),
                        .beat = at(rows[i].beat), .deaf = at(rows[i].deaf), .counted_from = at(rows[i].counted),
                        .set_up = at(rows[i].set_up),
                };
                struct mono due;
                enum hang hang = hang_verdict(&s, at(NOW), BOOT, HANG, &due);
                if (hang != rows[i].hang || due.ns != at(rows[i].due).ns)
                        fail_msg("%s: got %d, due %lld", rows[i].claim, hang, (long long) (due.ns / NS_PER_MS));
        }
}

static void only_a_late_turn_of_the_master_is_a_pause(void **state)
{
        (void) state;
        assert_false(hang_was_pause(at(5000), at(4000)));
        assert_false(hang_was_pause(at(5000), at(6000)));
        assert_true(hang_was_pause(at(5000), at(6001)));
}

static void slots_with(struct slot *slots, const char *states)
{
        for (unsigned i = 0; states[i]; i++) {
                slot_init(&slots[i], i, ROLE_WORKER, NULL, NULL);
                slots[i].state = states[i] == 'r' ? SLOT_READY : states[i] == 'd' ? SLOT_DRAINING : SLOT_WAITING;
        }
}

static void election_follows_its_table(void **state)
{
        (void) state;
        static const struct {
                const char *claim, *states;
                int leader, elected;
        } rows[] = {
                { "the lowest ready slot leads", "wrr", -1, 1 },
                { "nobody is ready", "www", -1, -1 },
                { "a ready leader stays", "rrr", 2, 2 },
                { "a dead leader is replaced", "rrw", 2, 0 },
                { "a draining one too", "drr", 0, 1 },
                { "even by nobody", "dww", 0, -1 },
                { "a leader out of range is none", "rr", 7, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct slot slots[4];
                slots_with(slots, rows[i].states);
                int got = elect(slots, (unsigned) strlen(rows[i].states), rows[i].leader);
                if (got != rows[i].elected)
                        fail_msg("%s: got %d", rows[i].claim, got);
        }
}

static void a_slot_makes_only_legal_moves(void **state)
{
        (void) state;
        /* rows: from; columns: to; in the order of enum slot_state */
        static const char *const legal[SLOT_STATE_COUNT_] = {
                /*               e w s r d t k x */
                /* empty     */ ".w......",
                /* waiting   */ "w.w.....",
                /* starting  */ "ww.wwwww",
                /* ready     */ "ww..wwww",
                /* draining  */ "ww...www",
                /* stopping  */ "ww....ww",
                /* dying     */ "ww.....w",
                /* refused   */ "w.......",
        };

        for (int from = 0; from < SLOT_STATE_COUNT_; from++)
                for (int to = 0; to < SLOT_STATE_COUNT_; to++)
                        if (slot_may_go((enum slot_state) from, (enum slot_state) to) != (legal[from][to] == 'w'))
                                fail_msg("%s -> %s", slot_state_name((enum slot_state) from),
                                         slot_state_name((enum slot_state) to));
}

static void a_ready_slot_is_in_no_crash_loop(void **state)
{
        (void) state;
        struct slot s;

        slot_init(&s, 3, ROLE_WORKER, NULL, NULL);
        s.recent_deaths = CRASH_LOOP_DEATHS;
        s.state = SLOT_WAITING;
        assert_true(slot_in_crash_loop(&s));
        s.state = SLOT_STARTING;
        assert_true(slot_in_crash_loop(&s));
        s.state = SLOT_READY;
        assert_false(slot_in_crash_loop(&s));
        s.state = SLOT_WAITING;
        s.recent_deaths = CRASH_LOOP_DEATHS - 1;
        assert_false(slot_in_crash_loop(&s));
        s.state = SLOT_REFUSED;
        s.recent_deaths = 0;
        assert_true(slot_in_crash_loop(&s));
}

static void a_death_without_trees_is_told_once_and_settled(void **state)
{
        (void) state;
        struct gones g = { 0 };
        int place = -7;

        assert_null(gones_next(&g, at(1)));
        assert_int_equal(gones_add(&g, "n.0.10.5-ab", 4, -1), 0);
        struct gone *told = gones_next(&g, at(1));
        assert_non_null(told);
        told->asked = at(1);
        assert_null(gones_next(&g, at(2)));
        assert_false(gones_answered(&g, "n.0.11.5-ab", true, &place));   /* somebody else's */
        assert_true(gones_answered(&g, "n.0.10.5-ab", true, &place));
        assert_int_equal(place, 4);
        assert_int_equal(g.count, 0);
        gones_done(&g);
}

static void a_death_with_trees_is_settled_in_two_steps(void **state)
{
        (void) state;
        struct gones g = { 0 };
        int pipes[2], place = -7;

        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        assert_int_equal(gones_add(&g, "a", 1, pipes[0]), 0);
        assert_true(gones_have_trees(&g));
        gones_next(&g, at(1))->asked = at(1);
        assert_false(gones_answered(&g, "a", false, &place));
        assert_null(gones_next(&g, at(1000000)));            /* nothing to tell while the trees live */
        assert_false(gones_answered(&g, "a", true, &place)); /* an answer to what was not asked */
        (void) close(pipes[1]);
        gone_tree_ended(&g.list[0]);
        assert_false(gones_have_trees(&g));
        gones_next(&g, at(2))->asked = at(2);
        assert_true(gones_answered(&g, "a", true, &place));
        assert_int_equal(place, 1);
        gones_done(&g);
}

static void an_unanswered_death_is_told_to_each_new_timer_worker(void **state)
{
        (void) state;
        struct gones g = { 0 };
        int place;

        assert_int_equal(gones_add(&g, "a", 1, -1), 0);
        gones_next(&g, at(1))->asked = at(1);
        assert_null(gones_next(&g, at(2)));
        gones_repeat(&g);
        assert_non_null(gones_next(&g, at(2)));
        assert_false(gones_answered(&g, "a", true, &place));   /* not told to this one yet */
        gones_next(&g, at(2))->asked = at(2);
        assert_int_equal(gones_due(&g).ns, at(2 + GONE_REPEAT_MS).ns);
        assert_non_null(gones_next(&g, at(2 + GONE_REPEAT_MS)));   /* and again when no answer comes */
        assert_true(gones_answered(&g, "a", true, &place));
        gones_done(&g);
}

static void the_oldest_death_gives_its_place_to_a_birth(void **state)
{
        (void) state;
        struct gones g = { 0 };
        int place = -7;

        assert_int_equal(gones_give_place(&g), -1);
        assert_int_equal(gones_add(&g, "a", 5, -1), 0);
        assert_int_equal(gones_add(&g, "b", 6, -1), 0);
        assert_int_equal(gones_give_place(&g), 5);
        assert_int_equal(gones_give_place(&g), 6);
        assert_int_equal(gones_give_place(&g), -1);
        gones_next(&g, at(1))->asked = at(1);
        assert_true(gones_answered(&g, "a", true, &place));
        assert_int_equal(place, -1);                          /* nothing to release twice */
        gones_done(&g);
}

static void many_deaths_are_kept_and_the_list_has_an_end(void **state)
{
        (void) state;
        struct gones g = { 0 };
        char owner[32];
        int r = 0, n = 0;

        while (r == 0 && n < 100000) {
                (void) snprintf(owner, sizeof(owner), "w%d", n);
                r = gones_add(&g, owner, n, -1);
                n += r == 0;
        }
        assert_true(n > 1000 && n < 100000);
        gones_done(&g);
}

static void signals_are_verbs(void **state)
{
        (void) state;
        sigset_t s;

        assert_int_equal(verb_of_signal(SIGTERM), VERB_STOP);
        assert_int_equal(verb_of_signal(SIGINT), VERB_STOP);
        assert_int_equal(verb_of_signal(SIGQUIT), VERB_STOP_FAST);
        assert_int_equal(verb_of_signal(SIGHUP), VERB_RELOAD);
        assert_int_equal(verb_of_signal(SIGUSR1), VERB_REOPEN);
        assert_int_equal(verb_of_signal(SIGUSR2), VERB_UPGRADE);
        assert_int_equal(verb_of_signal(SIGTTIN), VERB_MORE);
        assert_int_equal(verb_of_signal(SIGTTOU), VERB_FEWER);
        assert_int_equal(verb_of_signal(SIGWINCH), VERB_NONE);
        assert_int_equal(verb_of_signal(SIGSEGV), VERB_NONE);
        verb_signals(&s);
        assert_true(sigismember(&s, SIGWINCH) && sigismember(&s, SIGPIPE) && sigismember(&s, SIGCHLD));
        assert_false(sigismember(&s, SIGSEGV));
        for (int v = VERB_NONE; v < VERB_COUNT_; v++)
                assert_non_null(verb_name((enum verb) v));
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(restart_follows_its_table),
                cmocka_unit_test(jitter_stays_within_a_fifth_and_the_limit),
                cmocka_unit_test(hang_follows_its_table),
                cmocka_unit_test(only_a_late_turn_of_the_master_is_a_pause),
                cmocka_unit_test(election_follows_its_table),
                cmocka_unit_test(a_slot_makes_only_legal_moves),
                cmocka_unit_test(a_ready_slot_is_in_no_crash_loop),
                cmocka_unit_test(a_death_without_trees_is_told_once_and_settled),
                cmocka_unit_test(a_death_with_trees_is_settled_in_two_steps),
                cmocka_unit_test(an_unanswered_death_is_told_to_each_new_timer_worker),
                cmocka_unit_test(the_oldest_death_gives_its_place_to_a_birth),
                cmocka_unit_test(many_deaths_are_kept_and_the_list_has_an_end),
                cmocka_unit_test(signals_are_verbs),
        };

        return RUN_CASES(argc, argv, "master rules", tests);
}
