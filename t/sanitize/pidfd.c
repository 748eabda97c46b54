/* Preloaded under valgrind, whose version in Debian 12 does not know pidfds. In their place stands the read end of a
 * pipe whose write end a thread closes when the process is dead; waiting for and signalling a descriptor go by the
 * process id that is remembered with it. Enough for a parent and its own children, whom nobody else reaps. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_MAX 1024

static _Atomic pid_t pids[FDS_MAX];   /* by descriptor; a number used again is written again */

struct watch {
        pid_t pid;
        int fd;
};

static void *watch_run(void *arg)
{
        uintptr_t packed = (uintptr_t) arg;
        struct watch w = { (pid_t) (packed >> 16), (int) (packed & 0xffff) };
        siginfo_t info;

        while (waitid(P_PID, (id_t) w.pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
                ;
        (void) close(w.fd);
        return NULL;
}

int pidfd_open(pid_t pid, unsigned flags)
{
        int ends[2];
        pthread_t thread;
        pthread_attr_t attr;
        sigset_t all, before;

        (void) flags;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -1;
        if (ends[0] >= FDS_MAX || ends[1] >= FDS_MAX) {
                errno = EMFILE;
                return -1;
        }
        pids[ends[0]] = pid;
        (void) pthread_attr_init(&attr);
        (void) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);   /* signals are the program's own */
        int r = pthread_create(&thread, &attr, watch_run, (void *) ((uintptr_t) pid << 16 | (uintptr_t) ends[1]));
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void) pthread_attr_destroy(&attr);
        errno = r;
        return r == 0 ? ends[0] : -1;
}

int pidfd_send_signal(int pidfd, int sig, siginfo_t *info, unsigned flags)
{
        (void) info;
        (void) flags;
        return kill(pids[pidfd], sig);
}

/* As libc's, which is not called through: the program's own calls all end here. */
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
        if (type == P_PIDFD) {
                type = P_PID;
                id = (id_t) pids[id];
        }
        return (int) syscall(SYS_waitid, type, id, info, options, NULL);
}
