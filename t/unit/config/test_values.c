/* What a configuration comes to: defaults, what depends on what, includes, secrets, warnings and notes. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config/config.h"

#define TASKS "defaults: { timeout: 30s }\ntasks:\n"
#define REDIS "redis: redis://127.0.0.1\n"

static const struct task *task(const struct fixture *f, const char *name)
{
        if (!f->config)
                print_complaints(f);
        assert_non_null(f->config);
        const struct task *t = config_task(f->config, name);
        assert_non_null(t);
        return t;
}

static void what_is_not_given_has_the_documented_default(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, every: 250ms, noop: }");
        const struct task *t = task(f, "a");
        const struct config *c = f->config;
        assert_int_equal(f->complaints.count, 0);
        assert_int_equal(t->schedule.kind, SCHEDULE_EVERY);
        assert_int_equal(t->schedule.every_ms, 250);
        assert_int_equal(t->schedule.anchor_ms, 0);
        assert_int_equal(t->singleton, PATH_FLOCK);
        assert_int_equal(t->scope, SCOPE_AUTO);
        assert_true(t->enabled);
        assert_int_equal(t->misfire.policy, MISFIRE_SKIP);
        assert_int_equal(t->misfire.grace_ms, -1);
        assert_int_equal(t->misfire.lookback_ms, 3600000);
        assert_int_equal(t->first, FIRST_WINDOW);
        assert_int_equal(t->overlap.policy, OVERLAP_DROP);
        assert_int_equal(t->overlap.queue_limit, 100);
        assert_int_equal(t->timeout_ms, 30000);
        assert_int_equal(t->lease_ms, 30000);
        assert_int_equal(t->on_lease_lost, LEASE_LOST_KILL);
        assert_int_equal(t->shards, 1);
        assert_int_equal(t->max_shards, 16);
        assert_int_equal(t->history.count, 1000);
        assert_int_equal(t->history.age_ms, 0);
        assert_int_equal(t->runner, RUNNER_NOOP);
        assert_null(t->cron);
        assert_null(t->tz);
        assert_int_equal(t->place.line, 3);
        assert_string_equal(t->place.file, f->path);
        assert_true(c->workers >= 1);
        assert_string_equal(c->state_dir, "/var/lib/onced");
        assert_int_equal(c->log.level, LOG_LEVEL_INFO);
        assert_int_equal(c->log.rotate_size, 64 << 20);
        assert_int_equal(c->api.socket_mode, 0660);
        assert_int_equal(c->drain_timeout_ms, 30000);
        assert_int_equal(c->recycle.jitter_percent, 10);
        assert_null(c->redis.url);
        assert_string_equal(c->redis.app, "onced");
}

static void singleton_is_redis_where_redis_is_configured(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, REDIS TASKS "- { name: a, every: 1s, noop: }");
        assert_int_equal(task(f, "a")->singleton, PATH_REDIS);
        assert_int_equal(f->complaints.warnings, 0);
}

static void a_local_singleton_beside_redis_is_warned_about(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, REDIS TASKS "- { name: a, every: 1s, singleton: flock, noop: }\n"
                                    "- { name: b, every: 1s, singleton: dedicated, scope: main, noop: }\n"
                                    "- { name: c, every: 1s, singleton: flock, scope: all, noop: }\n"
                                    "- { name: d, every: 1s, singleton: none, noop: }\n");
        assert_int_equal(f->result, 0);
        assert_int_equal(f->complaints.warnings, 2);
        assert_true(complained(f, SEVERITY_WARNING, 4, 36, "runs once on every node"));
        assert_true(complained(f, SEVERITY_WARNING, 5, 36, "runs once on every node"));
}

static void overlap_follows_misfire_unless_it_is_given(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, every: 1s, misfire: { policy: catch_up, limit: 7 }, noop: }\n"
                              "- { name: b, every: 1s, misfire: catch_up, overlap: drop, noop: }\n"
                              "- { name: c, every: 1s, overlap: { policy: concurrent, max_running: 3 }, noop: }\n");
        assert_int_equal(task(f, "a")->overlap.policy, OVERLAP_QUEUE);
        assert_int_equal(task(f, "a")->overlap.queue_limit, 7);
        assert_int_equal(task(f, "b")->overlap.policy, OVERLAP_DROP);
        assert_int_equal(task(f, "c")->overlap.max_running, 3);
        assert_int_equal(f->complaints.warnings, 1);
        assert_true(complained(f, SEVERITY_WARNING, 4, 53, "the backlog included"));
}

static void short_forms_mean_the_long_ones(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "http_base: http://h/base/\n" TASKS
                        "- { name: a, every: 1s, http: /x?y=1, history: 50, misfire: skip }\n"
                        "- { name: b, every: 1s, exec: [echo, 5, true, ''], history: 7d }\n"
                        "- { name: c, every: 1s, http: { url: 'https://o/z', body: '', headers: { A: b, C: } } }\n");
        const struct task *a = task(f, "a"), *b = task(f, "b"), *c = task(f, "c");
        assert_string_equal(a->http.url, "http://h/base/x?y=1");
        assert_string_equal(a->http.method, "GET");
        assert_int_equal(a->history.count, 50);
        assert_int_equal(b->runner, RUNNER_EXEC);
        assert_int_equal(b->exec.argv.count, 4);
        assert_string_equal(b->exec.argv.items[1], "5");
        assert_string_equal(b->exec.argv.items[2], "true");
        assert_string_equal(b->exec.argv.items[3], "");
        assert_null(b->exec.argv.items[4]);
        assert_int_equal(b->exec.umask, 022);
        assert_int_equal(b->history.age_ms, 7 * 86400000LL);
        assert_int_equal(b->history.count, 1000);
        assert_string_equal(c->http.url, "https://o/z");
        assert_string_equal(c->http.method, "POST");
        assert_string_equal(c->http.headers.items[0], "A: b");
        assert_string_equal(c->http.headers.items[1], "C: ");
}

static void anchors_are_instants_or_milliseconds(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, every: 1s, anchor: 2026-11-30T17:00:00Z, noop: }\n"
                              "- { name: b, every: 1s, anchor: -5, noop: }\n"
                              "- { name: c, scope: manual, noop: }\n");
        assert_int_equal(task(f, "a")->schedule.anchor_ms, 1796058000000LL);
        assert_int_equal(task(f, "b")->schedule.anchor_ms, -5);
        assert_int_equal(task(f, "c")->schedule.kind, SCHEDULE_NONE);
}

static void a_task_wins_over_defaults_and_lists_are_replaced(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "defaults: { timeout: 5s, every: 10s, history: { count: 5, age: 1d }, shards: 20 }\n"
                        "tasks:\n- { name: a, noop: }\n- { name: b, cron: '@daily', timeout: 6s, history: 9, noop: }\n");
        assert_int_equal(task(f, "a")->schedule.every_ms, 10000);
        assert_int_equal(task(f, "a")->timeout_ms, 5000);
        assert_int_equal(task(f, "a")->max_shards, 20);
        assert_int_equal(task(f, "b")->timeout_ms, 6000);
        assert_int_equal(task(f, "b")->schedule.kind, SCHEDULE_CRON);
        assert_string_equal(task(f, "b")->cron, "@daily");
        assert_int_equal(task(f, "b")->history.count, 9);
        assert_int_equal(task(f, "b")->history.age_ms, 86400000);
}

static void includes_are_sorted_and_the_later_file_wins_by_name(void **state)
{
        struct fixture *f = *state;
        static const char one[] = "workers: 2\ntasks:\n- { name: a, every: 2s, noop: }\n- { name: b, every: 2s, noop: }\n";
        static const char two[] = "workers: 3\ndefaults: { timeout: 9s }\ntasks:\n- { name: b, every: 3s, noop: }\n";

        fixture_write(f, "20.inc", two, strlen(two));
        fixture_write(f, "10.inc", one, strlen(one));
        fixture_load(f, "workers: 1\ninclude: ['*.inc', none-*.inc]\n" TASKS "- { name: a, every: 1s, noop: }\n");
        assert_int_equal(task(f, "a")->schedule.every_ms, 2000);
        assert_int_equal(task(f, "a")->timeout_ms, 30000);
        assert_int_equal(task(f, "b")->schedule.every_ms, 3000);
        assert_int_equal(task(f, "b")->timeout_ms, 9000);
        assert_int_equal(f->config->task_count, 2);
        assert_int_equal(f->config->workers, 3);
        assert_int_equal(f->config->files.count, 3);
        assert_null(config_task(f->config, "c"));
}

static void errors_of_an_include_name_the_include(void **state)
{
        struct fixture *f = *state;
        static const char bad[] = "include: x\ntasks:\n- { name: a, every: 1s, noop: }\n- { name: a, every: 1s, noop: }\n";

        fixture_write(f, "bad.inc", bad, strlen(bad));
        fixture_load(f, "include: bad.inc\ndefaults: { timeout: 1q }\n");
        assert_null(f->config);
        assert_true(complained_in(f, "/bad.inc", SEVERITY_ERROR, "duplicate task name \"a\""));
        assert_true(complained_in(f, "/bad.inc", SEVERITY_ERROR, "only the first file may include"));
        assert_true(complained_in(f, "/onced.yaml", SEVERITY_ERROR, "defaults.timeout: \"1q\""));
        assert_int_equal(f->complaints.errors, 3);
}

static void secrets_come_from_files_and_variables(void **state)
{
        struct fixture *f = *state;

        fixture_write(f, "secret", "s3cret\n", 7);
        setenv("ONCED_T_TOKEN", "tok", 1);
        fixture_load(f, "http_secret: { file: secret }\napi: { token: { env: ONCED_T_TOKEN } }\n"
                        "redis: { url: redis://h, password: plain }\n" TASKS "- { name: a, every: 1s, noop: }\n");
        (void) task(f, "a");
        assert_string_equal(f->config->http_secret, "s3cret");
        assert_string_equal(f->config->api.token, "tok");
        assert_string_equal(f->config->redis.password, "plain");
        assert_int_equal(f->complaints.warnings, 0);   /* the file is 0600 */
}

