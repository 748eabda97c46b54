/* The command of exec tasks under chaos: writes down its own life, so that overlaps are seen from inside, not from
 * the logs. `task FOLDER MS [child|deaf]` makes FOLDER/<occurrence>.<pid> of six words: fence, planned, task, trigger, first and
 * last moment alive by the boot clock; the last is written anew all the time. With `child` the life goes on in
 * a grandchild with a session of its own, which only its keeper's tree walk can find; `deaf` ignores TERM. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 2000000L

static int64_t boottime_ns(void)
{
        struct timespec ts;

        (void) clock_gettime(CLOCK_BOOTTIME, &ts);
        return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static const char *given(const char *name)
{
        const char *value = getenv(name);

        return value ? value : "-";
}

static int live(const char *folder, long ms)
{
        char path[4096], line[512];
        int64_t began = boottime_ns(), now = began;
        const struct timespec step = { 0, STEP_NS };

        (void) snprintf(path, sizeof(path), "%s/%s.%d", folder, given("ONCED_OCCURRENCE"), (int) getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return 1;
        for (;;) {
                int len = snprintf(line, sizeof(line), "%s %s %s %s %lld %lld\n", given("ONCED_FENCE"),
                                   given("ONCED_PLANNED"), given("ONCED_TASK"), given("ONCED_TRIGGER"),
                                   (long long) began, (long long) now);
                if (pwrite(fd, line, (size_t) len, 0) != len)
                        return 1;
                if (now - began >= ms * 1000000)
                        return 0;
                (void) nanosleep(&step, NULL);
                now = boottime_ns();
        }
}

int main(int argc, char **argv)
{
        if (argc < 3)
                return 64;
        if (argc > 3 && strcmp(argv[3], "child") == 0) {
                pid_t pid = fork();
                if (pid == 0) {
                        (void) setsid();
                        _exit(live(argv[1], atol(argv[2])));
                }
                if (pid < 0)
                        return 71;
                int status = 0;
                (void) waitpid(pid, &status, 0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
        }
        if (argc > 3 && strcmp(argv[3], "deaf") == 0)
                (void) signal(SIGTERM, SIG_IGN);
        return live(argv[1], atol(argv[2]));
}
