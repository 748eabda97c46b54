/* The own scanner against jansson: on lines as they are written and on lines with random damage, whatever the
 * scanner accepts jansson accepts with the same values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/merge.h"
#include "cli/prove/reader.h"
#include "cli/prove/scan.h"
#include "t/unit/cases.h"
#include "t/unit/record/logbook.h"

static int scanners_new(void **state)
{
        struct scanner **s = calloc(2, sizeof(struct scanner *));

        assert_non_null(s);
        s[0] = scanner_new();
        s[1] = scanner_new();
        assert_true(s[0] && s[1]);
        *state = s;
        return 0;
}

static int scanners_free(void **state)
{
        struct scanner **s = *state;

        scanner_free(s[0]);
        scanner_free(s[1]);
        free(s);
        return 0;
}

static void assert_same(const struct record *a, const struct record *b, const char *line)
{
        bool same = a->e == b->e && a->n == b->n && a->t_us == b->t_us && a->b_ns == b->b_ns &&
                    a->present == b->present;

        for (unsigned f = 0; f < FIELD_COUNT_ && same; f++) {
                if (!record_has(a, (enum field) f))
                        continue;
                /* A field is a text or a number in both; texts of numbers are not set. */
                struct text x = a->texts[f], y = b->texts[f];
                if (a->numbers[f] != b->numbers[f] || x.len != y.len ||
                    (x.len && memcmp(x.at, y.at, x.len) != 0))
                        same = false;
        }
        if (!same)
                fail_msg("read in two ways: %s", line);
}

static const char *const samples[] = {
        "{\"e\":\"start\",\"n\":1,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"node\":\"n1\",\"slot\":"
        "\"0\",\"pid\":7,"
        "\"pstart\":\"5-ab\",\"boot\":\"b\",\"role\":\"worker\",\"generation\":1,\"sync\":false,\"h\":"
        "\"0123456789abcdef\"}",
        "{\"e\":\"attempt\",\"n\":41,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":12345,\"trig\":\"n1.0.7.5-"
        "ab.17\",\"occ\":\"9f\","
        "\"task\":\"mail\",\"shard\":0,\"planned\":1764522000000,\"by\":\"schedule\",\"path\":\"flock\","
        "\"out\":\"granted\","
        "\"fence\":\"1764522000000042\",\"tok8\":\"00112233\",\"late_us\":213,\"h\":\"0123456789abcdef\"}",
        "{\"e\":\"finish\",\"n\":43,\"t\":\"2026-11-30T17:00:01.999999Z\",\"b\":-1,\"task\":\"mail\","
        "\"shard\":3,\"planned\":-5,"
        "\"state\":\"failed\",\"cause\":\"status\",\"run_us\":0,\"error\":\"said \\\"no\\\" \\u00e4 "
        "\xc3\xa4\",\"h\":\"0123456789abcdef\"}",
        "{\"e\":\"stop\",\"n\":999,\"t\":\"1969-12-31T23:59:59.000001Z\",\"b\":0,\"reason\":\"drained\","
        "\"ceased\":0,\"led\":true,"
        "\"h\":\"0123456789abcdef\"}",
};

static void lines_as_written_are_read_alike(void **state)
{
        struct scanner **s = *state;

        for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
                struct record a = { 0 }, b = { 0 };
                assert_int_equal(scan_line(s[0], samples[i], strlen(samples[i]), &a), 0);
                assert_int_equal(scan_json(s[1], samples[i], strlen(samples[i]), &b), 0);
                assert_same(&a, &b, samples[i]);
        }
}

static void plain_lines_need_no_jansson(void **state)
{
        struct scanner **s = *state;
        struct record r;

        assert_int_equal(scan_own(s[0], samples[0], strlen(samples[0]), &r), 0);
        assert_int_equal(scan_own(s[0], samples[1], strlen(samples[1]), &r), 0);
        assert_int_equal(scan_own(s[0], samples[2], strlen(samples[2]), &r), -EINVAL);   /* escapes */
        assert_int_equal(scan_own(s[0], samples[3], strlen(samples[3]), &r), 0);
}

static void times_are_read_to_the_microsecond(void **state)
{
        struct scanner **s = *state;
        struct record r;

        assert_int_equal(scan_line(s[0], samples[0], strlen(samples[0]), &r), 0);
        assert_int_equal(r.t_us, 1796058000000213LL);
        assert_int_equal(scan_line(s[0], samples[3], strlen(samples[3]), &r), 0);
        assert_int_equal(r.t_us, -999999LL);
}

static uint64_t random_next(uint64_t *x)
{
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        return *x;
}

