/* A trial of the http runner with a server beside it. */
#ifndef ONCED_HTTP_TRIAL_H
#define ONCED_HTTP_TRIAL_H

#include "t/unit/cases.h"
#include "t/unit/runner/sink.h"
#include "t/unit/runner/trial.h"

extern struct trial t;
extern struct sink sink;
extern char url[512];            /* of t.task.http */

int http_trial_setup(void **state);

/* Opens server and runner; the task calls `path` at `host`, and `answer` answers. */
void http_trial_begin_at(const char *host, const char *path, void (*answer)(struct sink_connection *c));
void http_trial_begin(void (*answer)(struct sink_connection *c));   /* at 127.0.0.1, /do */
void http_trial_end(void);

void sink_says_ok(struct sink_connection *c);   /* 200 with the body "hello" */

#endif
