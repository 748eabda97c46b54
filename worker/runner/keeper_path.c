/* Looks for onced-keeper: a copied or uninstalled build must use its own, never another version's. */
#include "worker/runner/keeper_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int try_path(const char *folder, const char *name, char *ret, size_t room)
{
        char path[PATH_MAX + 64];
        int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

        if (n < 0 || (size_t) n >= sizeof(path))
                return -ENAMETOOLONG;
        if (access(path, X_OK) < 0)
                return -ENOENT;
        if ((size_t) n >= room)
                return -ENAMETOOLONG;
        memcpy(ret, path, (size_t) n + 1);
        return 0;
}

int keeper_find(char *ret, size_t room)
{
        static const char *const beside[] = { "onced-keeper", "keeper/onced-keeper" };
        char self[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n > 0) {
                self[n] = '\0';
                char *slash = strrchr(self, '/');
                if (slash)
                        *slash = '\0';
                for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
                        int r = try_path(self, beside[i], ret, room);
                        if (r != -ENOENT)
                                return r;
                }
        }
        return try_path(ONCED_LIBEXECDIR, "onced-keeper", ret, room);
}
