/* `onced prove` on tasks that come and go: what no configuration has is due for nobody. Task `mail` goes and comes,
 * `stay` is always there. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

struct life {
        const char *node, *config;
        int pid;
        int from_s, to_s;                /* from half a second before the first to half a second after the last */
        const char *path;
        bool has_mail;
        int rev;                         /* of mail; another than the first begins with its life */
};

static void say_plan_rev(struct author *a, int64_t t_ms, const char *task, const char *path, int rev)
{
        say(a, t_ms, "plan",
            "\"task\":\"%s\",\"path\":\"%s\",\"schedule\":\"every 1s\",\"grace\":-1,"
            "\"misfire\":\"skip\",\"scope\":\"auto\",\"shards\":1,\"enabled\":true,\"rev\":%d,\"valid_from\":%lld",
            task, path, rev, (long long) (rev > 1 ? BASE_MS + t_ms : BASE_MS));
}

/* A node's master and one worker, that ran all that was due. */
static struct author *live(struct scene *s, const struct life *l, struct author **ret_master)
{
        int64_t start = l->from_s * 1000 - 500, stop = l->to_s * 1000 + 500;
        struct author *m = author_of_config(&s->book, l->node, "m", l->pid, "master", start - 20, l->config);
        struct author *w = author_of_config(&s->book, l->node, "0", l->pid + 1, "worker", start - 10, l->config);

        say_born(m, start - 15, w);
        say_plan_rev(w, start, "stay", l->path, 1);
        if (l->has_mail)
                say_plan_rev(w, start, "mail", l->path, l->rev);
        for (int i = l->from_s; i <= l->to_s; i++) {
                say_once(w, "stay", l->path, i * 1000, i);
                if (l->has_mail)
                        say_once(w, "mail", l->path, i * 1000, i);
        }
        *ret_master = m;
        say_stop(w, stop + 10, stop, true);
        say_gone(m, stop + 20, w, 0);
        say_stop(m, stop + 30, stop, false);
        return w;
}

#define ON_N1(pid_, from, to) .node = "n1", .pid = (pid_), .from_s = (from), .to_s = (to), .path = "flock"
#define WITH    .config = "c1", .has_mail = true, .rev = 1
#define WITHOUT .config = "c2"

static int empty_scene(void **state)
{
        struct scene *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        logbook_open(&s->book);
        *state = s;
        return 0;
}

/* What the life that begins then says of the time before. */
static void say_stay_skipped(struct author *w, int first_s, int last_s)
{
        say_range(w, last_s * 1000 + 600, "skip", "stay", first_s * 1000, last_s * 1000, "misfire");
}

static struct author *two_lives(struct scene *s, bool second_has_it)
{
        struct author *m, *w;

        (void) live(s, &(struct life) { ON_N1(100, 1, 10), WITH }, &m);
        if (second_has_it)
                return live(s, &(struct life) { ON_N1(200, 16, 20), WITH }, &m);
        w = live(s, &(struct life) { ON_N1(200, 16, 20), WITHOUT }, &m);
        say_stay_skipped(w, 11, 15);
        return w;
}

static void what_was_removed_is_due_no_more(void **state)
{
        struct scene *s = *state;
        (void) two_lives(s, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 10);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 0);
        assert_int_equal(row(s, "mail")->away.count, 10);
        assert_int_equal(row(s, "mail")->away.from_ms, BASE_MS + 10499);
        assert_int_equal(row(s, "stay")->expected, 20);
        assert_int_equal(row(s, "stay")->away.count, 0);
}

static void what_was_not_removed_is_missed_between_lives(void **state)
{
        struct scene *s = *state;
        (void) two_lives(s, true);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 5);
}

static void what_was_removed_is_missed_before_that(void **state)
{
        struct scene *s = *state;
        struct author *m, *w;

        (void) live(s, &(struct life) { ON_N1(100, 1, 4), WITH }, &m);
        w = live(s, &(struct life) { ON_N1(200, 7, 9), WITH }, &m);
        say_stay_skipped(w, 5, 6);
        w = live(s, &(struct life) { ON_N1(300, 13, 14), WITHOUT }, &m);
        say_stay_skipped(w, 10, 12);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 2);
        assert_int_equal(row(s, "stay")->verdicts[VERDICT_MISSED], 0);
}

/* The range that the third life writes reaches back to where the first one stopped. */
static void what_comes_back_was_not_due_between(void **state)
{
        struct scene *s = *state;
        struct author *m, *w;
        (void) two_lives(s, false);
        w = live(s, &(struct life) { ON_N1(300, 26, 30), WITH }, &m);
        say_stay_skipped(w, 21, 25);
        say_range(w, 25500, "skip", "mail", 11000, 25000, "misfire");

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 15);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 15);
        assert_int_equal(r->away.count, 15);
        for (unsigned f = 0; f < FINDING_COUNT_; f++)
                assert_int_equal(r->findings[f], 0);
}

