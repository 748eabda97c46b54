/* Clocks as text, buffers, heap, files, processes, complaints and the log. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/complaint.h"
#include "common/file.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/node_id.h"
#include "common/process.h"
#include "t/unit/cases.h"

static void instants_are_read_back_as_written(void **state)
{
        static const struct { const char *text; int64_t ms; } cases[] = {
                { "1970-01-01T00:00:00.000Z", 0 },
                { "1969-12-31T23:59:59.999Z", -1 },
                { "2024-02-29T12:00:00.123Z", 1709208000123 },
                { "2026-11-30T17:00:00.000Z", 1796058000000 },
                { "1600-02-29T00:00:00.000Z", -11670998400000 },
        };
        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[STAMP_TEXT];
                struct instant got;
                assert_int_equal(instant_parse(cases[i].text, &got), 0);
                assert_int_equal(got.ms, cases[i].ms);
                instant_text(got, text);
                assert_string_equal(text, cases[i].text);
        }
}

/* The far ends are reached by what a mad process has written to the scoreboard. */
static void any_moment_has_a_text(void **state)
{
        char text[STAMP_TEXT];

        (void) state;
        stamp_text((struct stamp) { INT64_MIN }, text);
        assert_string_equal(text, "1677-09-21T00:12:43.145224Z");
        stamp_text((struct stamp) { INT64_MAX }, text);
        assert_string_equal(text, "2262-04-11T23:47:16.854775Z");
        stamp_text((struct stamp) { -1 }, text);
        assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
        instant_text((struct instant) { INT64_MIN }, text);
        instant_text((struct instant) { INT64_MAX }, text);
}

static void other_spellings_of_an_instant_are_read(void **state)
{
        struct instant i;

        (void) state;
        assert_int_equal(instant_parse("1970-01-01t01:00:00.5+01:00", &i), 0);
        assert_int_equal(i.ms, 500);
        assert_int_equal(instant_parse("1969-12-31 19:00:00.1239-05:00", &i), 0);
        assert_int_equal(i.ms, 123);
}

static void what_is_no_instant_is_refused(void **state)
{
        static const char *const bad[] = {
                "", "2024", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
                "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00",
                "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00Zx", "2024-01-01T00:00:00+24:00",
        };
        struct instant i;

        (void) state;
        for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
                if (instant_parse(bad[k], &i) != -EINVAL)
                        fail_msg("taken: %s", bad[k]);
}

static void any_bytes_become_valid_json(void **state)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        static const char bytes[] = "a\"\\\n\t\x01\x7f\0" "\xff\xc3\xa4\xed\xa0\x80\xf5\xe0\x80\x80\xf0\x9f\x98\x80\xc3";

        (void) state;
        buf_json(&b, bytes, sizeof(bytes) - 1);
        json_t *v = json_loads(b.data, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(v);
        assert_non_null(strstr(json_string_value(v) + 8, "\xc3\xa4"));
        assert_non_null(strstr(json_string_value(v) + 8, "\xf0\x9f\x98\x80"));
        json_decref(v);
}

static void json_keeps_what_stands_between_escapes(void **state)
{
        static const struct {
                const char *text, *json;
        } cases[] = {
                { "", "\"\"" },
                { "plain", "\"plain\"" },
                { "\"a\"", "\"\\\"a\\\"\"" },
                { "a\\b\n\nc", "\"a\\\\b\\n\\nc\"" },
                { "a\xc3\xa4\xff\xc3\xa4" "b\xc3", "\"a\xc3\xa4\xef\xbf\xbd\xc3\xa4" "b\xef\xbf\xbd\"" },
                { "\x1f \x7e\x7f", "\"\\u001f ~\\u007f\"" },
        };
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;

        (void) state;
        for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
                buf_clear(&b);
                buf_json(&b, cases[k].text, strlen(cases[k].text));
                assert_string_equal(buf_string(&b), cases[k].json);
        }
        buf_clear(&b);
        buf_json(&b, NULL, 0);
        assert_string_equal(buf_string(&b), "\"\"");
}

