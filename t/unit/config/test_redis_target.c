/* What tasks write to Redis: keys that belong together, and scripts that are read with the configuration. */
#include "t/unit/cases.h"
#include "t/unit/config/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"

#define HEAD "redis: redis://h\ndefaults: { timeout: 30s }\ntasks:\n"

/* One task `a` with this target; %s is the folder. */
static void load(struct fixture *f, const char *target)
{
        char whole[512], text[768];

        (void) snprintf(whole, sizeof(whole), HEAD "- { name: a, every: 1s, redis: { %s } }\n", target);
        size_t at = strcspn(whole, "@");
        bool is_path = whole[at] == '@';
        (void) snprintf(text, sizeof(text), "%.*s%s%s", (int) at, whole, is_path ? f->folder : "", whole + at + is_path);
        fixture_load(f, text);
}

static const struct redis_target *target(struct fixture *f)
{
        if (!f->config)
                print_complaints(f);
        assert_non_null(f->config);
        return &config_task(f->config, "a")->redis;
}

static void script_write(struct fixture *f, const char *text)
{
        fixture_write(f, "tally.lua", text, strlen(text));
}

static void script_is_read_with_the_configuration(void **state)
{
        struct fixture *f = *state;

        script_write(f, "return 1\n");
        load(f, "script: @/tally.lua, keys: tally, args: [1, '', two]");
        script_write(f, "return 2\n");
        assert_string_equal(target(f)->text, "return 1\n");
        assert_int_equal(target(f)->keys.count, 1);
        assert_int_equal(target(f)->args.count, 3);
        assert_string_equal(target(f)->args.items[1], "");
}

static void entry_has_fields_and_a_length(void **state)
{
        struct fixture *f = *state;

        load(f, "stream: events, maxlen: 1000, fields: { kind: daily, note: 'a=b', empty: '' }");
        assert_int_equal(target(f)->maxlen, 1000);
        assert_string_equal(target(f)->fields.items[0], "kind=daily");
        assert_string_equal(target(f)->fields.items[1], "note=a=b");
        assert_string_equal(target(f)->fields.items[2], "empty=");
        assert_null(target(f)->text);
}

static void script_that_cannot_be_run_is_named(void **state)
{
        static const struct { const char *text; size_t len; const char *fragment; } cases[] = {
                { "", 0, "tally.lua is empty" },
                { "#!lua\nreturn 1", 14, "must be without a first line of #!" },
                { "\033LuaQ", 5, "is compiled" },
                { "return '\0'", 10, "holds a NUL byte" },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                fixture_write(f, "tally.lua", cases[i].text, cases[i].len);
                load(f, "script: @/tally.lua");
                if (!complained(f, SEVERITY_ERROR, 4, 42, cases[i].fragment)) {
                        print_complaints(f);
                        fail_msg("%s", cases[i].fragment);
                }
        }
        load(f, "script: @/none.lua");
        assert_true(complained(f, SEVERITY_ERROR, 4, 42, "none.lua cannot be read: No such file"));
}

static void script_has_64_kib_at_most(void **state)
{
        struct fixture *f = *state;
        static char text[65537];

        memset(text, '-', sizeof(text));
        fixture_write(f, "tally.lua", text, 65536);
        load(f, "script: @/tally.lua");
        assert_int_equal(strlen(target(f)->text), 65536);
        fixture_write(f, "tally.lua", text, 65537);
        load(f, "script: @/tally.lua");
        assert_true(complained(f, SEVERITY_ERROR, 4, 42, "it is larger than 64KiB"));
}

