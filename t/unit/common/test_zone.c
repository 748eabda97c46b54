/* Zones by their names: what is one, what is refused and why; and all zones of the machine are as libc has them. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/schedule/tzif.h"
#include "common/schedule/zone.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"

#define SYSTEM_FOLDER "/usr/share/zoneinfo"
#define ZEROS_15      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define HEADER(letters) "TZif2" ZEROS_15 ZEROS_15 "\0\0\0\0\1\0\0\0" letters

/* The smallest file: no changes, one kind, and a rule that names it. */
static const char small_zone[] = HEADER("\1") "\0\0\0\0\0\0\0" HEADER("\4") "\0\0\x0e\x10\0\0" "CET\0" "\nCET-1\n";
static const char other_zone[] = HEADER("\1") "\0\0\0\0\0\0\0" HEADER("\4") "\0\0\x1c\x20\0\0" "EET\0" "\nEET-2\n";

/* A zone folder of the test's own. */
static char folder[64];

static char *in_folder(const char *name)
{
        static char path[256];

        (void) snprintf(path, sizeof(path), "%s/%s", folder, name);
        return path;
}

static void put_file(const char *name, const char *data, size_t size)
{
        char *path = in_folder(name), *slash = strrchr(path, '/');

        *slash = '\0';
        assert_int_equal(folder_make(path, 0755), 0);
        *slash = '/';
        assert_int_equal(file_replace(path, data, size, 0644), 0);
}

static void put_zone(const char *name)
{
        put_file(name, small_zone, sizeof(small_zone) - 1);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void) st;
        (void) type;
        (void) ftw;
        return remove(path);
}

static int folder_setup(void **state)
{
        (void) state;
        (void) strcpy(folder, "/tmp/onced-test-zone-XXXXXX");
        return mkdtemp(folder) && setenv("TZDIR", folder, 1) == 0 ? 0 : -1;
}

static int folder_teardown(void **state)
{
        (void) state;
        (void) unsetenv("TZDIR");
        return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const struct zone *got(const char *name)
{
        const struct zone *z = NULL;
        char why[ZONE_WHY] = "";

        if (zone_get(name, &z, why, sizeof(why)) < 0)
                fail_msg("%s: %s", name, why);
        return z;
}

static void assert_refused(const char *name, int error, const char *part_of_why)
{
        const struct zone *z = NULL;
        char why[ZONE_WHY] = "";

        int r = zone_get(name, &z, why, sizeof(why));
        if (r != error || !strstr(why, part_of_why))
                fail_msg("\"%s\": %d, \"%s\", not %d, \"%s\"", name, r, why, error, part_of_why);
        assert_null(z);
        for (const char *c = why; *c; c++)
                assert_in_range(*c, ' ', '~');
}

static size_t refused_seen;

static void check_refused(const json_t *line)
{
        const char *tz = json_string_value(json_object_get(line, "tz"));
        const struct zone *z = NULL;
        char why[ZONE_WHY] = "";

        if (!tz)
                return;
        refused_seen++;
        int r = zone_get(tz, &z, why, sizeof(why));
        if ((r != -EINVAL && r != -ENOENT) || z || !*why)
                fail_msg("%s: %d, %s", vector_text(line, "id"), r, why);
}

static void refused_vectors_are_no_zones(void **state)
{
        (void) state;
        (void) vectors_each("refused.jsonl", check_refused);
        assert_int_equal(refused_seen, 19);
}

static void what_is_no_name_is_told_with_the_cure(void **state)
{
        (void) state;
        static const struct {
                const char *name, *what;
        } cases[] = {
                { "", "empty" },
                { "+02:00", "an offset" },
                { "-2", "an offset" },
                { "02:00", "an offset" },
                { "UTC+8", "a rule" },
                { "CST-8", "a rule" },
                { "CET-1CEST", "a rule" },
                { "CET-1CEST,M3.5.0,M10.5.0/3", "a rule" },
                { "<+02>-2", "a rule" },
                { "/etc/localtime", "a path" },
                { "../Europe/Berlin", "a path" },
                { "Europe/../UTC", "a path" },
                { "Europe", "a folder" },
                { "Europe/", "not the name" },
                { "Europe//Berlin", "not the name" },
                { "Europe/Berlin ", "not the name" },
                { "Europe/./Berlin", "not the name" },
                { "zone.tab", "not the name" },
                { "a\"b\n\xc3\xa4", "\"a?b???\" is not the name" },
                { "localtime", "a stand-in" },
                { "posixrules", "a stand-in" },
                { "Factory", "a stand-in" },
                { "A123456789B123456789C123456789D123456789E123456789F123456789G123", "too long" },
        };
        put_zone("Europe/Berlin");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_refused(cases[i].name, -EINVAL, cases[i].what);
                assert_refused(cases[i].name, -EINVAL, "give an IANA name such as Europe/Berlin");
        }
}

