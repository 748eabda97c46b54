/* The stage: see stage.h. Children run in the master's forks, so they see the test's memory as it was then. */
#include "t/unit/cases.h"
#include "t/unit/supervisor/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/channel/channel.h"
#include "common/cleanup.h"
#include "common/exits.h"
#include "common/file.h"
#include "common/log.h"
#include "supervisor/master.h"

/* There in builds with the address sanitizer: the master's process ends by _exit, which checks nothing. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static struct notes *notes;   /* inherited by the children */

static int count_fds(pid_t pid)
{
        char path[40];
        struct dirent *e;
        int n = 0;

        (void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid);
        DIR *d = opendir(path);
        while (d && (e = readdir(d)))
                n += e->d_name[0] != '.';
        if (d)
                (void) closedir(d);
        return n - (pid == getpid());   /* the folder's own */
}

int stage_master_fds(const struct stage *s)
{
        return count_fds(s->master);
}

static void say(const struct birth *b, enum message_type type, uint64_t value, const struct message *echo)
{
        struct message m = { .type = type, .slot = b->slot, .generation = b->generation, .value = value };

        if (echo) {
                m.trees_gone = echo->trees_gone;
                memcpy(m.owner, echo->owner, sizeof(m.owner));
        }
        (void) channel_send(b->channel, &m, -1);
}

/* Stands for a keeper: holds node lock and tree pipe, survives its worker. */
static void start_keeper(const struct birth *b)
{
        pid_t pid = fork();

        if (pid == 0) {
                (void) close(b->channel);
                (void) close(STDOUT_FILENO);   /* who reads the test's output must not wait for this one */
                (void) close(STDERR_FILENO);
                (void) setsid();
                (void) alarm(60);
                for (;;)
                        (void) pause();
        }
        notes->keeper_pid = pid;
        notes->keeper = false;
}

static void leave_orphan(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                if (fork() == 0)
                        _exit(3);
                _exit(0);
        }
        (void) waitpid(pid, NULL, 0);
}

static void note_birth(const struct birth *b, unsigned at)
{
        sigset_t mask;
        struct sigaction a;

        (void) sigprocmask(SIG_BLOCK, NULL, &mask);
        notes->blocked[at] = !sigisemptyset(&mask);
        (void) sigaction(SIGTERM, NULL, &a);
        notes->term_default[at] = a.sa_handler == SIG_DFL;
        notes->ppid[at] = getppid();
        notes->fds[at] = count_fds(getpid());
        memcpy(notes->owner[at], b->owner, sizeof(b->owner));
        notes->pid[at] = getpid();
        notes->births[at]++;
}

/* An exit code, or -1 to live on. */
static int answer(const struct birth *b, unsigned at, enum play play, const struct message *m, int fd)
{
        switch (m->type) {
        case MESSAGE_LEAD:
                notes->leader = (int) b->slot;
                notes->leads[at]++;
                say(b, MESSAGE_LED, 1, NULL);
                return -1;
        case MESSAGE_GONE:
                if (notes->told_count < (int) ARRAY_SIZE(notes->told)) {
                        struct told *t = &notes->told[notes->told_count];
                        memcpy(t->owner, m->owner, sizeof(t->owner));
                        t->trees_gone = m->trees_gone;
                        t->by = b->slot;
                        notes->told_count++;
                }
                if (!notes->mute)
                        say(b, MESSAGE_GONE_DONE, 0, m);
                return -1;
        case MESSAGE_REOPEN:
                notes->log_fds[at] = fd >= 0;
                notes->reopens[at]++;
                return -1;
        case MESSAGE_DRAIN:
                notes->drains[at]++;
                return play == PLAY_STUBBORN || play == PLAY_DEAD_EARS ? -1 : EXIT_FINE;
        case MESSAGE_STOP:
                notes->stops[at]++;
                return play == PLAY_DEAD_EARS ? -1 : play == PLAY_STUBBORN ? EXIT_KILLED : EXIT_FINE;
        default:
                return -1;
        }
}