/* U+2028 in a value of the configuration once came back from a dump as a line's end. */
static void json_holds_nothing_that_ends_a_line_or_steers_a_terminal(void **state)
{
        static const char bytes[] = "\x7f\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f\xc2\xa0\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9"
                                    "\xe2\x80\xaa\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf\xf0\x90\x80\x80";
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;

        (void) state;
        buf_json(&b, bytes, sizeof(bytes) - 1);
        assert_string_equal(buf_string(&b), "\"\\u007f\\u0080\\u0085\\u009b\\u009f\xc2\xa0\xe2\x80\xa7\\u2028\\u2029"
                                            "\xe2\x80\xaa\xef\xbf\xbd\\ufffe\\uffff\xf0\x90\x80\x80\"");
}

static void a_buffer_hands_over_what_was_added(void **state)
{
        struct buf b = BUF_EMPTY;

        (void) state;
        assert_string_equal(buf_string(&b), "");
        for (int i = 0; i < 1000; i++)
                buf_format(&b, "%d,", i);
        buf_drop_front(&b, 2);
        assert_memory_equal(b.data, "1,2,", 4);
        _cleanup_(freep) char *text = buf_take(&b);
        assert_int_equal(strlen(text), 3888);
        assert_null(b.data);
}

struct number {
        struct heap_node node;
        int value;
};

static bool number_less(const struct heap_node *a, const struct heap_node *b)
{
        return ((const struct number *) (const void *) a)->value < ((const struct number *) (const void *) b)->value;
}

static void a_heap_gives_the_smallest_first_after_any_change(void **state)
{
        struct number n[200];
        struct heap h;
        unsigned seed = 7;
        int last = -1;

        (void) state;
        heap_init(&h, number_less);
        for (size_t i = 0; i < ARRAY_SIZE(n); i++) {
                n[i] = (struct number) { .value = rand_r(&seed) % 1000 };
                assert_int_equal(heap_insert(&h, &n[i].node), 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(n); i += 3) {
                n[i].value = rand_r(&seed) % 1000;
                heap_moved(&h, &n[i].node);
        }
        for (size_t i = 1; i < ARRAY_SIZE(n); i += 3)
                heap_remove(&h, &n[i].node);
        heap_remove(&h, &n[1].node);   /* in no heap any more: nothing happens */
        size_t left = h.count;
        for (struct heap_node *top; (top = heap_top(&h)); left--) {
                int value = container_of(top, struct number, node)->value;
                assert_true(value >= last);
                last = value;
                heap_remove(&h, top);
        }
        assert_int_equal(left, 0);
        heap_done(&h);
}

static void make_folder(char *path)
{
        strcpy(path, "/tmp/onced-test-XXXXXX");
        assert_non_null(mkdtemp(path));
}

static void remove_folder(const char *path)
{
        char command[256];

        (void) snprintf(command, sizeof(command), "rm -rf '%s'", path);
        assert_int_equal(system(command), 0);
}

static void files_are_read_within_their_limit_only(void **state)
{
        char dir[64], path[128];
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;

        (void) state;
        make_folder(dir);
        (void) snprintf(path, sizeof(path), "%s/f", dir);
        assert_int_equal(file_replace(path, "12345", 5, 0600), 0);
        assert_int_equal(file_read(path, 5, &b), 0);
        assert_string_equal(b.data, "12345");
        assert_int_equal(file_read(path, 4, &b), -EFBIG);
        assert_int_equal(file_read(dir, 100, &b), -EISDIR);
        assert_int_equal(mkfifo("/tmp/onced-test-fifo", 0600) == 0 || errno == EEXIST, 1);
        assert_int_equal(file_read("/tmp/onced-test-fifo", 100, &b), -EINVAL);
        (void) unlink("/tmp/onced-test-fifo");
        remove_folder(dir);
}

static void a_node_remembers_itself(void **state)
{
        char dir[64], path[128];
        struct node_id n, got;

        (void) state;
        make_folder(dir);
        assert_int_equal(node_id_read(dir, &got), -ENOENT);
        assert_int_equal(node_id_make(&n), 0);
        strcpy(n.incarnation, "0123456789abcdef0123456789abcdef");
        n.life = 18446744073709551615ULL;
        n.clean = true;
        strcpy(n.ledger, "1764522000.000000001");
        assert_int_equal(node_id_write(dir, &n), 0);
        assert_int_equal(node_id_read(dir, &got), 0);
        assert_string_equal(got.node, n.node);
        assert_string_equal(got.incarnation, n.incarnation);
        assert_string_equal(got.ledger, n.ledger);
        assert_true(got.life == n.life && got.clean);
        (void) snprintf(path, sizeof(path), "%s/node_id", dir);
        assert_int_equal(file_replace(path, "node a-1\ncolour blue\n", 21, 0600), 0);
        assert_int_equal(node_id_read(dir, &got), -EINVAL);
        remove_folder(dir);
}

static void a_state_that_was_put_back_is_older_than_the_witness(void **state)
{
        static const struct {
                const char *node, *ledger;
                uint64_t life;
                bool clean;
                const char *older;   /* NULL: it is not */
        } cases[] = {
                { "a-1", "1.5", 7, true, NULL },                  /* as it was left */
                { "a-1", "", 7, true, NULL },                     /* nothing is known of its file */
                { "a-1", "1.4", 7, true, NULL },                  /* moved whole after a clean stop */
                { "a-1", "1.4", 8, true, NULL },                  /* the witness could not be written */
                { "a-1", "1.5", 8, false, NULL },
                { "a-1", "1.4", 8, false, "middle of start 8" },
                { "a-1", "1.5", 6, true, "start 7 of node a-1 ran here, this knows of 6" },
                { "a-1", "1.5", 7, false, "middle of start 7" },  /* copied before the clean stop */
                { "b-2", "", 0, true, "node a-1 ran here last, this is b-2" },
                { "b-2", "1.5", 9, true, "another one" },
        };
        const struct node_id witness = { .node = "a-1", .ledger = "1.5", .life = 7, .clean = true };
        char why[160];

        (void) state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct node_id n = { .life = cases[i].life, .clean = cases[i].clean };
                (void) snprintf(n.node, sizeof(n.node), "%s", cases[i].node);
                (void) snprintf(n.ledger, sizeof(n.ledger), "%s", cases[i].ledger);
                assert_int_equal(node_id_is_older(&n, &witness, "1.5", why, sizeof(why)), cases[i].older != NULL);
                if (cases[i].older && !strstr(why, cases[i].older))
                        fail_msg("case %zu: %s", i, why);
        }
}