static void damaged_lines_are_read_alike_or_refused(void **state)
{
        static const char alphabet[] = "{}[]\",:\\0123456789.-+eEtruefalsn \n\t\x7f\x01\xc3\xff";
        struct scanner **s = *state;
        uint64_t seed = 0x9e3779b97f4a7c15ULL;
        size_t accepted = 0;

        for (int i = 0; i < 60000; i++) {
                const char *sample = samples[random_next(&seed) % (sizeof(samples) / sizeof(*samples))];
                char line[1024];
                size_t len = strlen(sample);
                memcpy(line, sample, len + 1);
                for (uint64_t edits = random_next(&seed) % 3 + 1; edits > 0; edits--) {
                        size_t at = random_next(&seed) % len;
                        if (random_next(&seed) % 4 == 0) {
                                memmove(line + at, line + at + 1, len - at);
                                len--;
                        } else {
                                line[at] = alphabet[random_next(&seed) % (sizeof(alphabet) - 1)];
                        }
                }
                /* In a block of its exact size a sanitizer sees a read beyond the line. */
                char *exact = malloc(len);
                assert_non_null(exact);
                memcpy(exact, line, len);
                struct record a = { 0 }, b = { 0 };
                if (scan_own(s[0], exact, len, &a) == 0) {
                        accepted++;
                        line[len] = '\0';
                        if (scan_json(s[1], exact, len, &b) < 0)
                                fail_msg("jansson refuses: %s", line);
                        assert_same(&a, &b, line);
                }
                free(exact);
        }
        assert_true(accepted > 5000);
}

static void what_is_no_line_of_ours_is_refused(void **state)
{
        static const char *const bad[] = {
                "",
                "{}",
                "[]",
                "null",
                "x",
                "{\"e\":\"run\"}",
                "{\"e\":\"run\",\"n\":0,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"h\":"
                "\"0123456789abcdef\"}",
                "{\"e\":\"run\",\"n\":1,\"t\":\"2026-11-30T17:00:60.000213Z\",\"b\":5,\"h\":"
                "\"0123456789abcdef\"}",
                "{\"e\":\"run\",\"n\":1,\"t\":\"2026-11-30T17:00:00Z\",\"b\":5,\"h\":\"0123456789abcdef\"}",
                "{\"e\":\"run\",\"n\":1,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"h\":\"0123\"}",
                "{\"e\":\"run\",\"n\":\"1\",\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"h\":"
                "\"0123456789abcdef\"}",
                "{\"e\":\"run\",\"n\":1,\"n\":2,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"h\":"
                "\"0123456789abcdef\"}",
        };
        struct scanner **s = *state;
        struct record r;

        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                assert_int_equal(scan_line(s[0], bad[i], strlen(bad[i]), &r), -EINVAL);
}

/* Texts are read a word at a time: what ends one is found at every place of a word and in the bytes behind the last
 * whole one, whatever stands next to it. */
static void every_byte_at_every_place_is_read_alike(void **state)
{
        static const char head[] = "{\"e\":\"run\",\"n\":1,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,"
                                   "\"h\":\"0123456789abcdef\",\"task\":\"";
        struct scanner **s = *state;
        size_t plain = 0;

        for (unsigned at = 0; at < 20; at++) {
                for (unsigned pair = 0; pair < 256 * 4; pair++) {
                        char *line = NULL;
                        int len = asprintf(&line, "%s%.*s%c%c\"}", head, (int) at, "twenty letters in all", 'x',
                                           "~ !z"[pair / 256]);
                        assert_true(len > 0);
                        line[sizeof(head) - 1 + at] = (char) (pair % 256);
                        /* In a block of its exact size a sanitizer sees a read beyond the line. */
                        char *exact = malloc((size_t) len);
                        assert_non_null(exact);
                        memcpy(exact, line, (size_t) len);
                        struct record a = { 0 }, b = { 0 };
                        unsigned char c = (unsigned char) (pair % 256);
                        bool is_plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
                        int r = scan_own(s[0], exact, (size_t) len, &a);
                        assert_int_equal(r, is_plain ? 0 : -EINVAL);
                        if (r == 0) {
                                assert_int_equal(scan_json(s[1], exact, (size_t) len, &b), 0);
                                assert_same(&a, &b, line);
                                assert_int_equal(a.texts[FIELD_TASK].len, at + 2);
                                plain++;
                        }
                        free(exact);
                        free(line);
                }
        }
        assert_int_equal(plain, 20 * 4 * 93);
}

#define MUST "\"e\":\"run\",\"n\":1,\"t\":\"2026-11-30T17:00:00.000213Z\",\"b\":5,\"h\":\"0123456789abcdef\""

static void a_key_twice_is_refused_known_or_not(void **state)
{
        static const char *const bad[] = {
                "{" MUST ",\"task\":\"a\",\"task\":\"a\"}",
                "{" MUST ",\"trig\":\"a\",\"trig\":\"a\"}",
                "{" MUST ",\"trig\":\"a\",\"other\":1,\"trig\":2}",
                "{\"\":1,\"\":1," MUST "}",
                "{" MUST ",\"eighteen_characters\":1,\"eighteen_characters\":2}",
        };
        struct scanner **s = *state;
        struct record r;

        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                assert_int_equal(scan_own(s[0], bad[i], strlen(bad[i]), &r), -EINVAL);
                assert_int_equal(scan_line(s[0], bad[i], strlen(bad[i]), &r), -EINVAL);
        }
}

