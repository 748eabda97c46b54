/* The http runner against a real server: what leaves, and where it goes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/cleanup.h"
#include "t/unit/runner/http_trial.h"

static struct sink other_sink;
static char tls_folder[] = "/tmp/onced-tls-XXXXXX";
static FILE *tls_output;
static pid_t tls_pid;

static void context_is_in_headers_and_query(void **state)
{
        static const char *const wanted[][2] = {
                { "X-Onced-Task", "mail" },
                { "X-Onced-Occurrence", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
                { "X-Onced-Trigger", "web1-2a3b4c5d.2.4711.81234-a2f3.17" },
                { "X-Onced-Planned", "1764522000000" },
                { "X-Onced-Fence", "1764522000000042" },
                { "X-Onced-Node", "web1-2a3b4c5d" },
                { "X-Onced-Shard", "1" },
                { "X-Onced-Shards", "3" },
                { "X-Onced-Deadline", "1764522030000" },
                { "X-Onced-Window", "500" },
                { "Idempotency-Key", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
                { "X-Mine", "kept" },
                { "Accept-Encoding", "" },
                { "X-Onced-Signature", "" },
        };
        static char mine[] = "X-Mine: kept", lie[] = "x-onced-fence: 7", length[] = "Content-Length: 99";
        static char *headers[] = { mine, lie, length, NULL };

        (void) state;
        t.task.http.headers = (struct text_list) { headers, 3 };
        http_trial_begin_at("127.0.0.1", "/a/./b?x=1#part", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                assert_string_equal(sink_header(&sink, wanted[i][0]), wanted[i][1]);
        assert_null(strstr(sink.last, "fence: 7"));
        assert_int_equal(strncmp(sink_header(&sink, "traceparent"), "00-0123456789abcdef0123456789abcdef-", 36), 0);
        assert_int_equal(strlen(sink_header(&sink, "traceparent")), 55);
        static const char line[] = "GET /a/b?x=1&concurrency_id=1&concurrency_count=3&host_id=web1-2a3b4c5d HTTP/1.1\r\n";
        assert_int_equal(strncmp(sink.last, line, strlen(line)), 0);
        http_trial_end();
}

/* libcurl takes "Name:" for a header that is to be left out. */
static void header_without_a_value_is_sent(void **state)
{
        static char empty[] = "X-Empty:", blank[] = "X-Blank:  ", type[] = "Content-Type: ", body[] = "b";
        static char *headers[] = { empty, blank, type, NULL };

        (void) state;
        t.task.http.headers = (struct text_list) { headers, 3 };
        t.task.http.body = body;
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_non_null(strstr(sink.last, "\r\nX-Empty:\r\n"));
        assert_non_null(strstr(sink.last, "\r\nX-Blank:\r\n"));
        assert_non_null(strstr(sink.last, "\r\nContent-Type:\r\n"));
        http_trial_end();
}