static void secrets_that_everybody_can_read_are_warned_about(void **state)
{
        struct fixture *f = *state;
        char secret[128];

        fixture_write(f, "secret", "s3cret", 6);
        snprintf(secret, sizeof(secret), "%s/secret", f->folder);
        fixture_load(f, "http_secret: { file: secret }\n" REDIS TASKS "- { name: a, every: 1s, noop: }\n");
        assert_int_equal(chmod(secret, 0644), 0);
        assert_int_equal(chmod(f->path, 0644), 0);
        fixture_load(f, "http_secret: { file: secret }\nredis: 'redis://:p@h'\n" TASKS "- { name: a, every: 1s, noop: }\n");
        assert_true(complained(f, SEVERITY_WARNING, 1, 22, "is readable by everybody"));
        assert_true(complained(f, SEVERITY_WARNING, 2, 8, "a password in a file that everybody can read"));
        assert_int_equal(f->complaints.warnings, 2);
}

static void credentials_leave_the_redis_url(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "redis: 'redis://me:p%40ss@h:1/2'\n" TASKS "- { name: a, every: 1s, noop: }\n");
        (void) task(f, "a");
        assert_string_equal(f->config->redis.url, "redis://h:1/2");
        assert_string_equal(f->config->redis.user, "me");
        assert_string_equal(f->config->redis.password, "p@ss");
}

