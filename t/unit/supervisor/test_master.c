/* A real master and its children's lives: births, deaths, who leads, what is told. */
#include "t/unit/cases.h"
#include "t/unit/supervisor/stage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/channel/channel.h"
#include "common/cleanup.h"
#include "common/exits.h"

static void ready_is_said_when_all_are(void **state)
{
        (void) state;
        struct stage s;
        struct stat st;

        stage_open(&s, 3);
        stage_start(&s);
        assert_true(stage_ready(&s));
        for (int i = 0; i < 3; i++)
                assert_int_equal(s.notes->births[i], 1);
        assert_int_equal(s.notes->births[CONSOLE], 1);
        UNTIL(s.notes->leader >= 0);   /* chosen by then, but it may not have read so yet */
        UNTIL(stage_facts(&s).ready);
        assert_int_equal(stage_facts(&s).workers, 3);
        assert_int_equal(stat(s.socket, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0660);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(stat(s.socket, &st), -1);
        stage_close(&s);
}

static void a_silent_worker_keeps_ready_back(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.notes->play[1] = PLAY_SILENT;
        s.config.boot_timeout_ms = 300;
        stage_start(&s);
        UNTIL(s.notes->leads[0] == 1);
        UNTIL(s.notes->births[1] >= 2);   /* ended by boot_timeout, and tried again */
        assert_true(stage_log_has(&s, "is not ready in time"));
        s.notes->play[1] = PLAY_FAIR;
        assert_true(stage_ready(&s));
        stage_close(&s);
}

static void a_child_is_born_by_the_list(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        /* 0, 1, 2, channel, tree pipe, node lock, log; the console has the listener too */
        assert_int_equal(s.notes->fds[0], 7);
        assert_int_equal(s.notes->fds[CONSOLE], 8);
        assert_int_equal(s.notes->blocked[0], 0);
        assert_int_equal(s.notes->term_default[0], 1);
        assert_int_equal(s.notes->ppid[0], s.master);
        stage_close(&s);
}

static void signals_of_a_group_are_the_masters_alone(void **state)
{
        (void) state;
        static const int signals[] = {
                SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH,
        };
        struct stage s;

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                (void) kill(s.notes->pid[0], signals[i]);
                (void) kill(s.notes->pid[CONSOLE], signals[i]);
        }
        (void) stage_facts(&s);   /* the console lives on */
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(s.notes->drains[0], 1);
        assert_int_equal(s.notes->births[0] + s.notes->births[CONSOLE], 2);
        stage_close(&s);
}

static void a_birth_that_fails_is_tried_again(void **state)
{
        (void) state;
        struct stage s;
        struct rlimit before, none;

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        assert_int_equal(prlimit(s.master, RLIMIT_NOFILE, NULL, &before), 0);
        none = before;
        none.rlim_cur = 10;   /* below the open ones, above the number of those polled */
        assert_int_equal(prlimit(s.master, RLIMIT_NOFILE, &none, NULL), 0);
        (void) kill(s.notes->pid[1], SIGKILL);
        UNTIL(stage_log_has(&s, "worker 1 cannot be started"));
        assert_int_equal(s.notes->births[1], 1);
        assert_int_equal(prlimit(s.master, RLIMIT_NOFILE, &before, NULL), 0);
        UNTIL(s.notes->readies[1] == 2);
        stage_close(&s);
}

static void a_killed_worker_is_replaced_and_its_death_told(void **state)
{
        (void) state;
        struct stage s;
        char owner[OWNER_TEXT], line[64];

        stage_open(&s, 3);
        stage_start(&s);
        assert_true(stage_ready(&s));
        memcpy(owner, s.notes->owner[1], sizeof(owner));
        int pid = s.notes->pid[1];
        (void) kill(pid, SIGKILL);
        UNTIL(s.notes->births[1] == 2);
        UNTIL(stage_told(&s, owner, 1));
        assert_null(stage_told(&s, owner, 0));
        assert_int_equal(s.notes->births[0], 1);
        assert_int_equal(s.notes->births[2], 1);
        (void) snprintf(line, sizeof(line), "\"pid\":%d", pid);
        assert_true(stage_roster_has(&s, line));
        struct master_facts f = stage_facts(&s);
        assert_int_equal(f.last_exit[1], SIGKILL);
        assert_int_equal(f.crashes, 1);
        UNTIL(stage_facts(&s).restarts == 1);
        stage_close(&s);
}

