/* Starts onced-keeper by posix_spawn and watches it: its control socket for messages, its pidfd for its end.
 * No SIGCHLD and no uv_spawn, which both would make children a matter of the whole process. */
#include "worker/runner/exec_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"

/* Descriptors for the keeper are first moved up here, so that placing one at 3 to 5 never covers another. */
#define FD_ABOVE 16

struct exec_keeper {
        pid_t pid;
        int pidfd, control;
        uv_poll_t end, messages;
        int open_handles;
        bool closing;
        const struct exec_keeper_events *events;   /* NULL once left */
        void *arg;
        struct exec_keepers *all;
        struct exec_keeper *next, **link;
};

static int fd_raise(int fd)
{
        if (fd < 0)
                return -1;
        int raised = fcntl(fd, F_DUPFD_CLOEXEC, FD_ABOVE);
        return raised < 0 ? -errno : raised;
}

/* `numbers` is memory for the texts of numbers. */
static char **arguments_make(const struct exec_birth *b, char numbers[4][24])
{
        const struct exec_target *t = b->target;
        const char **argv = calloc(KEEPER_ARG_COMMAND + t->argv.count + 1, sizeof(*argv));

        if (!argv)
                return NULL;
        (void) snprintf(numbers[0], sizeof(numbers[0]), "%d",
                        t->kill_after_ms < 0 ? 0 : t->kill_after_ms > INT32_MAX ? INT32_MAX : (int) t->kill_after_ms);
        (void) snprintf(numbers[1], sizeof(numbers[1]), "%o", t->umask & 0777);
        (void) snprintf(numbers[2], sizeof(numbers[2]), "%d", t->nice);
        (void) snprintf(numbers[3], sizeof(numbers[3]), "%lld", (long long) (b->valid_until.ns / NS_PER_MS));
        argv[0] = "onced-keeper";
        argv[KEEPER_ARG_VERSION] = KEEPER_VERSION;
        argv[KEEPER_ARG_KILL_AFTER] = numbers[0];
        argv[KEEPER_ARG_LEAVE_CHILDREN] = t->leave_children ? "1" : "0";
        argv[KEEPER_ARG_UMASK] = numbers[1];
        argv[KEEPER_ARG_NICE] = numbers[2];
        argv[KEEPER_ARG_IDENTITY] = b->identity;
        argv[KEEPER_ARG_CWD] = t->cwd ? t->cwd : "/";
        argv[KEEPER_ARG_LIMIT] = numbers[3];
        for (size_t i = 0; i < t->argv.count; i++)
                argv[KEEPER_ARG_COMMAND + i] = t->argv.items[i];

        /* posix_spawn takes char **, yet changes nothing. */
        union { const char **given; char **taken; } list = { .given = argv };
        return list.taken;
}

static int actions_fill(posix_spawn_file_actions_t *a, int output, int control, int node_lock, int tree_pipe)
{
        const struct { int from, to; } moves[] = {
                { output, 1 }, { output, 2 }, { control, KEEPER_CONTROL },
                { node_lock, KEEPER_NODE_LOCK }, { tree_pipe, KEEPER_TREE_PIPE },
        };
        int r = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(moves); i++)
                r = moves[i].from >= 0 ? posix_spawn_file_actions_adddup2(a, moves[i].from, moves[i].to)
                                       : posix_spawn_file_actions_addclose(a, moves[i].to);
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(a, KEEPER_FDS_END);
        return -r;
}

