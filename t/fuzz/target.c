/* See target.h. The folder lies in /dev/shm: an input costs a file or more, thousands of times a second. */
#include "t/fuzz/target.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"

static char folder[64];

void claim_fails(const char *file, int line, const char *claim)
{
        (void) fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
        abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void) st;
        (void) type;
        (void) ftw;
        return remove(path);
}

static void folder_remove(void)
{
        (void) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
        const char *place = getenv("ONCED_FUZZ_TMP");

        if (*folder)
                return folder;
        if (!place)
                place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        (void) snprintf(folder, sizeof(folder), "%s/onced-fuzz-XXXXXX", place);
        CLAIM(mkdtemp(folder) != NULL);
        (void) atexit(folder_remove);
        return folder;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
        static char path[256];

        (void) snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CLAIM(fd >= 0);
        CLAIM(write_all(fd, data, size) == 0);
        (void) close(fd);
        return path;
}

void claim_text(const char *text, size_t room)
{
        size_t len = strnlen(text, room);

        CLAIM(len < room);
        for (size_t i = 0; i < len; i++)
                CLAIM(text[i] >= 0x20 && text[i] <= 0x7e);
}
