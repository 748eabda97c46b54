/* The library's own epoll descriptor is one more descriptor of the loop; its timeouts are one timer. A request
 * that must wait is suspended, and taken up again when its answer is there. */
#include "console/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "console/api.h"

/* No request here has a body that means anything; a client that sends more than this is cut off. */
#define BODY_MAX 65536

/* Turns of the library in which answers that are ready still go out when the server closes. */
#define LAST_TURNS 4

/* At its limit the library stops listening, and listens again only at the turn after one in which connections
 * have ended: with nobody left to speak that turn would never come. So a crowded server gets turns by the clock. */
#define CROWD_TURN_MS 20

struct server {
        struct MHD_Daemon *daemon;
        struct api *api;             /* borrowed */
        struct server_limits limits;
        uv_poll_t poll;
        uv_timer_t timer;
        unsigned open_handles;
        void (*closed)(void *arg);
        void *closed_arg;
};

/* One request, from its headers to the end of its answer. */
struct exchange {
        struct server *server;
        struct MHD_Connection *connection;
        struct answer answer;
        size_t body;
        bool asked;                  /* the api has it */
};

static void on_timeout(uv_timer_t *timer);

static bool is_crowded(const struct server *s)
{
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

        return info && info->num_connections >= s->limits.connections / 2;
}

static void server_run(struct server *s)
{
        MHD_UNSIGNED_LONG_LONG ms;
        bool crowded = is_crowded(s);

        (void) MHD_run(s->daemon);
        crowded |= is_crowded(s);
        bool timed = MHD_get_timeout(s->daemon, &ms) == MHD_YES;
        if (crowded && (!timed || ms > CROWD_TURN_MS)) {
                timed = true;
                ms = CROWD_TURN_MS;
        }
        if (timed)
                (void) uv_timer_start(&s->timer, on_timeout, ms, 0);
        else
                (void) uv_timer_stop(&s->timer);
}

static void on_timeout(uv_timer_t *timer)
{
        server_run(timer->data);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
        (void) status;
        (void) events;
        server_run(poll->data);
}

/* Every call that is not a mere reading is a line in the log, with who made it. */
static void audit(const struct exchange *x, const char *method, const char *path)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct ucred peer = { .pid = 0, .uid = (uid_t) -1, .gid = (gid_t) -1 };
        struct buf quoted = BUF_EMPTY;
        socklen_t len = sizeof(peer);

        if (info)
                (void) getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
        buf_json(&quoted, method, strnlen(method, 20));
        buf_char(&quoted, ' ');
        buf_json(&quoted, path, strnlen(path, 200));
        log_info("api: %s by uid %d gid %d pid %d: %u", quoted.failed ? "?" : quoted.data, (int) peer.uid,
                 (int) peer.gid, (int) peer.pid, x->answer.status);
        buf_done(&quoted);
}

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
        if (value)
                (void) MHD_add_response_header(r, name, value);
}

static enum MHD_Result reply(struct exchange *x)
{
        struct answer *a = &x->answer;
        char retry[16];

        struct MHD_Response *r = MHD_create_response_from_buffer(a->len, a->body, MHD_RESPMEM_MUST_FREE);
        if (!r)
                return MHD_NO;
        a->body = NULL;   /* the response has it */
        add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
        add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        add_header(r, "X-Content-Type-Options", "nosniff");
        add_header(r, MHD_HTTP_HEADER_ALLOW, a->allow);
        if (a->retry_after_s) {
                (void) snprintf(retry, sizeof(retry), "%u", a->retry_after_s);
                add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, retry);
        }
        enum MHD_Result queued = MHD_queue_response(x->connection, a->status, r);
        MHD_destroy_response(r);
        return queued;
}

/* The api has filled the answer: the library asks for it at its next turn. It is given one right away, since
 * resuming was seen not to show on the epoll descriptor of version 0.9.75. */
static void on_answered(void *arg)
{
        struct exchange *x = arg;

        MHD_resume_connection(x->connection);
        (void) uv_timer_start(&x->server->timer, on_timeout, 0, 0);
}