static void a_zone_may_have_the_name_of_a_rule(void **state)
{
        (void) state;
        put_zone("Etc/GMT+5");
        put_zone("EST5EDT");
        assert_string_equal(zone_name(got("Etc/GMT+5")), "Etc/GMT+5");
        assert_string_equal(zone_name(got("EST5EDT")), "EST5EDT");
        assert_refused("Etc/GMT+55", -ENOENT, "near: Etc/GMT+5");
}

/* `near`: all of the near names; NULL: the folder is named instead. */
static void assert_near(const char *name, const char *near)
{
        char want[ZONE_WHY];
        char why[ZONE_WHY];
        const struct zone *z;

        (void) snprintf(want, sizeof(want), "there is no time zone \"%s\"%s %s", name, near ? "; near:" : " in",
                        near ? near : folder);
        assert_int_equal(zone_get(name, &z, why, sizeof(why)), -ENOENT);
        assert_string_equal(why, want);
}

static void near_names_are_told(void **state)
{
        (void) state;
        put_zone("Europe/Berlin");
        put_zone("Europe/Paris");
        put_zone("Europe/Tallinn");
        put_zone("posix/Europe/Berlin");
        put_zone("right/Europe/Berlin");
        put_zone("Xyz/Aaaa1");
        put_zone("Xyz/Aaaa2");
        put_zone("Xyz/Aaaa3");
        put_zone("Xyz/Aaaaa");
        put_zone("A/B/C/E");
        put_zone("Factory");
        put_file("leapseconds", "# leap", 6);
        put_file("zone.tab", "# tab", 5);
        assert_near("europe/berlin", "Europe/Berlin");
        assert_near("Europe/Berln", "Europe/Berlin");
        assert_near("berlin", "Europe/Berlin");
        assert_near("Paris", "Europe/Paris");
        assert_near("Xyz/Aaaab", "Xyz/Aaaa1, Xyz/Aaaa2, Xyz/Aaaa3");
        assert_near("Xyz/Aaaa33", "Xyz/Aaaa3, Xyz/Aaaa1, Xyz/Aaaa2");
        assert_near("Europe/Berlin/M", "Europe/Berlin");
        assert_near("A/B/C/D", "A/B/C/E");
        assert_near("Xyz/Abbbb", NULL);
        assert_near("leapsecond", NULL);
        assert_near("zoneXtab", NULL);
        assert_near("Factori", NULL);
        assert_near("Mars/Phobos", NULL);
        assert_near("Zz5", NULL);
        assert_int_equal(setenv("TZDIR", in_folder("/"), 1), 0);
        assert_near("Europe/Berln", "Europe/Berlin");
        assert_int_equal(setenv("TZDIR", "", 1), 0);
        assert_refused("Mars/Phobos", -ENOENT, "in " SYSTEM_FOLDER);
}

static void utc_needs_no_zone_data(void **state)
{
        (void) state;
        struct zone_span s;
        assert_int_equal(setenv("TZDIR", in_folder("nowhere"), 1), 0);
        zone_span_at(got("UTC"), 0, &s);
        assert_true(s.from_s == INT64_MIN && s.until_s == INT64_MAX && s.offset_s == 0 && !s.is_dst);
        assert_string_equal(s.abbreviation, "UTC");
        assert_string_equal(zone_name(got("UTC")), "UTC");
        assert_refused("Europe/Berlin", -ENOENT, "there is no folder ");
        assert_refused("utc", -ENOENT, "there is no folder ");
}

static void a_file_that_is_no_zone_is_named(void **state)
{
        (void) state;
        _cleanup_(freep) char *large = calloc(1, TZIF_MAX + 1);
        assert_non_null(large);
        memcpy(large, small_zone, sizeof(small_zone));
        put_file("Large", large, TZIF_MAX + 1);
        put_file("Empty", "", 0);
        put_file("Cut", small_zone, sizeof(small_zone) - 2);
        put_file("Table", "# a table", 9);
        assert_int_equal(mkfifo(in_folder("Fifo"), 0600), 0);
        assert_int_equal(symlink("Loop", in_folder("Loop")), 0);
        assert_refused("Large", -EBADMSG, "/Large is damaged or no time zone: it is too large");
        assert_refused("Empty", -EBADMSG, "/Empty is damaged or no time zone: it is shorter");
        assert_refused("Cut", -EBADMSG, "/Cut is damaged or no time zone: it is cut off in its footer");
        assert_refused("Table", -EBADMSG, "/Table is damaged or no time zone: it is shorter");
        assert_refused("Fifo", -EBADMSG, "/Fifo is damaged or no time zone: it is no regular file");
        assert_refused("Loop", -ELOOP, "/Loop: Too many levels");
}

