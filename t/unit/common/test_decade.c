/* Ten years of schedules on a clock that is no clock: polls come when they like, the process stops for seconds or days,
 * the wall clock goes back. Whatever happens, each planned instant is decided once, in order: run or given up. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/schedule/misfire.h"
#include "t/unit/cases.h"
#include "t/unit/common/draw_cron.h"

#define DECADE_MS (3653 * MS_PER_DAY)

/* A unit as it lives: its cursor moves to the newest decided instant, and never back. */
struct life {
        const char *name;
        struct schedule schedule;
        struct misfire misfire;
        struct instant cursor, now;
        uint64_t run, given_up, seed;
};

static struct instant start;

static struct instant next_of(const struct life *l, struct instant i)
{
        struct instant next;

        if (schedule_next(&l->schedule, i, &next) < 0)
                fail_msg("%s: no instant after %lld", l->name, (long long) i.ms);
        return next;
}

/* The given up ones are those that follow the cursor; what runs follows them without a gap. */
static void apply(struct life *l, const struct misfire_plan *p)
{
        struct instant first = next_of(l, l->cursor);

        if (p->given_up.count > 0) {
                assert_int_equal(p->given_up.first.ms, first.ms);
                assert_int_equal(schedule_count(&l->schedule, l->cursor, p->given_up.last), p->given_up.count);
                l->cursor = p->given_up.last;
                l->given_up += p->given_up.count;
                first = next_of(l, l->cursor);
        }
        for (uint64_t i = 0; i < p->run_count; i++) {
                struct instant run = i == 0 ? p->run : next_of(l, l->cursor);
                assert_int_equal(run.ms, next_of(l, l->cursor).ms);
                assert_true(run.ms > l->cursor.ms && run.ms <= l->now.ms);
                assert_true(l->now.ms - run.ms <= misfire_grace_ms(&l->misfire, &l->schedule, run));
                l->cursor = run;
                l->run++;
        }
}

static void poll(struct life *l)
{
        struct misfire_plan p;

        misfire_decide(&l->misfire, &l->schedule, l->cursor, l->now, &p);
        if (l->misfire.policy == MISFIRE_SKIP)
                assert_true(p.run_count <= 1);
        else
                assert_true(p.run_count <= l->misfire.limit);
        if (p.run_count + p.given_up.count > 0)
                apply(l, &p);
        if (l->cursor.ms <= l->now.ms) {
                /* Decided is decided: the same question again has nothing left to answer. */
                misfire_decide(&l->misfire, &l->schedule, l->cursor, l->now, &p);
                assert_true(p.run_count == 0 && p.given_up.count == 0);
        }
}

/* How the next poll comes: at the next instant, a bit late, out of turn, after a pause, after the clock went back. */
static void time_passes(struct life *l)
{
        unsigned what = draw_below(&l->seed, 100);
        struct instant due = next_of(l, l->cursor);

        if (what < 60)
                l->now.ms = due.ms > l->now.ms ? due.ms : l->now.ms + 1;
        else if (what < 85)
                l->now.ms = (due.ms > l->now.ms ? due.ms : l->now.ms) + draw_below(&l->seed, 2000);
        else if (what < 93)
                l->now.ms += draw_below(&l->seed, 90000);
        else if (what < 96)
                l->now.ms += (int64_t) (draw(&l->seed) % (20 * (uint64_t) MS_PER_DAY));
        else
                l->now.ms -= draw_below(&l->seed, 7200000);
}

static void live(struct life *l)
{
        uint64_t all;

        l->cursor = l->now = start;
        while (l->now.ms < start.ms + DECADE_MS) {
                poll(l);
                time_passes(l);
        }
        if (l->now.ms < l->cursor.ms)
                l->now = l->cursor;
        poll(l);
        all = schedule_count(&l->schedule, start, l->cursor);
        if (l->run + l->given_up != all)
                fail_msg("%s: %llu run and %llu given up of %llu", l->name, (unsigned long long) l->run,
                         (unsigned long long) l->given_up, (unsigned long long) all);
        assert_true(l->run > 0);
        if (l->now.ms > l->cursor.ms)
                assert_int_equal(schedule_count(&l->schedule, l->cursor, l->now), 0);
}

