/* Finds the descendants of this process, level by level, and signals them. As this process is a child
 * subreaper, whatever loses its parent becomes a direct child, so no double fork and no setsid escapes. */
#include "keeper/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Above any sane tree; what does not fit is found by the next call, when these are gone. */
#define TREE_MAX 32768

struct member {
        pid_t pid, parent;
};

static struct member members[TREE_MAX];
static int member_count;

/* Who was sent SIGTERM, a bit a number: the kernel gives none above. Its pages are untouched memory until used. */
#define PID_LIMIT (4 << 20)
static unsigned char told[PID_LIMIT / 8];

/* True the first time. */
static bool tell_once(pid_t pid)
{
        unsigned char bit = (unsigned char) (1 << (pid & 7));

        if (pid < 0 || pid >= PID_LIMIT || (told[pid >> 3] & bit))
                return false;
        told[pid >> 3] |= bit;
        return true;
}

static void member_add(pid_t pid, pid_t parent)
{
        if (member_count < TREE_MAX)
                members[member_count++] = (struct member) { pid, parent };
}

/* Reads "12 34 56 " in pieces; a number may be cut by the end of a piece. */
static int children_of_thread(pid_t pid, const char *thread)
{
        char path[64], piece[4096];
        pid_t number = 0;
        ssize_t n;

        (void) snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int) pid, thread);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        while ((n = read(fd, piece, sizeof(piece))) > 0)
                for (ssize_t i = 0; i < n; i++) {
                        if (piece[i] >= '0' && piece[i] <= '9') {
                                number = number * 10 + (piece[i] - '0');
                                continue;
                        }
                        if (number > 0)
                                member_add(number, pid);
                        number = 0;
                }
        int r = n < 0 ? -errno : 0;
        (void) close(fd);
        return r;
}

static int children_of(pid_t pid)
{
        char path[32];
        struct dirent *entry;
        int r = 0;

        (void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
        DIR *threads = opendir(path);
        if (!threads)
                return -errno;
        while ((entry = readdir(threads)))
                if (entry->d_name[0] != '.') {
                        int failure = children_of_thread(pid, entry->d_name);
                        if (failure < 0)
                                r = failure;
                }
        (void) closedir(threads);
        return r;
}

static pid_t parent_of(pid_t pid)
{
        char path[32], text[512];

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        ssize_t n = read(fd, text, sizeof(text) - 1);
        (void) close(fd);
        if (n <= 0)
                return -1;
        text[n] = '\0';

        /* The name stands in brackets and may hold anything, brackets too: the last one ends it. */
        char *end = strrchr(text, ')');
        int parent;
        if (!end || sscanf(end, ") %*c %d", &parent) != 1)
                return -1;
        return parent;
}

/* A number read from /proc may be another process by now. The pidfd fixes who is meant, then the parent is
 * compared. It is this process when the one before has just ended, maybe of our own signal. */
static void member_signal(const struct member *m, int sig)
{
        int fd = (int) syscall(SYS_pidfd_open, m->pid, 0);
        pid_t parent;

        if (fd < 0)
                return;
        parent = parent_of(m->pid);
        if ((parent == m->parent || parent == getpid()) && (sig != SIGTERM || tell_once(m->pid))) {
                (void) syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
                /* A stopped process takes no TERM before it goes on. */
                if (sig == SIGTERM)
                        (void) syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
        }
        (void) close(fd);
}

int tree_signal(int sig)
{
        member_count = 0;
        int r = children_of(getpid());
        if (r < 0)
                return r;

        /* Parents before children, so that a parent ends before it can start what was just ended. */
        for (int i = 0; i < member_count; i++) {
                (void) children_of(members[i].pid);
                if (sig != 0)
                        member_signal(&members[i], sig);
        }
        return member_count;
}
