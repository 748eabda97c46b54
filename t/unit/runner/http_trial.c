/* The harness of the http tests. */
#include "t/unit/runner/http_trial.h"

#include <stdio.h>

struct trial t;
struct sink sink;
char url[512];

int http_trial_setup(void **state)
{
        (void) state;
        trial_init(&t, &runner_http);
        t.task.runner = RUNNER_HTTP;
        t.task.http.query = true;
        return 0;
}

void http_trial_begin_at(const char *host, const char *path, void (*answer)(struct sink_connection *c))
{
        sink_open(&sink, &t.loop, answer);
        (void) snprintf(url, sizeof(url), "http://%s:%d%s", host, sink.port, path);
        t.task.http.url = url;
        trial_open(&t);
}

void http_trial_begin(void (*answer)(struct sink_connection *c))
{
        http_trial_begin_at("127.0.0.1", "/do", answer);
}

void http_trial_end(void)
{
        sink_close(&sink);
        trial_close(&t);
}

void sink_says_ok(struct sink_connection *c)
{
        sink_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}
