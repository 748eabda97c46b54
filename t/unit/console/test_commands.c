/* The commands against a console of their own, and without one. */
#include "t/unit/cases.h"
#include "t/unit/console/fake_ledgers.h"
#include "t/unit/console/world.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/buf.h"
#include "common/exits.h"
#include "common/file.h"

struct said {
        int code;
        char *out, *err;
};

int usage_error(const char *command, const char *format, ...)
{
        va_list ap;

        fprintf(stderr, "usage of %s: ", command);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        return EXIT_USAGE;
}

static char *slurp(FILE *f)
{
        struct buf all = BUF_EMPTY;
        char chunk[4096];
        size_t n;

        rewind(f);
        while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
                buf_add(&all, chunk, n);
        (void) fclose(f);
        return buf_take(&all);
}

/* There when the address sanitizer is. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Runs one command in a child; `words`: its name and arguments, NULL-terminated. */
static struct said run(int (*command)(int, char **), const char *const *words)
{
        FILE *out = tmpfile(), *err = tmpfile();
        struct said s;
        int status, argc = 0;
        char *argv[16] = { NULL };

        assert_non_null(out);
        assert_non_null(err);
        for (; words[argc]; argc++)
                argv[argc] = strdup(words[argc]);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) signal(SIGSEGV, SIG_DFL);
                (void) signal(SIGABRT, SIG_DFL);
                (void) dup2(fileno(out), 1);
                (void) dup2(fileno(err), 2);
                int code = command(argc, argv);
                (void) fflush(NULL);
                if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
                        code = 99;
                _exit(code);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        for (int i = 0; i < argc; i++)
                free(argv[i]);
        s.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        s.out = slurp(out);
        s.err = slurp(err);
        return s;
}

static void said_done(struct said *s)
{
        free(s->out);
        free(s->err);
}

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void expect(struct said s, int code, const char *out, const char *err)
{
        if (s.code != code)
                fail_msg("code %d: %s%s", s.code, s.out, s.err);
        if (!strstr(s.out, out))
                fail_msg("no \"%s\" in: %s", out, s.out);
        if (!strstr(s.err, err))
                fail_msg("no \"%s\" in: %s", err, s.err);
        said_done(&s);
}

struct node {
        struct world w;
        int channel, pid;
};

static void node_up(struct node *n, size_t tasks)
{
        world_init(&n->w, 2, tasks);
        world_master(&n->w, true, false);
        unsigned place = world_add(&n->w, ROLE_WORKER, 0, 1, 100);
        board_set_timer_worker(n->w.board, place, true);
        world_add(&n->w, ROLE_WORKER, 1, 1, 60000);
        n->channel = world_console(&n->w, &n->pid);
        assert_int_equal(setenv("ONCED_SOCKET", n->w.socket, 1), 0);
}

static void node_down(struct node *n)
{
        assert_int_equal(world_console_end(n->channel, n->pid), 0);
        world_done(&n->w);
        assert_int_equal(unsetenv("ONCED_SOCKET"), 0);
        fake_sqlite = (struct fake_ledger) { 0 };
}

static void each_command_shows_its_table(void **state)
{
        struct node n;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .rows = 3 };
        node_up(&n, 3);
        expect(run(command_status, WORDS("status")), 0, "state          ready\n", "");
        expect(run(command_status, WORDS("status")), 0, "2 of 2 ready, 1 stale\n", "");
        expect(run(command_workers, WORDS("workers")), 0, "ready, STALE", "");
        expect(run(command_workers, WORDS("workers")), 0, "signal 9 (KILL)", "");
        expect(run(command_tasks, WORDS("tasks")), 0, "\ntask-2  auto   flock  noop    every 1s", "");
        expect(run(command_history, WORDS("history")), 0, "\n1970-01-01 00:00:03.000Z  sqlite", "");
        expect(run(command_metrics, WORDS("metrics")), 0, "\n# EOF\n", "");
        node_down(&n);
}

