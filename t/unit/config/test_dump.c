/* Dumps, hashes, the example, limits, and `onced check` itself. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/config/field.h"
#include "common/exits.h"
#include "common/file.h"

#define TASKS "defaults: { timeout: 30s }\ntasks:\n"

int usage_error(const char *command, const char *format, ...)
{
        (void) command;
        (void) format;
        return EXIT_USAGE;
}

static char *dump(const struct config *c)
{
        struct buf b = BUF_EMPTY;

        assert_non_null(c);
        config_dump(c, &b);
        return buf_take(&b);
}

/* load(dump(x)) must be x: same hash, same dump. */
static void check_round_trip(struct fixture *f, const char *text)
{
        char hash[17];

        fixture_load(f, text);
        if (!f->config)
                print_complaints(f);
        _cleanup_(freep) char *first = dump(f->config);
        memcpy(hash, f->config->hash, sizeof(hash));
        fixture_load(f, first);
        if (!f->config)
                print_complaints(f);
        _cleanup_(freep) char *second = dump(f->config);
        assert_string_equal(first, second);
        assert_string_equal(f->config->hash, hash);
}

static void a_dump_loads_to_the_same_configuration(void **state)
{
        static const char *const texts[] = {
                TASKS "- { name: a, every: 1s, noop: }\n",
                "tasks: []\n",
                "workers: 7\nuser: root\nlog: { level: debug, format: json, to: file, rotate_size: 100000, keep: 90s }\n"
                "durability: process\nmax_rss: 64MiB\nmax_runs: 7\nmax_age: 2h\njitter: 0%\ngive_up: yes\n"
                "api: { socket_mode: 0600, listen: 'h:1', token: t }\n"
                "redis: { url: 'redis://u:p@h/1', app: 'true', group: '1', sentinels: ['a:1', 'b:2'], master: m, wait_replicas: 2 }\n"
                "alerts:\n- { on: late, exec: { argv: [x, '${ONCED_T_NONE:-}', \"a\\tb\\u00e4\\x7f\"], env: { A: 'b ${ONCED_T_NONE:-c}' } } }\n"
                TASKS "- { name: a, every: 1s, anchor: -1, shards: 30, window: 1s, late: 5ms, scope: all, enabled: false,"
                " first: next, on_lease_lost: continue, lease: 5s, singleton: redis, misfire: { grace: 0s },"
                " http: { url: 'http://h/$${x}', method: PUT, query: false, body: \"line\\n$${Y}\\n\", headers: { Cookie: a, B: c }, follow: 3 } }\n"
                "- { name: b, cron: '@daily', tz: Europe/Berlin, dst_fold: both, misfire: { policy: catch_up, limit: 2 },"
                " exec: { argv: ['/bin/x', '', ' ', '- x', '#', \"'\", '\"', '\\'], noop_exit: [1, 2], env_pass: A, umask: 0777, nice: -3, cwd: /x } }\n"
                "- { name: c, scope: manual, call: 'p.so:f', overlap: { policy: concurrent, max_running: 2 } }\n"
                "- { name: d, every: 366d, redis: { stream: s }, history: { count: 1, age: 1d } }\n",
        };
        struct fixture *f = *state;

        unsetenv("ONCED_T_NONE");
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                check_round_trip(f, texts[i]);
}

static void a_dump_holds_no_secret(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "http_secret: hush1\napi: { listen: 'h:1', token: hush2 }\nredis: 'redis://u:hush3@h'\n" TASKS
                        "- { name: a, every: 1s, http: { url: 'http://h', headers: { Authorization: hush4 } } }\n"
                        "- { name: b, every: 1s, exec: { argv: [x], env: { DB_PASSWORD: hush5 } } }\n");
        _cleanup_(freep) char *text = dump(f->config);
        assert_null(strstr(text, "hush"));
        assert_non_null(strstr(text, "\"Authorization: (secret)\""));
        assert_string_equal(config_task(f->config, "a")->http.headers.items[0], "Authorization: hush4");
}

struct hashes {
        char all[17], when[17], def[17];
};

static struct hashes hashes_of(struct fixture *f, const char *text)
{
        struct hashes h;

        fixture_load(f, text);
        if (!f->config)
                print_complaints(f);
        const struct task *t = config_task(f->config, "a");
        memcpy(h.all, f->config->hash, 17);
        memcpy(h.when, t->when_hash, 17);
        memcpy(h.def, t->def_hash, 17);
        assert_int_equal(strlen(h.all), 16);
        assert_int_equal(strlen(h.when), 16);
        assert_int_equal(strlen(h.def), 16);
        return h;
}

