/* Several processes at one local ledger: no instant is granted twice, also when they are killed at any point of
 * their commits. The test's children are this very binary, started with --claimer. */
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "t/unit/cases.h"

#define CLAIMERS 4
#define QUEUERS  3

extern char **environ;

/* --- the child: claims one instant after the other from where the cursor is, and notes each grant --- */

static int64_t cursor_of(struct world *w)
{
        struct ledger_call c = { .op = LEDGER_PEEK };

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        do
                world_call(w, &c);
        while (c.error == -EAGAIN);
        return c.error == 0 && c.out.peek.registered ? c.out.peek.cursor.ms : -1;
}

static int note_grant(int fd, int at, const char *fence)
{
        char line[64];
        int len = snprintf(line, sizeof(line), "%d %s\n", at, fence);

        return write(fd, line, (size_t) len) == len ? 0 : -errno;
}

/* A child's world, from argv as they say below. */
static int child_begin(struct world *w, char **argv, char owner[64], int *ret_fd)
{
        char path[300];

        *w = (struct world) { .backend = &sqlite_backend, .node = "here-0a1b2c3d", .boot = "b007b007b007b007",
                              .life = 1, .rev = 1, .shards = 1, .owner = owner };
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) snprintf(owner, 64, "here-0a1b2c3d.0.%d.1-aaaa", (int) getpid());
        w->config.state_dir = w->config.run_dir = argv[2];
        w->base.ms = strtoll(argv[3], NULL, 10);
        (void) snprintf(path, sizeof(path), "%s/grants", argv[2]);
        *ret_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (*ret_fd < 0 || uv_loop_init(&w->loop) < 0)
                return 71;
        world_open(w);
        return 0;
}

/* argv: --claimer STATE_DIR BASE_MS LAST */
static int claimer(char **argv)
{
        struct world w;
        char owner[64];
        int last = atoi(argv[4]), fd;

        int r = child_begin(&w, argv, owner, &fd);
        if (r != 0)
                return r;
        int64_t cursor = cursor_of(&w);
        if (cursor < 0)
                return 72;
        for (int at = (int) ((cursor - w.base.ms) / 1000) + 1; at <= last; at++) {
                struct ask a = { .at = at, .expect = at - 1, .catch_up = true, .overlap = OVERLAP_CONCURRENT,
                                 .max_running = 1000 };
                struct ask_texts texts;
                struct ledger_call c;
                ask_claim(&w, &a, &texts, &c);
                world_call(&w, &c);
                if (c.error == -EAGAIN) {   /* a killed one's log is being recovered */
                        at--;
                        continue;
                }
                if (c.error < 0)
                        return 73;
                if (c.out.claim.outcome == OUTCOME_DONE)
                        continue;
                if (c.out.claim.outcome != OUTCOME_GRANTED)
                        return 74;
                (void) snprintf(texts.fence, sizeof(texts.fence), "%s", c.out.claim.fence);
                if (note_grant(fd, at, texts.fence) < 0)
                        return 75;
                ask_finish(&w, &a, &texts, STATE_SUCCEEDED, &c);
                c.in.finish.keep.count = 100000;
                world_call(&w, &c);
                if (c.error < 0 && c.error != -EAGAIN)
                        return 76;
        }
        world_close(&w);
        (void) close(fd);
        return uv_loop_close(&w.loop) == 0 ? 0 : 77;
}

/* --- another child: queues one instant after the other, and runs what waits whenever the slot is free --- */

struct queuer {
        struct world w;
        int fd;
        int takes;               /* each has a token of its own */
};

/* Sent again until it is decided: a killed one's log may have to be recovered first. */
static int call_through(struct world *w, struct ledger_call *c)
{
        do
                world_call(w, c);
        while (c->error == -EAGAIN);
        return c->error;
}

/* Runs what was granted, and what the finishes hand over. */
static int run_on(struct queuer *q, int at, const char *token, const char *fence)
{
        struct ask_texts texts;
        struct take_texts words[2];
        struct take_in next;
        struct ledger_call c = { 0 };
        char mine[TOKEN_TEXT];

        for (;;) {
                (void) snprintf(mine, sizeof(mine), "%s", token);
                (void) snprintf(texts.fence, sizeof(texts.fence), "%s", fence);
                if (note_grant(q->fd, at, texts.fence) < 0)
                        return 75;
                ask_finish(&q->w, &(struct ask) { .at = at }, &texts, STATE_SUCCEEDED, &c);
                q->takes++;
                ask_take(&q->w, NULL, q->takes, &words[q->takes % 2], &next);
                c.in.finish.keep.count = 100000;
                c.in.finish.token = mine;
                c.in.finish.take = &next;
                if (call_through(&q->w, &c) < 0 || c.out.finish.finished != FINISHED_OK)
                        return 76;
                if (c.out.finish.take.claim.outcome != OUTCOME_GRANTED)
                        return 0;
                at = (int) ((c.out.finish.take.planned.ms - q->w.base.ms) / 1000);
                token = next.token;
                fence = c.out.finish.take.claim.fence;
        }
}

