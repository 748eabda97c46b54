/* state_dir/ledger.lock: one blocking flock around every write transaction and every checkpoint. The file is
 * opened once and kept; after each lock it must still be the file at its path, since the lock on a replaced
 * file keeps nobody out.
 *
 * The kernel wakes those who wait and hands nothing over: who has just let go would have the lock again before they
 * run. So the next in line stands in a door, a second lock of the same file, and nobody passes it there. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/sqlite_store.h"

#define REPLACED_TRIES 10

/* Of the open file as flock's are, and apart from them. Without it the order is the kernel's, which is no fault. */
static void door(int fd, short type)
{
        struct flock whole = { .l_type = type, .l_whence = SEEK_SET };

        while (fcntl(fd, F_OFD_SETLKW, &whole) < 0 && errno == EINTR) {
        }
}

static int lock_wait(int fd)
{
        int r = 0;

        door(fd, F_WRLCK);
        while (r == 0 && flock(fd, LOCK_EX) < 0)
                r = errno == EINTR ? 0 : -errno;
        door(fd, F_UNLCK);
        return r;
}

static bool at_its_path(const struct sqlite_store *s)
{
        struct stat open_one, named;

        return fstat(s->lock_fd, &open_one) == 0 && lstat(s->lock_path, &named) == 0 && open_one.st_nlink == 1 &&
               open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

int store_lock(struct sqlite_store *s)
{
        for (int i = 0; i < REPLACED_TRIES; i++) {
                if (s->lock_fd < 0) {
                        s->lock_fd = open(s->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
                        if (s->lock_fd < 0)
                                return -errno;
                }
                int r = lock_wait(s->lock_fd);
                if (r < 0)
                        return r;
                if (at_its_path(s))
                        return 0;
                (void) close(s->lock_fd);
                s->lock_fd = -1;
        }
        return -EAGAIN;
}

/* LOCK_UN is right here and nowhere else: no child inherits this descriptor over exec. */
void store_unlock(struct sqlite_store *s)
{
        if (s->lock_fd >= 0)
                (void) flock(s->lock_fd, LOCK_UN);
}