static void a_file_may_be_made_good_later(void **state)
{
        (void) state;
        put_file("Europe/Berlin", "", 0);
        assert_refused("Europe/Berlin", -EBADMSG, "/Europe/Berlin is damaged");
        put_zone("Europe/Berlin");
        assert_non_null(got("Europe/Berlin"));
}

static void a_reason_is_cut_to_its_room(void **state)
{
        (void) state;
        const struct zone *z;
        char why[8] = "1234567";
        assert_int_equal(zone_get("+02:00", &z, why, 4), -EINVAL);
        assert_string_equal(why, "\"+0");
        assert_int_equal(zone_get("No/Zone", &z, NULL, 0), -ENOENT);
}

static void a_zone_is_read_once_for_each_folder(void **state)
{
        (void) state;
        struct zone_span s;
        put_zone("Europe/Berlin");
        const struct zone *z = got("Europe/Berlin");
        zone_span_at(z, 0, &s);
        assert_int_equal(s.offset_s, 3600);
        put_file("Europe/Berlin", other_zone, sizeof(other_zone) - 1);
        assert_ptr_equal(got("Europe/Berlin"), z);
        assert_int_equal(remove(in_folder("Europe/Berlin")), 0);
        assert_ptr_equal(got("Europe/Berlin"), z);
        put_file("other/Europe/Berlin", other_zone, sizeof(other_zone) - 1);
        assert_int_equal(setenv("TZDIR", in_folder("other"), 1), 0);
        assert_ptr_not_equal(got("Europe/Berlin"), z);
        zone_span_at(got("Europe/Berlin"), 0, &s);
        assert_int_equal(s.offset_s, 7200);
}

static void links_are_followed_and_keep_their_names(void **state)
{
        (void) state;
        put_zone("Europe/Berlin");
        assert_int_equal(symlink("Europe/Berlin", in_folder("Germany")), 0);
        assert_string_equal(zone_name(got("Germany")), "Germany");
}

#define THREADS 8
#define NAMES   40

static void *names_get(void *arg)
{
        const struct zone **zones = arg;
        size_t first = (size_t) zones[0];   /* every thread begins elsewhere */

        for (size_t i = 0; i < NAMES; i++) {
                char name[16], why[ZONE_WHY];
                struct zone_span s;
                size_t at = (first + i) % NAMES;
                (void) snprintf(name, sizeof(name), "Zone/Z%zu", at);
                if (zone_get(name, &zones[at], why, sizeof(why)) < 0)
                        return NULL;
                zone_span_at(zones[at], 0, &s);
                (void) zone_get("Zone/None", &(const struct zone *) { NULL }, why, sizeof(why));
                (void) zone_data_version();
        }
        return arg;
}

static void all_threads_get_the_same_zones(void **state)
{
        (void) state;
        static const struct zone *zones[THREADS][NAMES];
        pthread_t threads[THREADS];
        for (size_t i = 0; i < NAMES; i++) {
                char name[16];
                (void) snprintf(name, sizeof(name), "Zone/Z%zu", i);
                put_zone(name);
        }
        for (size_t t = 0; t < THREADS; t++) {
                zones[t][0] = (const struct zone *) (t * 5);
                assert_int_equal(pthread_create(&threads[t], NULL, names_get, zones[t]), 0);
        }
        for (size_t t = 0; t < THREADS; t++) {
                void *done = NULL;
                assert_int_equal(pthread_join(threads[t], &done), 0);
                assert_non_null(done);
                assert_memory_equal(zones[t], zones[0], sizeof(zones[0]));
        }
}

/* In a process of its own, since the release is read once. */
static void assert_version(const char *want)
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(strcmp(zone_data_version(), want) == 0 ? 0 : 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
                fail_msg("not %s", want);
}

static void the_release_is_read_beside_the_zones(void **state)
{
        (void) state;
        assert_version("unknown");
        put_file("tzdata.zi", "# redistributed\n", 16);
        assert_version("unknown");
        put_file("+VERSION", "2024a\n", 6);
        assert_version("2024a");
        put_file("tzdata.zi", "# version 2025b\n# more\n", 23);
        assert_version("2025b");
        put_file("tzdata.zi", "# version 2025b-0123456789abcdef\n", 33);
        assert_version("2024a");
        put_file("+VERSION", "", 0);
        assert_version("unknown");
}

/* Calls `each` for every zone of the machine; copies of them, with and without leap seconds, are left out. */
static void (*each_zone)(const char *name);
static size_t zones_seen;