static int open_play(const struct birth *b, unsigned at, enum play play)
{
        struct message lie = { .type = MESSAGE_READY, .slot = b->slot + 1, .generation = b->generation };

        switch (play) {
        case PLAY_CRASH:
                return EXIT_FAILED;
        case PLAY_REFUSE:
                return EXIT_CONFIGURATION;
        case PLAY_SILENT:
                return -1;
        case PLAY_LIAR:
                (void) channel_send(b->channel, &lie, -1);
                lie.slot = b->slot;
                lie.generation++;
                (void) channel_send(b->channel, &lie, -1);
                (void) send(b->channel, "nonsense", 8, MSG_NOSIGNAL);
                say(b, MESSAGE_LEAD, 0, NULL);
                say(b, MESSAGE_VERB, VERB_STOP, NULL);
                return -1;
        case PLAY_DEAF:
                say(b, MESSAGE_READY, 0, NULL);
                (void) close(b->channel);
                return -1;
        default:
                /* Noted first: whoever learns of the word may kill this child before it runs another line. */
                notes->readies[at]++;
                say(b, MESSAGE_READY, 0, NULL);
                return -1;
        }
}

static int live(const struct birth *b, unsigned at)
{
        enum play play = (enum play) notes->play[at];
        struct board_place *place = board_place(b->board, b->place);

        note_birth(b, at);
        if (notes->keeper && at != CONSOLE)
                start_keeper(b);
        int code = open_play(b, at, play);
        while (code < 0) {
                struct pollfd p = { .fd = play == PLAY_DEAF ? -1 : b->channel, .events = POLLIN };
                struct message m;
                int fd = -1;
                place_beat(place, clock_mono(), 0);
                if (at == CONSOLE) {
                        board_get_master(b->board, &notes->facts);
                        notes->facts_turn++;
                        if (notes->stranger > 0) {
                                notes->stranger--;
                                leave_orphan();
                        }
                        if (notes->verb)
                                say(b, MESSAGE_VERB, (uint64_t) atomic_exchange(&notes->verb, 0), NULL);
                }
                if (poll(&p, 1, at == CONSOLE ? 5 : 50) <= 0)
                        continue;
                int r = channel_receive(b->channel, &m, &fd);
                if (r == -EPIPE)
                        return EXIT_OS;
                if (r == 1)
                        code = answer(b, at, play, &m, fd);
                if (fd >= 0)
                        (void) close(fd);
        }
        return code;
}

static int worker_life(const struct birth *b)
{
        return live(b, b->slot);
}

static int console_life(const struct birth *b)
{
        return live(b, CONSOLE);
}

static const struct child_kind fake_worker = { "worker", worker_life }, fake_console = { "console", console_life };

