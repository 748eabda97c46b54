/* The console as a process of its own, asked over its real socket, politely and otherwise. */
#include "t/unit/cases.h"
#include "t/unit/console/fake_ledgers.h"
#include "t/unit/console/http_talk.h"
#include "t/unit/console/openmetrics.h"
#include "t/unit/console/world.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/channel/channel.h"
#include "common/file.h"

/* A ready node of one worker with its console. */
struct node {
        struct world w;
        int channel, pid;
};

static void node_up(struct node *n)
{
        world_init(&n->w, 1, 3);
        world_master(&n->w, true, false);
        board_set_timer_worker(n->w.board, world_add(&n->w, ROLE_WORKER, 0, 1, 100), true);
        n->channel = world_console(&n->w, &n->pid);
}

static void node_down(struct node *n)
{
        assert_int_equal(world_console_end(n->channel, n->pid), 0);
        world_done(&n->w);
        fake_sqlite = fake_redis = (struct fake_ledger) { 0 };
}

/* Status and body of one GET. The body is to be freed. */
static int get(struct node *n, const char *target, char **ret_body)
{
        char head[512];

        (void) snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n", target);
        char *answer = talk(n->w.socket, head);
        int status = talk_status(answer);
        *ret_body = strdup(talk_body(answer));
        free(answer);
        return status;
}

static json_t *get_json(struct node *n, const char *target, int expected)
{
        char *body;
        json_error_t error;
        int status = get(n, target, &body);

        if (status != expected)
                fail_msg("%s: %d, %s", target, status, body);
        json_t *j = json_loads(body, JSON_ALLOW_NUL, &error);
        if (!j)
                fail_msg("%s: %s: %s", target, error.text, body);
        free(body);
        return j;
}

static void expect_detail(struct node *n, const char *target, int status, const char *detail)
{
        json_auto_t *j = get_json(n, target, status);
        const char *text = json_string_value(json_object_get(j, "detail"));

        assert_int_equal(json_integer_value(json_object_get(j, "status")), status);
        if (!text || !strstr(text, detail))
                fail_msg("%s: %s", target, text);
}

static void every_path_answers(void **state)
{
        static const struct { const char *path, *member; } paths[] = {
                { "/v1/status", "node" },        { "/v1/workers", "workers" },
                { "/v1/tasks", "tasks" },        { "/v1/tasks?after=task-0", "tasks" },
                { "/v1/tasks/task-1", "name" },  { "/v1/tasks/task%2D1", "name" },
                { "/v1/occurrences", "occurrences" }, { "/healthz", "status" }, { "/readyz", "status" },
        };
        struct node n;
        char *body, why[128] = "";
        (void) state;

        node_up(&n);
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
                json_auto_t *j = get_json(&n, paths[i].path, 200);
                if (!json_object_get(j, paths[i].member))
                        fail_msg("%s: no %s", paths[i].path, paths[i].member);
        }
        assert_int_equal(get(&n, "/metrics", &body), 200);
        if (!openmetrics_check(body, why, sizeof(why)))
                fail_msg("%s", why);
        free(body);
        node_down(&n);
}

static void the_console_is_in_its_own_list_and_beats(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        json_auto_t *j = get_json(&n, "/v1/workers", 200);
        json_t *list = json_object_get(j, "workers"), *self = json_array_get(list, 1);
        assert_int_equal(json_array_size(list), 2);
        assert_string_equal(json_string_value(json_object_get(self, "role")), "console");
        assert_true(json_is_integer(json_object_get(self, "beat_age_ms")));
        assert_false(json_is_true(json_object_get(self, "stale")));
        node_down(&n);
}

