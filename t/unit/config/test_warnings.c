/* What is allowed and yet likely a slip, and what this version refuses. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"

#define TASKS "defaults: { timeout: 30s }\ntasks:\n"
#define REDIS "redis: redis://127.0.0.1\n"

static void assert_warns(struct fixture *f, const char *text, const char *fragment)
{
        fixture_load(f, text);
        bool fine = f->config && f->complaints.warnings == (fragment ? 1 : 0) &&
                    (!fragment || complained(f, SEVERITY_WARNING, 0, 0, fragment));
        if (fine)
                return;
        print_complaints(f);
        fail_msg("expected %s:\n%s", fragment ? fragment : "no warning", text);
}

static void commands_and_folders_that_are_not_there_are_warned_about(void **state)
{
        static const struct { const char *exec, *fragment; } cases[] = {
                { "[/bin/true]", NULL },
                { "[env, --help]", NULL },
                { "{ argv: [/bin/true], cwd: / }", NULL },
                { "[/nowhere/report]", "exec.argv: there is no \"/nowhere/report\" on this machine" },
                { "[/etc/passwd/x]", "there is no \"/etc/passwd/x\"" },
                { "[/etc/passwd]", "exec.argv: \"/etc/passwd\" is not executable" },
                { "[/etc]", "is a folder, not a command" },
                { "[no-such-command]", "exec.argv: no command \"no-such-command\" on the standard PATH" },
                { "{ argv: [/bin/true], cwd: /nowhere }", "exec.cwd: there is no folder \"/nowhere\"" },
                { "{ argv: [/bin/true], cwd: /etc/passwd }", "exec.cwd: there is no folder \"/etc/passwd\"" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[256];
                (void) snprintf(text, sizeof(text), TASKS "- { name: a, every: 1s, exec: %s }\n", cases[i].exec);
                assert_warns(f, text, cases[i].fragment);
        }
        fixture_load(f, TASKS "- { name: a, every: 1s, exec: [/nowhere/x] }\n");
        assert_true(complained(f, SEVERITY_WARNING, 3, 31, "task \"a\": exec.argv"));
}

/* The environment's PATH is not the one that commands are looked for on. */
static void a_command_is_looked_for_on_the_standard_path_alone(void **state)
{
        struct fixture *f = *state;

        fixture_write(f, "mine", "#!/bin/sh\n", 10);
        char command[128];
        (void) snprintf(command, sizeof(command), "%s/mine", f->folder);
        assert_int_equal(chmod(command, 0755), 0);
        _cleanup_(freep) char *before = strdup(getenv("PATH"));
        assert_int_equal(setenv("PATH", f->folder, 1), 0);
        assert_warns(f, TASKS "- { name: a, every: 1s, exec: [mine] }\n", "no command \"mine\"");
        assert_warns(f, TASKS "- { name: a, every: 1s, exec: [env] }\n", NULL);
        assert_int_equal(setenv("PATH", before, 1), 0);
}

static void keys_that_cannot_do_what_they_say_are_warned_about(void **state)
{
        static const struct { const char *keys, *fragment; } cases[] = {
                { "overlap: drop", NULL },
                { "overlap: { policy: concurrent, max_running: 2 }", NULL },
                { "overlap: { policy: queue, queue_limit: 2 }", NULL },
                { "overlap: { policy: drop, max_running: 2 }", "overlap.max_running: has no effect with policy drop" },
                { "overlap: { max_running: 2 }", "overlap.max_running: has no effect with policy drop" },
                { "overlap: { queue_limit: 2 }", "overlap.queue_limit: has no effect with policy drop" },
                { "misfire: { grace: 10s }", NULL },
                { "misfire: { grace: auto }", NULL },
                { "misfire: { grace: 11s }", "misfire.grace: is longer than the interval" },
                { "misfire: { grace: 5s, limit: 1, lookback: 1h }", NULL },
                { "misfire: { limit: 2 }", "misfire.limit: has no effect with policy skip" },
                { "misfire: { lookback: 2h }", "misfire.lookback: has no effect with policy skip" },
                { "misfire: { policy: catch_up, limit: 2, lookback: 2h, grace: auto }", NULL },
                { "misfire: { policy: catch_up, grace: 5s }", "misfire.grace: has no effect with policy catch_up" },
                { "window: 10s", NULL },
                { "window: 11s", "window: is longer than the interval" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[256];
                (void) snprintf(text, sizeof(text), TASKS "- { name: a, every: 10s, noop: true, %s }\n", cases[i].keys);
                assert_warns(f, text, cases[i].fragment);
        }
        assert_warns(f, "defaults: { timeout: 30s, window: 1h, misfire: { grace: 1h }, overlap: { max_running: 3 } }\n"
                        "tasks:\n- { name: a, every: 10s, noop: true }\n", NULL);
}

static void a_pattern_that_matches_no_file_is_named(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "include: [conf.d/*.yaml]\n" TASKS "- { name: a, every: 1s, noop: true }\n");
        assert_int_equal(f->result, 0);
        assert_true(complained(f, SEVERITY_WARNING, 1, 11, "include: \"conf.d/*.yaml\" matches no file"));
}