static int on_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        const char *name = path + sizeof(SYSTEM_FOLDER);
        const struct zone *z;
        char why[ZONE_WHY];

        (void) st;
        if (type == FTW_D && ftw->level == 1 && (strcmp(name, "posix") == 0 || strcmp(name, "right") == 0))
                return FTW_SKIP_SUBTREE;
        if (type == FTW_F && zone_get(name, &z, why, sizeof(why)) == 0) {
                zones_seen++;
                each_zone(name);
        }
        return FTW_CONTINUE;
}

static void all_zones(void (*each)(const char *name))
{
        assert_int_equal(unsetenv("TZDIR"), 0);
        each_zone = each;
        zones_seen = 0;
        assert_int_equal(nftw(SYSTEM_FOLDER, on_file, 16, FTW_ACTIONRETVAL), 0);
        if (zones_seen < 400)
                fail_msg("%zu zones in %s: is tzdata installed?", zones_seen, SYSTEM_FOLDER);
}

static void check_libc_at(const char *name, const struct zone *z, int64_t at_s)
{
        struct zone_span s;
        struct tm tm;

        zone_span_at(z, at_s, &s);
        assert_non_null(localtime_r(&at_s, &tm));
        if (tm.tm_gmtoff != s.offset_s || (tm.tm_isdst > 0) != s.is_dst || strcmp(tm.tm_zone, s.abbreviation) != 0)
                fail_msg("%s at %lld: %d %s, libc: %ld %s", name, (long long) at_s, s.offset_s, s.abbreviation,
                         tm.tm_gmtoff, tm.tm_zone);
}

#define YEAR_1900_S (-2208988800LL)
#define YEAR_2037_S 2114380800LL
#define YEAR_2400_S 13569465600LL

/* Both sides of every change until 2100, and a grid: 60 days wide in the table, five years behind it. */
static void check_libc(const char *name)
{
        const struct zone *z = got(name);
        struct zone_span s;

        assert_int_equal(setenv("TZ", name, 1), 0);
        tzset();
        for (int64_t at_s = YEAR_1900_S; at_s < YEAR_2400_S; at_s += at_s < YEAR_2037_S ? 60 * 86401 : 1825 * 86401)
                check_libc_at(name, z, at_s);
        for (zone_span_at(z, YEAR_1900_S, &s); s.until_s < 4102444800LL; zone_span_at(z, s.until_s, &s)) {
                check_libc_at(name, z, s.until_s - 1);
                check_libc_at(name, z, s.until_s);
        }
}

static void libc_agrees_on_every_zone(void **state)
{
        (void) state;
        all_zones(check_libc);
        assert_int_equal(unsetenv("TZ"), 0);
        tzset();
}

static void check_stretches(const char *name)
{
        const struct zone *z = got(name);
        struct zone_span s, last, next;

        zone_span_at(z, INT64_MIN, &s);
        assert_int_equal(s.from_s, INT64_MIN);
        for (size_t i = 0; i < 600 && s.until_s < INT64_MAX; i++, s = next) {
                zone_span_at(z, s.until_s - 1, &last);
                zone_span_at(z, s.until_s, &next);
                if (last.from_s != s.from_s || last.until_s != s.until_s || next.from_s != s.until_s ||
                    next.until_s <= next.from_s || next.offset_s <= -26 * 3600 || next.offset_s >= 26 * 3600)
                        fail_msg("%s at %lld", name, (long long) s.until_s);
        }
        zone_span_at(z, INT64_MAX, &s);
        assert_int_equal(s.until_s, INT64_MAX);
}

static void the_stretches_of_every_zone_follow_each_other(void **state)
{
        (void) state;
        all_zones(check_stretches);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                IN_FOLDER(refused_vectors_are_no_zones),
                IN_FOLDER(what_is_no_name_is_told_with_the_cure),
                IN_FOLDER(a_zone_may_have_the_name_of_a_rule),
                IN_FOLDER(near_names_are_told),
                IN_FOLDER(utc_needs_no_zone_data),
                IN_FOLDER(a_file_that_is_no_zone_is_named),
                IN_FOLDER(a_file_may_be_made_good_later),
                IN_FOLDER(a_reason_is_cut_to_its_room),
                IN_FOLDER(a_zone_is_read_once_for_each_folder),
                IN_FOLDER(links_are_followed_and_keep_their_names),
                IN_FOLDER(the_release_is_read_beside_the_zones),   /* before the threads ask for it */
                IN_FOLDER(all_threads_get_the_same_zones),
                cmocka_unit_test(libc_agrees_on_every_zone),
                cmocka_unit_test(the_stretches_of_every_zone_follow_each_other),
        };
        (void) unsetenv("TZDIR");   /* of whoever runs the tests */
        return RUN_CASES(argc, argv, "zone", tests);
}
