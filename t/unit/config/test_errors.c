/* What is wrong with a configuration, where, and in which words: one row a mistake. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"

/* A row whose text begins with "- " is one task under fine defaults, in line 3. */
#define TASKS "defaults: { timeout: 30s }\ntasks:\n"
#define GOOD "tasks: [ { name: a, every: 1s, timeout: 1s, noop: {} } ]\n"

struct error_case {
        const char *text;
        unsigned line, column;
        const char *fragment;
};

static void check_rows(void **state, const struct error_case *rows, size_t count)
{
        struct fixture *f = *state;

        for (size_t i = 0; i < count; i++) {
                char text[4096];
                bool is_task = strncmp(rows[i].text, "- ", 2) == 0;
                snprintf(text, sizeof(text), "%s%s", is_task ? TASKS : "", rows[i].text);
                fixture_load(f, text);
                if (f->result == -EINVAL &&
                    complained(f, SEVERITY_ERROR, rows[i].line, rows[i].column, rows[i].fragment))
                        continue;
                print_complaints(f);
                fail_msg("row %zu, expected %u:%u \"%s\":\n%s", i, rows[i].line, rows[i].column, rows[i].fragment, text);
        }
}

static void mistakes_of_keys_are_named_with_the_nearest_key(void **state)
{
        static const struct error_case rows[] = {
                { "workrs: 2\n" GOOD, 1, 1, "unknown key \"workrs\"; did you mean \"workers\"?" },
                { "zzzzzzzz: 2\n" GOOD, 1, 1, "unknown key \"zzzzzzzz\"" },
                { "- { name: a, evry: 1s, noop: {} }", 3, 14, "task \"a\": unknown key \"evry\"; did you mean \"every\"?" },
                { "- { name: a, every: 1s, http: { ulr: /x } }", 3, 33, "http: unknown key \"ulr\"; did you mean \"url\"?" },
                { "log: { lvel: info }\n" GOOD, 1, 8, "log: unknown key \"lvel\"; did you mean \"level\"?" },
                { "workers: 1\nworkers: 2\n" GOOD, 2, 1, "duplicate key \"workers\", first given in line 1" },
                { "- { name: a, every: 1s, every: 2s, noop: {} }", 3, 25, "duplicate key \"every\", first given in line 3" },
                { "? [a, b]\n: 1\n", 1, 3, "a key must be a word" },
                { "defaults: { name: x }\n" GOOD, 1, 13, "defaults: \"name\" belongs to a task and has no default" },
                { "defaults: { noop: {} }\n" GOOD, 1, 13, "defaults: \"noop\" belongs to a task and has no default" },
                { "alerts: [ { on: missed, htp: x } ]\n" GOOD, 1, 25, "alerts: unknown key \"htp\"; did you mean \"http\"?" },
        };

        check_rows(state, rows, ARRAY_SIZE(rows));
}