static void another_leads_without_waiting_for_the_successor(void **state)
{
        (void) state;
        struct stage s;
        char owner[OWNER_TEXT];

        stage_open(&s, 3);
        stage_start(&s);
        assert_true(stage_ready(&s));
        UNTIL(s.notes->leader >= 0);
        int old = s.notes->leader;
        memcpy(owner, s.notes->owner[old], sizeof(owner));
        s.notes->play[old] = PLAY_CRASH;   /* no successor comes up */
        (void) kill(s.notes->pid[old], SIGKILL);
        UNTIL(s.notes->leader != old);
        UNTIL(stage_told(&s, owner, 1));
        assert_int_equal(stage_told(&s, owner, 1)->by, s.notes->leader);
        assert_int_equal(s.notes->leader, old == 0 ? 1 : 0);   /* the lowest that is ready */
        stage_close(&s);
}

static void an_unanswered_death_is_told_to_the_next_leader(void **state)
{
        (void) state;
        struct stage s;
        char owner[OWNER_TEXT];

        stage_open(&s, 3);
        s.notes->mute = true;
        stage_start(&s);
        assert_true(stage_ready(&s));
        UNTIL(s.notes->leader >= 0);
        int first = s.notes->leader, victim = first == 2 ? 1 : 2;
        memcpy(owner, s.notes->owner[victim], sizeof(owner));
        (void) kill(s.notes->pid[victim], SIGKILL);
        UNTIL(stage_told(&s, owner, 1));
        assert_int_equal(stage_told(&s, owner, 1)->by, first);
        s.notes->mute = false;
        s.notes->told_count = 0;
        struct mono killed = clock_mono();
        (void) kill(s.notes->pid[first], SIGKILL);
        UNTIL(stage_told(&s, owner, 1));
        assert_true(mono_since_ms(killed, clock_mono()) < 3000);   /* not by the repetition in time */
        assert_int_not_equal(stage_told(&s, owner, 1)->by, first);
        stage_close(&s);
}

static void trees_of_the_dead_are_told_at_their_end(void **state)
{
        (void) state;
        struct stage s;
        char owner[OWNER_TEXT];

        stage_open(&s, 1);
        s.notes->keeper = true;
        stage_start(&s);
        assert_true(stage_ready(&s));
        memcpy(owner, s.notes->owner[0], sizeof(owner));
        int keeper = s.notes->keeper_pid;
        (void) kill(s.notes->pid[0], SIGKILL);
        UNTIL(stage_told(&s, owner, 0));
        UNTIL(s.notes->births[0] == 2);
        assert_null(stage_told(&s, owner, 1));
        (void) kill(keeper, SIGKILL);
        UNTIL(stage_told(&s, owner, 1));
        UNTIL(!stage_alive(keeper));
        stage_close(&s);
}

/* 8 workers have 33 places: the living need 9, so that 24 unsettled deaths fill the rest. */
static void more_deaths_than_places_stop_no_birth(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 8);
        s.notes->mute = true;
        stage_start(&s);
        assert_true(stage_ready(&s));
        int fds = stage_master_fds(&s);
        for (int life = 1; life <= 5; life++) {
                for (int i = 0; i < 8; i++)
                        UNTIL(s.notes->readies[i] == life);
                for (int i = 0; i < 8; i++)
                        (void) kill(s.notes->pid[i], SIGKILL);
        }
        for (int i = 0; i < 8; i++)
                UNTIL(s.notes->readies[i] == 6);
        assert_false(stage_log_has(&s, "cannot be started"));
        s.notes->mute = false;
        s.notes->told_count = 0;
        (void) kill(s.notes->pid[s.notes->leader], SIGKILL);
        UNTIL(s.notes->told_count >= 40);   /* none of them was forgotten */
        UNTIL(stage_master_fds(&s) == fds);  /* and none left a descriptor behind */
        stage_close(&s);
}

static void a_crash_loop_backs_off_and_gives_up(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.notes->play[0] = s.notes->play[1] = PLAY_CRASH;
        s.config.give_up = true;
        struct mono begin = clock_mono();
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CRASH_LOOP);
        /* four pauses of 100, 200, 400 and 800 ms, a fifth less by jitter */
        assert_true(mono_since_ms(begin, clock_mono()) >= 1200);
        assert_int_equal(s.notes->births[0], 5);
        assert_true(stage_log_has(&s, "degraded"));
        stage_close(&s);
}

static void a_crash_loop_of_all_is_named_and_its_end_too(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        s.notes->play[0] = PLAY_CRASH;
        stage_start(&s);
        UNTIL(stage_facts(&s).degraded);
        s.notes->play[0] = PLAY_FAIR;
        assert_true(stage_ready(&s));
        UNTIL(!stage_facts(&s).degraded);
        stage_close(&s);
}

static void a_configuration_that_all_refuse_ends_with_78(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.notes->play[0] = s.notes->play[1] = PLAY_REFUSE;
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CONFIGURATION);
        assert_int_equal(s.notes->births[0], 1);
        assert_int_equal(s.notes->births[1], 1);
        stage_close(&s);
}

