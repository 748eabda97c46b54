/* Run locks. A lock on a file that was replaced meanwhile proves nothing, so what was locked must still be
 * what the path names. */
#include "worker/claim/runlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "worker/unit.h"

#define REOPENS_MAX 3

int runlock_folder(const char *run_dir)
{
        _cleanup_(freep) char *folder = path_join(run_dir, "locks");

        return folder ? folder_make(folder, 0700) : -ENOMEM;
}

/* Made once: the digest took most of the CPU time that a try costs outside the kernel. */
static int name_lock(struct unit *u)
{
        char text[UNIT_TEXT], name[DIGEST_TEXT];

        if (u->lock_name)
                return 0;
        unit_text(u->of->scope_key, u->of->task->name, u->shard, text);
        digest_hex(text, strlen(text), name);
        u->lock_name = strdup(name);
        return u->lock_name ? 0 : -ENOMEM;
}

static int lock_path(const char *run_dir, struct unit *u, char ret[PATH_MAX])
{
        int r = name_lock(u);
        if (r < 0)
                return r;
        int n = snprintf(ret, PATH_MAX, "%s/locks/%s", run_dir, u->lock_name);
        return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool is_still_named(int fd, const char *path)
{
        struct stat held, named;

        return fstat(fd, &held) == 0 && fstatat(AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
               held.st_dev == named.st_dev && held.st_ino == named.st_ino && held.st_nlink == 1;
}

static int lock_open(const char *run_dir, const char *path)
{
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno == ENOENT && runlock_folder(run_dir) == 0)
                fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fd;
}

static void note_read(int fd, struct runlock_note *ret)
{
        if (pread(fd, ret, sizeof(*ret), 0) != sizeof(*ret))
                *ret = (struct runlock_note) { 0 };
}

int runlock_take(const char *run_dir, struct unit *u, struct runlock_note *ret)
{
        char path[PATH_MAX];
        int r = lock_path(run_dir, u, path);
        if (r < 0)
                return r;

        for (unsigned n = 0; n < REOPENS_MAX; n++) {
                _cleanup_(closep) int fd = lock_open(run_dir, path);
                if (fd < 0)
                        return fd;
                int error = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
                if (ret && (error == 0 || error == -EWOULDBLOCK))
                        note_read(fd, ret);
                if (error < 0)
                        return error;
                if (is_still_named(fd, path))
                        return TAKE_FD(fd);
        }
        return -ESTALE;
}

void runlock_write(int fd, const struct runlock_note *note)
{
        struct runlock_note n;

        memset(&n, 0, sizeof(n));
        n.decided = note->decided;
        n.master.pid = note->master.pid;
        (void) snprintf(n.master.start, sizeof(n.master.start), "%s", note->master.start);
        /* Without it, or with a part of it, the others ask the ledger. */
        (void) !pwrite(fd, &n, sizeof(n), 0);
}

void runlock_read(const char *run_dir, struct unit *u, struct runlock_note *ret)
{
        char path[PATH_MAX];
        _cleanup_(closep) int fd = lock_path(run_dir, u, path) < 0 ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

        *ret = (struct runlock_note) { 0 };
        if (fd >= 0)
                note_read(fd, ret);
}