static void mistakes_of_values_quote_the_text_and_say_what_is_right(void **state)
{
        static const struct error_case rows[] = {
                { "workers: many\n" GOOD, 1, 10, "workers: \"many\" must be a whole number" },
                { "workers: 0\n" GOOD, 1, 10, "workers: \"0\" is out of range 1 to 256" },
                { "workers: 257\n" GOOD, 1, 10, "out of range 1 to 256" },
                { "workers: 99999999999999999999\n" GOOD, 1, 10, "out of range 1 to 256" },
                { "workers: [1]\n" GOOD, 1, 10, "workers: must be a single value, not a list" },
                { "workers:\n" GOOD, 1, 1, "workers: must be a single value, not nothing" },
                { "give_up: maybe\n" GOOD, 1, 10, "give_up: \"maybe\" must be true or false" },
                { "boot_timeout: 10\n" GOOD, 1, 15, "boot_timeout: \"10\" must be a number and one unit" },
                { "hang_timeout: 5ms\n" GOOD, 1, 15, "\"5ms\" is out of range 1s to 1h" },
                { "max_rss: 1Q\n" GOOD, 1, 10, "max_rss: \"1Q\" must be a size" },
                { "max_rss: 1MiB\n" GOOD, 1, 10, "out of range 16MiB to 1TiB" },
                { "log: { rotate_size: 1k }\n" GOOD, 1, 21, "log.rotate_size: \"1k\" is out of range 64KiB to 4GiB" },
                { "jitter: 200%\n" GOOD, 1, 9, "out of range 0% to 100%" },
                { "api: { socket_mode: 0999 }\n" GOOD, 1, 21, "api.socket_mode: \"0999\" must be an octal mode" },
                { "log: { level: loud }\n" GOOD, 1, 15, "log.level: \"loud\" is none of error, warning, info, debug" },
                { "log: info\n" GOOD, 1, 6, "log: must be a map, not text" },
                { "durability: ful\n" GOOD, 1, 13, "is none of full, process; did you mean full?" },
                { "state_dir: state\n" GOOD, 1, 12, "state_dir: \"state\" must be an absolute path" },
                { "http_base: ftp://h\n" GOOD, 1, 12, "http_base: \"ftp://h\" must begin with http:// or https://" },
                { "redis: localhost\n" GOOD, 1, 8, "redis.url: \"localhost\" must begin with redis://" },
                { "redis: { app: x }\n" GOOD, 1, 8, "redis: missing key \"url\"" },
                { "redis: { sentinels: ['h:1'] }\n" GOOD, 1, 21, "redis.sentinels: needs \"redis.master\"" },
                { "redis: { url: 'redis://h', master: m }\n" GOOD, 1, 36, "redis.master: needs \"redis.sentinels\"" },
                { "redis: { url: 'unix:///x', master: m, sentinels: ['h:1'] }\n" GOOD, 1, 50, "must begin with redis://" },
                { "redis: { sentinels: [h], master: m }\n" GOOD, 1, 22, "must be host:port" },
                { "redis: { url: 'redis://user@h' }\n" GOOD, 1, 15, "user:password@" },
                { "redis: { url: 'redis://:a@h', password: b }\n" GOOD, 1, 15, "given both in redis.url and by itself" },
                { "api: { listen: '127.0.0.1:80' }\n" GOOD, 1, 16, "api.listen: needs \"api.token\"" },
                { "heartbeat: 1h\n" GOOD, 1, 1, "main_timeout: must be at least twice \"heartbeat\"" },
                { "tasks: 5\n", 1, 8, "tasks: must be a list, not text" },
                { "tasks: [ 5 ]\n", 1, 10, "tasks: a task must be a map, not text" },
                { "defaults: []\n" GOOD, 1, 11, "defaults: must be a map, not a list" },
                { "alerts: [ { on: mised, http: 'http://h' } ]\n" GOOD, 1, 17, "\"mised\" is not known; did you mean \"missed\"?" },
                { "alerts: [ { on: missed } ]\n" GOOD, 1, 11, "alerts: no target: give http or exec" },
                { "alerts: [ { exec: [/x] } ]\n" GOOD, 1, 11, "alerts: missing key \"on\"" },
                { "alerts: missed\n" GOOD, 1, 9, "alerts: must be a list" },
                { "http_secret: { fil: x }\n" GOOD, 1, 14, "http_secret: must be a text, {file: PATH} or {env: NAME}" },
                { "http_secret: { env: ONCED_T_NOT_SET }\n" GOOD, 1, 21, "variable ONCED_T_NOT_SET is not set" },
                { "http_secret: { file: gone }\n" GOOD, 1, 22, "cannot be read: No such file or directory" },
                { "state_dir: '/x/${ONCED_T_NOT_SET}'\n" GOOD, 1, 12, "variable ONCED_T_NOT_SET is not set" },
                { "include: gone.yaml\n" GOOD, 1, 10, "include: \"gone.yaml\": no such file" },
                { "include: { a: b }\n" GOOD, 1, 10, "include: must be a pattern or a list of patterns, not a map" },
        };

        unsetenv("ONCED_T_NOT_SET");
        check_rows(state, rows, ARRAY_SIZE(rows));
}

