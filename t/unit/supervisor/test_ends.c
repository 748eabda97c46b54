/* How a real master ends, what it refuses to begin with, and what it can be asked meanwhile. */
#include "t/unit/cases.h"
#include "t/unit/supervisor/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/channel/channel.h"
#include "common/exits.h"
#include "common/file.h"

static void play_all(struct stage *s, enum play play)
{
        for (int i = 0; i < CONSOLE; i++)
                s->notes->play[i] = play;
}

static void drained_workers_end_with_0(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGINT);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(s.notes->drains[0], 1);
        assert_int_equal(s.notes->drains[1], 1);
        assert_int_equal(s.notes->stops[0], 0);
        assert_int_equal(s.notes->drains[CONSOLE], 0);
        assert_int_equal(s.notes->stops[CONSOLE], 1);   /* last */
        assert_true(stage_roster_has(&s, "\"stop\""));
        stage_close(&s);
}

static void the_second_term_is_fast_and_killed_tasks_make_1(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        play_all(&s, PLAY_STUBBORN);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGTERM);
        UNTIL(s.notes->drains[0] && s.notes->drains[1]);
        assert_int_equal(s.notes->stops[0], 0);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_KILLED);
        assert_int_equal(s.notes->stops[0], 1);
        stage_close(&s);
}

static void the_third_term_kills(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        play_all(&s, PLAY_DEAD_EARS);
        stage_start(&s);
        assert_true(stage_ready(&s));
        struct mono begin = clock_mono();
        (void) kill(s.master, SIGTERM);
        UNTIL(s.notes->drains[0]);
        (void) kill(s.master, SIGTERM);
        UNTIL(s.notes->stops[0]);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_KILLED);
        assert_true(mono_since_ms(begin, clock_mono()) < 5000);
        stage_close(&s);
}

static void quit_is_fast_at_once(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGQUIT);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(s.notes->drains[0], 0);
        assert_int_equal(s.notes->stops[0], 1);
        stage_close(&s);
}

static void drain_timeout_makes_it_fast(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        play_all(&s, PLAY_STUBBORN);
        s.config.drain_timeout_ms = 200;
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_KILLED);
        assert_int_equal(s.notes->drains[0], 1);
        assert_int_equal(s.notes->stops[0], 1);
        stage_close(&s);
}

static void the_console_asks_the_same(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        s.notes->verb = VERB_RELOAD;
        UNTIL(stage_log_has(&s, "reload comes with a later version"));
        s.notes->verb = 999;
        UNTIL(stage_log_has(&s, "verb 999 is not for it to ask"));
        s.notes->verb = VERB_STOP;
        assert_int_equal(stage_end(&s), EXIT_FINE);
        stage_close(&s);
}

static void a_stop_before_ready_ends(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 2);
        play_all(&s, PLAY_CRASH);
        stage_start(&s);
        UNTIL(s.notes->births[0] >= 2);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        stage_close(&s);
}

static void children_end_with_a_killed_master_and_the_next_one_begins(void **state)
{
        (void) state;
        struct stage s;
        int pids[3];

        stage_open(&s, 2);
        s.notes->play[1] = PLAY_DEAF;        /* one that cannot see its channel's end */
        stage_start(&s);
        assert_true(stage_ready(&s));
        for (int i = 0; i < 2; i++)
                pids[i] = s.notes->pid[i];
        pids[2] = s.notes->pid[CONSOLE];
        (void) kill(s.master, SIGKILL);
        assert_int_equal(stage_end(&s), -SIGKILL);
        for (int i = 0; i < 3; i++)
                UNTIL(!stage_alive(pids[i]));
        s.notes->play[1] = PLAY_FAIR;
        stage_start(&s);                     /* over stale lock, socket and logs */
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        stage_close(&s);
}

