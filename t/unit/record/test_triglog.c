/* The writer: what is in the files after rotations, full disks and torn writes, and what prove's reader says
 * of them. A file size limit stands in for a full disk. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/merge.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/process.h"
#include "common/record/chain.h"
#include "common/record/prune.h"
#include "common/record/triglog.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"

struct place {
        char dir[64];
        struct triglog *log;
};

static const struct line_subject subject = {
        .trig = "n1.0.1.5-abcd.1", .occ = "0c", .task = "mail", .scope_key = "", .planned = { 1764522001000 },
};

static struct triglog *open_log(const struct place *p, const char *slot, int pid, int64_t rotate_size)
{
        struct triglog_options o = {
                .dir = p->dir,
                .node = "n1.example",
                .slot = slot,
                .pstart = "5-abcd",
                .pid = pid,
                .boot = "b00t",
                .rotate_size = rotate_size,
        };
        struct triglog *t = NULL;

        assert_int_equal(triglog_open(&o, &t), 0);
        return t;
}

static int place_new(void **state)
{
        struct place *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        strcpy(p->dir, "/tmp/onced-triglog-XXXXXX");
        assert_non_null(mkdtemp(p->dir));
        *state = p;
        return 0;
}

static int place_free(void **state)
{
        struct place *p = *state;
        struct dirent *d;
        DIR *dir = opendir(p->dir);

        triglog_close(p->log);
        while (dir && (d = readdir(dir)))
                if (d->d_name[0] != '.')
                        (void) unlinkat(dirfd(dir), d->d_name, 0);
        if (dir)
                (void) closedir(dir);
        (void) rmdir(p->dir);
        free(p);
        return 0;
}

static void read_file(const struct place *p, const char *name, struct buf *ret)
{
        char path[512];

        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, name);
        assert_int_equal(file_read(path, 64 << 20, ret), 0);
}

static size_t count_of(const struct buf *b, const char *part)
{
        size_t n = 0;

        for (const char *at = buf_string(b); (at = strstr(at, part)); at++)
                n++;
        return n;
}

static size_t file_count(const struct place *p)
{
        struct dirent *d;
        size_t n = 0;
        DIR *dir = opendir(p->dir);

        assert_non_null(dir);
        while ((d = readdir(dir)))
                n += d->d_name[0] != '.';
        (void) closedir(dir);
        return n;
}

/* What prove finds wrong with the chain of the files here. */
static struct evidence *verify(const struct place *p)
{
        char *dir = (char *) (uintptr_t) p->dir;
        struct evidence *e = evidence_new();

        assert_non_null(e);
        assert_int_equal(evidence_collect(e, &dir, 1), 0);
        assert_int_equal(evidence_read(e), 0);
        return e;
}

static size_t troubles(const struct evidence *e, const char *part)
{
        size_t n = 0;

        for (size_t i = 0; i < e->trouble_count; i++)
                n += strstr(e->troubles[i], part) != NULL;
        return n;
}

static void write_all_kinds(struct triglog *t)
{
        struct plan_line plan = {
                .task = "mail",
                .path = PATH_FLOCK,
                .schedule = "every 1s",
                .misfire = "catch_up",
                .limit = 3,
                .lookback_ms = 60000,
                .overlap = "drop",
                .scope = "auto",
                .shards = 1,
                .enabled = true,
                .rev = 1,
                .timeout_ms = 30000,
        };

        triglog_start(t, "worker", 1, "0.1.0", "c0nf", "2026a");
        triglog_plan(t, &plan);
        triglog_attempt(t, &subject, PATH_FLOCK, OUTCOME_GRANTED, "7", "0123456789abcdef", 213, CAUSE_NONE,
                        (struct stamp) { 5 });
        assert_int_equal(triglog_run(t, &subject, PATH_FLOCK, "7", "noop"), 0);
        triglog_child(t, &subject, 11, 12);
        triglog_finish(t, &subject, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, 1234, NULL, "said \"no\"\n\xff");
        triglog_range(t, "mail", "", 0, (struct instant) {1}, (struct instant) {9}, 3, STATE_SKIPPED,
                      CAUSE_MISFIRE);
        triglog_told(t, "n1.2.7.s", "mail", "", 0, (struct instant) {1}, (struct instant) {9}, 3, STATE_MISSED,
                     CAUSE_NOBODY);
        triglog_lease(t, &subject, "late");
        triglog_step(t, -5);
        triglog_cease(t, &(struct cease_line) { { 42 }, { 41 }, false });
        triglog_stop(t, "drained", &(struct cease_line) { { 42 }, { 42 }, true });
}