static void a_secret_must_be_a_regular_file(void **state)
{
        struct fixture *f = *state;
        char fifo[128];

        fixture_load(f, "http_secret: { file: /dev/null }\n" TASKS);
        assert_true(complained(f, SEVERITY_ERROR, 1, 22, "/dev/null cannot be read: it is no regular file"));
        (void) snprintf(fifo, sizeof(fifo), "%s/fifo", f->folder);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        fixture_load(f, "http_secret: { file: fifo }\n" TASKS);
        assert_true(complained(f, SEVERITY_ERROR, 1, 22, "it is no regular file"));
        fixture_load(f, "http_secret: { file: / }\n" TASKS);
        assert_true(complained(f, SEVERITY_ERROR, 1, 22, "it is a folder, not a file"));
        char large[5000];
        memset(large, 'x', sizeof(large));
        fixture_write(f, "large", large, sizeof(large));
        fixture_load(f, "http_secret: { file: large }\n" TASKS);
        assert_true(complained(f, SEVERITY_ERROR, 1, 22, "it is larger than 4KiB"));
}

static void a_byte_order_mark_is_no_part_of_the_file(void **state)
{
        struct fixture *f = *state;

        fixture_load(f, "\xef\xbb\xbfworkers: 3\n" TASKS "- { name: a, every: 1s, noop: true }\n");
        assert_int_equal(f->result, 0);
        assert_int_equal(f->config->workers, 3);
        fixture_load(f, "\xef\xbb\xbfworkers: x\n" TASKS);
        assert_true(complained(f, SEVERITY_ERROR, 1, 10, "workers"));
}

struct later_case {
        const char *text, *feature;   /* NULL: nothing that is refused */
};

static void what_would_silently_not_run_is_found(void **state)
{
        static const struct later_case cases[] = {
                { TASKS "- { name: a, every: 1s, noop: }\n", NULL },
                { "max_age: 1d\nlog_sync: power\n" TASKS "- { name: a, every: 1s, late: 1s, noop: }\n", NULL },
                { TASKS "- { name: a, cron: '@daily', noop: }\n", NULL },
                { TASKS "- { name: a, every: 1s, call: 'p.so:f' }\n", "the runner call" },
                { TASKS "- { name: a, every: 1s, scope: main, noop: }\n", "scope main" },
                { TASKS "- { name: a, scope: manual, noop: }\n", "scope manual" },
                { TASKS "- { name: a, every: 1s, overlap: queue, noop: }\n", NULL },
                { TASKS "- { name: a, every: 1s, misfire: catch_up, overlap: drop, noop: }\n", NULL },
                { REDIS TASKS "- { name: a, every: 1s, redis: { stream: s } }\n", NULL },
                { "user: nobody\n" TASKS "- { name: a, every: 1s, noop: }\n", "user and group" },
                { "redis: rediss://h\n" TASKS "- { name: a, every: 1s, noop: }\n", "TLS" },
                { "redis: { master: m, sentinels: ['h:1'] }\n" TASKS "- { name: a, every: 1s, noop: }\n", NULL },
                { "redis: { url: redis://h, wait_replicas: 1 }\n" TASKS "- { name: a, every: 1s, noop: }\n", "wait_replicas" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                fixture_load(f, cases[i].text);
                assert_non_null(f->config);
                size_t before = f->complaints.errors;
                bool found = config_has_later(f->config, &f->complaints);
                if (found != (cases[i].feature != NULL) || f->complaints.errors != before + found)
                        fail_msg("%s\nfound %d", cases[i].text, found);
                if (found)
                        assert_true(complained(f, SEVERITY_ERROR, 0, 0, cases[i].feature));
        }
}

static void complaints_are_printed_by_file_and_line(void **state)
{
        struct fixture *f = *state;
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);

        fixture_load(f, "tasks:\n- { name: a, evry: 1s, noop: }\nworkers: x\nlog: { level: y }\nzzzz: 1\n");
        assert_non_null(out);
        complaints_print(&f->complaints, out);
        (void) fclose(out);
        unsigned before = 0, lines = 0;
        for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1, lines++) {
                unsigned line = 0;
                const char *colon = strstr(p, "onced.yaml:");
                assert_non_null(colon);
                assert_int_equal(sscanf(colon, "onced.yaml:%u:", &line), 1);
                if (line < before)
                        fail_msg("not in order:\n%s", text);
                before = line;
        }
        free(text);
        assert_true(lines >= 5);
        assert_int_equal(before, 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(commands_and_folders_that_are_not_there_are_warned_about),
                CASE(a_command_is_looked_for_on_the_standard_path_alone),
                CASE(keys_that_cannot_do_what_they_say_are_warned_about),
                CASE(a_pattern_that_matches_no_file_is_named),
                CASE(a_secret_must_be_a_regular_file),
                CASE(a_byte_order_mark_is_no_part_of_the_file),
                CASE(what_would_silently_not_run_is_found),
                CASE(complaints_are_printed_by_file_and_line),
        };

        return RUN_CASES(argc, argv, "config warnings", tests);
}