static void what_comes_back_changed_was_not_due_between(void **state)
{
        struct scene *s = *state;
        struct author *m, *w;
        (void) two_lives(s, false);
        w = live(s, &(struct life) { ON_N1(300, 26, 30), .config = "c3",
                                     .has_mail = true, .rev = 2 }, &m);
        say_stay_skipped(w, 21, 25);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 15);
        assert_int_equal(row(s, "mail")->away.count, 15);
}

/* It had come to the first of them. */
static void a_leader_killed_while_it_tells_its_plans_removed_nothing(void **state)
{
        struct scene *s = *state;
        struct author *m, *w, *killed;

        (void) live(s, &(struct life) { ON_N1(100, 1, 10), WITH }, &m);
        m = author_of_config(&s->book, "n1", "m", 200, "master", 12000, "c2");
        killed = author_of_config(&s->book, "n1", "0", 201, "worker", 12010, "c2");
        say_born(m, 12005, killed);
        say_plan_rev(killed, 12050, "stay", "flock", 1);
        say_gone(m, 12060, killed, 9);
        say_stop(m, 12070, 12070, false);
        w = live(s, &(struct life) { ON_N1(300, 16, 20), WITH }, &m);
        say_stay_skipped(w, 11, 15);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 5);
}

/* Who takes the plan line out of a log has not removed the task. */
static void a_plan_line_taken_out_removes_nothing(void **state)
{
        struct scene *s = *state;
        struct author *m;
        (void) live(s, &(struct life) { ON_N1(100, 1, 10), WITH }, &m);
        struct author *w = live(s, &(struct life) { ON_N1(200, 11, 20),
                                                    .config = "c3", .has_mail = true,
                                                    .rev = 1 }, &m);
        line_drop(w, line_find(w, "plan", "\"mail\""));
        for (int i = 15; i <= 20; i++) {
                char planned[32];
                (void) snprintf(planned, sizeof(planned), "\"planned\":%lld", (long long) BASE_MS + i * 1000);
                line_drop(w, line_find(w, "run", planned));
        }

        assert_int_not_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 20);
}

/* The group's task is due as long as any node that had it has it. */
static void another_node_keeps_it_in_force(void **state)
{
        struct scene *s = *state;
        struct author *m, *w;

        (void) live(s, &(struct life) { .node = "n1", .pid = 100, .from_s = 1, .to_s = 5, .path = "redis", WITH }, &m);
        w = author_of_config(&s->book, "n2", "0", 301, "worker", 600, "c1");
        m = author_of_config(&s->book, "n2", "m", 300, "master", 590, "c1");
        say_born(m, 595, w);
        say_plan_rev(w, 650, "mail", "redis", 1);
        say_plan_rev(w, 650, "stay", "redis", 1);
        for (int i = 6; i <= 12; i++)
                if (i != 9)
                        say_once(w, "mail", "redis", i * 1000, i);
        for (int i = 6; i <= 7; i++)
                say_once(w, "stay", "redis", i * 1000, i);
        say_stop(w, 12600, 12500, true);
        say_gone(m, 12610, w, 0);
        (void) live(s, &(struct life) { .node = "n1", .pid = 200, .from_s = 8, .to_s = 20, .path = "redis", WITHOUT }, &m);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->expected, 12);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
        assert_int_equal(row(s, "stay")->expected, 20);
}

/* A leader without any task tells no plan. */
static void the_last_task_can_be_removed(void **state)
{
        struct scene *s = *state;
        struct author *m, *w;

        (void) live(s, &(struct life) { ON_N1(100, 1, 10), WITH }, &m);
        m = author_of_config(&s->book, "n1", "m", 200, "master", 15000, "c0");
        w = author_of_config(&s->book, "n1", "0", 201, "worker", 15010, "c0");
        say_born(m, 15005, w);
        say_stop(w, 20600, 20500, true);
        say_gone(m, 20610, w, 0);
        say_stop(m, 20620, 20500, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 10);
        assert_int_equal(row(s, "stay")->expected, 10);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, empty_scene, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_was_removed_is_due_no_more),
                CASE(what_was_not_removed_is_missed_between_lives),
                CASE(what_was_removed_is_missed_before_that),
                CASE(what_comes_back_was_not_due_between),
                CASE(what_comes_back_changed_was_not_due_between),
                CASE(a_leader_killed_while_it_tells_its_plans_removed_nothing),
                CASE(a_plan_line_taken_out_removes_nothing),
                CASE(another_node_keeps_it_in_force),
                CASE(the_last_task_can_be_removed),
        };

        return RUN_CASES(argc, argv, "lives", tests);
}
