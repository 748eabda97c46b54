/* The harness of the runner tests. */
#include "t/unit/runner/trial.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/cases.h"

int open_fds(void)
{
        DIR *d = opendir("/proc/self/fd");
        int n = 0;

        assert_non_null(d);
        while (readdir(d))
                n++;
        (void) closedir(d);
        return n;
}

static int on_starting(struct run *r)
{
        struct trial *t = r->arg;

        t->started++;
        t->started_before_begin += t->in_start;
        return t->refuses_start ? -ENOSPC : 0;
}

static void on_child(struct run *r, int keeper_pid, int pid)
{
        struct trial *t = r->arg;

        t->keeper_pid = keeper_pid;
        t->pid = pid;
}

static void on_done(struct run *r)
{
        struct trial *t = r->arg;

        t->done++;
        t->started_before_begin += t->in_start;
        assert_null(r->state);
}

/* The first loop of a process opens descriptors that stay: they are no leak of a run. */
static void loop_warm_up(void)
{
        uv_loop_t loop;

        assert_int_equal(uv_loop_init(&loop), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
}

void trial_init(struct trial *t, const struct runner_kind *kind)
{
        const char *build = getenv("ONCED_BUILD");

        *t = (struct trial) { .kind = kind, .node_lock = -1, .tree_pipe = -1 };
        assert_non_null(build);
        (void) snprintf(t->keeper, sizeof(t->keeper), "%s/keeper/onced-keeper", build);
        t->config.max_handles = 100;
        static char name[] = "mail";
        t->task.name = name;
        t->task.exec.umask = 0022;
        t->task.exec.kill_after_ms = 5000;
        t->context = (struct run_context) {
                .occ = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                .trig = "web1-2a3b4c5d.2.4711.81234-a2f3.17",
                .task = name,
                .fence = "1764522000000042",
                .node = "web1-2a3b4c5d",
                .shard = 1,
                .shards = 3,
                .planned = { 1764522000000 },
                .deadline = { 1764522030000000000 },
                .window_ms = 500,
                .attempt_log = "/tmp/attempts.jsonl",
        };
        t->run = (struct run) {
                .task = &t->task, .context = &t->context, .timeout_ms = 20000,
                .starting = on_starting, .child = on_child, .done = on_done,
        };
        loop_warm_up();
        t->fds_before = open_fds();
        assert_int_equal(uv_loop_init(&t->loop), 0);
}

void trial_open(struct trial *t)
{
        struct runner_options o = {
                .loop = &t->loop, .config = &t->config, .node_lock = t->node_lock, .tree_pipe = t->tree_pipe,
                .keeper_path = t->keeper, .group = t->group,
        };

        assert_int_equal(t->kind->open(&o, &t->runner), 0);
}

void trial_start(struct trial *t)
{
        t->run.arg = t;
        t->started = t->done = 0;
        t->in_start = true;
        uv_update_time(&t->loop);
        t->took_ms = uv_now(&t->loop);
        assert_int_equal(t->kind->start(t->runner, &t->run), 0);
        t->in_start = false;
}

static bool is_done(void *arg)
{
        const struct trial *t = arg;

        return t->done > 0;
}

static void on_patience_over(uv_timer_t *timer)
{
        *(bool *) timer->data = true;
}

static void on_patience_closed(uv_handle_t *h)
{
        *(bool *) h->data = true;
}

void loop_until(uv_loop_t *loop, bool (*condition)(void *arg), void *arg)
{
        uv_timer_t patience;
        bool over = false, closed = false;

        assert_int_equal(uv_timer_init(loop, &patience), 0);
        patience.data = &over;
        uv_update_time(loop);
        (void) uv_timer_start(&patience, on_patience_over, 10000, 0);
        while (!condition(arg) && !over)
                (void) uv_run(loop, UV_RUN_ONCE);
        bool holds = condition(arg);
        patience.data = &closed;
        uv_close((uv_handle_t *) &patience, on_patience_closed);
        while (!closed)
                (void) uv_run(loop, UV_RUN_NOWAIT);
        assert_true(holds);
}

void wait_until(bool (*condition)(void *arg), void *arg)
{
        for (int i = 0; i < 1000; i++) {
                if (condition(arg))
                        return;
                (void) poll(NULL, 0, 10);
        }
        fail_msg("what was waited for did not come");
}

void trial_finish(struct trial *t)
{
        loop_until(&t->loop, is_done, t);
        t->took_ms = uv_now(&t->loop) - t->took_ms;
        assert_int_equal(t->done, 1);
        assert_int_equal(t->started_before_begin, 0);
}

void trial_run(struct trial *t)
{
        trial_start(t);
        trial_finish(t);
}

void trial_again(struct trial *t)
{
        run_done_free(&t->run);
}

static void on_runner_closed(void *arg)
{
        *(bool *) arg = true;
}

static bool is_true(void *arg)
{
        return *(bool *) arg;
}

void trial_close(struct trial *t)
{
        bool closed = false;

        t->closed = true;
        run_done_free(&t->run);
        t->kind->close(t->runner, on_runner_closed, &closed);
        assert_false(closed);
        loop_until(&t->loop, is_true, &closed);
        assert_int_equal(uv_run(&t->loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&t->loop), 0);
        assert_int_equal(open_fds(), t->fds_before);
}

bool trial_text_has(const struct trial *t, const char *part)
{
        return t->run.outcome.text && memmem(t->run.outcome.text, t->run.outcome.text_len, part, strlen(part));
}

void trial_assert_ended(const struct trial *t, enum state state, enum cause cause, enum result result, int code)
{
        const struct run_outcome *o = &t->run.outcome;

        assert_string_equal(state_names[o->state], state_names[state]);
        assert_string_equal(cause_names[o->cause], cause_names[cause]);
        assert_string_equal(result_names[o->result], result_names[result]);
        assert_int_equal(o->code, code);
}
