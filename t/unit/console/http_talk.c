#include "t/unit/console/http_talk.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buf.h"

int talk_open(const char *path)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void) snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
        if (fd >= 0 && connect(fd, (struct sockaddr *) &at, sizeof(at)) < 0) {
                (void) close(fd);
                return -1;
        }
        return fd;
}

void talk_say(int fd, const char *text)
{
        size_t len = strlen(text);

        while (len > 0) {
                ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
                if (n <= 0)
                        return;
                text += n;
                len -= (size_t) n;
        }
}

char *talk_hear(int fd, int timeout_ms)
{
        struct buf all = BUF_EMPTY;
        struct pollfd p = { fd, POLLIN, 0 };
        char chunk[65536];

        while (poll(&p, 1, timeout_ms) == 1) {
                ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
                if (n <= 0)
                        break;
                buf_add(&all, chunk, (size_t) n);
        }
        return buf_take(&all);
}

char *talk(const char *path, const char *head)
{
        int fd = talk_open(path);

        if (fd < 0)
                return strdup("");
        talk_say(fd, head);
        talk_say(fd, "Host: onced\r\nConnection: close\r\n\r\n");
        char *answer = talk_hear(fd, 20000);
        (void) close(fd);
        return answer;
}

int talk_status(const char *answer)
{
        int status;

        return sscanf(answer, "HTTP/1.%*d %d", &status) == 1 ? status : -1;
}

const char *talk_body(const char *answer)
{
        const char *body = strstr(answer, "\r\n\r\n");

        return body ? body + 4 : "";
}