static void each_hash_changes_with_its_own_keys(void **state)
{
        static const struct { const char *task; bool when, def; } cases[] = {
                { "every: 1s, noop: ", false, false },
                { "every: 1000ms, noop: {}, shards: 1, scope: auto", false, false },   /* the same in other words */
                { "every: 2s, noop: ", true, false },
                { "every: 1s, anchor: 1, noop: ", true, false },
                { "every: 1s, enabled: false, noop: ", true, false },
                { "every: 1s, scope: all, noop: ", true, false },
                { "every: 1s, shards: 2, noop: ", true, false },
                { "cron: '@daily', noop: ", true, false },
                { "every: 1s, timeout: 31s, noop: ", false, true },
                { "every: 1s, singleton: dedicated, noop: ", false, true },
                { "every: 1s, misfire: { grace: 1s }, noop: ", false, true },
                { "every: 1s, max_shards: 17, noop: ", false, true },
                { "every: 1s, exec: [x]", false, true },
                { "every: 1s, exec: [x, y]", false, true },
        };
        struct fixture *f = *state;
        struct hashes base = hashes_of(f, TASKS "- { name: a, every: 1s, noop: }\n");

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[256];
                snprintf(text, sizeof(text), TASKS "- { name: a, %s }\n", cases[i].task);
                struct hashes h = hashes_of(f, text);
                if ((strcmp(h.when, base.when) != 0) != cases[i].when || (strcmp(h.def, base.def) != 0) != cases[i].def ||
                    (strcmp(h.all, base.all) != 0) != (cases[i].when || cases[i].def))
                        fail_msg("%s: when %s %s, def %s %s", text, base.when, h.when, base.def, h.def);
        }
}

/* Nodes compare these, so they must not change from build to build: the first half of a SHA-256 over
 * "every 1s\n", and over "name: \"a\"\nsingleton: flock\noverlap:\n  policy: drop\n  queue_limit: 100\n
 * timeout: 30s\nmax_shards: 16\n", computed by sha256sum. */
static void hashes_are_the_same_in_every_build(void **state)
{
        struct hashes h = hashes_of(*state, TASKS "- { name: a, every: 1s, noop: }\n");

        assert_string_equal(h.when, "21dd35e783aff620");
        assert_string_equal(h.def, "77abc8745fc9d2a9");
}

static void the_example_is_good_and_mentions_every_key(void **state)
{
        struct fixture *f = *state;
        _cleanup_(freep) char *path = path_join(getenv("ONCED_SOURCE"), "conf/onced.yaml.example");
        _cleanup_(buf_done) struct buf text = BUF_EMPTY, keys = BUF_EMPTY;

        assert_int_equal(config_load(path, &f->config, &f->complaints), 0);
        for (size_t i = 0; i < f->complaints.count; i++)
                if (!strstr(f->complaints.list[i].text, "on this machine"))
                        fail_msg("%s", f->complaints.list[i].text);
        assert_false(config_has_later(f->config, &f->complaints));
        assert_int_equal(file_read(path, 1 << 20, &text), 0);
        config_keys(&keys);
        size_t count = 0;
        for (char *line = keys.data, *end; (end = strchr(line, '\n')); line = end + 1, count++) {
                line[strcspn(line, " ")] = '\0';
                const char *dot = strrchr(line, '.');
                char key[64];
                snprintf(key, sizeof(key), "%s:", dot ? dot + 1 : line);
                if (!strstr(text.data, key))
                        fail_msg("the example does not mention %s", line);
        }
        assert_true(count > 100);
}

/* Defaults in the table are texts: each must be what its own row accepts. */
static void check_rows(const struct field *rows)
{
        for (; rows->key; rows++) {
                int64_t storage[8] = { 0 };
                struct field alone = *rows;
                char why[VALUE_WHY] = "";
                alone.offset = 0;
                if (rows->type == FIELD_GROUP)
                        check_rows(rows->group);
                else if (rows->dflt && value_parse(&alone, rows->dflt, storage, why) < 0)
                        fail_msg("%s: %s", rows->key, why);
                if (rows->type == FIELD_TEXT)
                        free(*(char **) storage);
                assert_false(rows->word && !field_find(rows->group, rows->word));
                assert_false(rows->number && !field_find(rows->group, rows->number));
                assert_false(rows->list && !field_find(rows->group, rows->list));
        }
}

