/* Columns of `onced prove` add up: over histories of all that may happen to an instant, drawn at random, every due
 * instant is in one column, and every run has one end. */
#include <stdlib.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define HISTORIES 300
#define INSTANTS  40
#define DONE "\"result\":\"done\",\"run_us\":900"
#define OTHER "\"cause\":\"worker_died\",\"run_us\":0,\"of\":\"n1.0.101.77-ab12.9\""

struct drawing {
        struct scene *s;
        unsigned seed;
        int fence;
};

static unsigned draw(struct drawing *d, unsigned n)
{
        return (unsigned) rand_r(&d->seed) % n;
}

static struct author *anyone(struct drawing *d)
{
        return draw(d, 2) ? d->s->first : d->s->second;
}

static void granted(struct drawing *d, struct author *a, int64_t t)
{
        say_attempt(a, t + 1, "mail", "flock", t, "granted", ++d->fence);
}

static void ran(struct drawing *d, struct author *a, int64_t t, const char *state, const char *more)
{
        granted(d, a, t);
        say_run(a, t + 2, "mail", "flock", t, d->fence);
        if (state)
                say_finish(a, t + 3, "mail", t, state, more);
}

static void give_up(struct drawing *d, int64_t t)
{
        static const char *const words[][2] = {
                { "skip", "overlap" }, { "skip", "misfire" }, { "miss", "late" }, { "miss", "nobody" },
        };
        const char *const *w = words[draw(d, 4)];

        say_range(anyone(d), t + 4, w[0], "mail", t - 1000 * (int64_t) draw(d, 5), t, w[1]);
}

/* What becomes of one instant, lines of it in any log, and sometimes in none. */
static void happen(struct drawing *d, int64_t t)
{
        struct author *a = anyone(d), *b = a == d->s->first ? d->s->second : d->s->first;

        if (draw(d, 4) == 0)
                say_attempt(anyone(d), t + 1, "mail", "flock", t, "queued", 0);
        switch (draw(d, 22)) {
        case 0:  return;
        case 1:  ran(d, a, t, "succeeded", "\"result\":\"noop\",\"run_us\":900"); return;
        case 2:  ran(d, a, t, "failed", "\"cause\":\"status\",\"run_us\":900"); return;
        case 3:  ran(d, a, t, "failed", "\"cause\":\"not_sent\",\"run_us\":900"); return;
        case 4:  ran(d, a, t, "unknown", "\"cause\":\"no_answer\",\"run_us\":900"); return;
        case 5:  ran(d, a, t, NULL, ""); return;
        case 6:  ran(d, a, t, NULL, ""); say_finish(b, t + 9, "mail", t, "interrupted", OTHER); return;
        case 7:
                granted(d, a, t);
                say_finish(a, t + 9, "mail", t, "failed", "\"cause\":\"not_sent\",\"run_us\":0");
                return;
        case 8:  granted(d, a, t); say_finish(b, t + 9, "mail", t, "interrupted", OTHER); return;
        case 9:  granted(d, a, t); return;
        case 10: granted(d, a, t); granted(d, b, t); return;
        case 11: granted(d, a, t); granted(d, b, t); say_finish(b, t + 9, "mail", t, "interrupted", OTHER); return;
        case 12: granted(d, a, t); ran(d, b, t, "succeeded", DONE); return;
        case 13: ran(d, a, t, "succeeded", DONE); ran(d, b, t, "succeeded", DONE); return;
        case 14: ran(d, a, t, "succeeded", DONE); give_up(d, t); return;
        case 15: give_up(d, t); ran(d, a, t, "succeeded", DONE); return;
        case 16: give_up(d, t); give_up(d, t); return;
        case 17: say_finish(a, t + 3, "mail", t, "succeeded", DONE); return;
        case 18: give_up(d, t); say_finish(a, t + 3, "mail", t, "interrupted", OTHER); return;
        default: ran(d, a, t, "succeeded", DONE); return;
        }
}

/* Some time later, a run of what was long settled, and lines of what lies before and behind all plans. */
static void afterwards(struct drawing *d)
{
        for (unsigned n = draw(d, 3); n > 0; n--)
                say_run(anyone(d), INSTANTS * 1000 + 200, "mail", "flock", 1000 * (1 + (int64_t) draw(d, INSTANTS)), 7);
        if (draw(d, 2))
                ran(d, anyone(d), (INSTANTS + 2) * 1000, "succeeded", DONE);
        if (draw(d, 2))
                say_range(anyone(d), INSTANTS * 1000 + 300, "skip", "mail", -5000, (INSTANTS + 9) * 1000, "misfire");
        if (draw(d, 4) == 0)
                say(anyone(d), INSTANTS * 1000 + 400, "gap", "\"lines\":3,\"why\":\"No space left on device\"");
}

static void history(struct drawing *d)
{
        struct scene *s = d->s;

        say_plan(s->first, 50, "mail", "flock", 1000,
                 draw(d, 2) ? "\"rev\":1" : "\"rev\":1,\"overlap\":\"queue\"");
        ran(d, anyone(d), -1000, "succeeded", DONE);
        for (int i = 1; i <= INSTANTS; i++)
                happen(d, i * 1000);
        afterwards(d);
        say_stop(s->first, INSTANTS * 1000 + 600, INSTANTS * 1000 + 500, true);
        say_stop(s->second, INSTANTS * 1000 + 600, INSTANTS * 1000 + 500, false);
        say_gone(s->master, INSTANTS * 1000 + 700, s->first, 0);
        say_gone(s->master, INSTANTS * 1000 + 700, s->second, 0);
}