static void a_second_instance_is_refused_at_once(void **state)
{
        (void) state;
        struct stage s;
        struct stat before, after;

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        assert_int_equal(stat(s.socket, &before), 0);
        struct mono begin = clock_mono();
        assert_int_equal(stage_code(stage_second(&s)), EXIT_HELD);
        assert_true(mono_since_ms(begin, clock_mono()) < 2000);
        assert_int_equal(stat(s.socket, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(s.notes->births[0], 1);
        assert_false(stage_facts(&s).draining);
        stage_close(&s);
}

static void the_lock_is_waited_for_while_keepers_linger(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        s.notes->keeper = true;
        s.config.boot_timeout_ms = 300;
        stage_start(&s);
        assert_true(stage_ready(&s));
        int keeper = s.notes->keeper_pid, worker = s.notes->pid[0];
        (void) kill(s.master, SIGKILL);
        (void) stage_end(&s);
        UNTIL(!stage_alive(worker));
        struct mono begin = clock_mono();
        assert_int_equal(stage_code(stage_second(&s)), EXIT_HELD);
        assert_true(mono_since_ms(begin, clock_mono()) >= 300);
        s.config.boot_timeout_ms = 10000;
        stage_start(&s);
        UNTIL(stage_alive(keeper));
        (void) kill(keeper, SIGKILL);
        assert_true(stage_ready(&s));
        stage_close(&s);
}

static void a_stop_ends_the_wait_for_the_lock(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        s.notes->keeper = true;
        stage_start(&s);
        assert_true(stage_ready(&s));
        int worker = s.notes->pid[0];
        (void) kill(s.master, SIGKILL);
        (void) stage_end(&s);
        UNTIL(!stage_alive(worker));
        stage_start(&s);
        (void) kill(s.master, SIGTERM);   /* pending, whenever it begins to wait */
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(s.notes->births[0], 1);
        stage_close(&s);
}

static int bind_at(const struct stage *s, bool listening)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void) folder_make(s->run_dir, 0755);
        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%s", s->socket);
        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        if (listening)
                assert_int_equal(listen(fd, 5), 0);
        return fd;
}

static void a_stale_socket_is_replaced(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        (void) close(bind_at(&s, false));
        stage_start(&s);
        assert_true(stage_ready(&s));
        stage_close(&s);
}

static void a_live_socket_is_left_alone(void **state)
{
        (void) state;
        struct stage s;
        struct stat st;

        stage_open(&s, 1);
        int fd = bind_at(&s, true);
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CANTCREAT);
        assert_int_equal(stat(s.socket, &st), 0);
        assert_int_equal(s.notes->births[0], 0);
        (void) close(fd);
        stage_close(&s);
}

static void what_is_no_socket_is_left_alone(void **state)
{
        (void) state;
        struct stage s;
        struct stat st;

        stage_open(&s, 1);
        (void) folder_make(s.run_dir, 0755);
        (void) close(open(s.socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CANTCREAT);
        assert_int_equal(stat(s.socket, &st), 0);
        assert_true(S_ISREG(st.st_mode));
        stage_close(&s);
}

static void folders_that_cannot_be_are_refused(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        (void) close(open(s.state_dir, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));   /* a file in its place */
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CANTCREAT);
        (void) unlink(s.state_dir);
        (void) mkdir(s.state_dir, 0700);
        (void) chmod(s.state_dir, 0777);                                         /* or one for everybody */
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CANTCREAT);
        stage_close(&s);
}

static void an_identity_not_understood_is_kept(void **state)
{
        (void) state;
        struct stage s;
        char path[128];
        struct stat st;

        stage_open(&s, 1);
        (void) mkdir(s.state_dir, 0700);
        (void) snprintf(path, sizeof(path), "%s/node_id", s.state_dir);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "garbage", 7), 7);
        (void) close(fd);
        stage_start(&s);
        assert_int_equal(stage_end(&s), EXIT_CANTCREAT);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 7);
        stage_close(&s);
}

static void usr1_opens_a_new_log_for_all(void **state)
{
        (void) state;
        struct stage s;
        char from[160], to[160];

        stage_open(&s, 2);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) snprintf(from, sizeof(from), "%s/onced.log", s.log_dir);
        (void) snprintf(to, sizeof(to), "%s/onced.log.1", s.log_dir);
        assert_int_equal(rename(from, to), 0);
        (void) kill(s.master, SIGUSR1);
        UNTIL(s.notes->reopens[0] && s.notes->reopens[1] && s.notes->reopens[CONSOLE]);
        assert_int_equal(s.notes->log_fds[0], 1);
        assert_int_equal(access(from, F_OK), 0);
        (void) kill(s.notes->pid[1], SIGKILL);
        UNTIL(stage_log_has(&s, "worker 1"));
        UNTIL(s.notes->births[1] == 2);                 /* the successor has the new one too */
        assert_true(stage_roster_has(&s, "\"rotate\""));
        assert_int_equal(s.notes->fds[1], 7);
        stage_close(&s);
}

static void later_verbs_are_named_and_change_nothing(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGHUP);
        UNTIL(stage_log_has(&s, "reload comes with a later version; restart instead"));
        (void) kill(s.master, SIGUSR2);
        UNTIL(stage_log_has(&s, "upgrade comes with a later version; restart instead"));
        (void) kill(s.master, SIGWINCH);
        (void) kill(s.master, SIGPIPE);
        assert_false(stage_facts(&s).draining);
        assert_int_equal(s.notes->births[0], 1);
        stage_close(&s);
}