static void query_is_left_as_it_is_when_asked_for(void **state)
{
        static char secret[] = "shh";

        (void) state;
        t.config.http_secret = secret;
        t.task.http.query = false;
        http_trial_begin_at("127.0.0.1", "/a?x=1", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_int_equal(strncmp(sink.last, "GET /a?x=1 HTTP/1.1\r\n", 21), 0);
        assert_string_equal(sink_header(&sink, "X-Onced-Shard"), "1");
        http_trial_end();
}

static void header_with_a_line_break_is_not_sent(void **state)
{
        static char evil[] = "X-Mine: a\r\nX-Onced-Fence: 9";
        static char *headers[] = { evil, NULL };

        (void) state;
        t.task.http.headers = (struct text_list) { headers, 1 };
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_int_equal(sink.connections, 0);
        http_trial_end();
}

/* The receiver's side of the signature, written from its description alone. */
static void assert_signed(const char *secret, const char *body)
{
        char signature[256], method[16], target[1024], text[2048], expected[128];
        unsigned char bytes[32];
        long long unix_s;
        unsigned len;
        int n;

        (void) snprintf(signature, sizeof(signature), "%s", sink_header(&sink, "X-Onced-Signature"));
        assert_int_equal(sscanf(signature, "t=%lld,v1=", &unix_s), 1);
        assert_int_equal(sscanf(sink.last, "%15s %1023s", method, target), 2);
        n = snprintf(text, sizeof(text), "%lld.%s.%s.", unix_s, method, target);
        assert_int_equal(EVP_Digest(body, strlen(body), bytes, &len, EVP_sha256(), NULL), 1);
        for (unsigned i = 0; i < len; i++)
                n += snprintf(text + n, sizeof(text) - (size_t) n, "%02x", bytes[i]);
        assert_non_null(HMAC(EVP_sha256(), secret, (int) strlen(secret), (unsigned char *) text, (size_t) n, bytes, &len));
        n = snprintf(expected, sizeof(expected), "t=%lld,v1=", unix_s);
        for (unsigned i = 0; i < len; i++)
                n += snprintf(expected + n, sizeof(expected) - (size_t) n, "%02x", bytes[i]);
        assert_string_equal(signature, expected);
        assert_true(llabs(unix_s - clock_wall().ns / NS_PER_S) <= 60);
}

static void signature_covers_what_was_sent(void **state)
{
        static char secret[] = "shh", body[] = "{\"a\": 1}";

        (void) state;
        t.config.http_secret = secret;
        http_trial_begin_at("127.0.0.1", "/a b/\xc3\xbc/%2e?q=\xc3\xbc z&r=%20", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_signed("shh", "");
        trial_again(&t);
        t.task.http.body = body;
        trial_run(&t);
        assert_int_equal(strncmp(sink.last, "POST ", 5), 0);
        assert_non_null(strstr(sink.last, "\r\n\r\n{\"a\": 1}"));
        assert_string_equal(sink_header(&sink, "Content-Type"), "");
        assert_string_equal(sink_header(&sink, "Expect"), "");
        assert_signed("shh", body);
        assert_null(strstr(sink.last, "shh"));
        http_trial_end();
}

static void methods_are_sent_as_named(void **state)
{
        static char put[] = "PUT", head[] = "HEAD", delete[] = "DELETE";

        (void) state;
        http_trial_begin(sink_says_ok);
        t.task.http.method = put;
        trial_run(&t);
        assert_int_equal(strncmp(sink.last, "PUT /do?", 8), 0);
        assert_string_equal(sink_header(&sink, "Content-Length"), "0");
        trial_again(&t);
        t.task.http.method = delete;
        trial_run(&t);
        assert_int_equal(strncmp(sink.last, "DELETE /do?", 11), 0);
        trial_again(&t);
        t.task.http.method = head;
        trial_run(&t);
        assert_int_equal(strncmp(sink.last, "HEAD /do?", 9), 0);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        http_trial_end();
}

static void redirects_home(struct sink_connection *c)
{
        if (strstr(c->sink->last, "/done"))
                sink_says_ok(c);
        else
                sink_text(c, "HTTP/1.1 302 Found\r\nLocation: /done\r\nContent-Length: 3\r\n\r\nold");
}

static void redirects_are_off(void **state)
{
        (void) state;
        http_trial_begin(redirects_home);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 302);
        assert_string_equal(t.run.outcome.error, "status 302, a redirect; none is followed (follow: 0)");
        assert_int_equal(sink.requests, 1);
        http_trial_end();
}

static void redirects_are_followed_as_often_as_allowed(void **state)
{
        static char body[] = "b", secret[] = "shh";

        (void) state;
        t.config.http_secret = secret;
        t.task.http.follow = 1;
        t.task.http.body = body;
        http_trial_begin(redirects_home);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_string_equal(t.run.outcome.text, "hello");
        assert_int_equal(t.started, 1);
        assert_int_equal(sink.requests, 2);
        assert_int_equal(strncmp(sink.last, "GET /done ", 10), 0);
        assert_signed("shh", "");
        http_trial_end();
}

static void redirects_for_ever(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
}

static void redirects_end_at_the_limit(void **state)
{
        (void) state;
        t.task.http.follow = 3;
        http_trial_begin(redirects_for_ever);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 307);
        assert_string_equal(t.run.outcome.error, "status 307, one redirect too many (follow: 3)");
        assert_int_equal(sink.requests, 4);
        assert_int_equal(t.started, 1);
        http_trial_end();
}

