/* See world.h: nothing here is onced's own work, it only stands in for the master. */
#include "t/unit/cases.h"
#include "t/unit/console/world.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/channel/channel.h"
#include "common/log.h"
#include "console/console.h"

#define NODE "web1-2a3b4c5d"

static char *copy(const char *text)
{
        char *c = strdup(text);

        assert_non_null(c);
        return c;
}

static void task_init(struct task *t, size_t i)
{
        char name[32];

        (void) snprintf(name, sizeof(name), "task-%zu", i);
        *t = (struct task) {
                .name = copy(name),
                .singleton = PATH_FLOCK,
                .enabled = true,
                .misfire = { MISFIRE_SKIP, -1, 1, 3600000 },
                .timeout_ms = 30000,
                .lease_ms = 30000,
                .shards = 1,
                .max_shards = 16,
                .history = { 1000, 0 },
                .runner = RUNNER_NOOP,
        };
        assert_int_equal(schedule_every(1000, 0, &t->schedule), 0);
}

static int by_name(const void *left, const void *right)
{
        return strcmp((*(const struct task *const *) left)->name, (*(const struct task *const *) right)->name);
}

static void index_tasks(struct config *c)
{
        c->by_name = calloc(c->task_count + 1, sizeof(*c->by_name));
        assert_non_null(c->by_name);
        for (size_t i = 0; i < c->task_count; i++)
                c->by_name[i] = &c->tasks[i];
        qsort(c->by_name, c->task_count, sizeof(*c->by_name), by_name);
}

void world_init(struct world *w, unsigned workers, size_t tasks)
{
        char path[128];

        *w = (struct world) { .dir = "/tmp/onced-console-XXXXXX", .listener = -1 };
        assert_non_null(mkdtemp(w->dir));
        (void) snprintf(w->socket, sizeof(w->socket), "%s/onced.sock", w->dir);
        (void) snprintf(path, sizeof(path), "%s/log", w->dir);
        w->config = (struct config) {
                .path = copy("/etc/onced.yaml"),
                .workers = workers,
                .state_dir = copy(w->dir),
                .run_dir = copy(w->dir),
                .tick_limit = 100,
                .task_count = tasks,
                .tasks = calloc(tasks + 1, sizeof(struct task)),
                .hash = "0123456789abcdef",
        };
        w->config.log.dir = copy(path);
        w->config.log.rotate_size = 1 << 20;
        assert_non_null(w->config.tasks);
        for (size_t i = 0; i < tasks; i++)
                task_init(&w->config.tasks[i], i);
        index_tasks(&w->config);
        assert_int_equal(board_create(workers, &w->board), 0);
        w->view = (struct view) { &w->config, w->board, NODE, instant_stamp((struct instant) { WORLD_NOW_MS }),
                                  clock_mono() };
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void) st;
        (void) type;
        (void) ftw;
        return remove(path);
}

void world_done(struct world *w)
{
        if (w->listener >= 0)
                (void) close(w->listener);
        (void) nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        board_free(w->board);
        for (size_t i = 0; i < w->config.task_count; i++)
                free(w->config.tasks[i].name);
        free(w->config.tasks);
        free(w->config.by_name);
        free(w->config.path);
        free(w->config.state_dir);
        free(w->config.run_dir);
        free(w->config.log.dir);
}

unsigned world_add(struct world *w, enum place_role role, unsigned slot, uint32_t generation, int64_t age_ms)
{
        struct process_id self;
        int place = board_take(w->board, role, slot, generation);

        assert_true(place >= 0);
        assert_int_equal(process_identify(getpid(), &self), 0);
        board_set_process(w->board, (unsigned) place, &self);
        board_set_state(w->board, (unsigned) place, PLACE_READY);
        place_beat(board_place(w->board, (unsigned) place), mono_plus_ms(w->view.mono, -age_ms), 1500);
        return (unsigned) place;
}

void world_master(struct world *w, bool ready, bool draining)
{
        struct master_facts facts = { .generation = 1, .workers = w->config.workers, .ready = ready,
                                      .draining = draining, .restarts = 3, .crashes = 2, .hangs = 1 };

        for (size_t i = 0; i < sizeof(facts.last_exit) / sizeof(facts.last_exit[0]); i++)
                facts.last_exit[i] = -1;
        facts.last_exit[1] = 9;   /* killed by SIGKILL */
        facts.started = instant_stamp((struct instant) { WORLD_NOW_MS - 3600000 });
        assert_int_equal(process_identify(getpid(), &facts.process), 0);
        board_set_master(w->board, &facts);
}

static int listen_at(const char *path)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        (void) snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
        (void) unlink(path);
        assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 256), 0);
        return fd;
}

void world_listen(struct world *w)
{
        if (w->listener < 0)
                w->listener = listen_at(w->socket);
}

/* There when the address sanitizer is: what the console has not freed is a failure of its own. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static _Noreturn void console_child(struct birth *b)
{
        /* The test library would take a crash for one of the test and go on with it here. */
        static const int crashes[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL };
        for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
                (void) signal(crashes[i], SIG_DFL);
        int code = process_identify(getpid(), &b->process) < 0 ? 98 : console_main(b);
        if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
                code = 99;
        _exit(code);
}

static void wait_ready(int channel)
{
        struct message m;
        int fd;
        struct pollfd p = { channel, POLLIN, 0 };

        assert_int_equal(poll(&p, 1, 20000), 1);
        assert_int_equal(channel_receive(channel, &m, &fd), 1);
        assert_int_equal(m.type, MESSAGE_READY);
        assert_int_equal(fd, -1);
}

int world_console(struct world *w, int *ret_pid)
{
        struct birth b = { .config = &w->config, .board = w->board, .slot = 0, .generation = 1, .node_lock = -1,
                           .tree_pipe = -1, .node = NODE, .boot = "0", .slot_name = "c" };
        int pair[2], place = board_take(w->board, ROLE_CONSOLE, 0, 1);

        assert_true(place >= 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        b.place = (unsigned) place;
        b.channel = pair[1];
        world_listen(w);
        b.listener = w->listener;
        (void) snprintf(b.owner, sizeof(b.owner), "%s.c.1.1-0000", NODE);
        log_setup(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) close(pair[0]);
                console_child(&b);
        }
        (void) close(pair[1]);
        board_set_state(w->board, b.place, PLACE_READY);
        wait_ready(pair[0]);
        *ret_pid = (int) pid;
        return pair[0];
}

int world_console_end(int channel, int pid)
{
        const struct message stop = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_STOP };
        int status;

        assert_int_equal(channel_send(channel, &stop, -1), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        (void) close(channel);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
