/* Cron schedules in the proof: computed by the zones of this machine, and said when those are not what the logs were
 * written with. */
#include <stdlib.h>
#include <string.h>

#include "cli/prove/report.h"
#include "common/schedule/zone.h"
#include "t/unit/cases.h"
#include "t/unit/record/scene.h"

#define DAY 86400000LL
#define EACH_SECOND "cron * * * * * * tz Europe/Berlin"

/* 2026-03-28T00:00:00Z in ms after BASE_MS: a day and a bit before the clocks of Berlin go forward. */
#define SPRING (1774656000000LL - BASE_MS)

static void say_stops(struct scene *s, int64_t t_ms)
{
        say_stop(s->first, t_ms, t_ms - 100, true);
        say_stop(s->second, t_ms, t_ms - 100, false);
        say_gone(s->master, t_ms + 100, s->first, 0);
        say_gone(s->master, t_ms + 100, s->second, 0);
        say_stop(s->master, t_ms + 200, t_ms + 200, false);
}

/* Ten seconds of `mail` under `schedule`; the fourth is left out. */
static void nine_seconds(struct scene *s, const char *schedule)
{
        say_plan_of(s->first, 50, "mail", "flock", schedule, "\"rev\":1");
        for (int i = 1; i <= 10; i++)
                if (i != 4)
                        say_once(i % 2 ? s->first : s->second, "mail", "flock", i * 1000, 100 + i);
        all_stop(s);
}

static void cron_instants_are_expected_one_by_one(void **state)
{
        struct scene *s = *state;
        nine_seconds(s, EACH_SECOND);

        assert_int_equal(prove_it(s), 2);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 10);
        assert_int_equal(r->once, 9);
        assert_int_equal(r->verdicts[VERDICT_MISSED], 1);
        assert_string_equal(r->when, EACH_SECOND);
        assert_string_equal(s->j->notes[0],
                            "MISSED mail 2025-11-30T17:00:04.000Z: nobody ran it, and nothing says why");
}

/* 02:30 in Berlin is 01:30 UTC on the 28th and 00:30 on the 30th; on the 29th there is none. */
static void spring(struct scene *s, bool on_the_29th)
{
        say_plan_of(s->first, SPRING, "mail", "flock", "cron 30 2 * * * tz Europe/Berlin", "\"rev\":1");
        say_once(s->first, "mail", "flock", SPRING + DAY / 24 + DAY / 48, 1);
        if (on_the_29th)
                say_once(s->first, "mail", "flock", SPRING + DAY + DAY / 24 + DAY / 48, 2);
        say_once(s->second, "mail", "flock", SPRING + 2 * DAY + DAY / 48, 3);
        say_stops(s, SPRING + 3 * DAY);
}

static void a_time_that_does_not_exist_is_not_expected(void **state)
{
        struct scene *s = *state;
        spring(s, false);

        assert_int_equal(prove_it(s), 0);
        assert_int_equal(row(s, "mail")->expected, 2);
        assert_int_equal(row(s, "mail")->once, 2);
        assert_int_equal(s->j->note_count, 0);
}

static void a_run_at_a_time_that_does_not_exist_is_a_phantom(void **state)
{
        struct scene *s = *state;
        spring(s, true);

        (void) prove_it(s);
        assert_int_equal(row(s, "mail")->findings[FINDING_PHANTOM], 1);
        assert_int_equal(row(s, "mail")->outside, 1);
}

/* Half a minute late is within the grace of a schedule by the minute, and not within that of one by the second. */
static void the_grace_of_cron_is_its_interval(void **state)
{
        struct scene *s = *state;
        say_plan_of(s->first, 50, "minute", "flock", "cron * * * * * tz UTC", "\"rev\":1");
        say_plan_of(s->first, 50, "second", "flock", "cron * * * * * * tz UTC", "\"rev\":1");
        say_attempt(s->first, 90000, "minute", "flock", 60000, "granted", 1);
        say_run(s->first, 90000, "minute", "flock", 60000, 1);
        say_attempt(s->first, 90001, "second", "flock", 60000, "granted", 1);
        say_run(s->first, 90001, "second", "flock", 60000, 1);
        say_stops(s, 100000);

        (void) prove_it(s);
        assert_int_equal(row(s, "minute")->findings[FINDING_LATE], 0);
        assert_int_equal(row(s, "second")->findings[FINDING_LATE], 1);
}

static void a_long_schedule_is_one_text(void **state)
{
        struct scene *s = *state;
        char schedule[SCHEDULE_TEXT], list[CRON_MAX] = "0";
        struct cron_error why;
        struct schedule made;
        for (int i = 2; i < 60; i += 2)
                (void) snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", i);
        char expression[CRON_MAX + 16];
        (void) snprintf(expression, sizeof(expression), "0 %s 17 * * *", list);
        assert_int_equal(schedule_cron(expression, "America/Argentina/ComodRivadavia", true, &made, &why), 0);
        schedule_text(&made, schedule, sizeof(schedule));

        say_plan_of(s->first, 50, "mail", "flock", schedule, "\"rev\":1");
        say_stops(s, 100000);
        (void) prove_it(s);
        assert_int_equal(s->e->trouble_count, 0);
        assert_null(s->e->plans[0]->doubt);
        assert_string_equal(row(s, "mail")->when, schedule);
}

