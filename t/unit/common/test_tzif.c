/* Zone files made by hand: what each part of one means, and that every damaged one is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/tzif.h"
#include "common/schedule/zone.h"
#include "t/unit/cases.h"

#define NO_KIND 255

/* What a file is made from; kinds are "CET" (+1 h) and "CEST" (+2 h). */
struct made {
        char version;              /* 0, '2', … */
        size_t changes;
        int64_t at_s[4];
        uint8_t kind_at[4];
        uint32_t leaps, isstd, isutc;
        const char *footer;        /* newlines included; NULL: none */
};

static const struct made central_europe = {
        .version = '2', .changes = 2, .at_s = { 1000, 2000 }, .kind_at = { 1, 0 },
        .footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n",
};

/* Where the parts of central_europe are. */
enum { FIRST_VERSION = 4, SECOND_HEADER = 51, VERSION = 55, ISUTC = 71, ISSTD = 75, LEAPS = 79, CHANGES = 83,
       KINDS = 87, LETTERS = 91, TIMES = 95, KIND_AT = 111, KIND_0 = 113, NAMES = 125, FOOTER = 134 };

struct file {
        uint8_t data[512];
        size_t size;
};

static void put(struct file *f, uint64_t value, size_t width)
{
        for (size_t i = width; i-- > 0; value >>= 8)
                f->data[f->size + i] = (uint8_t) value;
        f->size += width;
}

static void put_header(struct file *f, const struct made *m, uint32_t changes, uint32_t kinds, uint32_t letters)
{
        memcpy(f->data + f->size, "TZif", 4);
        f->data[f->size + 4] = (uint8_t) m->version;
        f->size += 20;
        put(f, kinds > 1 ? m->isutc : 0, 4);
        put(f, kinds > 1 ? m->isstd : 0, 4);
        put(f, kinds > 1 ? m->leaps : 0, 4);
        put(f, changes, 4);
        put(f, kinds, 4);
        put(f, letters, 4);
}

static void put_block(struct file *f, const struct made *m, size_t width)
{
        put_header(f, m, (uint32_t) m->changes, 2, 9);
        for (size_t i = 0; i < m->changes; i++)
                put(f, (uint64_t) m->at_s[i], width);
        for (size_t i = 0; i < m->changes; i++)
                put(f, m->kind_at[i], 1);
        put(f, 3600, 4);
        put(f, 0, 2);        /* no summer time; its name is at 0 */
        put(f, 7200, 4);
        put(f, 0x0104, 2);   /* summer time; its name is at 4 */
        memcpy(f->data + f->size, "CET\0CEST", 9);
        f->size += 9 + m->leaps * (width + 4) + m->isstd + m->isutc;
}

static struct file make(const struct made *m)
{
        struct file f = { .size = 0 };

        if (m->version) {
                put_header(&f, m, 0, 1, 1);
                f.size += 7;
        }
        put_block(&f, m, m->version ? 8 : 4);
        if (m->footer) {
                memcpy(f.data + f.size, m->footer, strlen(m->footer));
                f.size += strlen(m->footer);
        }
        return f;
}

/* Reads a copy with nothing behind it, so that a sanitizer sees a read past the end. */
static int file_read_exact(const struct file *f, size_t size, struct tzif *ret, const char **ret_why)
{
        _cleanup_(freep) uint8_t *copy = malloc(size ? size : 1);

        assert_non_null(copy);
        memcpy(copy, f->data, size);
        return tzif_read(copy, size, ret, ret_why);
}

static struct tzif made_zone(const struct made *m)
{
        struct file f = make(m);
        const char *why = NULL;
        struct tzif t;

        if (file_read_exact(&f, f.size, &t, &why) < 0)
                fail_msg("refused: %s", why);
        return t;
}

static void assert_span(const struct tzif *t, int64_t at_s, int64_t from_s, int64_t until_s, const char *name)
{
        struct zone_span s;

        tzif_span_at(t, at_s, &s);
        assert_int_equal(s.from_s, from_s);
        assert_int_equal(s.until_s, until_s);
        assert_string_equal(s.abbreviation, name);
        assert_int_equal(s.offset_s, strcmp(name, "CEST") == 0 ? 7200 : 3600);
        assert_int_equal(s.is_dst, strcmp(name, "CEST") == 0);
}

/* 1970-03-29T01:00Z and 1970-10-25T01:00Z: the rule's first summer. */
#define FIRST_SUMMER_S 7520400
#define FIRST_WINTER_S 25664400

