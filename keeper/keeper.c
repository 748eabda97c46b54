/* onced-keeper: the parent of one command of an exec task, libc only and static so that it starts in about a
 * millisecond. It exists because only a parent of its own can know which processes belong to which run: a
 * worker runs many commands at once and could not tell their orphans apart. It outlives a dead worker for
 * just as long as it takes to end the tree. */
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper/command.h"
#include "keeper/tree.h"

/* Between two rounds of KILL. What does not die of the first one sleeps in the kernel, or forks. */
#define KILL_ROUND_MS 20

/* Between two looks for who has not been told by TERM: born, or given to another parent, during the look before. */
#define TERM_ROUND_MS 50

#define LIMIT_LOOK_MS 1000

struct keeper {
        struct command command;
        long long kill_after_ms;
        bool leaves_children;

        int control;          /* -1: the worker is gone */
        int signals;
        pid_t pid;            /* the command; 0 once reaped */
        bool ending;          /* TERM was sent */
        int orphans;          /* found running when the command had exited */
        long long kill_at_ms;
        long long limit_ms;   /* 0: none */
        bool all_gone;
};

static long long now_ms(void)
{
        struct timespec t;

        (void) clock_gettime(CLOCK_BOOTTIME, &t);
        return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int number_in(const char *text, int base, long long low, long long high, long long *ret)
{
        char *end;

        errno = 0;
        long long n = strtoll(text, &end, base);
        if (errno != 0 || end == text || *end || n < low || n > high)
                return -EINVAL;
        *ret = n;
        return 0;
}

static int arguments_read(struct keeper *k, int argc, char **argv)
{
        long long leave, mask, niceness, limit;

        if (argc <= KEEPER_ARG_COMMAND || strcmp(argv[KEEPER_ARG_VERSION], KEEPER_VERSION) != 0 ||
            number_in(argv[KEEPER_ARG_KILL_AFTER], 10, 0, INT_MAX, &k->kill_after_ms) < 0 ||
            number_in(argv[KEEPER_ARG_LEAVE_CHILDREN], 10, 0, 1, &leave) < 0 ||
            number_in(argv[KEEPER_ARG_UMASK], 8, 0, 0777, &mask) < 0 ||
            number_in(argv[KEEPER_ARG_NICE], 10, -40, 40, &niceness) < 0 ||
            number_in(argv[KEEPER_ARG_LIMIT], 10, 0, LLONG_MAX, &limit) < 0 ||
            command_identity(&k->command, argv[KEEPER_ARG_IDENTITY]) < 0)
                return -EINVAL;
        k->leaves_children = leave == 1;
        k->limit_ms = limit;
        k->command.umask = (mode_t) mask;
        k->command.nice = (int) niceness;
        k->command.cwd = argv[KEEPER_ARG_CWD];
        k->command.argv = argv + KEEPER_ARG_COMMAND;
        return 0;
}

static void say(const struct keeper *k, const struct keeper_message *m)
{
        ssize_t n;

        if (k->control < 0)
                return;
        /* Blocking on purpose: four messages a life always fit, and a dead worker answers EPIPE. */
        do
                n = send(k->control, m, sizeof(*m), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
}

static int signals_take(void)
{
        sigset_t all;

        (void) sigfillset(&all);
        (void) sigprocmask(SIG_SETMASK, &all, NULL);
        (void) sigemptyset(&all);
        (void) sigaddset(&all, SIGCHLD);
        (void) sigaddset(&all, SIGTERM);
        return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The command alone writes to the output pipe from now on, so that its end can be seen. */
static void output_release(void)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) {
                (void) close(1);
                (void) close(2);
        }
        if (null > 2)
                (void) close(null);
}

/* Without /proc only the command and its group are known; the group is its own while it is not reaped. */
static int tree_end(const struct keeper *k, int sig)
{
        int count = tree_signal(sig);

        if (count >= 0 || k->pid == 0)
                return count;
        (void) kill(-k->pid, sig);
        (void) kill(k->pid, sig);
        return count;
}

static void end_begin(struct keeper *k)
{
        if (k->ending)
                return;
        k->ending = true;
        k->kill_at_ms = now_ms() + k->kill_after_ms;
        int count = tree_end(k, SIGTERM);
        if (k->pid == 0 && count > 0)
                k->orphans = count;
}

static void on_command_exit(struct keeper *k, int status, const struct rusage *usage)
{
        struct keeper_message m = {
                .word = KEEPER_EXITED,
                .pid = k->pid,
                .status = status,
                .user_us = usage->ru_utime.tv_sec * 1000000LL + usage->ru_utime.tv_usec,
                .system_us = usage->ru_stime.tv_sec * 1000000LL + usage->ru_stime.tv_usec,
                .max_rss_kb = usage->ru_maxrss,
        };

        k->pid = 0;
        say(k, &m);
}

static void reap(struct keeper *k)
{
        struct rusage usage;
        int status;
        pid_t pid;

        while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0)
                if (pid == k->pid)
                        on_command_exit(k, status, &usage);

        /* As a subreaper, having no child means having no descendant: this is the proof, /proc is not. */
        k->all_gone = pid < 0 && errno == ECHILD;
}

