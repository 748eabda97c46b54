/* How far `onced prove` judges, and what it says of the rest: a process is judged by what it knew to be decided, and
 * the time between two ledgers is nobody's. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

static void say_cease(struct author *a, int64_t t_ms, int64_t ceased_ms, bool led)
{
        say(a, t_ms, "cease", "\"ceased\":%lld,\"led\":%s", (long long) (BASE_MS + ceased_ms),
            led ? "true" : "false");
}

/* Both took nothing new from 10.5 s on; a run of one went on until it was killed at 40 s. */
static void killed_while_draining(struct scene *s)
{
        ten_seconds(s, "flock", 0);
        say_cease(s->first, 10500, 10500, true);
        say_cease(s->second, 10500, 10500, false);
        say_finish(s->first, 39000, "mail", 10000, "succeeded", "\"result\":\"done\",\"run_us\":1");
        say_gone(s->master, 40000, s->first, 9);
        say_stop(s->second, 10600, 10500, false);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 40100, 40100, false);
}

static void who_is_killed_while_draining_missed_nothing(void **state)
{
        struct scene *s = *state;
        killed_while_draining(s);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->verdicts[VERDICT_MISSED], 0);
}

static void what_was_due_behind_the_window_is_said(void **state)
{
        struct scene *s = *state;
        killed_while_draining(s);

        (void) prove_it(s);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->unjudged, UNJUDGED_NOBODY);
        assert_int_equal(r->unjudged_from_ms, BASE_MS + 10499);
        assert_int_equal(r->unjudged_upto_ms, BASE_MS + 40100);
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);
        report_table(out, s->e, s->j, false);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "mail: not judged: from 2025-11-30T17:00:10.499Z to 2025-11-30T17:00:40.100Z "
                                     "(nobody tried: workers stopped or busy); the next start names them\n"));
        free(text);
}

static void a_window_that_ends_with_the_logs_needs_no_word(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->unjudged, UNJUDGED_NOTHING);
}

static void a_ledger_that_was_down_to_the_end_is_the_reason(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_attempt(s->first, 11001, "mail", "flock", 11000, "down", 0);
        say_stop(s->first, 20000, 11000, true);
        say_stop(s->second, 20000, 11000, false);
        say_gone(s->master, 20100, s->first, 0);
        say_gone(s->master, 20100, s->second, 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->unjudged, UNJUDGED_DOWN);
}

static void asked_for_less_nothing_is_left_unjudged(void **state)
{
        struct scene *s = *state;
        killed_while_draining(s);

        (void) prove_with(s, &(struct judge_options) { .since_ms = INT64_MIN, .until_ms = BASE_MS + 9000 });
        assert_int_equal(row(s, "mail")->unjudged, UNJUDGED_NOTHING);
}

/* The group's ledger was away from the fifth second on, the local one was not. */
static void each_ledger_has_its_own_end(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        say_plan(s->first, 60, "far", "redis", 1000, "\"rev\":1");
        for (int i = 1; i <= 4; i++)
                say_once(s->first, "far", "redis", i * 1000, i);
        say(s->first, 10600, "stop", "\"ceased\":%lld,\"ceased_group\":%lld,\"led\":true",
            (long long) (BASE_MS + 10500), (long long) (BASE_MS + 5000));
        say(s->second, 10600, "stop", "\"ceased\":%lld,\"ceased_group\":%lld,\"led\":false",
            (long long) (BASE_MS + 10500), (long long) (BASE_MS + 5000));
        say_gone(s->master, 10700, s->first, 0);
        say_gone(s->master, 10700, s->second, 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 10);
        assert_int_equal(row(s, "far")->expected, 4);
}

/* It led once and wrote the plan; who leads now answers for what is dedicated. */
static void who_leads_no_more_does_not_answer_for_dedicated_tasks(void **state)
{
        struct scene *s = *state;
        say_plan(s->first, 50, "mail", "dedicated", 1000, "\"rev\":1");
        for (int i = 1; i <= 5; i++)
                say_once(s->first, "mail", "dedicated", i * 1000, i);
        say_plan(s->second, 5100, "mail", "dedicated", 1000, "\"rev\":1");
        say_stop(s->first, 10600, 10500, false);
        say_stop(s->second, 10600, 5500, true);
        say_gone(s->master, 10700, s->first, 0);
        say_gone(s->master, 10700, s->second, 0);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 5);
}

