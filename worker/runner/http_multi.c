/* libcurl on the loop: one poll handle a socket, one timer for all of libcurl's timeouts. */
#include "worker/runner/http_multi.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"

struct http_socket {
        uv_poll_t poll;
        curl_socket_t fd;
        struct http_multi *multi;      /* borrowed: it waits for us at its close */
        struct http_socket *next;
};

struct http_multi {
        CURLM *curl;
        uv_loop_t *loop;               /* borrowed, outlives us: it runs our callbacks */
        uv_timer_t timer;
        struct http_socket *sockets;   /* watched now */
        unsigned open_handles;         /* those of libuv that are not closed yet */
        void (*done)(void *transfer, CURLcode code);
        void (*closed)(void *arg);
        void *closed_arg;
};

static void on_handle_closed(struct http_multi *m)
{
        if (--m->open_handles > 0)
                return;
        void (*closed)(void *) = m->closed;
        void *arg = m->closed_arg;
        free(m);
        if (closed)
                closed(arg);
}

static void on_timer_closed(uv_handle_t *h)
{
        on_handle_closed(container_of(h, struct http_multi, timer));
}

static void on_socket_closed(uv_handle_t *h)
{
        struct http_socket *s = container_of(h, struct http_socket, poll);
        struct http_multi *m = s->multi;

        free(s);
        on_handle_closed(m);
}

static void finished_report(struct http_multi *m)
{
        CURLMsg *message;
        int left;

        while ((message = curl_multi_info_read(m->curl, &left))) {
                void *transfer = NULL;
                if (message->msg != CURLMSG_DONE)
                        continue;
                (void) curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
                m->done(transfer, message->data.result);   /* `message` is void after it */
        }
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
        struct http_socket *s = container_of(poll, struct http_socket, poll);
        struct http_multi *m = s->multi;
        int flags = 0, running;

        if (status < 0)
                flags = CURL_CSELECT_ERR;
        if (events & UV_READABLE)
                flags |= CURL_CSELECT_IN;
        if (events & UV_WRITABLE)
                flags |= CURL_CSELECT_OUT;
        (void) curl_multi_socket_action(m->curl, s->fd, flags, &running);
        finished_report(m);
}

static void on_timer(uv_timer_t *timer)
{
        struct http_multi *m = container_of(timer, struct http_multi, timer);
        int running;

        (void) curl_multi_socket_action(m->curl, CURL_SOCKET_TIMEOUT, 0, &running);
        finished_report(m);
}

static struct http_socket *socket_watch(struct http_multi *m, curl_socket_t fd)
{
        struct http_socket *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        if (uv_poll_init_socket(m->loop, &s->poll, fd) < 0) {
                free(s);
                return NULL;
        }
        s->fd = fd;
        s->multi = m;
        s->next = m->sockets;
        m->sockets = s;
        m->open_handles++;
        return s;
}

/* uv_close takes the descriptor out of epoll before it returns, so the caller may close it after. */
static void socket_unwatch(struct http_multi *m, curl_socket_t fd)
{
        for (struct http_socket **link = &m->sockets; *link; link = &(*link)->next)
                if ((*link)->fd == fd) {
                        struct http_socket *s = *link;
                        *link = s->next;
                        uv_close((uv_handle_t *) &s->poll, on_socket_closed);
                        return;
                }
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *watched)
{
        struct http_multi *m = arg;
        struct http_socket *s = watched;
        int events = 0;

        (void) easy;
        if (what == CURL_POLL_REMOVE) {
                socket_unwatch(m, fd);
                (void) curl_multi_assign(m->curl, fd, NULL);
                return 0;
        }
        if (!s) {
                s = socket_watch(m, fd);
                if (!s)
                        return -1;
                (void) curl_multi_assign(m->curl, fd, s);
        }
        if (what & CURL_POLL_IN)
                events |= UV_READABLE;
        if (what & CURL_POLL_OUT)
                events |= UV_WRITABLE;
        return uv_poll_start(&s->poll, events, on_socket) < 0 ? -1 : 0;
}

static int on_curl_timer(CURLM *curl, long timeout_ms, void *arg)
{
        struct http_multi *m = arg;

        (void) curl;
        if (timeout_ms < 0)
                (void) uv_timer_stop(&m->timer);
        else
                (void) uv_timer_start(&m->timer, on_timer, (uint64_t) timeout_ms, 0);
        return 0;
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
        (void) arg;
        (void) purpose;
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl has been seen to close a socket before it said REMOVE: the watch ends here in any case, or the
 * number's next user would be watched in its place. */
static int on_close(void *arg, curl_socket_t fd)
{
        socket_unwatch(arg, fd);
        return close(fd);
}

int http_multi_open(uv_loop_t *loop, unsigned connections, void (*done)(void *transfer, CURLcode code),
                    struct http_multi **ret)
{
        struct http_multi *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        m->curl = curl_multi_init();
        if (!m->curl) {
                free(m);
                return -ENOMEM;
        }

        /* libcurl's own wake-up pair is inheritable; whatever is above 2 in this process must not be. */
        (void) close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
        m->loop = loop;
        m->done = done;
        (void) uv_timer_init(loop, &m->timer);
        m->open_handles = 1;
        (void) curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
        (void) curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
        (void) curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_curl_timer);
        (void) curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
        (void) curl_multi_setopt(m->curl, CURLMOPT_MAXCONNECTS, (long) connections);
        (void) curl_multi_setopt(m->curl, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
        *ret = m;
        return 0;
}

int http_multi_prepare(struct http_multi *m, CURL *easy)
{
        if (curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, m) != CURLE_OK)
                return -EIO;
        return 0;
}

int http_multi_add(struct http_multi *m, CURL *easy)
{
        CURLMcode code = curl_multi_add_handle(m->curl, easy);

        return code == CURLM_OK ? 0 : code == CURLM_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void http_multi_remove(struct http_multi *m, CURL *easy)
{
        (void) curl_multi_remove_handle(m->curl, easy);
}

void http_multi_close(struct http_multi *m, void (*closed)(void *arg), void *arg)
{
        m->closed = closed;
        m->closed_arg = arg;
        (void) curl_multi_cleanup(m->curl);
        while (m->sockets)
                socket_unwatch(m, m->sockets->fd);
        uv_close((uv_handle_t *) &m->timer, on_timer_closed);
}
