/* Taking the node lock, and telling who holds it. */
#include "supervisor/node_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/exits.h"
#include "common/file.h"
#include "common/log.h"
#include "common/process.h"

#define LOOK_AGAIN_MS 50

/* 0: locked, and the file is still the one at `path`; -EWOULDBLOCK: held; -EAGAIN: it was replaced meanwhile. */
static int lock_open(const char *path, int *ret_fd)
{
        struct stat ours, there;
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        if (fstat(fd, &ours) < 0)
                return -errno;
        if (!S_ISREG(ours.st_mode))
                return -EINVAL;
        if (stat(path, &there) < 0 || there.st_ino != ours.st_ino || there.st_dev != ours.st_dev)
                return -EAGAIN;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int lock_sign(int fd)
{
        struct process_id self;
        char text[64];

        int r = process_identify(getpid(), &self);
        if (r < 0)
                return r;
        int n = snprintf(text, sizeof(text), "%d %s\n", (int) self.pid, self.start);
        if (ftruncate(fd, 0) < 0)
                return -errno;
        return pwrite(fd, text, (size_t) n, 0) == n ? 0 : -EIO;
}

/* False while nothing readable stands in it: a master between its lock and its signature. */
static bool lock_holder(const char *path, struct process_id *ret)
{
        struct process_id id = { 0 };
        int pid;
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        if (file_read(path, 128, &text) < 0 || !text.data)
                return false;
        if (sscanf(text.data, "%d %31s", &pid, id.start) != 2 || pid <= 0)
                return false;
        id.pid = pid;
        *ret = id;
        return true;
}

static bool process_has_open(const char *pid, const struct stat *file)
{
        char path[300];
        struct dirent *e;
        bool found = false;

        (void) snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
        DIR *d = opendir(path);
        if (!d)
                return false;
        while (!found && (e = readdir(d))) {
                struct stat st;
                found = fstatat(dirfd(d), e->d_name, &st, 0) == 0 && st.st_ino == file->st_ino &&
                        st.st_dev == file->st_dev;
        }
        (void) closedir(d);
        return found;
}

/* " 123 124": processes we may look into that have the lock file open, for the person who has to end them. */
static void lock_lingerers(const char *path, struct buf *ret)
{
        struct stat file;
        struct dirent *e;

        if (stat(path, &file) < 0)
                return;
        DIR *d = opendir("/proc");
        if (!d)
                return;
        while ((e = readdir(d)) && ret->len < 200) {
                if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && atoi(e->d_name) != getpid() &&
                    process_has_open(e->d_name, &file))
                        buf_format(ret, " %s", e->d_name);
        }
        (void) closedir(d);
}

/* Sleeps a little; true when a signal to stop came instead. */
static bool asked_to_stop(void)
{
        const struct timespec pause = { .tv_nsec = LOOK_AGAIN_MS * NS_PER_MS };
        sigset_t stop;

        (void) sigemptyset(&stop);
        (void) sigaddset(&stop, SIGTERM);
        (void) sigaddset(&stop, SIGINT);
        (void) sigaddset(&stop, SIGQUIT);
        return sigtimedwait(&stop, NULL, &pause) > 0;
}

static int held(const char *path)
{
        _cleanup_(buf_done) struct buf who = BUF_EMPTY;

        lock_lingerers(path, &who);
        (void) log_error(0, "%s: the master that held it is dead, but processes of it linger:%s", path,
                         who.len ? who.data : " (not visible to this user)");
        return EXIT_HELD;
}

static int lock_wait(const char *path, int64_t wait_ms, int *ret_fd)
{
        struct mono end = mono_plus_ms(clock_mono(), wait_ms);
        struct process_id holder;
        bool said = false;

        for (;;) {
                int r = lock_open(path, ret_fd);
                if (r == 0)
                        return EXIT_FINE;
                if (r != -EWOULDBLOCK && r != -EAGAIN) {
                        (void) log_error(r, "%s: cannot be locked", path);
                        return EXIT_CANTCREAT;
                }
                bool known = lock_holder(path, &holder);
                if (known && process_alive(&holder)) {
                        (void) log_error(0, "%s is held by another instance, pid %d", path, (int) holder.pid);
                        return EXIT_HELD;
                }
                if (clock_mono().ns >= end.ns)
                        return held(path);
                if (known && !said) {
                        log_info("waiting for the workers of the dead master %d to end", (int) holder.pid);
                        said = true;
                }
                if (asked_to_stop())
                        return EXIT_FINE;
        }
}

int node_lock_take(const char *state_dir, int64_t wait_ms, int *ret_fd)
{
        int fd = -1;
        _cleanup_(freep) char *path = path_join(state_dir, "node.lock");
        if (!path)
                return EXIT_OS;
        int code = lock_wait(path, wait_ms, &fd);
        if (code != EXIT_FINE || fd < 0) {
                *ret_fd = -1;
                return code;
        }
        int r = lock_sign(fd);
        if (r < 0) {
                (void) log_error(r, "%s: cannot be written", path);
                (void) close(fd);
                return EXIT_CANTCREAT;
        }
        *ret_fd = fd;
        return EXIT_FINE;
}