static void after_a_crash_only_another_file_tells_of_a_copy(void **state)
{
        const struct node_id n = { .node = "a-1", .ledger = "1.5", .life = 7 };
        struct node_id clean = n, crashed = n;
        char why[160];

        (void) state;
        clean.clean = true;
        assert_false(node_id_is_older(&n, NULL, "1.5", why, sizeof(why)));
        assert_true(node_id_is_older(&n, NULL, "1.6", why, sizeof(why)));
        assert_false(node_id_is_older(&n, &crashed, "1.5", why, sizeof(why)));
        assert_true(node_id_is_older(&n, &crashed, "1.6", why, sizeof(why)));
        /* Marked clean for a moment, when one worker of several ended. */
        assert_false(node_id_is_older(&clean, &crashed, "1.5", why, sizeof(why)));
        assert_true(node_id_is_older(&clean, &crashed, "1.6", why, sizeof(why)));
}

/* Each was read once, and came back otherwise when written, or reached a log line as it was. */
static void a_node_id_that_is_not_as_written_is_refused(void **state)
{
        static const char *const bad[] = {
                "", "life 1\n", "node \n", "node a b\n", "node a\x1b[2J\n", "node a\nboot 0b\xcc" "1e5\n",
                "node a\nincarnation x\ty\n", "node a\nincarnation \n", "node a\nlife -1\n", "node a\nlife  1\n",
                "node a\nlife +1\n", "node a\nlife 18446744073709551616\n", "node a\nclean 2\n", "node a\nclean\n",
                "node a\nclean 4294967297\n", "node a\nepoch 1\n",
        };
        char dir[] = "/tmp/onced-node-XXXXXX", path[64];
        struct node_id got;

        (void) state;
        assert_non_null(mkdtemp(dir));
        (void) snprintf(path, sizeof(path), "%s/node_id", dir);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                assert_int_equal(file_replace(path, bad[i], strlen(bad[i]), 0600), 0);
                assert_int_equal(node_id_read(dir, &got), -EINVAL);
        }
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(dir), 0);
}

static void a_process_is_told_from_its_successor(void **state)
{
        struct process_id me, child;

        (void) state;
        assert_int_equal(process_identify(getpid(), &me), 0);
        assert_true(process_alive(&me));
        pid_t pid = fork();
        if (pid == 0)
                for (;;)
                        (void) pause();
        assert_int_equal(process_identify(pid, &child), 0);
        struct process_id other = child;
        strcpy(other.start, me.start);
        other.start[0] ^= 1;
        assert_false(process_alive(&other));
        (void) kill(pid, SIGKILL);
        siginfo_t info;
        assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
        assert_false(process_alive(&child));   /* a zombie does not run */
        (void) waitpid(pid, NULL, 0);
        assert_int_equal(process_identify(pid, &child), -ESRCH);
}