static enum MHD_Result on_parameter(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct api_request *rq = arg;

        (void) kind;
        if (rq->parameter_count < API_PARAMETERS_MAX)
                rq->parameters[rq->parameter_count] = (struct api_parameter) { name, value ? value : "" };
        return ++rq->parameter_count > API_PARAMETERS_MAX ? MHD_NO : MHD_YES;
}

static enum MHD_Result ask(struct exchange *x, const char *path, const char *method)
{
        struct api_request rq = {
                .method = method,
                .path = path,
                .accept = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
        };
        bool reading = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

        (void) MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, on_parameter, &rq);
        x->asked = true;
        bool answered = api_answer(x->server->api, &rq, &x->answer, on_answered, x);
        if (!reading)
                audit(x, method, path);
        if (answered)
                return reply(x);
        MHD_suspend_connection(x->connection);
        return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *data, size_t *len, void **slot)
{
        struct exchange *x = *slot;

        (void) version;
        (void) data;
        if (!x) {
                x = calloc(1, sizeof(*x));
                if (!x)
                        return MHD_NO;
                x->server = arg;
                x->connection = connection;
                *slot = x;
                return MHD_YES;   /* headers alone so far */
        }
        if (*len) {
                x->body += *len;
                *len = 0;
                return x->body > BODY_MAX ? MHD_NO : MHD_YES;
        }
        return x->asked ? reply(x) : ask(x, path, method);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode why)
{
        struct exchange *x = *slot;

        (void) arg;
        (void) connection;
        (void) why;
        if (!x)
                return;
        answer_done(&x->answer);
        free(x);
        *slot = NULL;
}

static int daemon_start(struct server *s, int listener)
{
        s->daemon = MHD_start_daemon(
                MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
                MHD_OPTION_LISTEN_SOCKET, (MHD_socket) listener,
                MHD_OPTION_CONNECTION_LIMIT, s->limits.connections,
                MHD_OPTION_CONNECTION_TIMEOUT, s->limits.idle_s,
                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) SERVER_MEMORY,
                MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
                MHD_OPTION_END);
        return s->daemon ? 0 : -EIO;
}

static void on_handle_closed(uv_handle_t *h)
{
        struct server *s = h->data;

        if (--s->open_handles > 0)
                return;
        void (*closed)(void *) = s->closed;
        void *arg = s->closed_arg;
        free(s);
        closed(arg);
}

static int watch(uv_loop_t *loop, struct server *s)
{
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);

        if (!info || info->epoll_fd < 0)
                return -EIO;
        /* Neither fails on a descriptor of epoll: nothing half open is left behind here. */
        int r = uv_poll_init(loop, &s->poll, info->epoll_fd);
        if (r < 0)
                return r;
        (void) uv_timer_init(loop, &s->timer);
        s->poll.data = s->timer.data = s;
        s->open_handles = 2;
        return uv_poll_start(&s->poll, UV_READABLE, on_event);
}

int server_open(uv_loop_t *loop, int listener, struct api *api, struct server_limits limits, struct server **ret)
{
        struct server *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->api = api;
        s->limits = limits;
        /* Several processes may stand at one listener, one after the other: accepting must not wait. */
        r = fd_nonblock(listener);
        if (r >= 0)
                r = daemon_start(s, listener);
        if (r >= 0)
                r = watch(loop, s);
        if (r < 0) {
                if (s->daemon) {
                        (void) MHD_quiesce_daemon(s->daemon);
                        MHD_stop_daemon(s->daemon);
                }
                free(s);
                return r;
        }
        server_run(s);
        *ret = s;
        return 0;
}

void server_close(struct server *s, void (*closed)(void *arg), void *arg)
{
        s->closed = closed;
        s->closed_arg = arg;
        (void) uv_poll_stop(&s->poll);
        for (int i = 0; i < LAST_TURNS; i++)
                (void) MHD_run(s->daemon);
        /* Without this the library would shut the socket down, for the master and the next console too. */
        (void) MHD_quiesce_daemon(s->daemon);
        MHD_stop_daemon(s->daemon);
        uv_close((uv_handle_t *) &s->poll, on_handle_closed);
        uv_close((uv_handle_t *) &s->timer, on_handle_closed);
}
