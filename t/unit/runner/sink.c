/* The server of the http tests. */
#include "t/unit/runner/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <netinet/in.h>

#include "common/cleanup.h"
#include "t/unit/cases.h"
#include "t/unit/runner/trial.h"

struct sink_write {
        uv_write_t request;
        struct sink_connection *connection;
        bool again;
        size_t len;
        char bytes[];
};

static void on_connection_closed(uv_handle_t *h)
{
        struct sink_connection *c = h->data;

        if (--c->open_handles > 0)
                return;
        for (struct sink_connection **link = &c->sink->first; *link; link = &(*link)->next)
                if (*link == c) {
                        *link = c->next;
                        break;
                }
        free(c);
}

void sink_hang_up(struct sink_connection *c)
{
        if (c->closing)
                return;
        c->closing = true;
        uv_close((uv_handle_t *) &c->tcp, on_connection_closed);
        uv_close((uv_handle_t *) &c->drip, on_connection_closed);
}

static void write_begin(struct sink_connection *c, const char *text, size_t len, bool again);

static void on_written(uv_write_t *request, int status)
{
        struct sink_write *w = container_of(request, struct sink_write, request);
        struct sink_connection *c = w->connection;

        if (status < 0)
                sink_hang_up(c);
        else if (w->again && !c->closing)
                write_begin(c, w->bytes, w->len, true);
        free(w);
}

static void write_begin(struct sink_connection *c, const char *text, size_t len, bool again)
{
        struct sink_write *w = malloc(sizeof(*w) + len);

        assert_non_null(w);
        w->connection = c;
        w->again = again;
        w->len = len;
        memcpy(w->bytes, text, len);
        uv_buf_t piece = uv_buf_init(w->bytes, (unsigned) len);
        assert_int_equal(uv_write(&w->request, (uv_stream_t *) &c->tcp, &piece, 1, on_written), 0);
}

void sink_say(struct sink_connection *c, const char *text, size_t len)
{
        write_begin(c, text, len, false);
}

void sink_text(struct sink_connection *c, const char *text)
{
        sink_say(c, text, strlen(text));
}

void sink_flood(struct sink_connection *c, const char *text)
{
        write_begin(c, text, strlen(text), true);
}

static void on_drip(uv_timer_t *timer)
{
        struct sink_connection *c = container_of(timer, struct sink_connection, drip);

        sink_text(c, c->drip_text);
}

void sink_drip(struct sink_connection *c, const char *text)
{
        c->drip_text = text;
        (void) uv_timer_start(&c->drip, on_drip, 0, 20);
}

/* Length of the request at the front, body included; 0: it is not whole. */
static size_t request_length(struct sink_connection *c)
{
        c->request[c->len] = '\0';
        const char *end = strstr(c->request, "\r\n\r\n");
        if (!end)
                return 0;
        size_t len = (size_t) (end + 4 - c->request);
        const char *body = strcasestr(c->request, "\r\nContent-Length:");
        if (body && body < end)
                len += strtoul(body + 17, NULL, 10);
        return len <= c->len ? len : 0;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *piece)
{
        struct sink_connection *c = stream->data;
        size_t len;

        if (n < 0) {
                sink_hang_up(c);
                return;
        }
        (void) piece;
        c->len += (size_t) n;
        while (!c->closing && (len = request_length(c)) > 0) {
                memcpy(c->sink->last, c->request, len);
                c->sink->last[len] = '\0';
                memmove(c->request, c->request + len, c->len - len);
                c->len -= len;
                c->requests++;
                c->sink->requests++;
                c->sink->answer(c);
        }
}

static void on_room(uv_handle_t *h, size_t wanted, uv_buf_t *ret)
{
        struct sink_connection *c = h->data;

        (void) wanted;
        *ret = uv_buf_init(c->request + c->len, (unsigned) (sizeof(c->request) - 1 - c->len));
}

static void on_connection(uv_stream_t *server, int status)
{
        struct sink *s = container_of(server, struct sink, server);
        struct sink_connection *c = calloc(1, sizeof(*c));

        assert_int_equal(status, 0);
        assert_non_null(c);
        c->sink = s;
        c->open_handles = 2;
        c->next = s->first;
        s->first = c;
        s->connections++;
        assert_int_equal(uv_tcp_init(s->loop, &c->tcp), 0);
        assert_int_equal(uv_timer_init(s->loop, &c->drip), 0);
        c->tcp.data = c->drip.data = c;
        assert_int_equal(uv_accept(server, (uv_stream_t *) &c->tcp), 0);
        assert_int_equal(uv_read_start((uv_stream_t *) &c->tcp, on_room, on_read), 0);
}

void sink_open(struct sink *s, uv_loop_t *loop, void (*answer)(struct sink_connection *c))
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int len = sizeof(address);

        *s = (struct sink) { .loop = loop, .answer = answer };
        assert_int_equal(uv_tcp_init(loop, &s->server), 0);
        assert_int_equal(uv_tcp_bind(&s->server, (struct sockaddr *) &address, 0), 0);
        assert_int_equal(uv_listen((uv_stream_t *) &s->server, 64, on_connection), 0);
        assert_int_equal(uv_tcp_getsockname(&s->server, (struct sockaddr *) &address, &len), 0);
        s->port = ntohs(address.sin_port);
}

static void on_server_closed(uv_handle_t *h)
{
        struct sink *s = container_of(h, struct sink, server);

        s->closed = true;
}

static bool is_closed(void *arg)
{
        const struct sink *s = arg;

        return s->closed && !s->first;
}

void sink_close(struct sink *s)
{
        uv_close((uv_handle_t *) &s->server, on_server_closed);
        for (struct sink_connection *c = s->first; c; c = c->next)
                sink_hang_up(c);
        loop_until(s->loop, is_closed, s);
}

const char *sink_header(const struct sink *s, const char *name)
{
        static char value[4096];
        size_t len = strlen(name);

        for (const char *line = strstr(s->last, "\r\n"); line && strncmp(line, "\r\n\r\n", 4) != 0;
             line = strstr(line + 2, "\r\n"))
                if (strncasecmp(line + 2, name, len) == 0 && line[2 + len] == ':') {
                        const char *from = line + 2 + len + 1;
                        from += strspn(from, " ");
                        (void) snprintf(value, sizeof(value), "%.*s", (int) strcspn(from, "\r"), from);
                        return value;
                }
        return "";
}
