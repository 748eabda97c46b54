/* Processes that commit without a pause on a slow disk: each gets its turn at the ledger, also on a busy machine,
 * where who has just let go still runs when those who wait have been woken and do not run yet. */
#include "t/unit/ledger/failing_disk.h"
#include "t/unit/ledger/sqlite_backend.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "t/unit/cases.h"

#define WRITERS     3
#define BUSY        3       /* that take the time of the one CPU all of them share */
#define COUNTED     90      /* grants, from the moment when all have begun */
#define GRANTS_MAX  3000    /* of one process: then the others never came */
#define SYNC_MS     5
#define FIRST       (-10000)
#define OUTSTANDING 2       /* one is asked while another is committed: the ledger's thread never rests */

static bool all_have_begun(const unsigned counts[WRITERS])
{
        for (int i = 0; i < WRITERS; i++)
                if (counts[i] == 0)
                        return false;
        return true;
}

/* How many of the counted grants are whose; false while they are not complete. */
static bool shares(const struct world *w, unsigned ret_counts[WRITERS])
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        unsigned begun[WRITERS] = { 0 }, counted = 0;

        memset(ret_counts, 0, WRITERS * sizeof(*ret_counts));
        if (file_read(state_path(w, "grants"), 1u << 20, &text) < 0)
                return false;
        for (size_t i = 0; i < text.len && counted < COUNTED; i++) {
                if (all_have_begun(begun)) {
                        ret_counts[text.data[i] - '0']++;
                        counted++;
                }
                begun[text.data[i] - '0']++;
        }
        return counted == COUNTED;
}

/* One unit of a writer, its instants claimed one after the other. */
struct line {
        struct writer *writer;
        unsigned shard;
        int at;
        struct ask_texts texts;
        struct ledger_call call;
};

struct writer {
        struct world *w;
        char letter;
        int fd;                   /* of the grants */
        unsigned grants;
        bool failed;
        struct line lines[OUTSTANDING];
};

static void on_claimed(struct ledger_call *c);

static void claim_next(struct line *l)
{
        struct ask a = { .at = l->at, .expect = l->at - 1, .shard = l->shard, .catch_up = true,
                         .overlap = OVERLAP_CONCURRENT, .max_running = GRANTS_MAX + 1 };

        ask_claim(l->writer->w, &a, &l->texts, &l->call);
        l->call.done = on_claimed;
        l->call.arg = l;
        ledger_send(l->writer->w->ledger, &l->call);
        l->at++;
}

static void on_claimed(struct ledger_call *c)
{
        struct line *l = c->arg;
        struct writer *wr = l->writer;

        if (c->error < 0 || c->out.claim.outcome != OUTCOME_GRANTED || write(wr->fd, &wr->letter, 1) != 1 ||
            ++wr->grants > GRANTS_MAX)
                wr->failed = true;
        else
                claim_next(l);
}

/* The life of a child: claims until enough is counted. */
static int write_on(struct world *w, unsigned number)
{
        struct writer wr = { .w = w, .letter = (char) ('0' + number) };
        unsigned counts[WRITERS];

        wr.fd = open(state_path(w, "grants"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (wr.fd < 0 || uv_loop_init(&w->loop) < 0)
                return 71;
        disk_sync_ms = SYNC_MS;
        world_open(w);
        for (unsigned i = 0; i < OUTSTANDING; i++) {
                wr.lines[i] = (struct line) { .writer = &wr, .shard = number * OUTSTANDING + i, .at = FIRST };
                claim_next(&wr.lines[i]);
        }
        while (!wr.failed && !shares(w, counts))
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        return wr.failed ? 72 : 0;
}

static void keep_to_one_cpu(void)
{
        cpu_set_t all, one;

        CPU_ZERO(&one);
        assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
        for (int i = 0; CPU_COUNT(&one) == 0; i++)
                if (CPU_ISSET(i, &all))
                        CPU_SET(i, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static int busy(struct world *w, unsigned number)
{
        (void) w;
        (void) number;
        while (getppid() > 0) {
        }
        return 0;
}

static pid_t start_child(struct world *w, int (*live)(struct world *, unsigned), unsigned number)
{
        pid_t pid = fork();

        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                _exit(live(w, number));
        }
        assert_true(pid > 0);
        return pid;
}

static void writers_get_the_lock_by_turns(void **state)
{
        struct world *w = *state;
        unsigned counts[WRITERS];
        pid_t writers[WRITERS], others[BUSY];
        int status;

        world_open(w);
        world_task(w, WRITERS * OUTSTANDING, FIRST - 1);
        world_close(w);   /* no thread of ours is forked with */
        keep_to_one_cpu();
        for (unsigned i = 0; i < BUSY; i++)
                others[i] = start_child(w, busy, i);
        for (unsigned i = 0; i < WRITERS; i++)
                writers[i] = start_child(w, write_on, i);
        for (int i = 0; i < WRITERS; i++) {
                assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
                assert_int_equal(status, 0);
        }
        for (int i = 0; i < BUSY; i++) {
                (void) kill(others[i], SIGKILL);
                assert_int_equal(waitpid(others[i], &status, 0), others[i]);
        }
        assert_true(shares(w, counts));
        print_message("shares of %d: %u %u %u\n", COUNTED, counts[0], counts[1], counts[2]);
        for (int i = 0; i < WRITERS; i++)
                assert_true(counts[i] >= COUNTED / WRITERS * 2 / 3);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(writers_get_the_lock_by_turns, sqlite_case, sqlite_case_end),
        };

        failing_disk_install();
        return RUN_CASES(argc, argv, "sqlite_turns", tests);
}
