/* One buffer a file, four lines of the longest kind. */
#include "cli/prove/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/prove/scan.h"

#define BUFFER (4 * SCAN_LINE_MAX)

int reader_open(struct reader *r, const char *path, int64_t size)
{
        *r = READER_NONE;
        r->buffer = malloc(BUFFER);
        if (!r->buffer)
                return -ENOMEM;
        r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (r->fd < 0) {
                int error = -errno;
                reader_close(r);
                return error;
        }
        r->left = size;
        return 0;
}

void reader_close(struct reader *r)
{
        if (r->fd >= 0)
                (void) close(r->fd);
        free(r->buffer);
        *r = READER_NONE;
}

static int fill(struct reader *r)
{
        if (r->start > 0) {
                memmove(r->buffer, r->buffer + r->start, r->end - r->start);
                r->end -= r->start;
                r->start = 0;
        }
        size_t room = BUFFER - r->end;
        if ((int64_t) room > r->left)
                room = (size_t) r->left;
        ssize_t n;
        do
                n = read(r->fd, r->buffer + r->end, room);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        r->left = n == 0 ? 0 : r->left - n;
        r->end += (size_t) n;
        return 0;
}

int reader_line(struct reader *r, const char **ret_line, size_t *ret_len, bool *ret_whole)
{
        for (;;) {
                char *at = r->buffer + r->start;
                size_t have = r->end - r->start;
                char *newline = have ? memchr(at, '\n', have) : NULL;

                if (newline) {
                        bool rest = r->too_long;
                        r->start += (size_t) (newline + 1 - at);
                        r->too_long = false;
                        if (rest)
                                continue;
                        *ret_line = at;
                        *ret_len = (size_t) (newline - at);
                        *ret_whole = *ret_len <= SCAN_LINE_MAX;
                        return 1;
                }
                if (have > SCAN_LINE_MAX || r->left == 0) {
                        bool rest = r->too_long;
                        r->start = r->end;
                        if (have == 0 || (rest && r->left == 0))
                                return 0;
                        r->too_long = r->left > 0;
                        if (rest)
                                continue;
                        *ret_line = at;
                        *ret_len = have;
                        *ret_whole = false;
                        return 1;
                }
                int e = fill(r);
                if (e < 0)
                        return e;
        }
}
