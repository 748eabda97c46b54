/* The http runner against a real server: how often it is called, and what is made of each answer. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "t/unit/runner/http_trial.h"

static void answer_in_the_200s_is_done(void **state)
{
        (void) state;
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_string_equal(t.run.outcome.text, "hello");
        assert_int_equal(t.started, 1);
        assert_int_equal(sink.requests, 1);
        http_trial_end();
}

static void says_noop(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 204 No Content\r\nx-onced-result:  Noop \r\n\r\n");
}

static void noop_header_is_no_result(void **state)
{
        (void) state;
        http_trial_begin(says_noop);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, 204);
        http_trial_end();
}

static void says_500(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\nX-Onced-Result: noop\r\n\r\noops");
}

static void other_status_is_a_failure(void **state)
{
        (void) state;
        http_trial_begin(says_500);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 500);
        assert_string_equal(t.run.outcome.text, "oops");
        http_trial_end();
}

static void connections_are_reused(void **state)
{
        (void) state;
        http_trial_begin(sink_says_ok);
        for (int i = 0; i < 5; i++) {
                trial_run(&t);
                trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
                trial_again(&t);
        }
        assert_int_equal(sink.requests, 5);
        assert_int_equal(sink.connections, 1);
        http_trial_end();
}

/* The second request of a connection is read, then the connection closed without a word: libcurl would send
 * it again on a new one. */
static void hangs_up_on_the_second(struct sink_connection *c)
{
        if (c->requests == 1)
                sink_says_ok(c);
        else
                sink_hang_up(c);
}

static void request_on_a_dead_connection_is_not_repeated(void **state)
{
        static char body[] = "pay 100";

        (void) state;
        t.task.http.body = body;
        http_trial_begin(hangs_up_on_the_second);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        trial_again(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        assert_int_equal(t.started, 1);
        assert_int_equal(sink.requests, 2);
        trial_again(&t);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_int_equal(sink.requests, 3);
        http_trial_end();
}

static void says_half(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
        sink_hang_up(c);
}

static void half_an_answer_is_unknown(void **state)
{
        (void) state;
        http_trial_begin(says_half);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        http_trial_end();
}

static void says_rubbish(struct sink_connection *c)
{
        sink_text(c, "SSH-2.0-OpenSSH_9.2\r\n");
        sink_hang_up(c);
}

static void no_http_is_unknown(void **state)
{
        (void) state;
        http_trial_begin(says_rubbish);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        assert_int_equal(sink.requests, 1);
        http_trial_end();
}

static void refused_connection_is_not_sent(void **state)
{
        (void) state;
        http_trial_begin(sink_says_ok);
        sink_close(&sink);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_int_equal(t.started, 0);
        trial_close(&t);
}

static void unwritten_run_line_sends_nothing(void **state)
{
        (void) state;
        t.refuses_start = true;
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_LOG, RESULT_NONE, -1);
        assert_int_equal(sink.requests, 0);
        http_trial_end();
}

static void trickles(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        sink_drip(c, "1\r\nx\r\n");
}

static void trickling_body_ends_at_the_timeout(void **state)
{
        (void) state;
        t.run.timeout_ms = 300;
        http_trial_begin(trickles);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 300, 800);
        http_trial_end();
}

static void says_nothing(struct sink_connection *c)
{
        (void) c;
}

static void silence_ends_at_the_timeout(void **state)
{
        (void) state;
        t.run.timeout_ms = 200;
        http_trial_begin(says_nothing);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 200, 700);
        http_trial_end();
}

static char thousand[1024 + 1];

static void floods_with_body(struct sink_connection *c)
{
        memset(thousand, 'x', sizeof(thousand) - 1);
        sink_text(c, "HTTP/1.1 200 OK\r\nX-Onced-Result: noop\r\n\r\n");
        sink_flood(c, thousand);
}

static void huge_body_is_cut_and_the_status_stands(void **state)
{
        struct rusage before, after;

        (void) state;
        http_trial_begin(floods_with_body);
        (void) getrusage(RUSAGE_SELF, &before);
        trial_run(&t);
        (void) getrusage(RUSAGE_SELF, &after);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, 200);
        assert_int_equal(t.run.outcome.text_len, RUN_TEXT_MAX);
        assert_true(t.run.outcome.text_cut > 0);
        assert_true(after.ru_maxrss - before.ru_maxrss < 4096);
        http_trial_end();
}