static void sentinels_and_their_word_for_the_primary_stand_for_the_redis_url(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "redis: { master: m, sentinels: ['h:1', '[::1]:2'] }\n" TASKS "- { name: a, every: 1s, noop: }\n");
        assert_int_equal(task(f, "a")->singleton, PATH_REDIS);
        assert_string_equal(f->config->redis.url, "redis://m");
        assert_int_equal(f->config->redis.sentinels.count, 2);
        fixture_load(f, "redis: { url: 'redis://:pw@x/3', master: m, sentinels: 'h:1' }\n" TASKS
                        "- { name: a, every: 1s, noop: }\n");
        (void) task(f, "a");
        assert_string_equal(f->config->redis.url, "redis://x/3");
        assert_string_equal(f->config->redis.password, "pw");
}

static void a_lease_below_a_second_needs_the_test_flag(void **state)
{
        struct fixture *f = *state;
        static const char text[] = TASKS "- { name: a, every: 1s, lease: 100ms, noop: }\n";

        unsetenv("ONCED_TEST_SHORT_LEASE");
        fixture_load(f, text);
        assert_null(f->config);
        setenv("ONCED_TEST_SHORT_LEASE", "1", 1);
        fixture_load(f, text);
        assert_int_equal(task(f, "a")->lease_ms, 100);
        fixture_load(f, TASKS "- { name: a, every: 1s, lease: 99ms, noop: }\n");
        assert_null(f->config);
        unsetenv("ONCED_TEST_SHORT_LEASE");
}

