/* The demonstration pair: four workers whose timers are skewed against each other, and a task much shorter than
 * the skew. Through a ledger with a cursor each instant runs once; with a lock by name, freed when the run
 * is over, it runs again and again. The second case shows that the first one can fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "t/unit/cases.h"
#include "t/unit/worker/rig.h"

#define WORKERS  4
#define SKEW_MS  10
#define RUN_MS   2
#define EVERY_MS 60
#define INSTANTS 6
#define COMMIT_MS 1

static char run_dir[64], task_name[] = "short";

/* What the ledger of the test holds: one unit. */
static struct {
        struct instant cursor;
        char slot[OCC_TEXT];
} store;

struct fake_worker {
        struct spine spine;
        struct job job;
        struct claimer_options claims;
        char owner[32];
};

static struct {
        uv_loop_t loop;
        uv_timer_t tick;
        struct delays *delays;
        struct config config;
        struct shortfalls *shortfalls;
        struct task task;
        struct board *board;
        struct ledger ledger;
        struct fake_worker workers[WORKERS];
        struct instant end;
} world;

/* The ledger answers a moment later, as one that commits. */

struct answer {
        struct delay wait;
        struct ledger_call *call;
};

static void decide(const struct claim_in *in, struct claim_out *out)
{
        out->cursor = store.cursor;
        if (in->planned.ms <= store.cursor.ms) {
                out->outcome = OUTCOME_DONE;
        } else if (in->expect.ms != store.cursor.ms) {
                out->outcome = OUTCOME_MOVED;
        } else {
                store.cursor = in->planned;
                out->cursor = in->planned;
                out->outcome = store.slot[0] ? OUTCOME_DECIDED : OUTCOME_GRANTED;
                out->state = STATE_SKIPPED;
                out->cause = CAUSE_OVERLAP;
                if (!store.slot[0])
                        (void) snprintf(store.slot, sizeof(store.slot), "%s", in->occ);
        }
}

static void on_commit(struct delay *d)
{
        struct answer *a = container_of(d, struct answer, wait);
        struct ledger_call *call = a->call;

        free(a);
        if (call->op == LEDGER_CLAIM) {
                decide(&call->in.claim, &call->out.claim);
        } else if (call->op == LEDGER_PEEK) {
                call->out.peek.registered = true;
                call->out.peek.cursor = store.cursor;
                call->out.peek.running = store.slot[0] != 0;
        } else {
                assert_int_equal(call->op, LEDGER_FINISH);
                store.slot[0] = 0;
        }
        call->done(call);
}

static void ledger_take(struct ledger *l, struct ledger_call *call)
{
        struct answer *a = calloc(1, sizeof(*a));
        (void) l;

        assert_non_null(a);
        a->call = call;
        a->wait.over = on_commit;
        delay_set(world.delays, &a->wait, COMMIT_MS);
}

static const struct ledger_kind committing = { .name = "committing", .send = ledger_take };

/* The lock by name: whoever finds it free holds it while the task runs. */

static struct claim *name_holder;

static void name_decide(struct delay *d)
{
        struct claim *c = container_of(d, struct claim, wait);

        c->answer.cursor = c->planned;
        c->answer.outcome = name_holder ? OUTCOME_DONE : OUTCOME_GRANTED;
        if (!name_holder)
                name_holder = c;
        c->done(c);
}

static void name_ask(struct claimer *cr, struct claim *c)
{
        c->wait.over = name_decide;
        delay_set(cr->options->delays, &c->wait, 0);
}

static void name_hurry(struct claimer *cr, struct claim *c)
{
        (void) cr, (void) c;
}

static void name_release(struct claimer *cr, struct claim *c)
{
        (void) cr;
        if (name_holder == c)
                name_holder = NULL;
}

static int name_open(struct claimer_options *o, struct ledger *l, struct claimer **ret)
{
        *ret = calloc(1, sizeof(**ret));
        **ret = (struct claimer) { .options = o, .ledger = l };
        return 0;
}

static void name_close(struct claimer *cr)
{
        free(cr);
}

static const struct claim_kind claim_by_name = {
        .name = "name", .path = PATH_FLOCK,
        .open = name_open, .ask = name_ask, .hurry = name_hurry, .release = name_release, .close = name_close,
};

/* A runner whose runs take 2 ms. */

struct short_run {
        struct delay wait;
        struct run *run;
};

static void on_run_over(struct delay *d)
{
        struct short_run *s = container_of(d, struct short_run, wait);
        struct run *run = s->run;

        free(s);
        run->outcome.state = STATE_SUCCEEDED;
        run->outcome.result = RESULT_DONE;
        run->done(run);
}

static void on_run_begins(struct delay *d)
{
        struct short_run *s = container_of(d, struct short_run, wait);

        assert_int_equal(s->run->starting(s->run), 0);
        d->over = on_run_over;
        delay_set(world.delays, d, RUN_MS);
}

static int short_start(struct runner *rn, struct run *run)
{
        struct short_run *s = calloc(1, sizeof(*s));
        (void) rn;

        s->run = run;
        s->wait.over = on_run_begins;
        delay_set(world.delays, &s->wait, 0);
        return 0;
}

static const struct runner_kind short_runner = { .name = "short", .start = short_start };

/* The world. */