static void each_command_speaks_json(void **state)
{
        static const struct { int (*run)(int, char **); const char *name, *member; } commands[] = {
                { command_status, "status", "node" },         { command_workers, "workers", "workers" },
                { command_tasks, "tasks", "tasks" },          { command_history, "history", "occurrences" },
                { command_metrics, "metrics", "in_flight" },
        };
        struct node n;
        (void) state;

        node_up(&n, 3);
        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
                struct said s = run(commands[i].run, WORDS(commands[i].name, "--json"));
                json_auto_t *j = json_loads(s.out, 0, NULL);
                if (s.code != 0 || !json_object_get(j, commands[i].member))
                        fail_msg("%s: %d %s %s", commands[i].name, s.code, s.out, s.err);
                said_done(&s);
        }
        node_down(&n);
}

static void all_pages_of_tasks_are_fetched(void **state)
{
        struct node n;
        (void) state;

        node_up(&n, 2500);
        struct said s = run(command_tasks, WORDS("tasks", "--json"));
        json_auto_t *j = json_loads(s.out, 0, NULL);
        json_t *list = json_object_get(j, "tasks");
        assert_int_equal(json_array_size(list), 2500);
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 2499), "name")), "task-2499");
        said_done(&s);
        node_down(&n);
}

static void the_socket_option_goes_before_the_environment(void **state)
{
        struct node n;
        (void) state;

        node_up(&n, 1);
        expect(run(command_status, WORDS("status", "--socket=/nonexistent/sock")), 70, "", "/nonexistent/sock");
        assert_int_equal(setenv("ONCED_SOCKET", "/nonexistent/other", 1), 0);
        expect(run(command_status, WORDS("status")), 70, "", "/nonexistent/other");
        expect(run(command_status, WORDS("status", "--socket", n.w.socket)), 0, "ready", "");
        /* A proxy is for the network, not for this. */
        assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
        expect(run(command_status, WORDS("status", "--socket", n.w.socket)), 0, "ready", "");
        assert_int_equal(unsetenv("http_proxy"), 0);
        node_down(&n);
}

static void wrong_arguments_are_usage_errors(void **state)
{
        (void) state;

        assert_int_equal(setenv("ONCED_SOCKET", "/nonexistent/sock", 1), 0);
        expect(run(command_status, WORDS("status", "--sockt", "x")), 64, "", "unknown option --sockt");
        expect(run(command_status, WORDS("status", "extra")), 64, "", "unexpected argument extra");
        expect(run(command_status, WORDS("status", "--socket")), 64, "", "--socket wants a value");
        expect(run(command_status, WORDS("status", "--socket", "a", "--socket", "b")), 64, "", "given twice");
        expect(run(command_history, WORDS("history", "a", "b")), 64, "", "unexpected argument b");
        expect(run(command_history, WORDS("history", "--state", "faild")), 64, "", "did you mean failed");
        expect(run(command_history, WORDS("history", "--state", "zzz")), 64, "",
               "none of queued, running, succeeded, failed, interrupted, unknown, skipped, missed");
        expect(run(command_history, WORDS("history", "--limit=0")), 64, "", "limit: ");
        expect(run(command_history, WORDS("history", "--since", "noon")), 64, "", "since: ");
        expect(run(command_status, WORDS("status", "-c", "/nonexistent.yaml")), 78, "", "/nonexistent.yaml");
        expect(run(command_status, WORDS("status", "-c", "/nonexistent.yaml")), 78, "", "--socket PATH instead of -c");
        assert_int_equal(unsetenv("ONCED_SOCKET"), 0);
}

static void without_an_instance_the_cure_is_named(void **state)
{
        struct world w;
        (void) state;

        world_init(&w, 1, 0);
        expect(run(command_workers, WORDS("workers", "--socket", w.socket)), 70, "", "start one with `onced run FILE`");
        expect(run(command_tasks, WORDS("tasks", "--socket", w.socket)), 70, "", w.socket);
        expect(run(command_history, WORDS("history", "--socket", w.socket)), 70, "", w.socket);
        world_done(&w);
}

/* A socket whose owner was killed: the file is there, nobody listens. */
static void a_stale_socket_is_no_instance(void **state)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct world w;
        (void) state;

        world_init(&w, 1, 0);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void) snprintf(at.sun_path, sizeof(at.sun_path), "%s", w.socket);
        assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        (void) close(fd);
        expect(run(command_status, WORDS("status", "--socket", w.socket)), 70, "", "no instance answers");
        world_done(&w);
}