static void says_64_kib(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n");
        for (int i = 0; i < 64; i++)
                sink_say(c, thousand, 1024);
}

static void body_of_just_the_limit_is_whole(void **state)
{
        (void) state;
        memset(thousand, 'x', sizeof(thousand) - 1);
        http_trial_begin(says_64_kib);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_int_equal(t.run.outcome.text_len, RUN_TEXT_MAX);
        assert_int_equal(t.run.outcome.text_cut, 0);
        http_trial_end();
}

static void floods_with_headers(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\n");
        sink_flood(c, "X-More: and more\r\n");
}

static void endless_headers_are_no_answer(void **state)
{
        (void) state;
        http_trial_begin(floods_with_headers);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "headers"));
        http_trial_end();
}

static void floods_with_interim(struct sink_connection *c)
{
        sink_flood(c, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void endless_interim_answers_are_no_answer(void **state)
{
        (void) state;
        http_trial_begin(floods_with_interim);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        http_trial_end();
}

static void says_packed(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08" "x");
}

static void packed_body_stays_packed(void **state)
{
        (void) state;
        http_trial_begin(says_packed);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_int_equal(t.run.outcome.text_len, 4);
        http_trial_end();
}

static bool has_request(void *arg)
{
        const struct sink *s = arg;

        return s->requests > 0;
}

static void stop_is_interrupted_with_its_reason(void **state)
{
        (void) state;
        http_trial_begin(says_nothing);
        trial_start(&t);
        loop_until(&t.loop, has_request, &sink);
        t.kind->stop(t.runner, &t.run, RUN_STOP_LEASE_LOST);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        assert_int_equal(t.done, 0);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        trial_again(&t);
        trial_start(&t);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        assert_int_equal(t.started, 0);
        http_trial_end();
}

static void every_descriptor_is_close_on_exec(void **state)
{
        (void) state;
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        for (int fd = 3; fd < 64; fd++) {
                int flags = fcntl(fd, F_GETFD);
                if (flags >= 0 && !(flags & FD_CLOEXEC))
                        fail_msg("descriptor %d is inheritable", fd);
        }
        http_trial_end();
}

static void many_at_once_have_one_request_each(void **state)
{
        enum { MANY = 50 };
        static struct trial others[MANY];

        (void) state;
        http_trial_begin(hangs_up_on_the_second);
        for (int i = 0; i < MANY; i++) {
                others[i].run = t.run;
                others[i].run.arg = &others[i];
                assert_int_equal(t.kind->start(t.runner, &others[i].run), 0);
        }
        trial_run(&t);
        for (int i = 0; i < MANY; i++) {
                while (others[i].done == 0)
                        (void) uv_run(&t.loop, UV_RUN_ONCE);
                assert_int_equal(others[i].started, 1);
                run_done_free(&others[i].run);
        }
        assert_int_equal(sink.requests, MANY + 1);
        http_trial_end();
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup(f, http_trial_setup)
        const struct CMUnitTest tests[] = {
                CASE(answer_in_the_200s_is_done),
                CASE(noop_header_is_no_result),
                CASE(other_status_is_a_failure),
                CASE(connections_are_reused),
                CASE(request_on_a_dead_connection_is_not_repeated),
                CASE(half_an_answer_is_unknown),
                CASE(no_http_is_unknown),
                CASE(refused_connection_is_not_sent),
                CASE(unwritten_run_line_sends_nothing),
                CASE(trickling_body_ends_at_the_timeout),
                CASE(silence_ends_at_the_timeout),
                CASE(huge_body_is_cut_and_the_status_stands),
                CASE(body_of_just_the_limit_is_whole),
                CASE(endless_headers_are_no_answer),
                CASE(endless_interim_answers_are_no_answer),
                CASE(packed_body_stays_packed),
                CASE(stop_is_interrupted_with_its_reason),
                CASE(every_descriptor_is_close_on_exec),
                CASE(many_at_once_have_one_request_each),
        };

        return RUN_CASES(argc, argv, "http", tests);
}