/* A state folder replaced: the second life's ledger is new, and the logs of the first lie in the same folder. */
static void second_life(struct scene *s, const char *node, int rev)
{
        struct author *m = author_of(&s->book, node, "m", 200, "master", 60000);
        struct author *w = author_of(&s->book, node, "0", 201, "worker", 60010);
        char more[32];

        (void) snprintf(more, sizeof(more), "\"rev\":%d", rev);
        say_born(m, 60005, w);
        say_plan(w, 60050, "mail", "flock", 1000, more);
        for (int i = 61; i <= 65; i++)
                say_once(w, "mail", "flock", i * 1000, i);
        say_stop(w, 65600, 65500, true);
        say_gone(m, 65700, w, 0);
}

static void between_two_ledgers_nothing_is_missed(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        second_life(s, "n1", 1);

        assert_int_equal(prove_it(s), 0);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 15);
        assert_int_equal(r->verdicts[VERDICT_ONCE], 15);
        assert_int_equal(r->between.count, 50);
        assert_int_equal(r->between.from_ms, BASE_MS + 10500);
        assert_int_equal(r->between.upto_ms, BASE_MS + 60050);
}

static void a_replaced_folder_may_have_another_node_in_it(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        second_life(s, "n7", 1);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->between.count, 50);
}

/* One ledger: what nobody names between two lives is missed. */
static void between_two_lives_of_one_ledger_all_is_judged(void **state)
{
        struct scene *s = *state;
        ten_seconds(s, "flock", 0);
        all_stop(s);
        second_life(s, "n1", 2);

        assert_int_equal(prove_it(s), 2);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_MISSED], 50);
}

/* A task for each node begins on a node with that node, however old its definition is. */
static void a_node_that_comes_later_has_missed_nothing(void **state)
{
        struct scene *s = *state;
        struct author *m = author_of(&s->book, "n2", "m", 300, "master", 7100);
        struct author *w = author_of(&s->book, "n2", "0", 301, "worker", 7110);
        ten_seconds(s, "flock", 0);
        say_born(m, 7105, w);
        say(w, 7150, "plan",
            "\"task\":\"all\",\"key\":\"n2\",\"path\":\"redis\",\"schedule\":\"every 1s\","
            "\"grace\":-1,\"misfire\":\"skip\",\"scope\":\"all\",\"shards\":1,\"enabled\":true,\"rev\":1,"
            "\"valid_from\":%lld", (long long) BASE_MS);
        for (int i = 8; i <= 10; i++) {
                say(w, i * 1000 + 1, "run",
                    "\"task\":\"all\",\"key\":\"n2\",\"shard\":0,\"planned\":%lld,\"by\":\"schedule\","
                    "\"path\":\"redis\",\"fence\":\"%d\"", (long long) (BASE_MS + i * 1000), i);
                say(w, i * 1000 + 2, "finish",
                    "\"task\":\"all\",\"key\":\"n2\",\"shard\":0,\"planned\":%lld,\"by\":\"schedule\","
                    "\"state\":\"succeeded\",\"result\":\"done\",\"run_us\":900", (long long) (BASE_MS + i * 1000));
        }
        say_stop(w, 10600, 10500, true);
        say_gone(m, 10700, w, 0);
        all_stop(s);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "all")->expected, 3);
        assert_int_equal(row(s, "all")->verdicts[VERDICT_ONCE], 3);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(who_is_killed_while_draining_missed_nothing),
                CASE(what_was_due_behind_the_window_is_said),
                CASE(a_window_that_ends_with_the_logs_needs_no_word),
                CASE(a_ledger_that_was_down_to_the_end_is_the_reason),
                CASE(asked_for_less_nothing_is_left_unjudged),
                CASE(each_ledger_has_its_own_end),
                CASE(who_leads_no_more_does_not_answer_for_dedicated_tasks),
                CASE(between_two_ledgers_nothing_is_missed),
                CASE(a_replaced_folder_may_have_another_node_in_it),
                CASE(between_two_lives_of_one_ledger_all_is_judged),
                CASE(a_node_that_comes_later_has_missed_nothing),
        };

        return RUN_CASES(argc, argv, "window", tests);
}
