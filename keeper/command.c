/* Starts the command: what the child does between fork and exec, in a fixed order, and how a failure there
 * comes back: over a pipe that a successful exec closes. */
#include "keeper/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int number_read(const char **text, unsigned long *ret)
{
        char *end;

        if (**text < '0' || **text > '9')
                return -EINVAL;
        errno = 0;
        unsigned long n = strtoul(*text, &end, 10);
        if (errno != 0 || n >= UINT32_MAX)
                return -EINVAL;
        *text = end;
        *ret = n;
        return 0;
}

int command_identity(struct command *c, const char *text)
{
        unsigned long n;

        if (strcmp(text, "-") == 0)
                return 0;
        if (number_read(&text, &n) < 0 || *text++ != ':')
                return -EINVAL;
        c->uid = (uid_t) n;
        if (number_read(&text, &n) < 0 || *text++ != ':')
                return -EINVAL;
        c->gid = (gid_t) n;
        while (*text) {
                if (c->group_count == KEEPER_GROUPS_MAX || number_read(&text, &n) < 0)
                        return -EINVAL;
                c->groups[c->group_count++] = (gid_t) n;
                if (*text && *text++ != ',')
                        return -EINVAL;
        }
        c->changes_identity = true;
        return 0;
}

static int identity_apply(const struct command *c)
{
        if (!c->changes_identity)
                return 0;
        if (setgroups(c->group_count, c->groups) < 0 ||
            setresgid(c->gid, c->gid, c->gid) < 0 ||
            setresuid(c->uid, c->uid, c->uid) < 0)
                return -1;
        return 0;
}

static int nice_apply(int by)
{
        if (by == 0)
                return 0;
        errno = 0;
        (void) nice(by);
        return errno == 0 ? 0 : -1;
}

/* No execvp: it would hand a file without #! to a shell, and look along the task's PATH. Returns only on
 * failure, with errno. */
static void command_exec(char **argv)
{
        char path[PATH_MAX];
        int failure = ENOENT;

        if (strchr(argv[0], '/')) {
                (void) execve(argv[0], argv, environ);
                return;
        }
        for (const char *p = KEEPER_PATH; *p;) {
                size_t len = strcspn(p, ":");
                int n = snprintf(path, sizeof(path), "%.*s/%s", (int) len, p, argv[0]);

                p += len + (p[len] == ':');
                if (n < 0 || (size_t) n >= sizeof(path)) {
                        failure = ENAMETOOLONG;
                        continue;
                }
                (void) execve(path, argv, environ);
                if (errno == EACCES)
                        failure = EACCES;
                else if (errno != ENOENT && errno != ENOTDIR)
                        return;
        }
        errno = failure;
}

static void child_fails(int report, int step)
{
        struct command_failure f = { step, errno };

        (void) !write(report, &f, sizeof(f));
        _exit(127);
}

static void child_run(const struct command *c, pid_t keeper, int report)
{
        sigset_t none;

        /* Its own session: a command that signals its whole group must not reach the keeper. */
        (void) setsid();
        (void) close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
        (void) umask(c->umask);
        if (nice_apply(c->nice) < 0)
                child_fails(report, KEEPER_STEP_NICE);
        if (identity_apply(c) < 0)
                child_fails(report, KEEPER_STEP_IDENTITY);
        if (chdir(c->cwd) < 0)
                child_fails(report, KEEPER_STEP_CWD);

        /* After the change of identity, which clears it: should the keeper be killed, the command goes too. */
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper)
                _exit(127);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        command_exec(c->argv);
        child_fails(report, KEEPER_STEP_EXEC);
}

static ssize_t report_read(int fd, struct command_failure *ret)
{
        ssize_t n;

        do
                n = read(fd, ret, sizeof(*ret));
        while (n < 0 && errno == EINTR);
        return n;
}

int command_start(const struct command *c, pid_t *ret_pid, struct command_failure *ret_failure)
{
        struct command_failure failure;
        pid_t keeper = getpid();
        int report[2];

        *ret_failure = (struct command_failure) { KEEPER_STEP_FORK, 0 };
        if (pipe2(report, O_CLOEXEC) < 0) {
                ret_failure->error = errno;
                return -1;
        }
        pid_t pid = fork();
        if (pid == 0)
                child_run(c, keeper, report[1]);
        if (pid < 0)
                ret_failure->error = errno;
        (void) close(report[1]);
        ssize_t n = pid > 0 ? report_read(report[0], &failure) : -1;
        (void) close(report[0]);
        if (pid < 0)
                return -1;
        if (n == 0) {
                *ret_pid = pid;
                return 0;
        }
        if (n == (ssize_t) sizeof(failure))
                *ret_failure = failure;
        else
                ret_failure->error = EIO;
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        return -1;
}
