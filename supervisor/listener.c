/* Binding the API's socket with nothing but socket, bind and listen: a loop's own pipe handle would unlink the
 * path when an inherited copy of it is closed in a child. */
#include "supervisor/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"

#define BACKLOG 128
#define LISTEN_FDS_START 3   /* sd_listen_fds(3) */

/* The first descriptor passed by the service manager, -1 none. The variables are not for our children. */
static int passed_fd(void)
{
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
        bool ours = pid && count && strtol(pid, NULL, 10) == getpid() && strtol(count, NULL, 10) >= 1;

        (void) unsetenv("LISTEN_PID");
        (void) unsetenv("LISTEN_FDS");
        (void) unsetenv("LISTEN_FDNAMES");
        return ours ? LISTEN_FDS_START : -1;
}

static int passed_check(int fd)
{
        int domain = 0, type = 0, listens = 0;
        socklen_t len = sizeof(int);

        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
                return -errno;
        if (domain != AF_UNIX || type != SOCK_STREAM || !listens)
                return -EPROTOTYPE;
        int r = fd_cloexec(fd, 1);
        return r < 0 ? r : fd_nonblock(fd);
}

/* Bound with its final mode from the start: no moment in which others could connect. */
static int bind_with_mode(int fd, const struct sockaddr_un *a, mode_t mode)
{
        mode_t before = umask(0777 & ~mode);
        int r = bind(fd, (const struct sockaddr *) a, sizeof(*a)) < 0 ? -errno : 0;

        (void) umask(before);
        return r;
}

/* The path is taken: 0 when it was a socket without a listener and is gone now. */
static int replace_stale(const struct sockaddr_un *a)
{
        struct stat st;

        if (lstat(a->sun_path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISSOCK(st.st_mode))
                return -ENOTSOCK;
        _cleanup_(closep) int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (probe < 0)
                return -errno;
        if (connect(probe, (const struct sockaddr *) a, sizeof(*a)) == 0 || errno == EAGAIN)
                return -EADDRINUSE;
        if (errno != ECONNREFUSED)
                return -errno;
        return unlink(a->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

static int listener_bind(struct listener *l, const struct sockaddr_un *a, mode_t mode)
{
        struct stat st;
        _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        int r = bind_with_mode(fd, a, mode);
        if (r == -EADDRINUSE) {
                r = replace_stale(a);
                if (r == 0)
                        r = bind_with_mode(fd, a, mode);
        }
        if (r < 0)
                return r;
        if (listen(fd, BACKLOG) < 0 || stat(a->sun_path, &st) < 0) {
                r = -errno;
                (void) unlink(a->sun_path);
                return r;
        }
        l->device = st.st_dev;
        l->inode = st.st_ino;
        (void) snprintf(l->path, sizeof(l->path), "%s", a->sun_path);
        l->fd = TAKE_FD(fd);
        return 0;
}

int listener_open(struct listener *l, const char *run_dir, mode_t mode)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        *l = (struct listener) { .fd = -1 };
        int passed = passed_fd();
        if (passed >= 0) {
                int r = passed_check(passed);
                if (r < 0)
                        return log_error(r, "the socket passed by the service manager is no listening unix socket");
                l->fd = passed;
                return 0;
        }
        int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/onced.sock", run_dir);
        if (n < 0 || (size_t) n >= sizeof(a.sun_path))
                return log_error(-ENAMETOOLONG, "run_dir: %s/onced.sock does not fit the %zu bytes of a socket's name",
                                 run_dir, sizeof(a.sun_path) - 1);
        int r = listener_bind(l, &a, mode);
        if (r < 0)
                return log_error(r, "%s cannot be listened at", a.sun_path);
        return 0;
}

int listener_follow(struct listener *l, const char *run_dir, mode_t mode)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        struct stat st;

        if (!l->path[0])   /* the service manager's, to look after as well */
                return 0;
        if (lstat(l->path, &st) == 0 && st.st_ino == l->inode && st.st_dev == l->device)
                return 0;
        struct listener next = { .fd = -1 };
        (void) snprintf(a.sun_path, sizeof(a.sun_path), "%s", l->path);
        int r = folder_make(run_dir, 0755);
        if (r == 0)
                r = listener_bind(&next, &a, mode);
        if (r < 0)
                return r;
        (void) close(l->fd);
        *l = next;
        return 1;
}

void listener_close(struct listener *l)
{
        struct stat st;

        if (l->fd < 0)
                return;
        if (l->path[0] && lstat(l->path, &st) == 0 && st.st_ino == l->inode && st.st_dev == l->device)
                (void) unlink(l->path);
        (void) close(l->fd);
        l->fd = -1;
}
