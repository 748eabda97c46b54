/* The floor for a worker's death: kill -9 of a child until its pidfd has told the parent, and until a child forked
 * then does its first act; two numbers a line, in microseconds.
 * usage: floor_death COUNT */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/bench/times.h"

static int one(_Atomic int64_t *acted)
{
        pid_t pid = fork();

        if (pid < 0)
                return -1;
        if (pid == 0)
                for (;;)
                        (void) pause();
        struct pollfd p = { .fd = (int) syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
        (void) usleep(2000);
        int64_t killed = times_mono_ns();
        (void) kill(pid, SIGKILL);
        if (p.fd < 0 || poll(&p, 1, 1000) != 1)
                return -1;
        int64_t told = times_mono_ns();
        (void) waitpid(pid, NULL, 0);
        (void) close(p.fd);
        pid_t successor = fork();
        if (successor < 0)
                return -1;
        if (successor == 0) {
                atomic_store(acted, times_mono_ns());
                _exit(0);
        }
        (void) waitpid(successor, NULL, 0);
        (void) printf("%lld %lld\n", (long long) (told - killed) / 1000,
                      (long long) (atomic_load(acted) - killed) / 1000);
        return 0;
}

int main(int argc, char **argv)
{
        long count = argc == 2 ? atol(argv[1]) : 0;
        _Atomic int64_t *acted = mmap(NULL, sizeof(*acted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (acted == MAP_FAILED)
                return 71;
        for (long i = 0; i < count; i++)
                if (one(acted) < 0)
                        return 71;
        return count > 0 ? 0 : 64;
}