static void metrics_are_negotiated(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        char *text = talk(n.w.socket, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n");
        assert_non_null(strstr(text, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
        char *json = talk(n.w.socket, "GET /metrics HTTP/1.1\r\nAccept: application/json\r\n");
        assert_non_null(strstr(json, "Content-Type: application/json\r\n"));
        json_auto_t *j = json_loads(talk_body(json), 0, NULL);
        assert_non_null(j);
        free(text);
        free(json);
        node_down(&n);
}

static void what_is_wrong_with_a_request_is_said(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        expect_detail(&n, "/", 404, "no such path");
        expect_detail(&n, "/v1/status/", 404, "no such path");
        expect_detail(&n, "/v1/tasks/", 404, "no such path");
        expect_detail(&n, "/v1/tasks/a/b", 404, "no such path");
        expect_detail(&n, "/v1/tasks/task-9", 404, "did you mean task-");
        expect_detail(&n, "/v1/tasks?after=nobody", 400, "no such task");
        expect_detail(&n, "/v1/status?x=1", 400, "\"x\" is not known here");
        expect_detail(&n, "/v1/occurrences?stat=failed", 400, "did you mean state");
        expect_detail(&n, "/v1/occurrences?limit=1&limit=2", 400, "given twice");
        expect_detail(&n, "/v1/occurrences?limit=0", 400, "limit: ");
        expect_detail(&n, "/v1/occurrences?state=faild", 400, "did you mean failed");
        expect_detail(&n, "/v1/occurrences?since=now", 400, "since: ");
        expect_detail(&n, "/v1/occurrences?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9", 400, "too many");
        node_down(&n);
}

static void nothing_is_changed_over_this_socket(void **state)
{
        static const char *const heads[] = {
                "POST /v1/status HTTP/1.1\r\nContent-Length: 0\r\n", "PUT /v1/tasks HTTP/1.1\r\nContent-Length: 0\r\n",
                "DELETE /v1/tasks/task-1 HTTP/1.1\r\n", "PATCH /v1/tasks/task-1 HTTP/1.1\r\n",
                "BREW /metrics HTTP/1.1\r\n",
        };
        struct node n;
        (void) state;

        node_up(&n);
        for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
                char *answer = talk(n.w.socket, heads[i]);
                assert_int_equal(talk_status(answer), 405);
                assert_non_null(strstr(answer, "Allow: GET, HEAD\r\n"));
                assert_non_null(strstr(answer, "Content-Type: application/problem+json\r\n"));
                free(answer);
        }
        char *answer = talk(n.w.socket, "POST /v1/reload HTTP/1.1\r\nContent-Length: 0\r\n");
        assert_int_equal(talk_status(answer), 404);
        free(answer);
        node_down(&n);
}

static void head_has_the_headers_alone(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        char *answer = talk(n.w.socket, "HEAD /v1/status HTTP/1.1\r\n");
        assert_int_equal(talk_status(answer), 200);
        assert_string_equal(talk_body(answer), "");
        assert_null(strstr(answer, "Content-Length: 0\r\n"));
        free(answer);
        node_down(&n);
}

static void readyz_follows_the_master(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        json_decref(get_json(&n, "/readyz", 200));
        world_master(&n.w, true, true);
        expect_detail(&n, "/readyz", 503, "draining");
        json_decref(get_json(&n, "/healthz", 200));
        world_master(&n.w, true, false);
        board_set_timer_worker(n.w.board, 0, false);
        expect_detail(&n, "/readyz", 503, "no timer worker");
        node_down(&n);
}

static void histories_of_both_ledgers_are_merged_newest_first(void **state)
{
        static const char *const order[] = { "redis", "sqlite", "redis", "sqlite", "redis" };
        struct node n;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .rows = 10 };
        fake_redis = (struct fake_ledger) { .rows = 10, .offset_ms = 500 };
        world_init(&n.w, 1, 3);
        n.w.config.redis.url = (char[]) { "redis://127.0.0.1:1/0" };
        world_master(&n.w, true, false);
        n.channel = world_console(&n.w, &n.pid);
        json_auto_t *j = get_json(&n, "/v1/occurrences?limit=5", 200);
        json_t *list = json_object_get(j, "occurrences");
        assert_int_equal(json_array_size(list), 5);
        for (size_t i = 0; i < 5; i++)
                assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "task")), order[i]);
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "planned")),
                            "1970-01-01T00:00:10.500Z");
        assert_true(json_is_null(json_object_get(j, "incomplete")));
        json_auto_t *local = get_json(&n, "/v1/occurrences?task=task-1", 200);
        assert_int_equal(json_array_size(json_object_get(local, "occurrences")), 10);
        node_down(&n);
}

static void half_a_history_says_what_is_missing(void **state)
{
        struct node n;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .rows = 2 };
        fake_redis = (struct fake_ledger) { .error = -EAGAIN, .why = "connection refused" };
        world_init(&n.w, 1, 1);
        n.w.config.redis.url = (char[]) { "redis://127.0.0.1:1/0" };
        world_master(&n.w, true, false);
        n.channel = world_console(&n.w, &n.pid);
        json_auto_t *j = get_json(&n, "/v1/occurrences", 200);
        assert_int_equal(json_array_size(json_object_get(j, "occurrences")), 2);
        assert_string_equal(json_string_value(json_object_get(j, "incomplete")), "redis: connection refused");
        node_down(&n);
}

static void no_ledger_is_503(void **state)
{
        struct node n;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .open_error = -ENOENT };
        node_up(&n);
        expect_detail(&n, "/v1/occurrences", 503, "sqlite: No such file");
        node_down(&n);
}