/* `ret_left`: something waits. */
static int take_one(struct queuer *q, bool *ret_left)
{
        struct ledger_call c = { .op = LEDGER_TAKE };
        struct take_texts words;

        ask_take(&q->w, NULL, ++q->takes, &words, &c.in.take);
        if (call_through(&q->w, &c) < 0)
                return 78;
        enum outcome out = c.out.take.claim.outcome;
        *ret_left = out != OUTCOME_DONE;
        if (out == OUTCOME_GRANTED)
                return run_on(q, (int) ((c.out.take.planned.ms - q->w.base.ms) / 1000), words.token,
                              c.out.take.claim.fence);
        return out == OUTCOME_DONE || out == OUTCOME_BUSY ? 0 : 79;
}

static int queue_one(struct queuer *q, int at)
{
        struct ask a = { .at = at, .expect = at - 1, .catch_up = true, .overlap = OVERLAP_QUEUE };
        struct ask_texts texts;
        struct ledger_call c;

        ask_claim(&q->w, &a, &texts, &c);
        c.in.claim.queue_limit = 100000;
        if (call_through(&q->w, &c) < 0)
                return 73;
        if (c.out.claim.outcome == OUTCOME_GRANTED)
                return run_on(q, at, texts.token, c.out.claim.fence);
        return c.out.claim.outcome == OUTCOME_QUEUED || c.out.claim.outcome == OUTCOME_DONE ? 0 : 74;
}

/* argv: --queuer STATE_DIR BASE_MS LAST. Ends when nothing waits any more. */
static int queuer(char **argv)
{
        struct queuer q = { .fd = -1 };
        char owner[64];
        int last = atoi(argv[4]);
        bool left = true;

        int r = child_begin(&q.w, argv, owner, &q.fd);
        int64_t cursor = r == 0 ? cursor_of(&q.w) : -1;
        if (cursor < 0)
                return r ? r : 72;
        for (int at = (int) ((cursor - q.w.base.ms) / 1000) + 1; at <= last && r == 0; at++) {
                r = queue_one(&q, at);
                if (r == 0 && at % 4 == 0)
                        r = take_one(&q, &left);
        }
        while (r == 0 && left)
                r = take_one(&q, &left);
        world_close(&q.w);
        (void) close(q.fd);
        return r ? r : uv_loop_close(&q.w.loop) == 0 ? 0 : 77;
}

/* --- the parent --- */

static int begin(void **state)
{
        (void) sqlite_case(state);
        alarm(120);
        return 0;
}

static pid_t start_child(const struct world *w, const char *as, int last)
{
        char kind[16];
        char base[32], until[16];
        pid_t pid;

        (void) snprintf(base, sizeof(base), "%lld", (long long) w->base.ms);
        (void) snprintf(until, sizeof(until), "%d", last);
        (void) snprintf(kind, sizeof(kind), "%s", as);
        char *argv[] = { (char[]) { "test" }, kind, w->config.state_dir, base, until, NULL };
        assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
        return pid;
}

static int status_of(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

/* How often each of first..last was granted; fences of later instants are larger. */
static unsigned check_grants(const struct world *w, int first, int last)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        unsigned count = 0;
        long long *fences = calloc((size_t) (last - first + 1), sizeof(*fences));

        assert_non_null(fences);
        assert_int_equal(file_read(state_path(w, "grants"), 64u << 20, &text), 0);
        for (char *save, *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                long long fence;
                int at;
                assert_int_equal(sscanf(line, "%d %lld", &at, &fence), 2);
                assert_true(at >= first && at <= last);
                if (fences[at - first] != 0)
                        fail_msg("instant %d was granted twice", at);
                fences[at - first] = fence;
                count++;
        }
        long long newest = 0;
        for (int i = 0; i <= last - first; i++)
                if (fences[i] != 0) {
                        assert_true(fences[i] > newest);
                        newest = fences[i];
                }
        free(fences);
        return count;
}

static void contending_processes_grant_each_instant_once(void **state)
{
        struct world *w = *state;
        pid_t pids[CLAIMERS];
        world_open(w);
        world_task(w, 1, -1000);

        for (int i = 0; i < CLAIMERS; i++)
                pids[i] = start_child(w, "--claimer", -800);
        for (int i = 0; i < CLAIMERS; i++)
                assert_int_equal(status_of(pids[i]), 0);
        assert_int_equal(check_grants(w, -999, -800), 200);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM record WHERE state = 'succeeded'"), 200);
}

