/* The floor for prove: every line's hash over the line and the hash before it, and nothing else.
 * usage: floor_chain FOLDER */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/record/chain.h"

#define BLOCK (1 << 20)

static char block[BLOCK];

/* Hashes whole lines; what is left over is moved to the front. */
static size_t lines_hash(struct chain *c, size_t len, long *wrong)
{
        size_t at = 0;

        for (char *end; (end = memchr(block + at, '\n', len - at)); at = (size_t) (end + 1 - block)) {
                size_t line = (size_t) (end - block) - at;
                if (line < CHAIN_TAIL || chain_next(c, block + at, line - CHAIN_TAIL) < 0 ||
                    memcmp(block + at + line - CHAIN_TAIL + 6, c->h, CHAIN_TEXT - 1) != 0)
                        ++*wrong;
        }
        memmove(block, block + at, len - at);
        return len - at;
}

static int file_check(int folder, const char *name, long *wrong)
{
        int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
        struct chain c;
        size_t left = 0;
        ssize_t n;

        if (fd < 0 || chain_init(&c) < 0)
                return -1;
        while ((n = read(fd, block + left, sizeof(block) - left)) > 0)
                left = lines_hash(&c, left + (size_t) n, wrong);
        chain_done(&c);
        (void) close(fd);
        return n < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
        DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
        struct dirent *d;
        long wrong = 0;

        if (!dir)
                return 64;
        while ((d = readdir(dir)))
                if (d->d_name[0] != '.' && file_check(dirfd(dir), d->d_name, &wrong) < 0)
                        return 74;
        (void) closedir(dir);
        (void) printf("wrong: %ld\n", wrong);
        return wrong > 0;
}