static void the_rule_goes_on_where_the_table_ends(void **state)
{
        (void) state;
        _cleanup_(tzif_done) struct tzif t = made_zone(&central_europe);
        assert_span(&t, INT64_MIN, INT64_MIN, 1000, "CET");
        assert_span(&t, 999, INT64_MIN, 1000, "CET");
        assert_span(&t, 1000, 1000, 2000, "CEST");
        assert_span(&t, 1999, 1000, 2000, "CEST");
        assert_span(&t, 2000, 2000, FIRST_SUMMER_S, "CET");
        assert_span(&t, FIRST_SUMMER_S - 1, 2000, FIRST_SUMMER_S, "CET");
        assert_span(&t, FIRST_SUMMER_S, FIRST_SUMMER_S, FIRST_WINTER_S, "CEST");
}

static void a_table_that_ends_in_summer_is_followed_by_the_rest_of_it(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.at_s[1] = FIRST_SUMMER_S + 77;
        m.kind_at[0] = 0;
        m.kind_at[1] = 1;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, FIRST_SUMMER_S + 76, 1000, FIRST_SUMMER_S + 77, "CET");
        assert_span(&t, FIRST_SUMMER_S + 77, FIRST_SUMMER_S + 77, FIRST_WINTER_S, "CEST");
}

static void without_a_rule_the_last_kind_goes_on(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.footer = "\n\n";
        m.kind_at[0] = 0;
        m.kind_at[1] = 1;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, 2000, 2000, INT64_MAX, "CEST");
        assert_span(&t, INT64_MAX, 2000, INT64_MAX, "CEST");
}

static void version_1_has_short_times_and_no_rule(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.version = 0;
        m.footer = NULL;
        m.at_s[0] = -2000;
        m.at_s[1] = -1000;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, -2001, INT64_MIN, -2000, "CET");
        assert_span(&t, -1001, -2000, -1000, "CEST");
        assert_span(&t, 0, -1000, INT64_MAX, "CET");
}

static void the_versions_2_to_4_are_read_alike(void **state)
{
        (void) state;
        struct made m = central_europe;
        for (m.version = '2'; m.version <= '4'; m.version++) {
                _cleanup_(tzif_done) struct tzif t = made_zone(&m);
                assert_span(&t, 1500, 1000, 2000, "CEST");
        }
}

static void without_changes_the_rule_holds_for_ever_or_the_first_kind(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.changes = 0;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, FIRST_SUMMER_S, FIRST_SUMMER_S, FIRST_WINTER_S, "CEST");
        m.footer = "\n\n";
        _cleanup_(tzif_done) struct tzif constant = made_zone(&m);
        assert_span(&constant, 0, INT64_MIN, INT64_MAX, "CET");
}

static void changes_may_stand_at_the_ends_of_time(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.at_s[0] = INT64_MIN;
        m.at_s[1] = INT64_MAX;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, INT64_MIN, INT64_MIN, INT64_MAX, "CEST");
        assert_span(&t, INT64_MAX - 1, INT64_MIN, INT64_MAX, "CEST");
}

static void indicators_are_passed_over(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.isstd = m.isutc = 2;
        _cleanup_(tzif_done) struct tzif t = made_zone(&m);
        assert_span(&t, 2000, 2000, FIRST_SUMMER_S, "CET");
}

static void assert_refused(const struct file *f, size_t size, const char *part_of_why)
{
        struct tzif t;
        const char *why = NULL;

        assert_int_equal(file_read_exact(f, size, &t, &why), -EBADMSG);
        if (!strstr(why, part_of_why))
                fail_msg("refused with \"%s\", not \"%s\"", why, part_of_why);
}