static void killed_processes_leave_a_sound_ledger(void **state)
{
        struct world *w = *state;
        unsigned seed = (unsigned) clock_mono().ns;
        pid_t pids[CLAIMERS];
        world_open(w);
        world_task(w, 1, -100000);
        print_message("seed %u\n", seed);

        for (int i = 0; i < CLAIMERS; i++)
                pids[i] = start_child(w, "--claimer", -2);
        for (int kills = 0; kills < 60; kills++) {
                /* The moment is the point here: no event can stand for "anywhere in a commit". */
                struct timespec pause = { 0, 5000000 + (long) (rand_r(&seed) % 40) * 1000000 };
                (void) nanosleep(&pause, NULL);
                int victim = rand_r(&seed) % CLAIMERS;
                assert_int_equal(kill(pids[victim], SIGKILL), 0);
                int status = status_of(pids[victim]);
                assert_true(WIFSIGNALED(status));
                pids[victim] = start_child(w, "--claimer", -2);
        }
        for (int i = 0; i < CLAIMERS; i++) {
                assert_int_equal(kill(pids[i], SIGKILL), 0);
                assert_true(WIFSIGNALED(status_of(pids[i])));
        }

        unsigned granted = check_grants(w, -99999, -2);
        assert_true(granted > 100);
        assert_int_equal(file_number(w, "ledger.db", "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
        /* A grant that was answered was committed before. */
        int64_t recorded = file_number(w, "ledger.db", "SELECT count(*) FROM record");
        assert_true(recorded >= granted);
        assert_true(recorded <= granted + 60 + CLAIMERS);
        print_message("%u grants noted, %lld recorded\n", granted, (long long) recorded);
}

/* Noted while the slot is held, so the lines stand in the order of the grants. */
static unsigned check_order(const struct world *w)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        long long newest_fence = 0;
        int newest = INT32_MIN;
        unsigned count = 0;

        assert_int_equal(file_read(state_path(w, "grants"), 64u << 20, &text), 0);
        for (char *save, *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                long long fence;
                int at;
                assert_int_equal(sscanf(line, "%d %lld", &at, &fence), 2);
                if (at <= newest)
                        fail_msg("instant %d was started after %d", at, newest);
                assert_true(fence > newest_fence);
                newest = at;
                newest_fence = fence;
                count++;
        }
        return count;
}

static void contending_processes_start_what_waits_once_and_in_order(void **state)
{
        struct world *w = *state;
        pid_t pids[QUEUERS];
        world_open(w);
        world_task(w, 1, -1000);

        for (int i = 0; i < QUEUERS; i++)
                pids[i] = start_child(w, "--queuer", -801);
        for (int i = 0; i < QUEUERS; i++)
                assert_int_equal(status_of(pids[i]), 0);
        assert_int_equal(check_order(w), 199);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM record WHERE state = 'succeeded'"), 199);
        assert_true(file_number(w, "ledger.db", "SELECT count(*) FROM record WHERE taken = 1") > 0);
}

static void bury(struct world *w, pid_t pid)
{
        struct ledger_call c = { .op = LEDGER_INTERRUPT };
        char owner[64];

        (void) snprintf(owner, sizeof(owner), "here-0a1b2c3d.0.%d.1-aaaa", (int) pid);
        c.in.interrupt = (struct interrupt_in) { owner, true };
        assert_int_equal(call_through(w, &c), 0);
        ledger_call_done(&c);
}

static void killed_takers_lose_nothing_that_waits(void **state)
{
        struct world *w = *state;
        unsigned seed = (unsigned) clock_mono().ns;
        pid_t pids[QUEUERS];
        world_open(w);
        world_task(w, 1, -1000);
        print_message("seed %u\n", seed);

        for (int i = 0; i < QUEUERS; i++)
                pids[i] = start_child(w, "--queuer", -601);
        for (int kills = 0; kills < 15; kills++) {
                struct timespec pause = { 0, (long) (rand_r(&seed) % 40) * 1000000 };
                (void) nanosleep(&pause, NULL);
                int victim = rand_r(&seed) % QUEUERS;
                (void) kill(pids[victim], SIGKILL);
                int status = status_of(pids[victim]);
                assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);   /* it may have been done */
                bury(w, pids[victim]);
                pids[victim] = start_child(w, "--queuer", -601);
        }
        for (int i = 0; i < QUEUERS; i++)
                assert_int_equal(status_of(pids[i]), 0);
        unsigned noted = check_order(w);
        int64_t died = file_number(w, "ledger.db", "SELECT count(*) FROM record WHERE state = 'interrupted'");
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM record"), 399);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM record WHERE state = 'succeeded'"),
                         399 - died);
        assert_true(noted >= 399 - died && noted <= 399);
        print_message("%u starts noted, %lld died\n", noted, (long long) died);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(contending_processes_grant_each_instant_once),
                CASE(killed_processes_leave_a_sound_ledger),
                CASE(contending_processes_start_what_waits_once_and_in_order),
                CASE(killed_takers_lose_nothing_that_waits),
        };

        if (argc == 5 && strcmp(argv[1], "--claimer") == 0)
                return claimer(argv);
        if (argc == 5 && strcmp(argv[1], "--queuer") == 0)
                return queuer(argv);
        return RUN_CASES(argc, argv, "sqlite_processes", tests);
}