static void the_nearest_word_is_found_and_far_ones_are_not(void **state)
{
        static const char *const words[] = { "dedicated", "flock", "redis", NULL };

        (void) state;
        assert_string_equal(nearest_word("reddis", words), "redis");
        assert_string_equal(nearest_word("flok", words), "flock");
        assert_null(nearest_word("zzzzzz", words));
}

/* The name of a variable was quoted as it stood in the file, a hundred empty lines and all. */
static void a_complaint_is_one_line(void **state)
{
        struct complaints c = COMPLAINTS_NONE;

        (void) state;
        complain(&c, SEVERITY_ERROR, (struct place) { "a\nb", 1, 1 }, "variable %s is not set",
                 "A\n\nB\x1b[2J\x7f\xc2\x9b\xc3\xa4");
        assert_string_equal(c.list[0].text, "variable A??B?[2J???\xc3\xa4 is not set");
        assert_string_equal(c.list[0].place.file, "a?b");
        complaints_done(&c);
}

static void complaints_beyond_the_limit_are_counted(void **state)
{
        struct complaints c = COMPLAINTS_NONE;
        struct place p = { "f.yaml", 3, 4 };
        char *text = NULL;
        size_t size;

        (void) state;
        for (int i = 0; i < COMPLAINTS_MAX + 5; i++)
                complain(&c, SEVERITY_ERROR, p, "number %d", i);
        assert_int_equal(c.errors, COMPLAINTS_MAX + 5);
        assert_int_equal(c.dropped, 5);
        FILE *out = open_memstream(&text, &size);
        complaints_print(&c, out);
        (void) fclose(out);
        assert_memory_equal(text, "f.yaml:3:4: error: number 0\n", 28);
        assert_non_null(strstr(text, "5 more are not shown"));
        free(text);
        complaints_done(&c);
}

static void a_log_message_cannot_forge_a_line(void **state)
{
        int p[2];
        char line[512];

        (void) state;
        assert_int_equal(pipe2(p, O_CLOEXEC), 0);
        int before = log_use_fd(p[1]);
        log_identity("test");
        assert_int_equal(log_error(-ENOENT, "a\nb %s", "c"), -ENOENT);
        log_debug("not shown at level info");
        (void) log_use_fd(before);
        (void) close(p[1]);
        ssize_t n = read(p[0], line, sizeof(line) - 1);
        assert_true(n > 0);
        line[n] = '\0';
        assert_non_null(strstr(line, "error   test["));
        assert_non_null(strstr(line, "a b c: No such file or directory\n"));
        assert_null(strchr(strchr(line, '\n') + 1, '\n'));
        (void) close(p[0]);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(instants_are_read_back_as_written),
                cmocka_unit_test(any_moment_has_a_text),
                cmocka_unit_test(other_spellings_of_an_instant_are_read),
                cmocka_unit_test(what_is_no_instant_is_refused),
                cmocka_unit_test(any_bytes_become_valid_json),
                cmocka_unit_test(json_keeps_what_stands_between_escapes),
                cmocka_unit_test(json_holds_nothing_that_ends_a_line_or_steers_a_terminal),
                cmocka_unit_test(a_buffer_hands_over_what_was_added),
                cmocka_unit_test(a_heap_gives_the_smallest_first_after_any_change),
                cmocka_unit_test(files_are_read_within_their_limit_only),
                cmocka_unit_test(a_node_remembers_itself),
                cmocka_unit_test(a_state_that_was_put_back_is_older_than_the_witness),
                cmocka_unit_test(after_a_crash_only_another_file_tells_of_a_copy),
                cmocka_unit_test(a_node_id_that_is_not_as_written_is_refused),
                cmocka_unit_test(a_process_is_told_from_its_successor),
                cmocka_unit_test(the_nearest_word_is_found_and_far_ones_are_not),
                cmocka_unit_test(a_complaint_is_one_line),
                cmocka_unit_test(complaints_beyond_the_limit_are_counted),
                cmocka_unit_test(a_log_message_cannot_forge_a_line),
        };
        return RUN_CASES(argc, argv, "basics", tests);
}