static void mistakes_of_a_task_name_the_task(void **state)
{
        static const struct error_case rows[] = {
                { "- { every: 1s, noop: {} }", 3, 3, "missing key \"name\"" },
                { "- { name: 'a b', every: 1s, noop: {} }", 3, 11, "name: \"a b\" must be 1 to 128 letters" },
                { "- { name: a, noop: {} }", 3, 3, "task \"a\": no schedule: give \"every\" or \"cron\"" },
                { "- { name: a, every: 1s, cron: '0 9 * * *', noop: {} }", 3, 25, "second schedule beside \"every\" in line 3" },
                { "- { name: a, every: 1s }", 3, 3, "no runner: give one of noop, http, exec" },
                { "- { name: a, every: 1s, noop: {}, exec: [/bin/true] }", 3, 35, "second runner beside \"noop\" in line 3" },
                { "tasks: [ { name: a, every: 1s, noop: {} } ]", 1, 10, "task \"a\": missing key \"timeout\"" },
                { "- { name: a, every: 1s, noop: {} }\n- { name: a, every: 2s, noop: {} }", 4, 3,
                  "duplicate task name \"a\", first given in line 3" },
                { "- { name: a, every: 9ms, noop: {} }", 3, 21, "every: \"9ms\" is out of range 10ms to 366d" },
                { "- { name: a, every: 367d, noop: {} }", 3, 21, "out of range 10ms to 366d" },
                { "- { name: a, every: 1s, timeout: 0s, noop: {} }", 3, 34, "timeout: \"0s\" is out of range" },
                { "- { name: a, every: 1s, anchor: noon, noop: {} }", 3, 33, "anchor: \"noon\" must be an instant" },
                { "- { name: a, every: 1s, dst_fold: last, noop: {} }", 3, 35, "is none of first, both" },
                { "- { name: a, every: 1s, singleton: floc, noop: {} }", 3, 36,
                  "\"floc\" is none of none, dedicated, flock, redis; did you mean flock?" },
                { "- { name: a, every: 1s, singleton: redis, noop: {} }", 3, 36, "redis needs a server" },
                { "- { name: a, every: 1s, lease: 500ms, noop: {} }", 3, 32, "lease: \"500ms\" is out of range 1s to 1h" },
                { "- { name: a, every: 1s, shards: 0, noop: {} }", 3, 33, "shards: \"0\" is out of range 1 to 1000" },
                { "- { name: a, every: 1s, shards: 5, max_shards: 4, noop: {} }", 3, 33, "shards: 5 is more than max_shards, 4" },
                { "- { name: a, every: 1s, misfire: { policy: catch_up, limit: 1001 }, noop: {} }", 3, 61,
                  "misfire.limit: \"1001\" is out of range 1 to 1000" },
                { "- { name: a, every: 1s, overlap: pile, noop: {} }", 3, 34, "overlap.policy: \"pile\" is none of drop" },
                { "- { name: a, every: 1s, history: 0, noop: {} }", 3, 34, "history.count: \"0\" is out of range" },
                { "- { name: a, every: 1s, noop: 5 }", 3, 31, "noop: takes no value other than true" },
                { "- { name: a, every: 1s, http: 'ftp://h/x' }", 3, 31, "http.url: \"ftp://h/x\" must begin with http://" },
                { "- { name: a, every: 1s, http: { method: GET } }", 3, 31, "http: missing key \"url\"" },
                { "- { name: a, every: 1s, http: /x }", 3, 31, "http.url: a path needs \"http_base\"" },
                { "- { name: a, every: 1s, http: { url: 'http://h', headers: [oops] } }", 3, 60, "\"oops\" must be \"Name: value\"" },
                { "- { name: a, every: 1s, exec: /bin/true }", 3, 31, "exec: must be a list or a map, not text" },
                { "- { name: a, every: 1s, exec: [] }", 3, 31, "exec.argv: must name a command" },
                { "- { name: a, every: 1s, exec: [./run] }", 3, 31, "command \"./run\" must be an absolute path" },
                { "- { name: a, every: 1s, exec: [[a]] }", 3, 32, "exec.argv: must be a list of texts, not a list" },
                { "- { name: a, every: 1s, exec: { argv: [x], noop_exit: [300] } }", 3, 56, "must be an exit code of 1 to 255" },
                { "- { name: a, every: 1s, exec: { argv: [x], env: { 1A: b } } }", 3, 55, "must be NAME=value" },
                { "- { name: a, every: 1s, exec: { argv: [x], nice: 20 } }", 3, 50, "out of range -20 to 19" },
                { "- { name: a, every: 1s, redis: { stream: s, script: /x } }", 3, 32, "redis: give one of stream and script" },
        };

        unsetenv("ONCED_TEST_SHORT_LEASE");
        check_rows(state, rows, ARRAY_SIZE(rows));
}

