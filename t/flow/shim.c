/* Preloaded into a node under test: faults of the system that cannot be made otherwise. The file named by
 * ONCED_FLOW_FAULTS is read at every call that may fail, so that a test switches faults on and off while the node
 * runs. A line a fault: `fdatasync EIO`, `fdatasync 300` (ms), `fork EAGAIN`, `spawn EAGAIN`, `statfs nfs`,
 * `boot <id>`. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NFS_MAGIC 0x6969

static void *next(const char *name)
{
        return dlsym(RTLD_NEXT, name);
}

/* The value of the fault `name`, NULL while it is off. By system calls alone: our own open is one of ours. */
static const char *fault(const char *name, char *room, size_t size)
{
        const char *path = getenv("ONCED_FLOW_FAULTS");
        int before = errno;
        int fd = path ? (int) syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0) {
                errno = before;
                return NULL;
        }
        ssize_t n = read(fd, room, size - 1);
        (void) close(fd);
        room[n > 0 ? n : 0] = '\0';
        errno = before;
        char *save = NULL;
        for (char *line = strtok_r(room, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                char *value = strchr(line, ' ');
                if (!value)
                        continue;
                *value++ = '\0';
                if (strcmp(line, name) == 0)
                        return value;
        }
        return NULL;
}

/* 0, or the errno to fail with. A number is a delay. */
static int due(const char *name)
{
        static const struct { const char *name; int number; } errors[] = {
                { "EIO", EIO }, { "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC },
        };
        char room[512];
        const char *value = fault(name, room, sizeof(room));

        if (!value)
                return 0;
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
                if (strcmp(errors[i].name, value) == 0)
                        return errors[i].number;
        long ms = strtol(value, NULL, 10);
        const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
        (void) nanosleep(&pause, NULL);
        return 0;
}

int fdatasync(int fd)
{
        int error = due("fdatasync");

        if (error) {
                errno = error;
                return -1;
        }
        return (int) syscall(SYS_fdatasync, fd);
}

pid_t fork(void)
{
        static pid_t (*real)(void);
        int error = due("fork");

        if (error) {
                errno = error;
                return -1;
        }
        if (!real)
                *(void **) &real = next("fork");
        return real();
}

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
                const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
        static int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                           char *const *, char *const *);
        int error = due("spawn");

        if (error)
                return error;
        if (!real)
                *(void **) &real = next("posix_spawn");
        return real(pid, path, actions, attributes, argv, envp);
}

int statfs64(const char *path, struct statfs64 *ret)
{
        static int (*real)(const char *, struct statfs64 *);
        char room[512];

        if (!real)
                *(void **) &real = next("statfs64");
        int r = real(path, ret);
        if (r == 0 && fault("statfs", room, sizeof(room)))
                ret->f_type = NFS_MAGIC;
        return r;
}

/* The boot id is a file of the kernel's; another one is a pipe with another text. */
static int boot_id(void)
{
        char room[512];
        const char *id = fault("boot", room, sizeof(room));
        int fds[2];

        if (!id || pipe2(fds, O_CLOEXEC) < 0)
                return -1;
        (void) !write(fds[1], id, strlen(id));
        (void) !write(fds[1], "\n", 1);
        (void) close(fds[1]);
        return fds[0];
}

int open64(const char *path, int flags, ...)
{
        static int (*real)(const char *, int, ...);
        __builtin_va_list ap;

        __builtin_va_start(ap, flags);
        unsigned mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(ap, unsigned) : 0;
        __builtin_va_end(ap);
        if (!real)
                *(void **) &real = next("open64");
        int fd = strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? boot_id() : -1;
        return fd >= 0 ? fd : real(path, flags, mode);
}
