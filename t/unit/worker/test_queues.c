/* Looking after queues: what a look finds is tried where it may be started, and shown by one worker alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"
#include "worker/queues.h"

/* Longer than the longest wait between two looks. */
#define LOOK_MS 1250

static struct rig rig, *r = &rig;
static struct queues *q;
static const struct task *by_name[1];

static int up(void **state)
{
        (void) state;
        rig_up(r);
        r->task.overlap = (struct overlap) { .policy = OVERLAP_QUEUE, .queue_limit = 10, .max_running = 1 };
        r->job.competes = true;
        by_name[0] = &r->task;
        r->config.tasks = &r->task;
        r->config.task_count = 1;
        r->config.by_name = by_name;
        r->config.tick_limit = 100;
        r->unit->wake = INSTANT_NONE;
        return 0;
}

static int down(void **state)
{
        (void) state;
        queues_cancel(q);
        queues_free(q);
        q = NULL;
        rig_down(r);
        return 0;
}

static void begin(struct ledger *l)
{
        struct queues_options o = {
                .delays = r->delays, .ledger = l, .spine = &r->spine, .jobs = &r->job, .job_count = 1,
                .claims = &r->claims,
        };
        assert_int_equal(queues_begin(&o, &q), 0);
}

/* Waits for the next look; false when none comes. */
static bool looked(void)
{
        unsigned before = r->call_count;

        for (int ms = 0; ms < LOOK_MS && r->call_count == before; ms += 10)
                rig_pass(r, 10);
        return r->call_count == before + 1 && rig_call(r)->op == LEDGER_QUEUED;
}

static void find(const struct queued_unit *units, size_t count)
{
        struct queued_out *out = &rig_call(r)->out.queued;

        out->units = calloc(count + 1, sizeof(*units));
        assert_non_null(out->units);
        for (size_t i = 0; i < count; i++)
                out->units[i] = units[i];
        out->count = count;
        rig_answer_call(r, 0);
}

static void find_one(unsigned count, unsigned running)
{
        find(&(struct queued_unit) { .task = "mail", .count = count, .running = running }, 1);
}

static void answer_take(enum outcome out)
{
        assert_true(rig_claim(r)->take);
        rig_answer(r, out);
}

static uint64_t shown(void)
{
        struct task_counts t;

        return board_task_totals(r->board, r->task.name, &t) ? t.queued : 0;
}

static void what_waits_for_nobody_is_taken(void **state)
{
        (void) state;
        begin(&r->ledger);
        assert_true(looked());
        assert_string_equal(rig_call(r)->in.queued.node, "n");
        find_one(2, 0);
        assert_int_equal(r->claim_count, 1);
        answer_take(OUTCOME_DONE);
        assert_true(looked());   /* and so on */
        find_one(1, 1);
        assert_int_equal(r->claim_count, 1);
}

static void no_queue_is_looked_at_once_and_no_more(void **state)
{
        (void) state;
        r->task.overlap.policy = OVERLAP_DROP;
        begin(&r->ledger);
        assert_true(looked());
        rig_answer_call(r, -EAGAIN);   /* that was none */
        assert_true(looked());
        find_one(1, 1);                /* left by another configuration */
        assert_true(looked());
        find(NULL, 0);
        assert_false(looked());
}

static void what_is_not_this_workers_is_left(void **state)
{
        static const struct queued_unit units[] = {
                { .task = "removed", .count = 1 },
                { .task = "mail", .shard = 7, .count = 1 },
                { .task = "mail", .scope_key = "other-node", .count = 1 },
        };
        (void) state;

        r->claims.term = 1;
        begin(&r->ledger);
        assert_true(looked());
        find(units, 3);
        assert_int_equal(r->claim_count, 0);
        assert_int_equal(shown(), 0);
        r->job.ledger = NULL;   /* of that name, but in another ledger */
        assert_true(looked());
        find_one(1, 0);
        assert_int_equal(r->claim_count, 0);
        r->job.ledger = &r->ledger;
}