static void worker_up(struct fake_worker *w, unsigned i, const struct claim_kind *kind)
{
        (void) snprintf(w->owner, sizeof(w->owner), "n.%u.%u.s", i, 100 + i);
        w->claims = (struct claimer_options) {
                .config = &world.config, .delays = world.delays, .node = "n", .owner = w->owner, .rank = i + 1,
        };
        assert_int_equal(job_init(&w->job, &world.task, "n"), 0);
        assert_int_equal(kind->open(&w->claims, &world.ledger, &w->job.claimer), 0);
        w->job.claimer->kind = kind;
        w->job.ledger = &world.ledger;
        w->job.runner_kind = &short_runner;
        int place = board_take(world.board, ROLE_WORKER, i, 1);
        assert_true(place >= 0);
        struct board_place *p = board_place(world.board, (unsigned) place);
        w->job.row = place_row(p, task_name);
        struct spine_options o = {
                .delays = world.delays, .place = p, .shortfalls = world.shortfalls,
                .claims = &w->claims, .node = "n", .owner = w->owner,
                .log_dir = "/log", .tick_limit = 100, .max_handles = 100,
                .timer_delay_ms = i * SKEW_MS,
        };
        spine_init(&w->spine, &o);
        w->job.units[0].cursor = store.cursor;
        w->job.units[0].registered = true;
        spine_enlist(&w->spine, &w->job.units[0]);
}

static void on_tick(uv_timer_t *t)
{
        struct stamp now = clock_wall();
        unsigned alive = 0;

        for (unsigned i = 0; i < WORKERS; i++) {
                struct fake_worker *w = &world.workers[i];
                if (stamp_instant(now).ms >= world.end.ms)
                        spine_drain(&w->spine, &w->job, 1, now);
                spine_turn(&w->spine, now);
                alive += w->spine.phase == SPINE_WORKING || w->spine.count > 0;
        }
        if (alive == 0)
                uv_close((uv_handle_t *) t, NULL);
}

static void on_closed(void *arg)
{
        (void) arg;
}

/* Lets the four live for some instants; every start is a line of the log. */
static void live(const struct claim_kind *kind)
{
        char command[96];
        int64_t now_ms = stamp_instant(clock_wall()).ms;

        memset(&world, 0, sizeof(world));
        world.shortfalls = shortfalls_new(&world.config);
        assert_non_null(world.shortfalls);
        memset(&rig_log, 0, sizeof(rig_log));
        store.cursor.ms = now_ms;
        store.slot[0] = 0;
        (void) snprintf(run_dir, sizeof(run_dir), "/tmp/onced-test-XXXXXX");
        assert_non_null(mkdtemp(run_dir));
        world.config.run_dir = run_dir;
        world.task = (struct task) {
                .name = task_name, .singleton = PATH_FLOCK, .enabled = true, .shards = 1,
                .misfire = { .policy = MISFIRE_SKIP, .grace_ms = -1 },
                .overlap = { .policy = OVERLAP_DROP, .max_running = 1 },
                .timeout_ms = 1000,
        };
        assert_int_equal(schedule_every(EVERY_MS, now_ms + 20, &world.task.schedule), 0);
        world.end.ms = now_ms + 20 + (INSTANTS - 1) * EVERY_MS + WORKERS * SKEW_MS;
        world.ledger.kind = &committing;
        assert_int_equal(uv_loop_init(&world.loop), 0);
        assert_int_equal(delays_open(&world.loop, &world.delays), 0);
        assert_int_equal(board_create(WORKERS, &world.board), 0);
        for (unsigned i = 0; i < WORKERS; i++)
                worker_up(&world.workers[i], i, kind);

        (void) uv_timer_init(&world.loop, &world.tick);
        (void) uv_timer_start(&world.tick, on_tick, 1, 1);
        while (uv_is_active((uv_handle_t *) &world.tick))
                (void) uv_run(&world.loop, UV_RUN_ONCE);

        for (unsigned i = 0; i < WORKERS; i++) {
                spine_done(&world.workers[i].spine);
                kind->close(world.workers[i].job.claimer);
                job_done(&world.workers[i].job);
        }
        world.shortfalls = shortfalls_free(world.shortfalls);
        delays_close(world.delays, on_closed, NULL);
        (void) uv_run(&world.loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&world.loop), 0);
        (void) board_free(world.board);
        (void) snprintf(command, sizeof(command), "rm -r %s", run_dir);
        assert_int_equal(system(command), 0);
}

/* Starts of the instant that is started most often; *ret_instants: how many were started at all. */
static unsigned most_starts(unsigned *ret_instants)
{
        unsigned most = 0, instants = 0;

        for (unsigned i = 0; i < rig_lines("run"); i++) {
                unsigned starts = 0;
                bool first = true;
                for (unsigned k = 0; k < rig_lines("run"); k++) {
                        bool same = strcmp(rig_line("run", i)->occ, rig_line("run", k)->occ) == 0;
                        starts += same;
                        first = first && (!same || k >= i);
                }
                instants += first;
                if (starts > most)
                        most = starts;
        }
        *ret_instants = instants;
        return most;
}

static void short_task_with_skewed_timers_runs_once(void **state)
{
        unsigned instants;
        (void) state;

        live(&claim_flock);
        assert_int_equal(most_starts(&instants), 1);
        assert_true(instants >= INSTANTS - 1);
}

static void lock_by_name_runs_it_again_and_again(void **state)
{
        unsigned instants;
        (void) state;

        live(&claim_by_name);
        assert_true(most_starts(&instants) > 1);
        assert_true(rig_lines("run") > instants);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(short_task_with_skewed_timers_runs_once),
                cmocka_unit_test(lock_by_name_runs_it_again_and_again),
        };

        return RUN_CASES(argc, argv, "once", tests);
}