static void a_dead_console_comes_back_with_its_socket(void **state)
{
        (void) state;
        struct stage s;
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.notes->pid[CONSOLE], SIGKILL);
        UNTIL(s.notes->births[CONSOLE] == 2);
        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%s", s.socket);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        (void) close(fd);
        assert_int_equal(s.notes->births[0], 1);
        stage_close(&s);
}

static void a_stopped_worker_is_ended_and_replaced(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.config.hang_timeout_ms = 400;
        stage_start(&s);
        assert_true(stage_ready(&s));
        int pid = s.notes->pid[1];
        (void) kill(pid, SIGSTOP);
        UNTIL(s.notes->births[1] == 2);
        UNTIL(!stage_alive(pid));
        assert_true(stage_log_has(&s, "worker 1 (pid") && stage_log_has(&s, "does not beat"));
        assert_true(stage_log_has(&s, "state T"));   /* the evidence */
        assert_int_equal(stage_facts(&s).hangs, 1);
        assert_int_equal(stage_facts(&s).crashes, 0);
        assert_int_equal(s.notes->births[0], 1);
        stage_close(&s);
}

static void a_pause_of_all_kills_nobody(void **state)
{
        (void) state;
        struct stage s;
        int first[3];

        stage_open(&s, 2);
        s.config.hang_timeout_ms = 1200;
        stage_start(&s);
        assert_true(stage_ready(&s));
        for (int i = 0; i < 2; i++)
                first[i] = s.notes->pid[i];
        first[2] = s.notes->pid[CONSOLE];
        (void) kill(s.master, SIGSTOP);
        for (int i = 0; i < 3; i++)
                (void) kill(first[i], SIGSTOP);
        (void) sleep(3);   /* the pause is what is tested */
        (void) kill(s.master, SIGCONT);
        UNTIL(stage_log_has(&s, "stood still"));
        for (int i = 0; i < 3; i++)
                (void) kill(first[i], SIGCONT);
        struct master_facts f = stage_facts(&s);
        assert_int_equal(f.hangs, 0);
        assert_int_equal(s.notes->births[0] + s.notes->births[1] + s.notes->births[CONSOLE], 3);
        stage_close(&s);
}

static void a_deaf_child_is_ended(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.config.hang_timeout_ms = 300;
        s.notes->play[1] = PLAY_DEAF;
        stage_start(&s);
        UNTIL(s.notes->births[1] == 2);
        assert_true(stage_log_has(&s, "has closed its channel"));
        stage_close(&s);
}

static void messages_in_anothers_name_change_nothing(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        s.notes->play[0] = PLAY_LIAR;
        stage_start(&s);
        UNTIL(s.notes->leads[1] == 1);                        /* 0 would have been chosen */
        UNTIL(stage_log_has(&s, "is not for it to ask"));     /* the last of its lies */
        assert_true(stage_log_has(&s, "is not its own"));
        assert_true(stage_log_has(&s, "malformed"));
        assert_int_equal(s.notes->leads[0], 0);
        assert_false(stage_facts(&s).draining);
        stage_close(&s);
}

static void strangers_are_reaped_and_touch_nothing(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        s.notes->stranger = 20;
        UNTIL(stage_facts(&s).strangers == 20);
        assert_int_equal(stage_facts(&s).crashes, 0);
        assert_int_equal(s.notes->births[0], 1);
        stage_close(&s);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ready_is_said_when_all_are),
                cmocka_unit_test(a_silent_worker_keeps_ready_back),
                cmocka_unit_test(a_child_is_born_by_the_list),
                cmocka_unit_test(signals_of_a_group_are_the_masters_alone),
                cmocka_unit_test(a_birth_that_fails_is_tried_again),
                cmocka_unit_test(a_killed_worker_is_replaced_and_its_death_told),
                cmocka_unit_test(another_leads_without_waiting_for_the_successor),
                cmocka_unit_test(an_unanswered_death_is_told_to_the_next_leader),
                cmocka_unit_test(trees_of_the_dead_are_told_at_their_end),
                cmocka_unit_test(more_deaths_than_places_stop_no_birth),
                cmocka_unit_test(a_crash_loop_backs_off_and_gives_up),
                cmocka_unit_test(a_crash_loop_of_all_is_named_and_its_end_too),
                cmocka_unit_test(a_configuration_that_all_refuse_ends_with_78),
                cmocka_unit_test(a_dead_console_comes_back_with_its_socket),
                cmocka_unit_test(a_stopped_worker_is_ended_and_replaced),
                cmocka_unit_test(a_pause_of_all_kills_nobody),
                cmocka_unit_test(a_deaf_child_is_ended),
                cmocka_unit_test(messages_in_anothers_name_change_nothing),
                cmocka_unit_test(strangers_are_reaped_and_touch_nothing),
        };

        return RUN_CASES(argc, argv, "master", tests);
}