static void ttin_and_ttou_change_the_number_of_workers(void **state)
{
        (void) state;
        struct stage s;

        stage_open(&s, 1);
        stage_start(&s);
        assert_true(stage_ready(&s));
        (void) kill(s.master, SIGTTIN);
        UNTIL(s.notes->births[1] == 1);
        UNTIL(stage_facts(&s).workers == 2);
        (void) kill(s.master, SIGTTOU);
        UNTIL(s.notes->drains[1] == 1);
        UNTIL(!stage_alive(s.notes->pid[1]));
        assert_int_equal(stage_facts(&s).workers, 1);
        (void) kill(s.master, SIGTTOU);                 /* one is the least */
        UNTIL(stage_log_has(&s, "the number of workers stays 1"));
        for (int wanted = 2; wanted <= 8; wanted++) {
                (void) kill(s.master, SIGTTIN);
                UNTIL(stage_facts(&s).workers == (unsigned) wanted);
        }
        (void) kill(s.master, SIGTTIN);                 /* and eight the most */
        UNTIL(stage_log_has(&s, "the number of workers stays 8"));
        for (int i = 0; i < 8; i++)
                UNTIL(s.notes->births[i] >= 1);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        stage_close(&s);
}

static bool told_manager(int fd, const char *text)
{
        char got[600];
        ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);

        if (n <= 0)
                return false;
        got[n] = 0;
        return strstr(got, text);
}

static void the_service_manager_is_told(void **state)
{
        (void) state;
        struct stage s;
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        stage_open(&s, 2);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%s/notify", s.folder);
        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        (void) setenv("NOTIFY_SOCKET", a.sun_path, 1);
        (void) setenv("WATCHDOG_USEC", "200000", 1);
        stage_start(&s);
        (void) unsetenv("NOTIFY_SOCKET");
        (void) unsetenv("WATCHDOG_USEC");
        assert_true(stage_ready(&s));
        UNTIL(told_manager(fd, "READY=1"));
        UNTIL(told_manager(fd, "WATCHDOG=1"));
        UNTIL(told_manager(fd, "WATCHDOG=1"));
        (void) kill(s.master, SIGTERM);
        UNTIL(told_manager(fd, "STOPPING=1"));
        assert_int_equal(stage_end(&s), EXIT_FINE);
        (void) close(fd);
        stage_close(&s);
}

/* The master's process as a service manager would start it: the socket as descriptor 3. */
static void a_passed_socket_is_used_and_not_removed(void **state)
{
        (void) state;
        struct stage s;
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        char pid[16];

        stage_open(&s, 1);
        int fd = bind_at(&s, true);
        (void) fflush(NULL);
        pid_t starter = fork();
        if (starter == 0) {   /* becomes the parent of the master, whose pid it must know before */
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
                (void) setenv("LISTEN_PID", pid, 1);
                (void) setenv("LISTEN_FDS", "1", 1);
                stage_become_master(&s, fd);
        }
        s.master = starter;
        (void) close(fd);
        UNTIL(s.notes->births[CONSOLE] == 1 && s.notes->leader == 0);
        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%s", s.socket);
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(client, (struct sockaddr *) &a, sizeof(a)), 0);
        (void) close(client);
        assert_int_equal(s.notes->fds[CONSOLE], 8);
        (void) kill(s.master, SIGTERM);
        assert_int_equal(stage_end(&s), EXIT_FINE);
        assert_int_equal(access(s.socket, F_OK), 0);
        stage_close(&s);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(drained_workers_end_with_0),
                cmocka_unit_test(the_second_term_is_fast_and_killed_tasks_make_1),
                cmocka_unit_test(the_third_term_kills),
                cmocka_unit_test(quit_is_fast_at_once),
                cmocka_unit_test(drain_timeout_makes_it_fast),
                cmocka_unit_test(the_console_asks_the_same),
                cmocka_unit_test(a_stop_before_ready_ends),
                cmocka_unit_test(children_end_with_a_killed_master_and_the_next_one_begins),
                cmocka_unit_test(a_second_instance_is_refused_at_once),
                cmocka_unit_test(the_lock_is_waited_for_while_keepers_linger),
                cmocka_unit_test(a_stop_ends_the_wait_for_the_lock),
                cmocka_unit_test(a_stale_socket_is_replaced),
                cmocka_unit_test(a_live_socket_is_left_alone),
                cmocka_unit_test(what_is_no_socket_is_left_alone),
                cmocka_unit_test(folders_that_cannot_be_are_refused),
                cmocka_unit_test(an_identity_not_understood_is_kept),
                cmocka_unit_test(usr1_opens_a_new_log_for_all),
                cmocka_unit_test(later_verbs_are_named_and_change_nothing),
                cmocka_unit_test(ttin_and_ttou_change_the_number_of_workers),
                cmocka_unit_test(the_service_manager_is_told),
                cmocka_unit_test(a_passed_socket_is_used_and_not_removed),
        };

        return RUN_CASES(argc, argv, "ends", tests);
}