static void keys_of_later_versions_are_noted_once_and_only_when_used(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "max_age: off\nprobation: 10s\ntrigger_ttl: 5m\ndefaults: { timeout: 1s, late: 1s }\n"
                        "tasks:\n- { name: a, every: 1s, late: 2s, noop: }\n- { name: b, every: 1s, late: off, noop: }\n");
        assert_int_equal(f->complaints.count, 1);
        assert_true(complained(f, SEVERITY_NOTE, 4, 26, "late"));
}

static void a_configuration_without_tasks_is_a_warning(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "workers: 1\n");
        assert_int_equal(f->result, 0);
        assert_true(complained(f, SEVERITY_WARNING, 0, 0, "no tasks"));
        assert_null(config_task(f->config, "a"));

        fixture_load(f, "workers: 1\ntasks: []\n");
        assert_true(complained(f, SEVERITY_WARNING, 0, 0, "no tasks"));
}

static void tasks_that_cannot_be_read_are_not_called_none(void **state)
{
        static const char *const wrong[] = { "tasks: { a: b }\n", "tasks: word\n", "tasks: [ word ]\n" };
        struct fixture *f = *state;

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                fixture_load(f, wrong[i]);
                assert_int_equal(f->result, -EINVAL);
                assert_int_equal(f->complaints.warnings, 0);
        }
}

static void alerts_are_read(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "alerts:\n- { on: missed, http: 'http://h/x' }\n- { on: [late, degraded], exec: [/bin/page] }\n"
                        TASKS "- { name: a, every: 1s, noop: }\n");
        (void) task(f, "a");
        assert_int_equal(f->config->alert_count, 2);
        assert_string_equal(f->config->alerts[0].on.items[0], "missed");
        assert_int_equal(f->config->alerts[1].runner, RUNNER_EXEC);
        assert_int_equal(f->config->alerts[1].on.count, 2);
        assert_true(complained(f, SEVERITY_NOTE, 1, 1, "alerts"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(what_is_not_given_has_the_documented_default),
                CASE(singleton_is_redis_where_redis_is_configured),
                CASE(a_local_singleton_beside_redis_is_warned_about),
                CASE(overlap_follows_misfire_unless_it_is_given),
                CASE(short_forms_mean_the_long_ones),
                CASE(anchors_are_instants_or_milliseconds),
                CASE(a_task_wins_over_defaults_and_lists_are_replaced),
                CASE(includes_are_sorted_and_the_later_file_wins_by_name),
                CASE(errors_of_an_include_name_the_include),
                CASE(secrets_come_from_files_and_variables),
                CASE(secrets_that_everybody_can_read_are_warned_about),
                CASE(credentials_leave_the_redis_url),
                CASE(sentinels_and_their_word_for_the_primary_stand_for_the_redis_url),
                CASE(a_lease_below_a_second_needs_the_test_flag),
                CASE(keys_of_later_versions_are_noted_once_and_only_when_used),
                CASE(a_configuration_without_tasks_is_a_warning),
                CASE(tasks_that_cannot_be_read_are_not_called_none),
                CASE(alerts_are_read),
        };

        return RUN_CASES(argc, argv, "config values", tests);
}