static void chain_vector(const json_t *v)
{
        struct chain c;
        const char *line = vector_text(v, "line");

        assert_int_equal(chain_init(&c), 0);
        memcpy(c.h, vector_text(v, "prev"), CHAIN_TEXT);
        assert_int_equal(chain_next(&c, line, strlen(line)), 0);
        assert_string_equal(c.h, vector_text(v, "h"));
        chain_done(&c);
}

static void h_covers_the_line_and_the_h_before(void **state)
{
        (void) state;
        assert_int_equal(vectors_each("chain.jsonl", chain_vector), 3);
}

static void all_kinds_of_lines_make_one_whole_chain(void **state)
{
        struct place *p = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        p->log = open_log(p, "0", 1, 0);
        assert_string_equal(triglog_name(p->log), "n1.example.0.1.5-abcd.1.jsonl");

        write_all_kinds(p->log);
        assert_int_equal(triglog_flush(p->log), 0);

        read_file(p, triglog_name(p->log), &b);
        assert_int_equal(count_of(&b, "\n"), 12);
        assert_int_equal(strncmp(b.data, "{\"e\":\"start\",\"n\":1,\"t\":\"", 23), 0);
        assert_non_null(strstr(b.data,
                               "\"path\":\"flock\",\"out\":\"granted\",\"fence\":\"7\",\"tok8\":\"01234567\","
                               "\"late_us\":213,\"store_ns\":5,\"h\":\""));
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        assert_int_equal(e->lines, 12);
        assert_true(e->processes[0]->stopped);
        evidence_free(e);
}

static void a_run_line_is_in_the_file_when_its_function_returns(void **state)
{
        struct place *p = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        p->log = open_log(p, "0", 1, 0);

        triglog_step(p->log, 1);
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "7", "noop"), 0);

        read_file(p, triglog_name(p->log), &b);
        assert_int_equal(count_of(&b, "\n"), 2);
}

static void the_file_is_private_and_never_taken_over(void **state)
{
        struct place *p = *state;
        struct triglog *second = NULL;
        struct triglog_options o = {
                .dir = p->dir, .node = "n1.example", .slot = "0", .pstart = "5-abcd", .pid = 1, .boot = "b"};
        struct stat st;
        char path[512];
        p->log = open_log(p, "0", 1, 0);

        assert_int_equal(triglog_open(&o, &second), -EEXIST);
        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, triglog_name(p->log));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
}

static void rotation_carries_number_and_hash_on(void **state)
{
        struct place *p = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        p->log = open_log(p, "0", 1, 4000);

        triglog_start(p->log, "worker", 1, "0.1.0", "", "");
        for (int i = 0; i < 200; i++) {
                triglog_attempt(p->log, &subject, PATH_FLOCK, OUTCOME_DONE, NULL, NULL, i, CAUSE_NONE,
                                (struct stamp) {0});
                assert_int_equal(triglog_flush(p->log), 0);
        }
        assert_int_equal(triglog_rotate(p->log), 0);
        triglog_stop(p->log, "drained", NULL);

        assert_in_range(file_count(p), 5, 30);
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        assert_true(e->processes[0]->from_start);
        assert_true(e->lines > 200);
        evidence_free(e);
        read_file(p, triglog_name(p->log), &b);
        assert_non_null(strstr(b.data, "\"prev\":\"n1.example.0.1.5-abcd."));
}

/* When old files are deleted, what remains must still say what is planned and who lives. */
static void every_file_says_the_plans_and_the_living(void **state)
{
        struct place *p = *state;
        struct plan_line plan = {.task = "mail",
                                 .path = PATH_FLOCK,
                                 .schedule = "every 1s",
                                 .shards = 1,
                                 .enabled = true};
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        char path[512];
        p->log = open_log(p, "m", 1, 0);
        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, triglog_name(p->log));

        triglog_start(p->log, "master", 1, "0.1.0", "", "");
        triglog_born(p->log, "worker", "0", 2, "6-abcd");
        triglog_born(p->log, "worker", "1", 3, "6-abcd");
        for (int i = 0; i < 100; i++) {
                char name[16];
                (void) snprintf(name, sizeof(name), "task%d", i % 50);
                plan.task = name;
                char schedule[32];
                (void) snprintf(schedule, sizeof(schedule), "every %dms", 1001 + i);
                plan.schedule = schedule;
                triglog_plan(p->log, &plan);
        }
        triglog_gone(p->log, "0", 2, "6-abcd", true, 0, 9);
        assert_int_equal(triglog_rotate(p->log), 0);

        read_file(p, triglog_name(p->log), &b);
        assert_int_equal(count_of(&b, "\"e\":\"plan\""), 50);
        assert_int_equal(count_of(&b, "\"schedule\":\"every 1099ms\","), 1);
        assert_int_equal(count_of(&b, "\"schedule\":\"every 1001ms\","), 0);
        assert_int_equal(count_of(&b, "\"what\":\"born\""), 1);
        assert_int_equal(count_of(&b, "\"pid\":3,"), 1);
        assert_int_equal(unlink(path), 0);
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        assert_int_equal(e->plans_count, 50);
        evidence_free(e);
}

