/* `onced prove` on tasks that become another kind of task, by `singleton:`, and on lines that do not say which kind they
 * are of. Two configurations: `c1` has the task one way, `c2` the other. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define EVERY_MS 4000

struct life {
        const char *config, *path;
        int64_t from_ms, to_ms;
        bool enabled;
        int rev;
        int64_t valid_from_ms;
};

static void say_plan_from(struct author *a, int64_t t_ms, const struct life *l)
{
        say(a, t_ms, "plan",
            "\"task\":\"mail\",\"path\":\"%s\",\"schedule\":\"every 4s\",\"grace\":-1,\"misfire\":\"skip\",\"scope\":\"auto\","
            "\"shards\":1,\"enabled\":%s,\"rev\":%d,\"valid_from\":%lld", l->path, l->enabled ? "true" : "false", l->rev,
            (long long) (BASE_MS + l->valid_from_ms));
}

static void ran(struct author *a, const char *path, int64_t planned_ms, int64_t started_ms)
{
        say_run(a, started_ms, "mail", path, planned_ms, 0);
        say_finish(a, started_ms + 2, "mail", planned_ms, "succeeded", "\"result\":\"done\",\"run_us\":1000");
}

/* A master with two workers, that run an instant of their window each, or once; and that at 8 s, when they get there. */
static void live(struct scene *s, int pid, const struct life *l, int64_t planned_ms, int64_t started_ms)
{
        struct author *m = author_of_config(&s->book, "n1", "m", pid, "master", l->from_ms, l->config);
        struct author *a = author_of_config(&s->book, "n1", "0", pid + 1, "worker", l->from_ms + 10, l->config);
        struct author *b = author_of_config(&s->book, "n1", "1", pid + 2, "worker", l->from_ms + 11, l->config);
        struct author *all[] = { a, b };

        say_born(m, l->from_ms + 5, a);
        say_born(m, l->from_ms + 6, b);
        say_plan_from(a, l->from_ms + 50, l);
        for (int i = 0; i < (strcmp(l->path, "none") == 0 ? 2 : 1) && l->enabled; i++) {
                ran(all[i], l->path, planned_ms, started_ms);
                if (l->to_ms > 8100)
                        ran(all[i], l->path, 8000, 8001);
        }
        say_stop(a, l->to_ms, l->to_ms - 10, true);
        say_stop(b, l->to_ms, l->to_ms - 10, false);
        say_gone(m, l->to_ms + 10, a, 0);
        say_gone(m, l->to_ms + 10, b, 0);
        say_stop(m, l->to_ms + 20, l->to_ms, false);
}

static const struct row *row_of(const struct scene *s, enum path path)
{
        for (size_t i = 0; i < s->j->row_count; i++)
                if (s->j->rows[i]->path == path)
                        return s->j->rows[i];
        fail_msg("no row of path %d", (int) path);
        return NULL;
}

static void assert_nothing_is_wrong(const struct scene *s)
{
        for (size_t i = 0; i < s->j->row_count; i++)
                for (unsigned f = 0; f < FINDING_COUNT_; f++)
                        assert_int_equal(s->j->rows[i]->findings[f], 0);
        assert_int_equal(s->j->note_count, 0);
}

static const struct life once = { "c1", "flock", 0, 1200, true, 1, 40 };
static const struct life off = { "c3", "flock", 1300, 4200, false, 2, 1340 };
static const struct life plain = { "c2", "none", 4300, 8500, true, 0, 290 };

/* The window of the third life reaches back to before the second one's plan, and before the first one's. */
static void what_becomes_a_plain_timer_is_no_duplicate(void **state)
{
        struct scene *s = *state;
        live(s, 100, &once, 0, 60);
        live(s, 200, &off, 0, 0);
        live(s, 300, &plain, 4000, 4360);

        assert_int_equal(prove_it(s), 0);
        assert_nothing_is_wrong(s);
        assert_int_equal(row_of(s, PATH_NONE)->runs, 2);
        assert_int_equal(row_of(s, PATH_FLOCK)->verdicts[VERDICT_DUPLICATE], 0);
        assert_string_equal(report_verdict(s->e, s->j), "NOT SINGLE");
}

/* Both run the instant that the other ran. */
static void what_was_a_plain_timer_is_no_duplicate(void **state)
{
        struct scene *s = *state;
        live(s, 100, &(struct life) { "c2", "none", 4100, 5000, true, 0, 90 }, 4000, 4160);
        live(s, 200, &(struct life) { "c1", "flock", 5100, 9000, true, 1, 5140 }, 4000, 5160);

        assert_int_equal(prove_it(s), 0);
        assert_nothing_is_wrong(s);
        assert_int_equal(row_of(s, PATH_NONE)->outside, 2);
        assert_int_equal(row_of(s, PATH_FLOCK)->outside, 1);
        assert_int_equal(row_of(s, PATH_FLOCK)->verdicts[VERDICT_ONCE], 1);
        assert_int_equal(row_of(s, PATH_FLOCK)->beside[VERDICT_DUPLICATE], 0);
}