static void what_is_no_yaml_is_refused_at_its_place(void **state)
{
        static const struct error_case rows[] = {
                { "a: [1\n", 2, 1, "not YAML" },
                { "a: 'x\n", 2, 1, "not YAML" },
                { "workers: 2\n\tlog: x\n", 2, 1, "not YAML" },
                { "a: b: c\n", 1, 5, "not YAML" },
                { "- 1\n- 2\n", 0, 0, "must be a map of keys, not a list" },
                { "hello\n", 1, 1, "must be a map of keys, not text" },
                { "# nothing\n", 0, 0, "the file is empty" },
                { "", 0, 0, "the file is empty" },
                { GOOD "---\n" GOOD, 2, 1, "second YAML document" },
                { "workers: !!int 3\n" GOOD, 1, 10, "tags" },
                { "a: &x 1\nb: *x\n", 2, 4, "aliases (\"*name\") are not supported" },
                { "a: \x01\n", 1, 4, "not YAML: control characters" },
                { "workers: \"\\0\"\n", 1, 10, "NUL byte in a value" },
                { "workers: 2 # \xe4\n", 1, 14, "not UTF-8" },
                { "\xff\xfe", 1, 1, "not UTF-8" },
        };

        struct fixture *f = *state;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {   /* those that begin with "- " are meant as they are */
                fixture_load(f, rows[i].text);
                if (f->result == -EINVAL &&
                    complained(f, SEVERITY_ERROR, rows[i].line, rows[i].column, rows[i].fragment))
                        continue;
                print_complaints(f);
                fail_msg("row %zu, expected %u:%u \"%s\":\n%s", i, rows[i].line, rows[i].column, rows[i].fragment,
                         rows[i].text);
        }
}

static void all_errors_of_a_file_come_at_once(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "workers: x\nlog: { level: y }\ntasks:\n- { name: a, every: z }\n- { nam: b }\n");
        assert_true(complained(f, SEVERITY_ERROR, 1, 10, "workers"));
        assert_true(complained(f, SEVERITY_ERROR, 2, 15, "log.level"));
        assert_true(complained(f, SEVERITY_ERROR, 4, 21, "every"));
        assert_true(complained(f, SEVERITY_ERROR, 4, 3, "no runner"));
        assert_true(complained(f, SEVERITY_ERROR, 4, 3, "timeout"));
        assert_true(complained(f, SEVERITY_ERROR, 5, 5, "did you mean \"name\"?"));
        assert_false(complained(f, SEVERITY_ERROR, 4, 3, "no schedule"));   /* it has one, only a wrong one */
}

static void a_broken_value_is_complained_of_once(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "http_base: *x\n" GOOD);
        assert_int_equal(f->complaints.errors, 1);
        fixture_load(f, "http_base: '${ONCED_T_NOT_SET}'\n" GOOD);
        assert_int_equal(f->complaints.errors, 1);
}

static void only_root_may_ask_for_another_user(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, TASKS "- { name: a, every: 1s, exec: { argv: [x], user: nobody } }");
        if (geteuid() == 0)
                assert_int_equal(f->result, 0);
        else
                assert_true(complained(f, SEVERITY_ERROR, 3, 50, "only root"));
}

static void unreadable_things_are_named(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, GOOD);
        assert_int_equal(unlink(f->path), 0);
        f->config = config_free(f->config);
        assert_int_equal(config_load(f->path, &f->config, &f->complaints), -EINVAL);
        assert_true(complained(f, SEVERITY_ERROR, 0, 0, "cannot be read: No such file or directory"));

        assert_int_equal(config_load(f->folder, &f->config, &f->complaints), -EINVAL);
        assert_true(complained(f, SEVERITY_ERROR, 0, 0, "it is a folder, not a file"));

        assert_int_equal(mkfifo(f->path, 0600), 0);
        assert_int_equal(config_load(f->path, &f->config, &f->complaints), -EINVAL);
        assert_true(complained(f, SEVERITY_ERROR, 0, 0, "it is no regular file"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(mistakes_of_keys_are_named_with_the_nearest_key),
                CASE(mistakes_of_values_quote_the_text_and_say_what_is_right),
                CASE(mistakes_of_a_task_name_the_task),
                CASE(what_is_no_yaml_is_refused_at_its_place),
                CASE(all_errors_of_a_file_come_at_once),
                CASE(a_broken_value_is_complained_of_once),
                CASE(only_root_may_ask_for_another_user),
                CASE(unreadable_things_are_named),
        };

        return RUN_CASES(argc, argv, "config errors", tests);
}