static void limit_file_size(rlim_t bytes)
{
        struct rlimit l;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
        l.rlim_cur = bytes == RLIM_INFINITY ? l.rlim_max : bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static rlim_t size_now(const struct place *p)
{
        struct stat st;
        char path[512];

        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, triglog_name(p->log));
        assert_int_equal(stat(path, &st), 0);
        return (rlim_t) st.st_size;
}

/* The file takes only so many bytes of a run line. How many the line has is returned. */
static size_t tear_run_line(struct place *p, unsigned pid, size_t bytes)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        char said[32];

        p->log = open_log(p, "0", pid, 0);
        triglog_start(p->log, "worker", 1, "0.1.0", "", "");
        assert_int_equal(triglog_flush(p->log), 0);

        rlim_t before = size_now(p);
        limit_file_size(before + bytes);
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "7", "noop"), -EFBIG);
        assert_int_equal(triglog_state(p->log), -EFBIG);
        assert_int_equal(triglog_flush(p->log), -EFBIG);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(triglog_flush(p->log), 0);
        assert_int_equal(triglog_state(p->log), 0);
        triglog_stop(p->log, "drained", NULL);

        read_file(p, triglog_name(p->log), &b);
        (void) snprintf(said, sizeof(said), "\"bytes\":%zu,", bytes + 1);
        assert_int_equal(count_of(&b, "\"e\":\"torn\""), 1);
        assert_int_equal(count_of(&b, said), 1);
        assert_int_equal(count_of(&b, "\n"), 4);
        before = size_now(p);
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "8", "noop"), 0);
        size_t whole = size_now(p) - before;
        p->log = triglog_close(p->log);
        return whole;
}

static void a_torn_run_line_shows_as_itself_and_is_no_run(void **state)
{
        struct place *p = *state;
        size_t whole = tear_run_line(p, 1, 40);

        /* All but the newline; it may have a digit more or less than the one that was written whole. */
        for (unsigned lacking = 1; lacking <= 3; lacking++)
                (void) tear_run_line(p, 1 + lacking, whole - lacking);
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        assert_int_equal(e->lines, 4 * 4);
        evidence_free(e);
}

static void an_unwritten_run_line_leaves_no_trace(void **state)
{
        struct place *p = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        p->log = open_log(p, "0", 1, 0);
        triglog_start(p->log, "worker", 1, "0.1.0", "", "");
        assert_int_equal(triglog_flush(p->log), 0);

        limit_file_size(size_now(p) + 40);
        triglog_step(p->log, 77);                   /* torn by the flush of the run line */
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "7", "noop"), -EFBIG);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "8", "noop"), 0);

        read_file(p, triglog_name(p->log), &b);
        assert_int_equal(count_of(&b, "\"e\":\"run\""), 1);
        assert_int_equal(count_of(&b, "\"fence\":\"8\""), 1);
        assert_int_equal(count_of(&b, "\"jump_ns\":77,"), 1);
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        evidence_free(e);
}

/* Nothing is pending then: without a line of its own the log would never find out that writing works again.
 */
static void the_log_finds_out_that_writing_works_again(void **state)
{
        struct place *p = *state;
        p->log = open_log(p, "0", 1, 0);
        triglog_start(p->log, "worker", 1, "0.1.0", "", "");
        assert_int_equal(triglog_flush(p->log), 0);

        limit_file_size(size_now(p));
        assert_int_equal(triglog_run(p->log, &subject, PATH_FLOCK, "7", "noop"), -EFBIG);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(triglog_state(p->log), -EFBIG);
        assert_int_equal(triglog_flush(p->log), 0);
        assert_int_equal(triglog_state(p->log), 0);

        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "line"), 0);
        evidence_free(e);
}