static void on_signals(struct keeper *k)
{
        struct signalfd_siginfo info;

        while (read(k->signals, &info, sizeof(info)) == (ssize_t) sizeof(info))
                if (info.ssi_signo == SIGTERM)
                        end_begin(k);
}

/* False: nothing was there. */
static bool on_control(struct keeper *k)
{
        struct keeper_ask ask;
        ssize_t n = recv(k->control, &ask, sizeof(ask), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n <= 0) {
                (void) close(k->control);
                k->control = -1;
        }
        if (n <= 0 || (n == (ssize_t) sizeof(ask) && ask.request == KEEPER_ASK_END))
                end_begin(k);
        else if (n == (ssize_t) sizeof(ask) && ask.request == KEEPER_ASK_LIMIT && k->limit_ms > 0)
                k->limit_ms = ask.limit_ms;
        return n > 0;
}

/* After a pause of this process later limits may lie in the socket: they are heard first. */
static void limit_check(struct keeper *k)
{
        if (k->ending || k->limit_ms == 0 || now_ms() < k->limit_ms)
                return;
        while (on_control(k))
                ;
        if (k->ending || now_ms() < k->limit_ms)
                return;
        say(k, &(struct keeper_message) { .word = KEEPER_LIMIT });
        end_begin(k);
}

/* poll(2) does not count suspend, the limit does: a look each second bounds how late it is seen. */
static int limit_wait_ms(const struct keeper *k)
{
        if (k->limit_ms == 0)
                return -1;
        long long left = k->limit_ms - now_ms();
        return left <= 0 ? 0 : left > LIMIT_LOOK_MS ? LIMIT_LOOK_MS : (int) left;
}

static int wait_ms(const struct keeper *k)
{
        if (!k->ending)
                return limit_wait_ms(k);
        long long left = k->kill_at_ms - now_ms();
        return left <= 0 ? KILL_ROUND_MS : left > TERM_ROUND_MS ? TERM_ROUND_MS : (int) left;
}

/* One turn. Returns false when there is nothing left to keep. */
static bool turn(struct keeper *k)
{
        reap(k);
        if (k->all_gone)
                return false;
        if (k->pid == 0 && !k->ending) {
                if (k->leaves_children)
                        return false;
                end_begin(k);
        }
        limit_check(k);
        if (k->ending && now_ms() >= k->kill_at_ms)
                (void) tree_end(k, SIGKILL);
        else if (k->ending)
                (void) tree_signal(SIGTERM);

        struct pollfd fds[2] = {
                { .fd = k->signals, .events = POLLIN },
                { .fd = k->control, .events = POLLIN },
        };
        if (poll(fds, 2, wait_ms(k)) <= 0)
                return true;
        if (fds[0].revents)
                on_signals(k);
        if (fds[1].revents)
                (void) on_control(k);
        return true;
}

static int command_begin(struct keeper *k)
{
        struct command_failure failure;

        if (command_start(&k->command, &k->pid, &failure) < 0) {
                say(k, &(struct keeper_message) {
                        .word = KEEPER_REFUSED, .step = (uint32_t) failure.step, .error = failure.error });
                return -1;
        }
        output_release();
        say(k, &(struct keeper_message) { .word = KEEPER_STARTED, .pid = k->pid });
        return 0;
}

int main(int argc, char **argv)
{
        struct keeper k = { .control = KEEPER_CONTROL, .signals = -1 };

        if (arguments_read(&k, argc, argv) < 0)
                return KEEPER_EXIT_USAGE;
        (void) close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
        k.signals = signals_take();
        if (k.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
                say(&k, &(struct keeper_message) {
                        .word = KEEPER_REFUSED, .step = KEEPER_STEP_FORK, .error = errno });
                return KEEPER_EXIT_REFUSED;
        }
        if (command_begin(&k) < 0)
                return KEEPER_EXIT_REFUSED;
        while (turn(&k))
                ;
        int left = k.all_gone ? 0 : tree_signal(0);
        say(&k, &(struct keeper_message) {
                .word = KEEPER_GONE, .left = left > 0 ? (uint32_t) left : 0, .ended = (uint32_t) k.orphans });
        return KEEPER_EXIT_GONE;
}