static void damage_is_refused(void **state)
{
        (void) state;
        static const struct {
                size_t at, width;
                uint64_t value;
                const char *why;
        } cases[] = {
                { 0, 1, 'X', "does not begin as a zone file" },
                { SECOND_HEADER, 1, 'X', "does not begin as a zone file" },
                { FIRST_VERSION, 1, '1', "version" },
                { VERSION, 1, '5', "version" },
                { SECOND_HEADER - 15, 4, 0xffffffff, "cut off in its table" },   /* changes of the first block */
                { CHANGES, 4, 0xffffffff, "cut off in its table" },
                { CHANGES, 4, 8, "cut off in its table" },
                { KINDS, 4, 0, "count of local times" },
                { KINDS, 4, 0xffffffff, "cut off in its table" },
                { LETTERS, 4, 0xffffffff, "cut off in its table" },
                { LETTERS, 4, 0, "count of local times" },
                { LEAPS, 4, 1, "leap seconds" },
                { LEAPS, 4, 0xffffffff, "cut off in its table" },
                { ISSTD, 4, 1, "indicators" },
                { ISUTC, 4, 1, "indicators" },
                { ISUTC, 4, 0xffffffff, "cut off in its table" },
                { TIMES, 8, 2000, "not in order" },
                { TIMES, 8, 2001, "not in order" },
                { KIND_AT, 1, 2, "not there" },
                { KIND_AT + 1, 1, NO_KIND, "not there" },
                { KIND_0, 4, 0x80000000, "local time is impossible" },
                { KIND_0, 4, (uint32_t) -25 * 3600, "local time is impossible" },
                { KIND_0, 4, 26 * 3600, "local time is impossible" },
                { KIND_0 + 4, 1, 2, "local time is impossible" },
                { KIND_0 + 5, 1, 9, "name of a local time" },
                { NAMES, 1, '\n', "name of a local time" },
                { NAMES + 8, 1, 'T', "name of a local time" },   /* no NUL behind it */
                { FOOTER, 1, ' ', "no footer" },
                { FOOTER + 1, 1, '1', "rule for later years" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct file f = make(&central_europe);
                size_t size = f.size;
                f.size = cases[i].at;
                put(&f, cases[i].value, cases[i].width);
                assert_refused(&f, size, cases[i].why);
        }
}

static void leap_seconds_are_refused(void **state)
{
        (void) state;
        struct made m = central_europe;
        m.leaps = 1;
        struct file f = make(&m);
        assert_refused(&f, f.size, "leap seconds");
        m.version = 0;
        m.footer = NULL;
        f = make(&m);
        assert_refused(&f, f.size, "leap seconds");
}

static void a_name_has_up_to_eleven_plain_characters(void **state)
{
        (void) state;
        struct zone_kind k = { .abbreviation = "before" };
        assert_int_equal(zone_kind_name(&k, "ABCDEFGHIJKL", 12), -EBADMSG);
        assert_int_equal(zone_kind_name(&k, "C T", 3), -EBADMSG);
        assert_string_equal(k.abbreviation, "before");
        assert_int_equal(zone_kind_name(&k, "+0123-aZ9BC", 11), 0);
        assert_string_equal(k.abbreviation, "+0123-aZ9BC");
        assert_int_equal(zone_kind_name(&k, "", 0), 0);
        assert_string_equal(k.abbreviation, "");
}

static void every_cut_is_refused(void **state)
{
        (void) state;
        struct file f = make(&central_europe);
        for (size_t size = 0; size < f.size; size++)
                assert_refused(&f, size, "");
}

static void any_byte_may_be_wrong(void **state)
{
        (void) state;
        static const uint8_t values[] = { 0, 1, 2, '\n', 0x7f, 0x80, 0xff };
        struct zone_span s;
        for (size_t i = 0; i < make(&central_europe).size * ARRAY_SIZE(values); i++) {
                struct file f = make(&central_europe);
                struct tzif t;
                const char *why = NULL;
                f.data[i / ARRAY_SIZE(values)] = values[i % ARRAY_SIZE(values)];
                int r = file_read_exact(&f, f.size, &t, &why);
                assert_true(r == 0 || (r == -EBADMSG && why));
                if (r < 0)
                        continue;
                tzif_span_at(&t, FIRST_SUMMER_S, &s);
                assert_true(s.from_s <= FIRST_SUMMER_S && FIRST_SUMMER_S < s.until_s);
                tzif_done(&t);
        }
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_rule_goes_on_where_the_table_ends),
                cmocka_unit_test(a_table_that_ends_in_summer_is_followed_by_the_rest_of_it),
                cmocka_unit_test(without_a_rule_the_last_kind_goes_on),
                cmocka_unit_test(version_1_has_short_times_and_no_rule),
                cmocka_unit_test(the_versions_2_to_4_are_read_alike),
                cmocka_unit_test(without_changes_the_rule_holds_for_ever_or_the_first_kind),
                cmocka_unit_test(changes_may_stand_at_the_ends_of_time),
                cmocka_unit_test(indicators_are_passed_over),
                cmocka_unit_test(damage_is_refused),
                cmocka_unit_test(leap_seconds_are_refused),
                cmocka_unit_test(a_name_has_up_to_eleven_plain_characters),
                cmocka_unit_test(every_cut_is_refused),
                cmocka_unit_test(any_byte_may_be_wrong),
        };
        return RUN_CASES(argc, argv, "tzif", tests);
}