static void keys_that_look_like_fields_are_none(void **state)
{
        static const char line[] = "{" MUST ",\"valid_fr\":1,\"valid_fro\":2,\"valid_frod\":3,\"valid_from\":4,"
                                   "\"valid_from_\":5,\"tas\":\"x\",\"tasks\":\"x\",\"\":7}";
        struct scanner **s = *state;
        struct record a = { 0 }, b = { 0 };

        assert_int_equal(scan_own(s[0], line, strlen(line), &a), 0);
        assert_int_equal(scan_json(s[1], line, strlen(line), &b), 0);
        assert_same(&a, &b, line);
        assert_int_equal(record_number(&a, FIELD_VALID_FROM), 4);
        assert_false(record_has(&a, FIELD_TASK));
}

static void a_line_of_many_strange_keys_is_read(void **state)
{
        struct scanner **s = *state;
        struct record r;
        char line[2048];
        int len = snprintf(line, sizeof(line), "{" MUST);

        for (int i = 0; i < 40; i++)
                len += snprintf(line + len, sizeof(line) - (size_t) len, ",\"strange%d\":%d", i, i);
        len += snprintf(line + len, sizeof(line) - (size_t) len, ",\"task\":\"a\"}");
        assert_int_equal(scan_line(s[0], line, (size_t) len, &r), 0);
        assert_true(text_is(record_text(&r, FIELD_TASK), "a"));
}

static void the_reader_gives_long_and_unended_lines_as_such(void **state)
{
        char path[] = "/tmp/onced-reader-XXXXXX";
        struct reader r;
        const char *line;
        size_t len;
        bool whole;
        int fd = mkstemp(path);
        FILE *f = fdopen(fd, "w");
        (void) state;

        assert_non_null(f);
        assert_true(fputs("one\n\n", f) >= 0);
        for (int i = 0; i < 3 * SCAN_LINE_MAX; i++)
                assert_int_equal(fputc('x', f), 'x');
        assert_true(fputs("\ntwo\nthr", f) >= 0);
        int64_t size = ftell(f);
        assert_int_equal(fclose(f), 0);

        assert_int_equal(reader_open(&r, path, size), 0);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 1);
        assert_true(whole && len == 3);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 1);
        assert_true(whole && len == 0);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 1);
        assert_true(!whole && len > SCAN_LINE_MAX);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 1);
        assert_true(whole && len == 3 && memcmp(line, "two", 3) == 0);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 1);
        assert_true(!whole && len == 3);
        assert_int_equal(reader_line(&r, &line, &len, &whole), 0);
        reader_close(&r);
        assert_int_equal(unlink(path), 0);
}

/* Told, not asserted: machines differ. */
#ifdef __SANITIZE_ADDRESS__
#define INSTANTS 33333
#else
#define INSTANTS 333333
#endif

static void a_million_lines_are_read(void **state)
{
        struct logbook b;
        (void) state;
        logbook_open(&b);
        struct author *m = author_of(&b, "n1", "m", 100, "master", 0),
                      *w = author_of(&b, "n1", "0", 101, "worker", 10);
        say_born(m, 5, w);
        say_plan(w, 0, "fast", "flock", 10, "\"rev\":1");
        write_straight(&b, w);
        for (int i = 1; i <= INSTANTS; i++)
                say_once(w, "fast", "flock", i * 10LL, i);
        say_stop(w, INSTANTS * 10LL + 10, INSTANTS * 10LL + 10, true);
        say_gone(m, INSTANTS * 10LL + 20, w, 0);
        logbook_save(&b);

        char *dir = b.dir;
        struct mono begun = clock_mono();
        struct evidence *e = evidence_new();
        assert_int_equal(evidence_collect(e, &dir, 1), 0);
        assert_int_equal(evidence_read(e), 0);
        struct judge *j = judge_new(e, &(struct judge_options) { .since_ms = INT64_MIN, .until_ms = INT64_MAX });
        assert_int_equal(merge_logs(e, j), 0);
        assert_int_equal(judge_end(j), 0);
        int64_t us = (clock_mono().ns - begun.ns) / NS_PER_US;
        print_message("%llu lines in %lld ms: %lld lines a second\n", (unsigned long long) e->lines,
                      (long long) us / 1000, (long long) ((int64_t) e->lines * 1000000 / us));
        assert_int_equal(j->rows[0]->verdicts[VERDICT_ONCE], INSTANTS);
        assert_in_range(j->open_max, 1, 4);
        judge_free(j);
        evidence_free(e);
        logbook_close(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, scanners_new, scanners_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(lines_as_written_are_read_alike),
                CASE(plain_lines_need_no_jansson),
                CASE(times_are_read_to_the_microsecond),
                CASE(damaged_lines_are_read_alike_or_refused),
                CASE(what_is_no_line_of_ours_is_refused),
                CASE(every_byte_at_every_place_is_read_alike),
                CASE(a_key_twice_is_refused_known_or_not),
                CASE(keys_that_look_like_fields_are_none),
                CASE(a_line_of_many_strange_keys_is_read),
                CASE(the_reader_gives_long_and_unended_lines_as_such),
                CASE(a_million_lines_are_read),
        };

        return RUN_CASES(argc, argv, "scan", tests);
}