static void what_does_not_go_together_is_refused(void **state)
{
        static const struct { const char *text, *fragment; } cases[] = {
                { "stream: s, keys: [a]", "redis.keys: does not go with \"stream\"" },
                { "stream: s, args: [a]", "redis.args: does not go with \"stream\"" },
                { "script: @/tally.lua, maxlen: 9", "redis.maxlen: does not go with \"script\"" },
                { "script: @/tally.lua, fields: { a: b }", "redis.fields: does not go with \"script\"" },
                { "stream: s, script: @/tally.lua", "give one of stream and script" },
                { "maxlen: 9", "give one of stream and script" },
                { "script: tally.lua", "must be an absolute path" },
                { "stream: s, maxlen: 0", "out of range 1 to 1000000000" },
                { "stream: s, fields: { fence: 1 }", "must be another name: onced gives this field itself" },
                { "stream: s, fields: { 'a b': 1 }", "must be name=value" },
                { "stream: s, fields: [fence]", "must be name=value" },
        };
        struct fixture *f = *state;

        script_write(f, "return 1\n");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                load(f, cases[i].text);
                if (!complained(f, SEVERITY_ERROR, 0, 0, cases[i].fragment)) {
                        print_complaints(f);
                        fail_msg("%s", cases[i].text);
                }
        }
}

static void redis_target_needs_the_redis_way(void **state)
{
        static const char *const texts[] = {
                "defaults: { timeout: 1s }\ntasks: [ { name: a, every: 1s, redis: { stream: s } } ]\n",
                "redis: redis://h\ndefaults: { timeout: 1s }\n"
                "tasks: [ { name: a, every: 1s, singleton: flock, scope: all, redis: { stream: s } } ]\n",
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                fixture_load(f, texts[i]);
                assert_true(complained(f, SEVERITY_ERROR, 0, 0, "redis: needs \"singleton: redis\" and \"redis: { url: ... }\""));
        }
}

static void changed_script_is_another_definition(void **state)
{
        struct fixture *f = *state;
        char before[17];

        script_write(f, "return 1\n");
        load(f, "script: @/tally.lua");
        (void) target(f);
        memcpy(before, config_task(f->config, "a")->def_hash, sizeof(before));
        load(f, "script: @/tally.lua");
        assert_string_equal(config_task(f->config, "a")->def_hash, before);
        script_write(f, "return 2\n");
        load(f, "script: @/tally.lua");
        assert_string_not_equal(config_task(f->config, "a")->def_hash, before);
}

static void redis_targets_are_dumped_to_be_read_again(void **state)
{
        static const char *const targets[] = { "script: @/tally.lua, keys: [a, b], args: ['${X:-}', ' ']",
                                               "stream: events, maxlen: 7, fields: { kind: daily, b: '' }" };
        struct fixture *f = *state;

        script_write(f, "return 1\n");
        for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
                _cleanup_(buf_done) struct buf first = BUF_EMPTY, second = BUF_EMPTY;
                char hash[17];
                load(f, targets[i]);
                (void) target(f);
                memcpy(hash, f->config->hash, sizeof(hash));
                config_dump(f->config, &first);
                fixture_load(f, buf_string(&first));
                (void) target(f);
                config_dump(f->config, &second);
                assert_string_equal(buf_string(&first), buf_string(&second));
                assert_string_equal(f->config->hash, hash);
        }
}

/* The task that is replaced lets go of its script. */
static void included_file_replaces_a_task_with_a_script(void **state)
{
        static const char include[] = "tasks: [ { name: a, every: 1s, redis: { stream: s } } ]\n";
        struct fixture *f = *state;
        char text[512];

        script_write(f, "return 1\n");
        fixture_write(f, "b.yaml", include, sizeof(include) - 1);
        (void) snprintf(text, sizeof(text), "include: b.yaml\n" HEAD "- { name: a, every: 1s, redis: { script: %s/tally.lua } }\n",
                        f->folder);
        fixture_load(f, text);
        assert_string_equal(target(f)->stream, "s");
        assert_null(target(f)->text);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
        const struct CMUnitTest tests[] = {
                CASE(script_is_read_with_the_configuration),
                CASE(entry_has_fields_and_a_length),
                CASE(script_that_cannot_be_run_is_named),
                CASE(script_has_64_kib_at_most),
                CASE(what_does_not_go_together_is_refused),
                CASE(redis_target_needs_the_redis_way),
                CASE(changed_script_is_another_definition),
                CASE(redis_targets_are_dumped_to_be_read_again),
                CASE(included_file_replaces_a_task_with_a_script),
        };

        return RUN_CASES(argc, argv, "config redis_target", tests);
}
