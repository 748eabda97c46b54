/* The fakes of the rig: a claimer, a runner and a ledger that hold what they are given. */
#include "t/unit/worker/rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "t/unit/cases.h"

#define HOUR_MS 3600000LL

static struct rig *rig_of;   /* fakes find their rig here: one at a time */

static void fake_ask(struct claimer *cr, struct claim *c)
{
        (void) cr;
        assert_true(rig_of->claim_count < RIG_MAX);
        rig_of->claims_asked[rig_of->claim_count++] = c;
}

static void fake_hurry(struct claimer *cr, struct claim *c)
{
        (void) cr, (void) c;
        rig_of->hurries++;
}

static void fake_release(struct claimer *cr, struct claim *c)
{
        (void) cr, (void) c;
        rig_of->releases++;
}

static void fake_hand_over(struct claimer *cr, struct claim *from, struct claim *to)
{
        (void) cr, (void) from, (void) to;
        rig_of->hand_overs++;
}

static const struct claim_kind fake_claims = {
        .name = "fake", .path = PATH_FLOCK, .ask = fake_ask, .hurry = fake_hurry, .release = fake_release,
        .hand_over = fake_hand_over,
};

static int fake_start(struct runner *rn, struct run *run)
{
        (void) rn;
        if (rig_of->start_error)
                return rig_of->start_error;
        rig_of->runs[rig_of->run_count++] = run;
        return 0;
}

static void fake_stop(struct runner *rn, struct run *run, enum run_stop why)
{
        (void) rn, (void) run;
        rig_of->stops++;
        rig_of->stop_why = why;
}

static const struct runner_kind fake_runner = { .name = "fake", .start = fake_start, .stop = fake_stop };

static void fake_send(struct ledger *l, struct ledger_call *call)
{
        (void) l;
        assert_true(rig_of->call_count < RIG_MAX);
        rig_of->calls[rig_of->call_count++] = call;
}

static const struct ledger_kind fake_ledger = { .name = "fake", .send = fake_send };

static void on_deposed(uint64_t term, void *arg)
{
        ((struct rig *) arg)->deposed = term;
}

static char task_name[] = "mail";

void rig_up(struct rig *r)
{
        memset(r, 0, sizeof(*r));
        memset(&rig_log, 0, sizeof(rig_log));
        rig_of = r;
        (void) log_use_fd(-1);
        assert_int_equal(uv_loop_init(&r->loop), 0);
        assert_int_equal(delays_open(&r->loop, &r->delays), 0);
        assert_int_equal(board_create(1, &r->board), 0);
        int place = board_take(r->board, ROLE_WORKER, 0, 1);
        assert_true(place >= 0);
        r->place = (unsigned) place;

        r->task = (struct task) {
                .name = task_name, .singleton = PATH_FLOCK, .enabled = true, .shards = 1,
                .misfire = { .policy = MISFIRE_SKIP, .grace_ms = -1 },
                .overlap = { .policy = OVERLAP_DROP, .max_running = 1 },
                .timeout_ms = 10000, .lease_ms = 30000,
                .runner = RUNNER_NOOP,
        };
        int64_t now_ms = stamp_instant(clock_wall()).ms;
        assert_int_equal(schedule_every(HOUR_MS, now_ms - 5, &r->task.schedule), 0);
        r->claims = (struct claimer_options) {
                .config = &r->config, .delays = r->delays, .node = "n", .owner = "n.0.1.s", .life = 1, .rank = 1,
        };
        r->ledger.kind = &fake_ledger;
        r->claimer = (struct claimer) { .kind = &fake_claims, .options = &r->claims, .ledger = &r->ledger };
        assert_int_equal(job_init(&r->job, &r->task, "n"), 0);
        r->job.claimer = &r->claimer;
        r->job.ledger = &r->ledger;
        r->job.runner_kind = &fake_runner;
        r->job.row = place_row(board_place(r->board, r->place), task_name);
        r->unit = &r->job.units[0];
        r->unit->cursor.ms = now_ms - 6;
        r->unit->registered = true;

        r->shortfalls = shortfalls_new(&r->config);
        assert_non_null(r->shortfalls);
        struct spine_options o = {
                .delays = r->delays, .place = board_place(r->board, r->place), .shortfalls = r->shortfalls,
                .claims = &r->claims,
                .node = "n", .owner = "n.0.1.s", .log_dir = "/log",
                .tick_limit = 100, .max_handles = 100,
                .deposed = on_deposed, .arg = r,
        };
        spine_init(&r->spine, &o);
        r->spine.began.ms = now_ms - 10000;
}

static void on_closed(void *arg)
{
        (void) arg;
}

void rig_down(struct rig *r)
{
        assert_int_equal(r->spine.count, 0);
        assert_int_equal(r->spine.handles, 0);
        spine_done(&r->spine);
        job_done(&r->job);
        r->shortfalls = shortfalls_free(r->shortfalls);
        delays_close(r->delays, on_closed, NULL);
        (void) uv_run(&r->loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&r->loop), 0);
        (void) board_free(r->board);
        (void) log_use_fd(2);
}

struct instant rig_due(const struct rig *r)
{
        return (struct instant) { r->task.schedule.anchor_ms };
}

void rig_go(struct rig *r)
{
        spine_enlist(&r->spine, r->unit);
        spine_turn(&r->spine, clock_wall());
}

static void on_passed(uv_timer_t *t)
{
        uv_close((uv_handle_t *) t, NULL);
        uv_stop(t->loop);
}

void rig_pass(struct rig *r, int64_t ms)
{
        uv_timer_t timer;

        (void) uv_timer_init(&r->loop, &timer);
        uv_update_time(&r->loop);
        (void) uv_timer_start(&timer, on_passed, (uint64_t) ms, 0);
        (void) uv_run(&r->loop, UV_RUN_DEFAULT);
        (void) uv_run(&r->loop, UV_RUN_NOWAIT);   /* the close callback */
        spine_turn(&r->spine, clock_wall());
}

struct claim *rig_claim(struct rig *r)
{
        assert_true(r->claim_count > 0);
        return r->claims_asked[r->claim_count - 1];
}

void rig_answer(struct rig *r, enum outcome out)
{
        struct claim *c = rig_claim(r);

        c->answer.outcome = out;
        c->done(c);
}

void rig_grant(struct rig *r)
{
        struct claim *c = rig_claim(r);

        (void) snprintf(c->answer.fence, sizeof(c->answer.fence), "7");
        rig_answer(r, OUTCOME_GRANTED);
}

void rig_start_run(struct rig *r)
{
        struct run *run = r->runs[r->run_count - 1];

        if (run->starting(run) < 0) {
                run->outcome.state = STATE_FAILED;
                run->outcome.cause = CAUSE_LOG;
                run->done(run);
        }
}

void rig_end_run(struct rig *r, enum state s, enum cause c)
{
        struct run *run = r->runs[r->run_count - 1];

        run->outcome.state = s;
        run->outcome.cause = c;
        run->outcome.result = s == STATE_SUCCEEDED ? RESULT_DONE : RESULT_NONE;
        run->done(run);
}

struct ledger_call *rig_call(struct rig *r)
{
        assert_true(r->call_count > 0);
        return r->calls[r->call_count - 1];
}

void rig_answer_call(struct rig *r, int error)
{
        struct ledger_call *c = rig_call(r);

        c->error = error;
        c->done(c);
}

uint64_t rig_counter(const struct rig *r, enum board_counter c)
{
        uint64_t totals[BOARD_COUNTER_COUNT_];

        board_totals(r->board, totals);
        return totals[c];
}