static char elsewhere[128];

static void redirects_elsewhere(struct sink_connection *c)
{
        char text[512];

        (void) snprintf(text, sizeof(text), "HTTP/1.1 308 There\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", elsewhere);
        sink_text(c, text);
}

static void other_origin_gets_no_secrets(void **state)
{
        static char key[] = "Authorization: Bearer k", secret[] = "shh";
        static char *headers[] = { key, NULL };

        (void) state;
        t.config.http_secret = secret;
        t.task.http.follow = 1;
        t.task.http.headers = (struct text_list) { headers, 1 };
        sink_open(&other_sink, &t.loop, sink_says_ok);
        (void) snprintf(elsewhere, sizeof(elsewhere), "http://sink.test:%d/", other_sink.port);
        http_trial_begin(redirects_elsewhere);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        assert_string_equal(sink_header(&sink, "Authorization"), "Bearer k");
        assert_true(sink_header(&sink, "X-Onced-Signature")[0]);
        assert_string_equal(sink_header(&other_sink, "Authorization"), "");
        assert_string_equal(sink_header(&other_sink, "X-Onced-Signature"), "");
        assert_string_equal(sink_header(&other_sink, "X-Onced-Task"), "mail");
        sink_close(&other_sink);
        http_trial_end();
}

static void redirect_to_another_scheme_is_not_followed(void **state)
{
        (void) state;
        t.task.http.follow = 3;
        (void) snprintf(elsewhere, sizeof(elsewhere), "file:///etc/passwd");
        http_trial_begin(redirects_elsewhere);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 308);
        assert_string_equal(t.run.outcome.error,
                            "status 308, a redirect that is refused: only http and https are called, not file");
        http_trial_end();
}

static void redirect_into_nothing_is_unknown(void **state)
{
        (void) state;
        t.task.http.follow = 1;
        (void) snprintf(elsewhere, sizeof(elsewhere), "http://missing.test/");
        http_trial_begin(redirects_elsewhere);
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        http_trial_end();
}

static void name_is_resolved_by_the_resolver(void **state)
{
        (void) state;
        http_trial_begin_at("sink.test", "/do", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        char host[64];
        (void) snprintf(host, sizeof(host), "sink.test:%d", sink.port);
        assert_string_equal(sink_header(&sink, "Host"), host);
        trial_again(&t);
        trial_run(&t);
        assert_int_equal(sink.connections, 1);
        http_trial_end();
}

static void missing_name_is_not_sent(void **state)
{
        (void) state;
        http_trial_begin_at("missing.test", "/do", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "no such name"));
        http_trial_end();
}

static void silent_name_server_ends_at_the_timeout(void **state)
{
        (void) state;
        t.run.timeout_ms = 200;
        http_trial_begin_at("silent.test", "/do", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 200, 600);
        assert_int_equal(t.started, 0);
        http_trial_end();
}

static void silent_name_server_ends_at_the_connect_timeout(void **state)
{
        (void) state;
        t.task.http.connect_timeout_ms = 150;
        http_trial_begin_at("silent.test", "/do", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_in_range(t.took_ms, 150, 600);
        http_trial_end();
}

static void proxy_of_the_environment_is_not_used(void **state)
{
        (void) state;
        (void) setenv("http_proxy", "http://127.0.0.1:1", 1);
        (void) setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
        http_trial_begin(sink_says_ok);
        trial_run(&t);
        (void) unsetenv("http_proxy");
        (void) unsetenv("ALL_PROXY");
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
        http_trial_end();
}

static void only_http_is_spoken(void **state)
{
        static char file[] = "file:///etc/passwd", nothing[] = "http://", empty[] = "";
        char *bad[] = { file, nothing, empty };

        (void) state;
        http_trial_begin(sink_says_ok);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                t.task.http.url = bad[i];
                trial_run(&t);
                trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
                trial_again(&t);
        }
        http_trial_end();
}

