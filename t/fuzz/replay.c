/* A fuzz target without a fuzzer: runs every file of a folder, so that what once failed is a test of every build.
 * No inputs is a failure. */
#include "t/fuzz/target.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define INPUT_MAX (1 << 20)

static int replay(const char *folder, const char *name)
{
        _cleanup_(buf_done) struct buf input = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(folder, name);

        if (!path)
                return -1;
        (void) fprintf(stderr, "%s\n", path);
        if (file_read(path, INPUT_MAX, &input) < 0)
                return -1;
        return LLVMFuzzerTestOneInput((const uint8_t *) (input.data ? input.data : ""), input.len);
}

int main(int argc, char **argv)
{
        unsigned count = 0, failed = 0;
        const struct dirent *d;

        DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
        if (!folder) {
                (void) fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
                return 64;
        }
        while ((d = readdir(folder))) {
                if (d->d_name[0] == '.')
                        continue;
                count++;
                if (replay(argv[1], d->d_name) < 0) {
                        (void) fprintf(stderr, "%s: cannot be replayed\n", d->d_name);
                        failed++;
                }
        }
        (void) closedir(folder);
        return count > 0 && failed == 0 ? 0 : 1;
}