static void the_timer_worker_alone_shows_them(void **state)
{
        (void) state;
        begin(&r->ledger);
        assert_true(looked());
        find_one(4, 1);
        assert_int_equal(shown(), 0);
        r->claims.term = 1;
        assert_true(looked());
        find_one(5, 1);
        assert_int_equal(shown(), 5);
        assert_true(looked());
        find_one(3, 1);
        assert_int_equal(shown(), 3);
        r->claims.term = 0;
        assert_true(looked());
        find_one(3, 1);
        assert_int_equal(shown(), 0);
}

static void none_left_shows_none(void **state)
{
        (void) state;
        r->claims.term = 1;
        begin(&r->ledger);
        assert_true(looked());
        find_one(4, 1);
        assert_true(looked());
        find(NULL, 0);
        assert_int_equal(shown(), 0);
}

static void who_drains_looks_and_shows_no_more(void **state)
{
        (void) state;
        r->claims.term = 1;
        begin(&r->ledger);
        assert_true(looked());
        find_one(4, 1);
        assert_int_equal(shown(), 4);
        spine_drain(&r->spine, &r->job, 1, clock_wall());
        assert_false(looked());
        assert_int_equal(shown(), 0);
}

static void a_look_starts_no_more_than_the_limit(void **state)
{
        struct queued_unit units[5] = { { .task = "mail", .count = 1 } };
        (void) state;

        job_done(&r->job);
        r->task.shards = 5;
        struct job keep = r->job;
        assert_int_equal(job_init(&r->job, &r->task, "n"), 0);
        r->job.claimer = keep.claimer;
        r->job.ledger = keep.ledger;
        r->job.row = keep.row;
        r->config.tick_limit = 3;
        for (unsigned i = 0; i < 5; i++)
                units[i] = (struct queued_unit) { .task = "mail", .shard = i, .count = 1 };
        begin(&r->ledger);
        assert_true(looked());
        find(units, 5);
        assert_int_equal(r->claim_count, 3);
        for (unsigned i = 0; i < 3; i++) {
                r->claims_asked[i]->answer.outcome = OUTCOME_DONE;
                r->claims_asked[i]->done(r->claims_asked[i]);
        }
}

static void a_holder_elsewhere_is_watched_by_asking(void **state)
{
        (void) state;
        r->task.singleton = PATH_REDIS;
        r->task.lease_ms = 6000;
        begin(&r->ledger);
        assert_true(looked());
        find_one(1, 1);
        assert_int_equal(r->claim_count, 1);
        answer_take(OUTCOME_BUSY);
        assert_true(looked());
        find_one(1, 1);
        assert_int_equal(r->claim_count, 1);   /* not yet again */
        r->unit->asked.ns -= 2 * NS_PER_S;
        assert_true(looked());
        find_one(1, 1);
        assert_int_equal(r->claim_count, 2);
        answer_take(OUTCOME_BUSY);
        r->unit->asked.ns -= 2 * NS_PER_S;
        r->unit->running = 1;                  /* it is this worker's own */
        assert_true(looked());
        find_one(1, 1);
        assert_int_equal(r->claim_count, 2);
        r->unit->running = 0;
}

static void an_own_queue_is_looked_after_as_well(void **state)
{
        (void) state;
        r->job.ledger = NULL;
        begin(NULL);
        r->unit->queued = 1;
        for (int ms = 0; ms < LOOK_MS && r->claim_count == 0; ms += 10)
                rig_pass(r, 10);
        assert_int_equal(r->claim_count, 1);
        r->unit->queued = 0;
        answer_take(OUTCOME_DONE);
        assert_int_equal(r->call_count, 0);
}

static void a_canceled_look_finds_nothing(void **state)
{
        (void) state;
        begin(&r->ledger);
        assert_true(looked());
        queues_cancel(q);
        find_one(1, 0);
        assert_int_equal(r->claim_count, 0);
        assert_false(looked());
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(what_waits_for_nobody_is_taken),
                CASE(no_queue_is_looked_at_once_and_no_more),
                CASE(what_is_not_this_workers_is_left),
                CASE(the_timer_worker_alone_shows_them),
                CASE(none_left_shows_none),
                CASE(who_drains_looks_and_shows_no_more),
                CASE(a_look_starts_no_more_than_the_limit),
                CASE(a_holder_elsewhere_is_watched_by_asking),
                CASE(an_own_queue_is_looked_after_as_well),
                CASE(a_canceled_look_finds_nothing),
        };

        return RUN_CASES(argc, argv, "queues", tests);
}