/* A TLS server whose certificate nobody vouches for. It ends with the test, however that ends. */
static int tls_serve(int output, pid_t test)
{
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != test || chdir(tls_folder) < 0 || dup2(output, 1) < 0)
                _exit(1);
        (void) execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", "k", "-cert", "c", "-www",
                      NULL);
        _exit(1);
}

static bool tls_certificate(void)
{
        char command[512];

        (void) snprintf(command, sizeof(command),
                        "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 2 -subj /CN=sink.test"
                        " -addext subjectAltName=DNS:sink.test 2>/dev/null", tls_folder);
        return system(command) == 0;
}

/* Returns the port it listens at, 0 when it did not come up. */
static int tls_server(void)
{
        int ends[2], port = 0;
        char line[256];
        pid_t test = getpid();

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        tls_pid = fork();
        if (tls_pid == 0)
                (void) tls_serve(ends[1], test);
        assert_true(tls_pid > 0);
        (void) close(ends[1]);
        FILE *out = fdopen(ends[0], "r");
        assert_non_null(out);
        while (port == 0 && fgets(line, sizeof(line), out))
                (void) sscanf(line, "ACCEPT 127.0.0.1:%d", &port);
        tls_output = out;
        return port;
}

static int tls_teardown(void **state)
{
        char command[64];

        (void) state;
        if (tls_pid > 0) {
                (void) kill(tls_pid, SIGKILL);
                (void) waitpid(tls_pid, NULL, 0);
        }
        if (tls_output)
                (void) fclose(tls_output);
        (void) snprintf(command, sizeof(command), "rm -r %s", tls_folder);
        return system(command);
}

static void unverified_tls_is_not_sent(void **state)
{
        (void) state;
        assert_non_null(mkdtemp(tls_folder));
        if (!tls_certificate()) {
                (void) uv_loop_close(&t.loop);
                skip();
        }
        int port = tls_server();
        assert_true(port > 0);
        t.fds_before++;   /* the pipe from the server */
        http_trial_begin_at("sink.test", "/", sink_says_ok);
        (void) snprintf(url, sizeof(url), "https://sink.test:%d/", port);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "certificate"));
        assert_int_equal(t.started, 0);
        http_trial_end();
}

static void close_does_not_wait_for_a_name(void **state)
{
        (void) state;
        http_trial_begin_at("silent.test", "/do", sink_says_ok);
        t.run.timeout_ms = 50;
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        struct mono from = clock_mono();
        http_trial_end();
        assert_true(mono_since_ms(from, clock_mono()) < 5000);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup(f, http_trial_setup)
        const struct CMUnitTest tests[] = {
                CASE(context_is_in_headers_and_query),
                CASE(header_without_a_value_is_sent),
                CASE(query_is_left_as_it_is_when_asked_for),
                CASE(header_with_a_line_break_is_not_sent),
                CASE(signature_covers_what_was_sent),
                CASE(methods_are_sent_as_named),
                CASE(redirects_are_off),
                CASE(redirects_are_followed_as_often_as_allowed),
                CASE(redirects_end_at_the_limit),
                CASE(other_origin_gets_no_secrets),
                CASE(redirect_to_another_scheme_is_not_followed),
                CASE(redirect_into_nothing_is_unknown),
                CASE(name_is_resolved_by_the_resolver),
                CASE(missing_name_is_not_sent),
                CASE(silent_name_server_ends_at_the_timeout),
                CASE(silent_name_server_ends_at_the_connect_timeout),
                CASE(proxy_of_the_environment_is_not_used),
                CASE(only_http_is_spoken),
                cmocka_unit_test_setup_teardown(unverified_tls_is_not_sent, http_trial_setup, tls_teardown),
                CASE(close_does_not_wait_for_a_name),
        };

        return RUN_CASES(argc, argv, "http_request", tests);
}