/* A plan that is no longer there would miss the instant at 8 s. */
static void what_became_a_plain_timer_is_missed_no_more(void **state)
{
        struct scene *s = *state;
        struct life longer = plain;
        longer.to_ms = 13000;
        live(s, 100, &once, 0, 60);
        live(s, 300, &longer, 4000, 4360);

        (void) prove_it(s);
        assert_nothing_is_wrong(s);
        assert_int_equal(row_of(s, PATH_FLOCK)->verdicts[VERDICT_MISSED], 0);
        assert_true(row_of(s, PATH_FLOCK)->away.count > 0);
}

static void two_runs_under_flock_stay_a_duplicate(void **state)
{
        struct scene *s = *state;
        struct life longer = once;
        longer.to_ms = 4900;
        live(s, 100, &longer, 4000, 4010);
        say_run(&s->book.authors[2], 4950, "mail", "flock", 4000, 2);
        live(s, 300, &plain, 4000, 4990);

        assert_int_equal(prove_it(s), 1);
        assert_int_equal(row_of(s, PATH_FLOCK)->verdicts[VERDICT_DUPLICATE], 1);
}

/* The newer grid begins with a window that reaches back to before the older one's. */
static void a_plain_timer_follows_the_schedule_that_it_was_given_last(void **state)
{
        struct scene *s = *state;
        struct author *a = author_of_config(&s->book, "n1", "0", 100, "worker", 0, "c1");
        struct author *b = author_of_config(&s->book, "n1", "0", 200, "worker", 5000, "c2");
        say(a, 50, "plan", "\"task\":\"mail\",\"path\":\"none\",\"schedule\":\"every 1s\",\"grace\":-1,\"scope\":\"auto\","
                           "\"shards\":1,\"enabled\":true,\"rev\":0,\"valid_from\":%lld", BASE_MS - 1000LL);
        for (int i = 1; i <= 4; i++)
                say_once(a, "mail", "none", i * 1000, 0);
        say_stop(a, 4900, 4890, true);
        say(b, 5050, "plan", "\"task\":\"mail\",\"path\":\"none\",\"schedule\":\"every 6s\",\"grace\":-1,\"scope\":\"auto\","
                             "\"shards\":1,\"enabled\":true,\"rev\":0,\"valid_from\":%lld", BASE_MS - 1001LL);
        say_once(b, "mail", "none", 6000, 0);
        say_once(b, "mail", "none", 12000, 0);
        say_stop(b, 12900, 12890, true);

        (void) prove_it(s);
        assert_string_equal(row(s, "mail")->when, "every 6s");
        assert_int_equal(row(s, "mail")->runs, 6);
        assert_int_equal(row(s, "mail")->expected, 7);
}

#define OF_ANOTHER "\"cause\":\"worker_died\",\"of\":\"n1.0.99.7-a.3\""

/* Of a process whose file is not here another tells the end, and that line has no path. */
static void an_end_without_a_path_is_of_the_tasks_only_row(void **state)
{
        struct scene *s = *state;
        ran(s->first, "flock", 1000, 1001);
        say_finish(s->second, 2500, "mail", 2000, "interrupted", OF_ANOTHER);

        (void) prove_it(s);
        assert_int_equal(s->j->row_count, 1);
        assert_int_equal(s->j->rows[0]->path, PATH_FLOCK);
}

static void an_end_without_a_path_that_comes_first_waits_for_its_row(void **state)
{
        struct scene *s = *state;
        say_finish(s->second, 500, "mail", 0, "interrupted", OF_ANOTHER);
        ran(s->first, "flock", 1000, 1001);

        (void) prove_it(s);
        assert_int_equal(s->j->row_count, 1);
        assert_int_equal(s->j->rows[0]->path, PATH_FLOCK);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, empty_scene, scene_free)

static int empty_scene(void **state)
{
        struct scene *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        logbook_open(&s->book);
        *state = s;
        return 0;
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_becomes_a_plain_timer_is_no_duplicate),
                CASE(what_was_a_plain_timer_is_no_duplicate),
                CASE(what_became_a_plain_timer_is_missed_no_more),
                CASE(two_runs_under_flock_stay_a_duplicate),
                CASE(a_plain_timer_follows_the_schedule_that_it_was_given_last),
                cmocka_unit_test_setup_teardown(an_end_without_a_path_is_of_the_tasks_only_row, scene_new, scene_free),
                cmocka_unit_test_setup_teardown(an_end_without_a_path_that_comes_first_waits_for_its_row, scene_new, scene_free),
        };

        return RUN_CASES(argc, argv, "kinds", tests);
}