static void without_an_instance_the_configuration_is_read(void **state)
{
        static const char text[] = "workers: 1\ntasks:\n  - { name: mail, every: 1h, timeout: 1s, noop: {} }\n";
        struct world w;
        char path[128];
        (void) state;

        fake_sqlite = (struct fake_ledger) { .rows = 2 };
        world_init(&w, 1, 0);
        (void) snprintf(path, sizeof(path), "%s/c.yaml", w.dir);
        assert_int_equal(file_replace(path, text, sizeof(text) - 1, 0600), 0);
        expect(run(command_tasks, WORDS("tasks", "--socket", w.socket, "-c", path)), 0, "mail  auto   flock  noop    every 1h",
               "no instance answers");
        expect(run(command_history, WORDS("history", "--socket", w.socket, "-c", path)), 0, "1970-01-01 00:00:02.000Z",
               "reading the ledger");
        expect(run(command_status, WORDS("status", "--socket", w.socket, "-c", path)), 70, "", "no instance answers");
        fake_sqlite = (struct fake_ledger) { .error = -EUCLEAN, .why = "the ledger is damaged" };
        expect(run(command_history, WORDS("history", "--socket", w.socket, "-c", path)), 70, "", "the ledger is damaged");
        world_done(&w);
        fake_sqlite = (struct fake_ledger) { 0 };
}

static void no_history_of_no_task_is_said(void **state)
{
        static const char text[] = "workers: 1\ntasks:\n  - { name: mail, every: 1h, timeout: 1s, noop: {} }\n";
        struct node n;
        struct world w;
        char path[128];
        (void) state;

        node_up(&n, 3);
        expect(run(command_history, WORDS("history", "task-9")), 70, "", "the configuration has no task of this name");
        expect(run(command_history, WORDS("history", "task-1")), 0, "PLANNED", "");
        node_down(&n);

        world_init(&w, 1, 0);
        (void) snprintf(path, sizeof(path), "%s/c.yaml", w.dir);
        assert_int_equal(file_replace(path, text, sizeof(text) - 1, 0600), 0);
        expect(run(command_history, WORDS("history", "male", "--socket", w.socket, "-c", path)), 70, "",
               "the configuration has no task male");
        expect(run(command_history, WORDS("history", "mail", "--socket", w.socket, "-c", path)), 0, "PLANNED", "");
        world_done(&w);
}

/* What listens may be anything. */
static void what_is_not_the_api_is_said_to_be_none(void **state)
{
        static const struct { const char *says, *err; } others[] = {
                { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "does not speak the API" },
                { "HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\nhello", "answered with status 500" },
                { "SSH-2.0-x\r\n", "asking " },
                { "", "asking " },
        };
        (void) state;

        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
                struct sockaddr_un at = { .sun_family = AF_UNIX };
                struct world w;
                char request[4096];

                world_init(&w, 1, 0);
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                (void) snprintf(at.sun_path, sizeof(at.sun_path), "%s", w.socket);
                assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
                assert_int_equal(listen(fd, 4), 0);
                pid_t pid = fork();
                assert_true(pid >= 0);
                if (pid == 0) {
                        int one = accept(fd, NULL, NULL);
                        (void) !read(one, request, sizeof(request));
                        (void) !write(one, others[i].says, strlen(others[i].says));
                        _exit(0);
                }
                (void) close(fd);
                expect(run(command_status, WORDS("status", "--socket", w.socket)), 70, "", others[i].err);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                world_done(&w);
        }
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_command_shows_its_table),
                cmocka_unit_test(each_command_speaks_json),
                cmocka_unit_test(all_pages_of_tasks_are_fetched),
                cmocka_unit_test(the_socket_option_goes_before_the_environment),
                cmocka_unit_test(wrong_arguments_are_usage_errors),
                cmocka_unit_test(without_an_instance_the_cure_is_named),
                cmocka_unit_test(a_stale_socket_is_no_instance),
                cmocka_unit_test(without_an_instance_the_configuration_is_read),
                cmocka_unit_test(no_history_of_no_task_is_said),
                cmocka_unit_test(what_is_not_the_api_is_said_to_be_none),
        };

        (void) unsetenv("ONCED_SOCKET");
        return RUN_CASES(argc, argv, "commands", tests);
}