static int attributes_fill(posix_spawnattr_t *a)
{
        sigset_t none, all;

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        (void) posix_spawnattr_setsigmask(a, &none);
        (void) posix_spawnattr_setsigdefault(a, &all);
        return -posix_spawnattr_setflags(a, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn_with(const struct exec_birth *b, int output, int control, int node_lock, int tree_pipe,
                      pid_t *ret_pid)
{
        char numbers[4][24];
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        _cleanup_(freep) char **argv = arguments_make(b, numbers);

        if (!argv)
                return -ENOMEM;
        int r = -posix_spawn_file_actions_init(&actions);
        if (r < 0)
                return r;
        r = -posix_spawnattr_init(&attributes);
        if (r == 0) {
                r = actions_fill(&actions, output, control, node_lock, tree_pipe);
                if (r == 0)
                        r = attributes_fill(&attributes);
                if (r == 0)
                        r = -posix_spawn(ret_pid, b->path, &actions, &attributes, argv, b->env);
                (void) posix_spawnattr_destroy(&attributes);
        }
        (void) posix_spawn_file_actions_destroy(&actions);
        return r;
}

static int keeper_spawn(const struct exec_birth *b, int control, pid_t *ret_pid)
{
        _cleanup_(closep) int output = fd_raise(b->output);
        _cleanup_(closep) int raised = fd_raise(control);
        _cleanup_(closep) int node_lock = fd_raise(b->node_lock);
        _cleanup_(closep) int tree_pipe = fd_raise(b->tree_pipe);

        /* -1 stands for "none was given" in the holds; anything lower is a failure. */
        if (output < 0 || raised < 0 || node_lock < -1 || tree_pipe < -1)
                return output < 0 ? output : raised < 0 ? raised : node_lock < -1 ? node_lock : tree_pipe;
        return spawn_with(b, output, raised, node_lock, tree_pipe, ret_pid);
}

static void on_closed(uv_handle_t *h)
{
        struct exec_keeper *k = h->data;
        struct exec_keepers *all = k->all;

        if (--k->open_handles > 0)
                return;
        (void) close(k->pidfd);
        if (k->control >= 0)
                (void) close(k->control);
        *k->link = k->next;
        if (k->next)
                k->next->link = k->link;
        free(k);
        if (--all->count == 0 && all->on_empty)
                all->on_empty(all);
}

static void keeper_close(struct exec_keeper *k)
{
        if (k->closing)
                return;
        k->closing = true;
        uv_close((uv_handle_t *) &k->end, on_closed);
        uv_close((uv_handle_t *) &k->messages, on_closed);
}

void exec_keeper_listen(struct exec_keeper *k)
{
        struct keeper_message m;

        /* A life has four messages. ECONNRESET says only that an ask of ours was not read: messages may
         * stand behind it. */
        for (int i = 0; i < 8 && k->events; i++) {
                ssize_t n = recv(k->control, &m, sizeof(m), MSG_DONTWAIT);
                if (n == (ssize_t) sizeof(m))
                        k->events->message(k->arg, &m);
                else if (n >= 0 || (errno != ECONNRESET && errno != EINTR)) {
                        if (n == 0)
                                (void) uv_poll_stop(&k->messages);
                        return;
                }
        }
}

static void on_message(uv_poll_t *poll, int status, int events)
{
        (void) status;
        (void) events;
        exec_keeper_listen(container_of(poll, struct exec_keeper, messages));
}

static void on_end(uv_poll_t *poll, int status, int events)
{
        struct exec_keeper *k = container_of(poll, struct exec_keeper, end);
        siginfo_t info = { 0 };

        (void) status;
        (void) events;
        if (waitid(P_PIDFD, (id_t) k->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
                return;
        exec_keeper_listen(k);
        const struct exec_keeper_events *tell = TAKE(k->events);
        void *arg = k->arg;
        keeper_close(k);
        if (tell)
                tell->gone(arg, info.si_code, info.si_status);
}

static int keeper_watch(struct exec_keeper *k, uv_loop_t *loop)
{
        k->pidfd = pidfd_open(k->pid, 0);
        if (k->pidfd < 0)
                return -errno;
        int r = uv_poll_init(loop, &k->end, k->pidfd);
        if (r < 0)
                return r;
        k->end.data = k;
        k->open_handles = 1;
        r = uv_poll_init(loop, &k->messages, k->control);
        if (r < 0)
                return r;
        k->messages.data = k;
        k->open_handles = 2;
        (void) uv_poll_start(&k->end, UV_READABLE, on_end);
        (void) uv_poll_start(&k->messages, UV_READABLE, on_message);
        return 0;
}

static void keeper_link(struct exec_keeper *k, struct exec_keepers *all)
{
        k->all = all;
        k->next = all->first;
        k->link = &all->first;
        if (k->next)
                k->next->link = &k->next;
        all->first = k;
        all->count++;
}

static void on_half_closed(uv_handle_t *h)
{
        struct exec_keeper *k = h->data;

        (void) close(k->pidfd);
        free(k);
}

/* Without descriptors or memory for the watch there is nothing but to wait here: the closed socket makes the
 * keeper end its tree. */
static void unwatched_end(struct exec_keeper *k)
{
        (void) close(k->control);
        while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (k->open_handles == 1) {
                uv_close((uv_handle_t *) &k->end, on_half_closed);
                return;
        }
        if (k->pidfd >= 0)
                (void) close(k->pidfd);
        free(k);
}

int exec_keeper_start(uv_loop_t *loop, struct exec_keepers *all, const struct exec_birth *b,
                      const struct exec_keeper_events *events, void *arg, struct exec_keeper **ret)
{
        struct exec_keeper *k = calloc(1, sizeof(*k));
        int ends[2];

        if (!k)
                return -ENOMEM;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
                int r = -errno;
                free(k);
                return r;
        }
        int r = keeper_spawn(b, ends[1], &k->pid);
        (void) close(ends[1]);
        if (r < 0) {
                (void) close(ends[0]);
                free(k);
                return r;
        }
        k->control = ends[0];
        k->events = events;
        k->arg = arg;
        if (keeper_watch(k, loop) < 0) {
                unwatched_end(k);
                return -ECHILD;
        }
        keeper_link(k, all);
        *ret = k;
        return 0;
}

pid_t exec_keeper_pid(const struct exec_keeper *k)
{
        return k->pid;
}

static void ask(struct exec_keeper *k, const struct keeper_ask *a)
{
        (void) send(k->control, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void exec_keeper_end(struct exec_keeper *k)
{
        ask(k, &(struct keeper_ask) { .request = KEEPER_ASK_END });
}

void exec_keeper_prolong(struct exec_keeper *k, struct mono valid_until)
{
        ask(k, &(struct keeper_ask) { .request = KEEPER_ASK_LIMIT, .limit_ms = valid_until.ns / NS_PER_MS });
}

void exec_keeper_leave(struct exec_keeper *k)
{
        k->events = NULL;
        exec_keeper_end(k);
        (void) uv_poll_stop(&k->messages);

        /* Nobody waits for it: a drained worker may end, the keeper goes on alone. */
        uv_unref((uv_handle_t *) &k->end);
}

void exec_keepers_close(struct exec_keepers *all, void (*on_empty)(struct exec_keepers *k))
{
        all->on_empty = on_empty;
        for (struct exec_keeper *k = all->first; k; k = k->next)
                keeper_close(k);
}