static void defaults_of_the_tables_are_valid(void **state)
{
        (void) state;
        check_rows(config_fields);
        check_rows(task_fields);
        check_rows(alert_fields);
}

static void load_repeated(struct fixture *f, const char *head, const char *piece, size_t times)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;

        buf_text(&b, head);
        for (size_t i = 0; i < times; i++)
                buf_text(&b, piece);
        fixture_load_bytes(f, b.data, b.len);
}

static void monstrous_files_are_refused_in_one_line(void **state)
{
        static const struct { const char *head, *piece; size_t times; const char *fragment; } cases[] = {
                { "workers: ", "[", 33, "nested too deeply" },
                { "", "[", 4000000, "nested too deeply" },
                { "workers: ", "{a: ", 4000, "nested too deeply" },
                { "", "- ", 100000, "nested too deeply" },
                { "x: [", "1,", 2000001, "too many values in one file" },
                { "", "a b c d e f g h i\n", 600000, "larger than 4MiB" },
                { "tasks: [", "{name: ", 3, "not YAML" },
                { "state_dir: /", "x", 70000, "longer than 64 KiB" },
                { "state_dir: /", "x", 5000, "longer than 4096 bytes" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                load_repeated(f, cases[i].head, cases[i].piece, cases[i].times);
                if (!complained(f, SEVERITY_ERROR, 0, 0, cases[i].fragment) || f->complaints.errors != 1) {
                        print_complaints(f);
                        fail_msg("case %zu: no \"%s\"", i, cases[i].fragment);
                }
        }
}

static void exploding_aliases_do_not_explode(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n");
        assert_true(complained(f, SEVERITY_ERROR, 2, 8, "aliases"));
}

static void too_many_keys_of_one_map_are_refused(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;

        for (int i = 0; i < 300; i++)
                buf_format(&b, "k%d: 1\n", i);
        fixture_load_bytes(f, b.data, b.len);
        assert_true(complained(f, SEVERITY_ERROR, 257, 7, "too many keys in one map"));
}

static void many_tasks(struct buf *b, int from, int count)
{
        buf_text(b, TASKS);
        for (int i = from; i < from + count; i++)
                buf_format(b, "- {name: t%d, every: 1s, noop: }\n", i);
}

static void a_hundred_thousand_tasks_load_and_one_more_does_not(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        char name[16];

        many_tasks(&b, 0, 100000);
        fixture_load_bytes(f, b.data, b.len);
        assert_non_null(f->config);
        assert_int_equal(f->config->task_count, 100000);
        for (int i = 0; i < 100000; i += 997) {
                snprintf(name, sizeof(name), "t%d", i);
                assert_ptr_equal(config_task(f->config, name), &f->config->tasks[i]);
        }
        buf_text(&b, "- {name: more, every: 1s, noop: }\n");
        fixture_load_bytes(f, b.data, b.len);
        assert_true(complained(f, SEVERITY_ERROR, 100003, 3, "more than 100,000 tasks"));
}

/* Runs the command with stdout and stderr in files; both are appended to `ret`. */
static int check(struct fixture *f, struct buf *ret, int argc, char **argv)
{
        char path[128];
        snprintf(path, sizeof(path), "%s/output", f->folder);
        int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
        int out = dup(1), err = dup(2);

        fflush(stdout);
        assert_true(dup2(file, 1) >= 0 && dup2(file, 2) >= 0);
        int r = command_check(argc, argv);
        fflush(stdout);
        fflush(stderr);
        assert_true(dup2(out, 1) >= 0 && dup2(err, 2) >= 0);
        close(out);
        close(err);
        close(file);
        assert_int_equal(file_read(path, 1 << 20, ret), 0);
        return r;
}

#define CHECK(f, out, ...)                                                                                    \
        ({                                                                                                    \
                char *argv_[] = { (char[]) { "check" }, __VA_ARGS__, NULL };                                  \
                check(f, out, (int) ARRAY_SIZE(argv_) - 1, argv_);                                            \
        })

static void check_says_what_is_wrong_and_sums_up(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf out = BUF_EMPTY;
        char dump_option[] = "--dump", strict[] = "--strict", keys[] = "--keys", unknown[] = "--nope";

        fixture_load(f, TASKS "- { name: a, every: 1s, noop: }\n- { name: b, every: 2s, noop: }\n");
        assert_int_equal(CHECK(f, &out, f->path), EXIT_FINE);
        assert_non_null(strstr(out.data, "onced.yaml: 2 tasks, 0 errors, 0 warnings\n"));

        fixture_load(f, TASKS "- { name: a, every: 1, noop: }\n");
        assert_int_equal(CHECK(f, &out, f->path), EXIT_CONFIGURATION);
        assert_non_null(strstr(out.data, "onced.yaml:3:21: error: task \"a\": every: \"1\" must be"));
        assert_non_null(strstr(out.data, "onced.yaml: 1 error, 0 warnings\n"));

        fixture_load(f, "redis: redis://h\n" TASKS "- { name: a, every: 1s, singleton: flock, noop: }\n");
        assert_int_equal(CHECK(f, &out, f->path), EXIT_FINE);
        assert_non_null(strstr(out.data, "1 task, 0 errors, 1 warning\n"));
        assert_int_equal(CHECK(f, &out, strict, f->path), EXIT_CONFIGURATION);

        assert_int_equal(CHECK(f, &out, f->path, dump_option), EXIT_FINE);
        assert_non_null(strstr(out.data, "  - name: \"a\"\n    every: 1s\n"));
        assert_int_equal(CHECK(f, &out, keys), EXIT_FINE);
        assert_non_null(strstr(out.data, "tasks[].misfire.policy"));
        assert_int_equal(CHECK(f, &out, unknown, f->path), EXIT_USAGE);
        assert_int_equal(CHECK(f, &out, strict), EXIT_USAGE);
        assert_int_equal(CHECK(f, &out, f->path, f->path), EXIT_USAGE);
        assert_int_equal(CHECK(f, &out, keys, f->path), EXIT_USAGE);
        assert_int_equal(CHECK(f, &out, keys, dump_option), EXIT_USAGE);
}

/* A check that lets pass what run refuses is found out at the worst moment. */
static void check_refuses_what_run_refuses_and_still_dumps_it(void **state)
{
        struct fixture *f = *state;
        _cleanup_(buf_done) struct buf out = BUF_EMPTY;
        char dump_option[] = "--dump";

        fixture_load(f, TASKS "- { name: a, every: 1s, call: 'p.so:f' }\n");
        assert_int_equal(CHECK(f, &out, f->path), EXIT_CONFIGURATION);
        assert_non_null(strstr(out.data, "onced.yaml:3:3: error: task \"a\": the runner call: not in this version; "
                                         "\"onced run\" refuses it\n"));
        assert_non_null(strstr(out.data, "1 task, 1 error, 0 warnings\n"));
        assert_int_equal(CHECK(f, &out, f->path, dump_option), EXIT_CONFIGURATION);
        assert_non_null(strstr(out.data, "error: task \"a\": the runner call"));
        assert_non_null(strstr(out.data, "    call: \"p.so:f\"\n"));

        /* What is without consequence stays a note. */
        fixture_load(f, "max_age: 1d\n" TASKS "- { name: a, every: 1s, noop: }\n");
        assert_int_equal(CHECK(f, &out, f->path), EXIT_FINE);
        assert_non_null(strstr(out.data, "note: max_age: read and checked, but not in this version yet"));
}

static void all_ranges_are_listed_and_as_they_are_written(void **state)
{
        static const char *const wanted[] = {
                "\nlog.rotate_size              size (K, KB, KiB are all 1024) 64KiB..4GiB; default 64MiB.",
                "\nmax_rss                      size (K, KB, KiB are all 1024) 16MiB..1TiB or off;",
                "\njitter                       percentage 0%..100%;",
                "workers                      number 1..256 or auto;",
                "\ntasks[].http.query           true or false; default true.",
        };
        _cleanup_(buf_done) struct buf keys = BUF_EMPTY;
        (void) state;

        config_keys(&keys);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                if (!strstr(keys.data, wanted[i]))
                        fail_msg("no \"%s\"", wanted[i]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(a_dump_loads_to_the_same_configuration),
                CASE(a_dump_holds_no_secret),
                CASE(each_hash_changes_with_its_own_keys),
                CASE(hashes_are_the_same_in_every_build),
                CASE(the_example_is_good_and_mentions_every_key),
                CASE(defaults_of_the_tables_are_valid),
                CASE(monstrous_files_are_refused_in_one_line),
                CASE(exploding_aliases_do_not_explode),
                CASE(too_many_keys_of_one_map_are_refused),
                CASE(a_hundred_thousand_tasks_load_and_one_more_does_not),
                CASE(check_says_what_is_wrong_and_sums_up),
                CASE(check_refuses_what_run_refuses_and_still_dumps_it),
                CASE(all_ranges_are_listed_and_as_they_are_written),
        };

        return RUN_CASES(argc, argv, "config dump", tests);
}