static uint64_t ends_of(const struct row *r)
{
        return r->finals[STATE_SUCCEEDED] + r->finals[STATE_FAILED] + r->finals[STATE_INTERRUPTED] +
               r->finals[STATE_UNKNOWN];
}

static uint64_t started_ends_of(const struct row *r)
{
        return ends_of(r) - r->unrun[UNRUN_UNSENT] - r->unrun[UNRUN_CUT];
}

static uint64_t sum(const uint64_t *numbers, unsigned count)
{
        uint64_t all = 0;

        for (unsigned i = 0; i < count; i++)
                all += numbers[i];
        return all;
}

static void assert_adds_up(const struct row *r, unsigned number)
{
        uint64_t twice = r->verdicts[VERDICT_DUPLICATE], missed = r->verdicts[VERDICT_MISSED];
        uint64_t unrun = sum(r->unrun, UNRUN_COUNT_), open = r->runs - started_ends_of(r);

        if (r->expected != r->once + twice + unrun + missed || r->expected != sum(r->verdicts, VERDICT_COUNT_) ||
            started_ends_of(r) > r->runs)
                fail_msg("history %u: due %llu, once %llu, twice %llu, not run %llu, missed %llu, ends %llu of %llu",
                         number, (unsigned long long) r->expected, (unsigned long long) r->once,
                         (unsigned long long) twice, (unsigned long long) unrun, (unsigned long long) missed,
                         (unsigned long long) started_ends_of(r), (unsigned long long) r->runs);
        assert_int_equal(sum(r->results, RESULT_COUNT_), r->finals[STATE_SUCCEEDED]);
        assert_int_equal(sum(r->failed_by, CAUSE_COUNT_), r->finals[STATE_FAILED]);
        if (twice + r->beside[VERDICT_DUPLICATE] + r->beside[VERDICT_UNKNOWN] > 0)
                return;
        assert_int_equal(r->runs, r->once);
        assert_int_equal(open, r->running + r->unfinished);
        assert_int_equal(r->expected, ends_of(r) + open + r->unrun[UNRUN_DROPPED] + r->unrun[UNRUN_SKIPPED] +
                                              r->unrun[UNRUN_MISSED] + r->unrun[UNRUN_UNSURE] + r->unrun[UNRUN_QUEUED] +
                                              missed);
}

static void whatever_happens_each_due_instant_is_in_one_column(void **state)
{
        (void) state;
        for (unsigned n = 1; n <= HISTORIES; n++) {
                void *one;
                assert_int_equal(scene_new(&one), 0);
                struct drawing d = { .s = one, .seed = n };
                history(&d);
                (void) prove_it(d.s);
                const struct row *r = row(d.s, "mail");
                assert_int_equal(r->expected, INSTANTS);
                assert_adds_up(r, n);
                (void) prove_with(d.s, &(struct judge_options) { .since_ms = BASE_MS + 7500,
                                                                 .until_ms = BASE_MS + 31000 });
                assert_int_equal(row(d.s, "mail")->expected, 23);
                assert_adds_up(row(d.s, "mail"), n);
                (void) scene_free(&one);
        }
}

/* Each process by itself: what it started and what it did not. */
static void plain_history(struct drawing *d, struct author *a)
{
        for (int i = 1; i <= INSTANTS; i++) {
                int64_t t = i * 1000;
                switch (draw(d, 7)) {
                case 0:
                        say_range(a, t + 4, "skip", "plain", t, t, "overlap");
                        break;
                case 1:
                        say_run(a, t + 1, "plain", "none", t, 0);
                        say_finish(a, t + 2, "plain", t, "failed", "\"cause\":\"not_sent\",\"run_us\":300");
                        break;
                case 2:
                        say_finish(a, t + 2, "plain", t, "failed", "\"cause\":\"not_sent\",\"run_us\":0");
                        break;
                case 3:
                        say_run(a, t + 1, "plain", "none", t, 0);   /* killed in it */
                        break;
                default:
                        say_once(a, "plain", "none", t, 0);
                        break;
                }
        }
        say_once(a, "plain", "none", (INSTANTS + 3) * 1000, 0);
}

static void under_none_each_process_adds_up(void **state)
{
        (void) state;
        for (unsigned n = 1; n <= HISTORIES / 10; n++) {
                void *one;
                assert_int_equal(scene_new(&one), 0);
                struct drawing d = { .s = one, .seed = n };
                say_plan(d.s->first, 50, "plain", "none", 1000, "\"rev\":0");
                plain_history(&d, d.s->first);
                plain_history(&d, d.s->second);
                say_stop(d.s->first, INSTANTS * 1000 + 600, INSTANTS * 1000 + 500, true);
                say_stop(d.s->second, INSTANTS * 1000 + 600, INSTANTS * 1000 + 500, false);
                assert_int_equal(prove_it(d.s), 0);
                const struct row *r = row(d.s, "plain");
                assert_int_equal(r->expected, INSTANTS);
                assert_int_equal(r->runs + sum(r->unrun, UNRUN_COUNT_), 2 * INSTANTS);
                assert_int_equal(started_ends_of(r) + r->unfinished, r->runs);
                assert_int_equal(r->running, 0);
                assert_int_equal(r->outside, 2);
                (void) scene_free(&one);
        }
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(whatever_happens_each_due_instant_is_in_one_column),
                cmocka_unit_test(under_none_each_process_adds_up),
        };

        return RUN_CASES(argc, argv, "columns", tests);
}