static void who_waits_for_a_ledger_is_answered_at_the_end(void **state)
{
        struct node n;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .silent = true };
        node_up(&n);
        int waiting = talk_open(n.w.socket), gone = talk_open(n.w.socket);
        talk_say(waiting, "GET /v1/occurrences HTTP/1.1\r\nHost: x\r\n\r\n");
        talk_say(gone, "GET /v1/occurrences HTTP/1.1\r\nHost: x\r\n\r\n");
        (void) close(gone);
        json_decref(get_json(&n, "/v1/status", 200));   /* the loop does not wait with them */
        assert_int_equal(world_console_end(n.channel, n.pid), 0);
        char *answer = talk_hear(waiting, 20000);
        assert_int_equal(talk_status(answer), 503);
        free(answer);
        (void) close(waiting);
        world_done(&n.w);
        fake_sqlite = (struct fake_ledger) { 0 };
}

static void the_ledger_is_not_flooded(void **state)
{
        struct node n;
        int fds[9];
        (void) state;

        fake_sqlite = (struct fake_ledger) { .silent = true };
        node_up(&n);
        for (int i = 0; i < 9; i++) {
                fds[i] = talk_open(n.w.socket);
                talk_say(fds[i], "GET /v1/occurrences HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        }
        char *answer = talk_hear(fds[8], 20000);
        assert_int_equal(talk_status(answer), 503);
        assert_non_null(strstr(answer, "Retry-After: 1\r\n"));
        free(answer);
        for (int i = 0; i < 9; i++)
                (void) close(fds[i]);
        node_down(&n);
}

static void huge_and_broken_requests_do_not_hurt(void **state)
{
        struct node n;
        char *long_line = malloc(1 << 20);
        (void) state;

        assert_non_null(long_line);
        memset(long_line, 'a', (1 << 20) - 1);
        long_line[(1 << 20) - 1] = '\0';
        const char *const parts[][3] = {
                { "GET /v1/status HTTP/1.1\r\nX-Long: ", long_line, "\r\n\r\n" },
                { "GET /", long_line, " HTTP/1.1\r\n\r\n" },
                { long_line, "", "" },
                { "\r\n\r\n\r\n", "\x16\x03\x01\x02", "\r\n\r\n" },
                { "GET /v1/status HTTP/9.9\r\n\r\n", "", "" },
                { "GET /v1/status HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", long_line, "" },
                { "POST /v1/status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "", "" },
                { "GET /v1/tasks/%00%ff%2e%2e HTTP/1.1\r\nHost: x\r\n\r\n", "", "" },
        };
        node_up(&n);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                int fd = talk_open(n.w.socket);
                for (int k = 0; k < 3; k++)
                        talk_say(fd, parts[i][k]);
                (void) shutdown(fd, SHUT_WR);
                char *answer = talk_hear(fd, 20000);
                assert_true(!*answer || talk_status(answer) >= 400);
                free(answer);
                (void) close(fd);
                json_decref(get_json(&n, "/v1/status", 200));
        }
        free(long_line);
        node_down(&n);
}

static void two_hundred_connections_are_all_served(void **state)
{
        struct node n;
        int fds[200];
        (void) state;

        node_up(&n);
        for (int i = 0; i < 200; i++) {
                fds[i] = talk_open(n.w.socket);
                assert_true(fds[i] >= 0);
        }
        for (int i = 0; i < 200; i++)
                talk_say(fds[i], "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        for (int i = 0; i < 200; i++) {
                char *answer = talk_hear(fds[i], 20000);
                assert_int_equal(talk_status(answer), 200);
                free(answer);
                (void) close(fds[i]);
        }
        node_down(&n);
}

static void slow_and_half_closed_clients_hold_up_nobody(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        int slow = talk_open(n.w.socket), half = talk_open(n.w.socket), deaf = talk_open(n.w.socket);
        talk_say(slow, "GET /v1/sta");
        talk_say(half, "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        (void) shutdown(half, SHUT_WR);
        for (int i = 0; i < 50; i++)
                talk_say(deaf, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");   /* and never reads */
        for (int i = 0; i < 5; i++)
                json_decref(get_json(&n, "/v1/status", 200));
        char *answer = talk_hear(half, 20000);
        assert_int_equal(talk_status(answer), 200);
        free(answer);
        talk_say(slow, "tus HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        answer = talk_hear(slow, 20000);
        assert_int_equal(talk_status(answer), 200);
        free(answer);
        (void) close(slow);
        (void) close(half);
        (void) close(deaf);
        node_down(&n);
}

static void one_connection_carries_many_requests(void **state)
{
        struct node n;
        int answers = 0;
        (void) state;

        fake_sqlite = (struct fake_ledger) { .rows = 1 };
        node_up(&n);
        int fd = talk_open(n.w.socket);
        talk_say(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/occurrences HTTP/1.1\r\nHost: x\r\n\r\n"
                     "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        char *all = talk_hear(fd, 20000);
        for (const char *p = all; (p = strstr(p, "HTTP/1.1 200 OK")); p++)
                answers++;
        assert_int_equal(answers, 3);
        free(all);
        (void) close(fd);
        node_down(&n);
}

static void the_next_console_goes_on_at_the_same_socket(void **state)
{
        struct node n;
        (void) state;

        node_up(&n);
        json_decref(get_json(&n, "/v1/status", 200));
        assert_int_equal(world_console_end(n.channel, n.pid), 0);
        board_release(n.w.board, 1);
        int early = talk_open(n.w.socket);   /* between two consoles: it waits in the backlog */
        assert_true(early >= 0);
        talk_say(early, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        n.channel = world_console(&n.w, &n.pid);
        char *answer = talk_hear(early, 20000);
        assert_int_equal(talk_status(answer), 200);
        free(answer);
        (void) close(early);
        node_down(&n);
}

static void without_its_master_the_console_ends(void **state)
{
        struct node n;
        int status;
        (void) state;

        node_up(&n);
        (void) close(n.channel);
        assert_int_equal(waitpid(n.pid, &status, 0), n.pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        world_done(&n.w);
}

/* All lines of all trigger files. To be freed. */
static char *trigger_lines(struct world *w)
{
        struct buf all = BUF_EMPTY, one = BUF_EMPTY;
        char path[512];

        (void) snprintf(path, sizeof(path), "%s/triggers", w->config.log.dir);
        DIR *d = opendir(path);
        assert_non_null(d);
        for (const struct dirent *e; (e = readdir(d));) {
                if (e->d_name[0] == '.')
                        continue;
                (void) snprintf(path, sizeof(path), "%s/triggers/%s", w->config.log.dir, e->d_name);
                assert_int_equal(file_read(path, 1 << 20, &one), 0);
                buf_add(&all, one.data, one.len);
        }
        (void) closedir(d);
        buf_done(&one);
        return buf_take(&all);
}

static void the_console_leaves_a_start_and_a_stop_line(void **state)
{
        const struct message reopen = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_REOPEN };
        struct node n;
        (void) state;

        node_up(&n);
        assert_int_equal(channel_send(n.channel, &reopen, -1), 0);
        assert_int_equal(world_console_end(n.channel, n.pid), 0);
        char *lines = trigger_lines(&n.w);
        assert_non_null(strstr(lines, "{\"e\":\"start\""));
        assert_non_null(strstr(lines, "{\"e\":\"rotate\""));
        assert_non_null(strstr(lines, "{\"e\":\"stop\""));
        free(lines);
        world_done(&n.w);
}

static void reopen_moves_the_log_to_the_new_file(void **state)
{
        const struct message reopen = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_REOPEN };
        struct node n;
        struct buf lines = BUF_EMPTY;
        char path[128];
        (void) state;

        node_up(&n);
        (void) snprintf(path, sizeof(path), "%s/new.log", n.w.dir);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(channel_send(n.channel, &reopen, fileno(file)), 0);
        (void) fclose(file);
        /* A message that makes no sense is named in the log, which is the new file by then. */
        assert_int_equal(send(n.channel, "x", 1, 0), 1);
        assert_int_equal(world_console_end(n.channel, n.pid), 0);
        assert_int_equal(file_read(path, 65536, &lines), 0);
        assert_non_null(strstr(buf_string(&lines), "makes no sense"));
        buf_done(&lines);
        world_done(&n.w);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_path_answers),
                cmocka_unit_test(the_console_is_in_its_own_list_and_beats),
                cmocka_unit_test(metrics_are_negotiated),
                cmocka_unit_test(what_is_wrong_with_a_request_is_said),
                cmocka_unit_test(nothing_is_changed_over_this_socket),
                cmocka_unit_test(head_has_the_headers_alone),
                cmocka_unit_test(readyz_follows_the_master),
                cmocka_unit_test(histories_of_both_ledgers_are_merged_newest_first),
                cmocka_unit_test(half_a_history_says_what_is_missing),
                cmocka_unit_test(no_ledger_is_503),
                cmocka_unit_test(who_waits_for_a_ledger_is_answered_at_the_end),
                cmocka_unit_test(the_ledger_is_not_flooded),
                cmocka_unit_test(huge_and_broken_requests_do_not_hurt),
                cmocka_unit_test(two_hundred_connections_are_all_served),
                cmocka_unit_test(slow_and_half_closed_clients_hold_up_nobody),
                cmocka_unit_test(one_connection_carries_many_requests),
                cmocka_unit_test(the_next_console_goes_on_at_the_same_socket),
                cmocka_unit_test(without_its_master_the_console_ends),
                cmocka_unit_test(the_console_leaves_a_start_and_a_stop_line),
                cmocka_unit_test(reopen_moves_the_log_to_the_new_file),
        };

        return RUN_CASES(argc, argv, "api", tests);
}