static void what_finds_no_room_is_counted_in_a_gap_line(void **state)
{
        struct place *p = *state;
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        const int wrote = 20000;
        p->log = open_log(p, "0", 1, 0);
        triglog_start(p->log, "worker", 1, "0.1.0", "", "");
        assert_int_equal(triglog_flush(p->log), 0);

        limit_file_size(size_now(p) + 100);
        for (int i = 0; i < wrote; i++)
                triglog_step(p->log, i);
        assert_true(triglog_state(p->log) < 0);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(triglog_flush(p->log), 0);
        triglog_step(p->log, -1);
        assert_int_equal(triglog_flush(p->log), 0);

        read_file(p, triglog_name(p->log), &b);
        const char *gap = strstr(b.data, "\"lines\":");
        assert_non_null(gap);
        assert_int_equal(count_of(&b, "\"e\":\"step\"") - 1 + strtoul(gap + 8, NULL, 10), wrote);
        struct evidence *e = verify(p);
        assert_int_equal(troubles(e, "could not be written"), 1);
        assert_int_equal(troubles(e, "missing"), 0);
        evidence_free(e);
}

static void make_file(const struct place *p, const char *name, size_t size, int64_t age_ms)
{
        char path[512];
        struct timespec times[2];
        int64_t ns = clock_wall().ns - age_ms * NS_PER_MS;

        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t) size), 0);
        times[0] = times[1] = (struct timespec) { ns / NS_PER_S, ns % NS_PER_S };
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(close(fd), 0);
}

static bool is_there(const struct place *p, const char *name)
{
        char path[512];

        (void) snprintf(path, sizeof(path), "%s/%s", p->dir, name);
        return access(path, F_OK) == 0;
}

static void old_files_go_oldest_first_and_the_living_stay(void **state)
{
        struct place *p = *state;
        struct process_id me;
        char old_of_mine[256], newest_of_mine[256], master_of_mine[256];
        assert_int_equal(process_identify(getpid(), &me), 0);
        (void) snprintf(old_of_mine, 256, "a.b.0.%d.%s.1.jsonl", me.pid, me.start);
        (void) snprintf(newest_of_mine, 256, "a.b.0.%d.%s.2.jsonl", me.pid, me.start);
        (void) snprintf(master_of_mine, 256, "a.b.m.%d.%s.1.jsonl", me.pid, me.start);
        make_file(p, "a.b.0.999999.1-dead.1.jsonl", 100, 50000);
        make_file(p, old_of_mine, 100, 40000);
        make_file(p, newest_of_mine, 100, 30000);
        make_file(p, master_of_mine, 100, 60000);
        make_file(p, "a.b.1.999998.1-dead.1.jsonl", 100, 10000);
        make_file(p, "notes.jsonl", 100, 90000);

        assert_int_equal(triglog_prune(p->dir, 20000, 0, clock_wall()), 2);
        assert_false(is_there(p, "a.b.0.999999.1-dead.1.jsonl"));
        assert_false(is_there(p, old_of_mine));
        assert_true(is_there(p, newest_of_mine));
        assert_true(is_there(p, master_of_mine));
        assert_true(is_there(p, "a.b.1.999998.1-dead.1.jsonl"));

        assert_int_equal(triglog_prune(p->dir, 0, 200, clock_wall()), 1);
        assert_false(is_there(p, "a.b.1.999998.1-dead.1.jsonl"));
        assert_true(is_there(p, "notes.jsonl"));
        assert_int_equal(triglog_prune("/nonexistent/folder", 1, 1, clock_wall()), -ENOENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, place_new, place_free)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(h_covers_the_line_and_the_h_before),
                CASE(all_kinds_of_lines_make_one_whole_chain),
                CASE(a_run_line_is_in_the_file_when_its_function_returns),
                CASE(the_file_is_private_and_never_taken_over),
                CASE(rotation_carries_number_and_hash_on),
                CASE(every_file_says_the_plans_and_the_living),
                CASE(a_torn_run_line_shows_as_itself_and_is_no_run),
                CASE(an_unwritten_run_line_leaves_no_trace),
                CASE(the_log_finds_out_that_writing_works_again),
                CASE(what_finds_no_room_is_counted_in_a_gap_line),
                CASE(old_files_go_oldest_first_and_the_living_stay),
        };

        /* A write beyond the limit of file sizes is to fail, not to kill. */
        (void) signal(SIGXFSZ, SIG_IGN);
        return RUN_CASES(argc, argv, "triglog", tests);
}