void stage_open(struct stage *s, unsigned workers)
{
        memset(s, 0, sizeof(*s));
        s->ready = -1;
        s->notes = mmap(NULL, sizeof(*s->notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(s->notes != MAP_FAILED);
        notes = s->notes;
        notes->leader = -1;
        (void) strcpy(s->folder, "/tmp/onced-stage-XXXXXX");
        assert_non_null(mkdtemp(s->folder));
        (void) snprintf(s->state_dir, sizeof(s->state_dir), "%s/state", s->folder);
        (void) snprintf(s->run_dir, sizeof(s->run_dir), "%s/run", s->folder);
        (void) snprintf(s->log_dir, sizeof(s->log_dir), "%s/log", s->folder);
        (void) snprintf(s->socket, sizeof(s->socket), "%s/onced.sock", s->run_dir);
        s->config = (struct config) {
                .workers = workers, .state_dir = s->state_dir, .run_dir = s->run_dir,
                .log = { .dir = s->log_dir, .level = LOG_LEVEL_DEBUG, .to = LOG_TO_FILE, .rotate_size = 1 << 26 },
                .api = { .socket_mode = 0660 }, .hash = "00",
                .boot_timeout_ms = 10000, .hang_timeout_ms = 10000, .drain_timeout_ms = 10000,
        };
}

static void become_master(struct stage *s, int notify_fd) __attribute__((noreturn));

static void become_master(struct stage *s, int notify_fd)
{
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        master_block_signals();
        /* What is said before the log is open belongs to no test's output. */
        int early = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void) log_use_fd(early);
        log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT);
        int code = master_run(&(struct master_options) {
                .config = &s->config, .worker = &fake_worker, .console = &fake_console, .notify_fd = notify_fd,
        });
        if (&__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
                _exit(99);
        _exit(code);
}

void stage_become_master(struct stage *s, int passed)
{
        if (passed >= 0 && passed != 3)
                (void) dup2(passed, 3);
        (void) close_range(4, ~0u, 0);
        become_master(s, -1);
}

static pid_t start_master(struct stage *s, int notify_fd)
{
        sigset_t before;

        (void) fflush(NULL);
        /* Blocked already at the fork: a test may send its signal before the child has run a line. */
        (void) sigprocmask(SIG_BLOCK, NULL, &before);
        master_block_signals();
        pid_t pid = fork();
        if (pid == 0)
                become_master(s, notify_fd);
        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        assert_true(pid >= 0);
        return pid;
}

void stage_start(struct stage *s)
{
        int pipes[2];

        if (s->ready >= 0)
                (void) close(s->ready);
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        s->ready = pipes[0];
        s->master = start_master(s, pipes[1]);
        (void) close(pipes[1]);
}

bool stage_ready(struct stage *s)
{
        struct pollfd p = { .fd = s->ready, .events = POLLIN };
        char c;

        if (poll(&p, 1, 20000) != 1 || read(s->ready, &c, 1) != 1 || c != '\n')
                return false;
        /* The master closes its end after the word: only then its descriptors are those it will keep. */
        return poll(&p, 1, 20000) == 1 && read(s->ready, &c, 1) == 0;
}

pid_t stage_second(struct stage *s)
{
        return start_master(s, -1);
}

int stage_code(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int stage_end(struct stage *s)
{
        pid_t pid = s->master;

        s->master = 0;
        return stage_code(pid);
}

static void remove_tree(const char *path)
{
        struct dirent *e;
        DIR *d = opendir(path);

        while (d && (e = readdir(d))) {
                _cleanup_(freep) char *below = path_join(path, e->d_name);
                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                if (unlink(below) < 0)
                        remove_tree(below);
        }
        if (d)
                (void) closedir(d);
        (void) rmdir(path);
}

void stage_close(struct stage *s)
{
        if (s->master > 0) {
                (void) kill(s->master, SIGKILL);
                (void) stage_end(s);
        }
        if (s->notes->keeper_pid > 0)
                (void) kill(s->notes->keeper_pid, SIGKILL);
        if (s->ready >= 0)
                (void) close(s->ready);
        remove_tree(s->folder);
        (void) munmap(s->notes, sizeof(*s->notes));
}

bool stage_alive(pid_t pid)
{
        struct process_id id;

        return pid > 0 && process_identify(pid, &id) == 0;
}

const struct told *stage_told(const struct stage *s, const char *owner, unsigned trees_gone)
{
        for (int i = 0; i < s->notes->told_count; i++)
                if (strcmp(s->notes->told[i].owner, owner) == 0 && s->notes->told[i].trees_gone == trees_gone)
                        return &s->notes->told[i];
        return NULL;
}

struct master_facts stage_facts(struct stage *s)
{
        int turn = s->notes->facts_turn;

        UNTIL(s->notes->facts_turn > turn + 1);
        return s->notes->facts;
}

bool stage_log_has(const struct stage *s, const char *text)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(s->log_dir, "onced.log");

        return path && file_read(path, 1 << 24, &b) == 0 && b.len && strstr(b.data, text);
}

bool stage_roster_has(const struct stage *s, const char *text)
{
        _cleanup_(freep) char *folder = path_join(s->log_dir, "triggers");
        bool found = false;
        struct dirent *e;
        DIR *d = opendir(folder);

        while (d && !found && (e = readdir(d))) {
                _cleanup_(buf_done) struct buf b = BUF_EMPTY;
                _cleanup_(freep) char *path = path_join(folder, e->d_name);
                found = strstr(e->d_name, ".m.") && file_read(path, 1 << 24, &b) == 0 && b.len &&
                        strstr(b.data, text);
        }
        if (d)
                (void) closedir(d);
        return found;
}
