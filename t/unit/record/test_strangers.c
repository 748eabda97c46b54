/* `onced prove` on a part of the logs: what a process here was told to be decided, and no line here tells of, was
 * decided by somebody whose log is elsewhere. That is nothing to be called missed. */
#include <stdlib.h>
#include <string.h>

#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

/* Ten seconds of which strangers ran the fourth to the sixth. */
static void without_three(struct scene *s, const char *path, const char *out)
{
        say_plan(s->first, 50, "mail", path, 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                if (i < 4 || i > 6)
                        say_once(s->second, "mail", path, i * 1000, i);
                if (i < 4 || i > 6 || out)
                        say_attempt(s->first, i * 1000 + 2, "mail", path, i * 1000, i < 4 || i > 6 ? "done" : out, 0);
        }
}

static void assert_three(struct scene *s, int code, enum verdict v)
{
        assert_int_equal(prove_it(s), code);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->verdicts[v], 3);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 7);
        assert_int_equal(r->unrun[UNRUN_UNSURE], v == VERDICT_UNKNOWN ? 3 : 0);
}

static void what_strangers_decided_is_unknown(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", "done");
        all_stop(s);

        assert_three(s, 3, VERDICT_UNKNOWN);
        assert_int_equal(s->j->note_count, 1);
        assert_non_null(strstr(s->j->notes[0], "decided by a process whose log is not here"));
}

/* Its author died, and nobody has told of it yet. */
static void what_the_local_ledger_knows_is_unknown_too(void **state)
{
        struct scene *s = *state;
        without_three(s, "flock", "done");
        all_stop(s);

        assert_three(s, 3, VERDICT_UNKNOWN);
}

static void what_was_only_busy_is_missed(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", "busy");
        all_stop(s);

        assert_three(s, 2, VERDICT_MISSED);
}

static void what_nobody_asked_for_is_missed(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", NULL);
        all_stop(s);

        assert_three(s, 2, VERDICT_MISSED);
}

/* Strangers that ran one instant may have run those as well that nobody here asked for. */
static void once_there_are_strangers_nothing_of_the_group_is_missed(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", NULL);
        say_attempt(s->first, 5002, "mail", "redis", 5000, "done", 0);
        all_stop(s);

        assert_three(s, 3, VERDICT_UNKNOWN);
}

static void strangers_of_the_group_excuse_no_local_task(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", "done");
        say_plan(s->first, 50, "here", "flock", 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++)
                if (i != 7)
                        say_once(s->first, "here", "flock", i * 1000, i);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "here")->verdicts[VERDICT_MISSED], 1);
}

/* One of those here died: it is enough of a reason for what it took with it, and is no stranger. */
static void a_death_here_is_no_stranger(void **state)
{
        struct scene *s = *state;
        without_three(s, "redis", NULL);
        say_attempt(s->first, 5002, "mail", "redis", 5000, "done", 0);
        struct author *third = author_of(&s->book, "n1", "2", 103, "worker", 12);
        say_born(s->master, 7, third);
        say_attempt(third, 3002, "mail", "redis", 3000, "done", 0);
        say_attempt(third, 3902, "mail", "redis", 3000, "done", 0);
        say_gone(s->master, 5003, third, 9);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN], 1);
}

/* It was granted here, by one who stopped in good order and never said what became of it. */
static void what_was_granted_here_and_forgotten_is_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 5);
        say_attempt(s->first, 5001, "mail", "flock", 5000, "granted", 5);
        say_attempt(s->second, 5002, "mail", "flock", 5000, "done", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_strangers_decided_is_unknown),
                CASE(what_the_local_ledger_knows_is_unknown_too),
                CASE(what_was_only_busy_is_missed),
                CASE(what_nobody_asked_for_is_missed),
                CASE(once_there_are_strangers_nothing_of_the_group_is_missed),
                CASE(strangers_of_the_group_excuse_no_local_task),
                CASE(a_death_here_is_no_stranger),
                CASE(what_was_granted_here_and_forgotten_is_missed),
        };

        return RUN_CASES(argc, argv, "strangers", tests);
}
