/* Files are read whole with a limit and replaced whole and durably; nothing else is needed here. */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"

static int read_all(int fd, size_t limit, struct buf *ret)
{
        char chunk[16384];

        buf_clear(ret);
        for (;;) {
                ssize_t n = read(fd, chunk, sizeof(chunk));
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return ret->failed ? -ENOMEM : 0;
                if (ret->len + (size_t) n > limit)
                        return -EFBIG;
                buf_add(ret, chunk, (size_t) n);
        }
}

int file_read(const char *path, size_t limit, struct buf *ret)
{
        struct stat st;
        /* O_NONBLOCK: opening a FIFO by mistake must not hang. */
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if (st.st_size > 0 && (uintmax_t) st.st_size > limit)
                return -EFBIG;
        return read_all(fd, limit, ret);
}

int file_read_proc(const char *path, size_t limit, struct buf *ret)
{
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return read_all(fd, limit, ret);
}

int write_all(int fd, const void *data, size_t len)
{
        const char *p = data;

        while (len > 0) {
                ssize_t n = write(fd, p, len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                p += n;
                len -= (size_t) n;
        }
        return 0;
}

/* A rename is durable only once its folder has been synced. */
static int folder_sync(const char *path)
{
        _cleanup_(freep) char *folder = strdup(path);
        if (!folder)
                return -ENOMEM;
        char *slash = strrchr(folder, '/');
        if (slash)
                slash[slash == folder] = '\0';
        _cleanup_(closep) int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int write_new(const char *path, const void *data, size_t len, mode_t mode)
{
        (void) unlink(path);   /* left over from a write that a crash cut short */
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, data, len);
        if (r < 0)
                return r;
        return fsync(fd) < 0 ? -errno : 0;
}

int file_replace(const char *path, const void *data, size_t len, mode_t mode)
{
        _cleanup_(freep) char *beside = NULL;
        if (asprintf(&beside, "%s.new", path) < 0)
                return -ENOMEM;
        int r = write_new(beside, data, len, mode);
        if (r == 0 && rename(beside, path) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlink(beside);
                return r;
        }
        return folder_sync(path);
}

static int folder_make_one(const char *path, mode_t mode)
{
        struct stat st;

        if (mkdir(path, mode) == 0)
                return 0;
        int error = errno;
        if (stat(path, &st) == 0)   /* EEXIST, but also EROFS and EACCES on what is there already */
                return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
        return -error;
}

int folder_make(const char *path, mode_t mode)
{
        _cleanup_(freep) char *prefix = strdup(path);
        if (!prefix)
                return -ENOMEM;
        for (char *p = prefix + 1; *p; p++) {
                if (*p != '/')
                        continue;
                *p = '\0';
                int r = folder_make_one(prefix, 0755);
                if (r < 0)
                        return r;
                *p = '/';
        }
        return folder_make_one(path, mode);
}

char *path_join(const char *folder, const char *name)
{
        size_t len = strlen(folder);
        char *path = NULL;
        const char *slash = len && folder[len - 1] == '/' ? "" : "/";

        return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

int fd_cloexec(int fd, int on)
{
        return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int fd_nonblock(int fd)
{
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0)
                return -errno;
        return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int random_hex(char *ret, size_t len)
{
        static const char digits[] = "0123456789abcdef";
        unsigned char bytes[64];

        if (len > sizeof(bytes))
                return -EINVAL;
        if (getrandom(bytes, len, 0) != (ssize_t) len)
                return -errno;
        for (size_t i = 0; i < len; i++) {
                ret[2 * i] = digits[bytes[i] >> 4];
                ret[2 * i + 1] = digits[bytes[i] & 15];
        }
        ret[2 * len] = '\0';
        return 0;
}