static void live_with(const char *name, const struct schedule *s, uint64_t seed)
{
        const struct misfire policies[] = {
                { .policy = MISFIRE_SKIP, .grace_ms = -1 },
                { .policy = MISFIRE_SKIP, .grace_ms = 0 },
                { .policy = MISFIRE_SKIP, .grace_ms = 86400000 },
                { .policy = MISFIRE_CATCH_UP, .limit = 1, .lookback_ms = 3600000 },
                { .policy = MISFIRE_CATCH_UP, .limit = 100, .lookback_ms = 7 * MS_PER_DAY },
                { .policy = MISFIRE_CATCH_UP, .limit = 1000, .lookback_ms = 366 * MS_PER_DAY },
        };

        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                struct life l = { .name = name, .schedule = *s, .misfire = policies[i], .seed = seed + i };
                live(&l);
        }
}

static uint64_t first_seed(void)
{
        const char *given = getenv("ONCED_SEED");
        uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t) clock_wall().ns;

        print_message("ONCED_SEED=%llu\n", (unsigned long long) seed);
        return seed;
}

static void ten_years_of_cron_decide_each_instant_once(void **state)
{
        static const struct {
                const char *expression, *tz;
                bool both;
        } schedules[] = {
                { "0 * * * *", "Europe/Berlin", false },       { "0 * * * *", "Europe/Berlin", true },
                { "30 2 * * *", "America/New_York", false },   { "*/45 * * * *", "Australia/Lord_Howe", false },
                { "*/45 * * * *", "Australia/Lord_Howe", true }, { "0 9 * * 1-5", "Asia/Shanghai", false },
                { "15 1,2,3 * * *", "Africa/Casablanca", false }, { "0 0 L * *", "Europe/Dublin", false },
                { "0 */4 * * *", "UTC", false },               { "0 0 29 2 1", "Asia/Kolkata", false },
        };
        uint64_t seed = first_seed();

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(schedules); i++) {
                struct schedule s;
                struct cron_error e;
                if (schedule_cron(schedules[i].expression, schedules[i].tz, schedules[i].both, &s, &e) < 0)
                        fail_msg("%s: %s", schedules[i].expression, e.text);
                live_with(schedules[i].expression, &s, seed + i * 100);
        }
}

static void ten_years_of_intervals_decide_each_instant_once(void **state)
{
        static const struct {
                int64_t every_ms, anchor_ms;
                const char *name;
        } schedules[] = {
                { 3600000, 0, "1h" }, { 7 * 3600000 + 13, -5, "7h 13ms" }, { 31 * MS_PER_DAY, 777, "31d" }, { 1800000, 1, "30m" },
        };
        uint64_t seed = first_seed();

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(schedules); i++) {
                struct schedule s;
                assert_int_equal(schedule_every(schedules[i].every_ms, schedules[i].anchor_ms, &s), 0);
                live_with(schedules[i].name, &s, seed + i * 100);
        }
}

/* A day of every tenth of a second and of every second, which ten years would be too many of. */
static void short_intervals_decide_each_instant_once(void **state)
{
        struct schedule s;
        struct cron_error e;
        uint64_t seed = first_seed();

        (void) state;
        for (int k = 0; k < 2; k++) {
                struct life l = { .name = "short", .misfire = { .policy = MISFIRE_SKIP, .grace_ms = -1 }, .seed = seed };
                if (k == 0)
                        assert_int_equal(schedule_every(100, 0, &s), 0);
                else
                        assert_int_equal(schedule_cron("* * * * * *", "Europe/Berlin", false, &s, &e), 0);
                l.schedule = s;
                l.cursor = l.now = start;
                for (int polls = 0; polls < 100000; polls++) {
                        poll(&l);
                        time_passes(&l);
                }
                assert_int_equal(l.run + l.given_up, schedule_count(&s, start, l.cursor));
        }
}

static int decade_begins(void **state)
{
        (void) state;
        return instant_parse("2024-01-01T00:00:00.500Z", &start);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(ten_years_of_cron_decide_each_instant_once, decade_begins),
                cmocka_unit_test_setup(ten_years_of_intervals_decide_each_instant_once, decade_begins),
                cmocka_unit_test_setup(short_intervals_decide_each_instant_once, decade_begins),
        };
        return RUN_CASES(argc, argv, "decade", tests);
}
