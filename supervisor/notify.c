/* The notify protocols: one datagram, or one newline. */
#include "supervisor/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "common/cleanup.h"

static void send_text(const char *text)
{
#ifdef HAVE_SYSTEMD
        (void) sd_notify(0, text);
#else
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        size_t len = path ? strlen(path) : 0;

        if (len < 2 || len >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(a.sun_path, path, len);
        if (path[0] == '@')   /* the abstract name space */
                a.sun_path[0] = 0;
        _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return;
        (void) sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *) &a,
                      (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len));
#endif
}

void notify_manager(const char *format, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        send_text(text);
}

int64_t notify_watchdog_ms(void)
{
        const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

        if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
                return 0;
        long long us = strtoll(usec, NULL, 10);
        if (us <= 0)
                return 0;
        return us / 2000 > 0 ? us / 2000 : 1;
}

void notify_fd_ready(int fd)
{
        if (fd < 0)
                return;
        /* SIGPIPE is ignored; a reader that went away has its reasons. */
        if (write(fd, "\n", 1) < 0) {
        }
        (void) close(fd);
}
