/* The floor for a worker's death: kill -9 of a child until its pidfd tells the parent, in microseconds.
 * usage: floor_death COUNT */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
        long count = argc == 2 ? atol(argv[1]) : 0;

        for (long i = 0; i < count; i++) {
                pid_t pid = fork();
                if (pid < 0)
                        return 71;
                if (pid == 0)
                        for (;;)
                                (void) pause();
                struct pollfd p = { .fd = (int) syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
                (void) usleep(2000);
                int64_t killed = now_ns();
                (void) kill(pid, SIGKILL);
                if (p.fd < 0 || poll(&p, 1, 1000) != 1)
                        return 71;
                printf("%lld\n", (long long) (now_ns() - killed) / 1000);
                (void) waitpid(pid, NULL, 0);
                (void) close(p.fd);
        }
        return count > 0 ? 0 : 64;
}
