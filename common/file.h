/* Small file work that refuses surprises: sizes are limited, links are not followed, every descriptor is
 * close-on-exec. All return 0 or more, or -errno; nothing logs. */
#ifndef ONCED_FILE_H
#define ONCED_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct buf;

/* Reads all of `path` into `ret` (cleared first). -EFBIG above `limit` bytes; -EINVAL: no regular file. */
int file_read(const char *path, size_t limit, struct buf *ret);

/* As file_read, for /proc and /sys files whose size is not known beforehand. */
int file_read_proc(const char *path, size_t limit, struct buf *ret);

/* Replaces `path` whole and durably: written beside it, fsynced, renamed, folder fsynced. */
int file_replace(const char *path, const void *data, size_t len, mode_t mode);

/* Writes all of it; short writes are continued, EINTR repeated. */
int write_all(int fd, const void *data, size_t len);

/* Makes `path` a folder with `mode`, parents included (0755). Fine if it is there already. */
int folder_make(const char *path, mode_t mode);

/* "a/b" allocated; NULL without memory. */
char *path_join(const char *folder, const char *name);

int fd_cloexec(int fd, int on);
int fd_nonblock(int fd);

/* `len` random bytes as 2*len lower-case hex digits and a NUL. */
int random_hex(char *ret, size_t len);

#endif
