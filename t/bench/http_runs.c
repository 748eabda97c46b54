/* Requests per second of the http runner through its interface: so many runs in flight, each followed by the next.
 * usage: http_runs URL IN_FLIGHT SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/crew.h"
#include "t/bench/times.h"
#include "worker/runner/runner.h"

#define IN_FLIGHT_MAX 1000

struct stream {
        struct run run;
        struct run_context context;
        char occ[OCC_TEXT], trig[TRIG_TEXT];
        uint64_t seq;
        struct bench *bench;
};

struct bench {
        struct task task;
        uv_loop_t loop;
        struct runner *runner;
        struct crew_member *member;
        struct stream *streams;
        int in_flight, going;
        int64_t done;
        bool counts, failed;
};

static int on_starting(struct run *r)
{
        (void) r;
        return 0;
}

static void start(struct stream *s);

static void on_done(struct run *r)
{
        struct stream *s = r->arg;
        struct bench *b = s->bench;

        if (r->outcome.state != STATE_SUCCEEDED) {
                (void) fprintf(stderr, "run: %s\n", r->outcome.error);
                b->failed = true;
        }
        run_done_free(r);
        b->done++;
        b->going--;
        if (!b->failed && (b->counts ? crew_goes_on(b->member) : b->done < b->in_flight * 4))
                start(s);
}

static void start(struct stream *s)
{
        struct bench *b = s->bench;
        struct instant planned = stamp_instant(clock_wall());

        occurrence_id("", "bench", (unsigned) (s - b->streams), planned, s->occ);
        trigger_id("bench-0a1b2c3d.0.100.1-aaaa", ++s->seq, s->trig);
        s->context = (struct run_context) { .occ = s->occ, .trig = s->trig, .task = "bench", .fence = "1764522000000001",
                                            .node = "bench-0a1b2c3d", .shards = 1, .planned = planned,
                                            .deadline = clock_wall(), .window_ms = 500, .attempt_log = "" };
        s->run = (struct run) { .task = &b->task, .context = &s->context, .timeout_ms = 30000,
                                .starting = on_starting, .done = on_done, .arg = s };
        b->going++;
        if (runner_http.start(b->runner, &s->run) < 0) {
                b->going--;
                b->failed = true;
        }
}

static void run_all(struct bench *b)
{
        for (int i = 0; i < b->in_flight; i++)
                start(&b->streams[i]);
        while (b->going > 0)
                (void) uv_run(&b->loop, UV_RUN_ONCE);
}

static void on_closed(void *arg)
{
        *(bool *) arg = true;
}

static int64_t request_on(struct crew_member *m, void *arg)
{
        struct bench *b = arg;
        struct config config = { .max_handles = (unsigned) b->in_flight };
        const struct runner_options o = { .loop = &b->loop, .config = &config, .node_lock = -1, .tree_pipe = -1 };
        bool closed = false;

        b->member = m;
        if (uv_loop_init(&b->loop) < 0 || runner_http.open(&o, &b->runner) < 0)
                return -1;
        run_all(b);      /* connections stand before the clock runs */
        b->done = 0;
        b->counts = true;
        crew_begin(m);
        run_all(b);
        runner_http.close(b->runner, on_closed, &closed);
        while (!closed)
                (void) uv_run(&b->loop, UV_RUN_ONCE);
        return b->failed ? -1 : b->done;
}

int main(int argc, char **argv)
{
        struct bench b = { .in_flight = argc == 4 ? atoi(argv[2]) : 0 };
        struct crew_sum sum;

        if (b.in_flight < 1 || b.in_flight > IN_FLIGHT_MAX)
                return 64;
        b.task.runner = RUNNER_HTTP;
        b.task.http.url = argv[1];
        b.task.http.query = true;
        b.streams = calloc((size_t) b.in_flight, sizeof(*b.streams));
        if (!b.streams)
                return 71;
        for (int i = 0; i < b.in_flight; i++)
                b.streams[i].bench = &b;
        if (crew_run(1, atoi(argv[3]), request_on, &b, &sum) < 0)
                return 71;
        crew_print(&sum);
        free(b.streams);
        return 0;
}