static void a_zone_that_is_not_here_leaves_its_task_unjudged(void **state)
{
        struct scene *s = *state;
        nine_seconds(s, "cron * * * * * * tz Europe/Nowhere");
        say_plan(s->second, 60, "news", "flock", 60000, "\"rev\":1");

        assert_int_equal(prove_it(s), 3);
        const struct row *r = row(s, "mail");
        assert_int_equal(r->expected, 0);
        assert_int_equal(r->outside, 9);
        assert_int_equal(r->beside[VERDICT_UNKNOWN], 1);
        assert_int_equal(r->findings[FINDING_PHANTOM], 0);
        assert_string_equal(s->j->notes[0], "UNKNOWN mail: its zone Europe/Nowhere is not on this machine, so that nobody "
                                            "can say when it was due");
}

static void two_runs_in_a_zone_that_is_not_here_are_two(void **state)
{
        struct scene *s = *state;
        say_plan_of(s->first, 50, "mail", "flock", "cron * * * * * * tz Europe/Nowhere", "\"rev\":1");
        say_once(s->first, "mail", "flock", 1000, 1);
        say_once(s->second, "mail", "flock", 1000, 2);
        all_stop(s);

        assert_int_equal(prove_it(s), 1);
}

static void a_schedule_of_another_kind_leaves_its_task_unjudged(void **state)
{
        struct scene *s = *state;
        nine_seconds(s, "tide high at Cuxhaven");

        assert_int_equal(prove_it(s), 3);
        assert_string_equal(s->j->notes[0], "UNKNOWN mail: its schedule is none that can be read here (tide high at "
                                            "Cuxhaven), so that nobody can say when it was due");
}

/* What nobody was to run needs no zone. */
static void a_disabled_task_needs_no_zone(void **state)
{
        struct scene *s = *state;
        say(s->first, 50, "plan",
            "\"task\":\"mail\",\"path\":\"flock\",\"schedule\":\"cron 0 0 * * * tz Europe/Nowhere\",\"shards\":1,"
            "\"enabled\":false,\"rev\":1,\"valid_from\":%lld", BASE_MS);
        ten_seconds(s, "flock", 0);
        all_stop(s);

        (void) prove_it(s);
        assert_int_equal(s->j->note_count, 0);
        assert_int_equal(row(s, "mail")->verdicts[VERDICT_UNKNOWN] + row(s, "mail")->beside[VERDICT_UNKNOWN], 0);
}

/* The scene's own workers say nothing of their zone data. */
static void written_with(struct scene *s, const char *schedule, const char *tzdata)
{
        char more[64];
        struct author *third = author_new(&s->book, "n1", "2", 103), *fourth = author_new(&s->book, "n1", "3", 104);
        (void) snprintf(more, sizeof(more), "\"tzdata\":\"%s\"", tzdata);

        say_start(third, 12, "worker", more);
        say_start(fourth, 13, "worker", more);
        say_born(s->master, 7, third);
        say_born(s->master, 8, fourth);
        say_stop(third, 10600, 10500, false);
        say_stop(fourth, 10600, 10500, false);
        say_gone(s->master, 10610, third, 0);
        say_gone(s->master, 10620, fourth, 0);
        nine_seconds(s, schedule);
        (void) prove_it(s);
}

static void other_zone_data_are_told(void **state)
{
        struct scene *s = *state;
        char want[256];
        written_with(s, EACH_SECOND, "1999a");

        (void) snprintf(want, sizeof(want),
                        "2 processes computed with zone data 1999a, this proof with %s: where the rules of a zone changed "
                        "between them, instants may differ", zone_data_version());
        assert_int_equal(s->e->remark_count, 1);
        assert_string_equal(s->e->remarks[0], want);
}

static void the_same_zone_data_need_no_word(void **state)
{
        struct scene *s = *state;
        written_with(s, EACH_SECOND, zone_data_version());

        assert_int_equal(s->e->remark_count, 0);
}

static void without_a_zone_its_data_do_not_matter(void **state)
{
        struct scene *s = *state;
        written_with(s, "cron * * * * * * tz UTC", "1999a");

        assert_int_equal(s->e->remark_count, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scene_new, scene_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(cron_instants_are_expected_one_by_one),
                CASE(a_time_that_does_not_exist_is_not_expected),
                CASE(a_run_at_a_time_that_does_not_exist_is_a_phantom),
                CASE(the_grace_of_cron_is_its_interval),
                CASE(a_long_schedule_is_one_text),
                CASE(a_zone_that_is_not_here_leaves_its_task_unjudged),
                CASE(two_runs_in_a_zone_that_is_not_here_are_two),
                CASE(a_schedule_of_another_kind_leaves_its_task_unjudged),
                CASE(a_disabled_task_needs_no_zone),
                CASE(other_zone_data_are_told),
                CASE(the_same_zone_data_need_no_word),
                CASE(without_a_zone_its_data_do_not_matter),
        };
        return RUN_CASES(argc, argv, "zones", tests);
}
