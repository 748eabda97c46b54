/* Two sockets a client; each side reads into memory and writes to the other. */
#include "t/unit/ledger/redis_cut.h"

#include "t/unit/cases.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX 65536

struct cut_pair {
        struct cut_pair *next;
        struct redis_cut *cut;
        uv_tcp_t client, server;
        uv_connect_t connect;
        bool client_gone, server_gone;
        char held[HELD_MAX];
        size_t held_len;
};

struct write {
        uv_write_t request;
        char bytes[HELD_MAX];
};

static void on_closed(uv_handle_t *h)
{
        struct redis_cut *c = h->data;

        c->open_handles--;
}

static void on_pair_closed(uv_handle_t *h)
{
        struct cut_pair *p = h->data;

        p->cut->open_handles--;
}

static void end_client(struct cut_pair *p)
{
        if (!p->client_gone)
                uv_close((uv_handle_t *) &p->client, on_pair_closed);
        p->client_gone = true;
}

static void end_server(struct cut_pair *p)
{
        if (!p->server_gone)
                uv_close((uv_handle_t *) &p->server, on_pair_closed);
        p->server_gone = true;
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
        static char bytes[HELD_MAX];

        (void) h;
        (void) size;
        *buf = uv_buf_init(bytes, sizeof(bytes));
}

static void on_written(uv_write_t *request, int status)
{
        (void) status;
        free(request);
}

static void pass_on(uv_tcp_t *to, const char *bytes, size_t len)
{
        struct write *w = malloc(sizeof(*w));

        assert_non_null(w);
        assert_true(len <= sizeof(w->bytes));
        memcpy(w->bytes, bytes, len);
        uv_buf_t buf = uv_buf_init(w->bytes, (unsigned) len);
        if (uv_write(&w->request, (uv_stream_t *) to, &buf, 1, on_written) < 0)
                free(w);
}

static void on_client_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
        struct cut_pair *p = s->data;

        if (n < 0) {
                end_client(p);
                if (p->held_len == 0)
                        end_server(p);
        } else if (p->cut->hold_requests && n > 0) {
                assert_true(p->held_len + (size_t) n <= sizeof(p->held));
                memcpy(p->held + p->held_len, buf->base, (size_t) n);
                p->held_len += (size_t) n;
        } else if (n > 0) {
                pass_on(&p->server, buf->base, (size_t) n);
                if (p->cut->cut_on_request)
                        end_client(p);
        }
}

static void on_server_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
        struct cut_pair *p = s->data;

        if (n < 0) {
                end_server(p);
                end_client(p);
        } else if (n > 0 && !p->cut->lose_replies && !p->client_gone)
                pass_on(&p->client, buf->base, (size_t) n);
}

static void on_connected(uv_connect_t *connect, int status)
{
        struct cut_pair *p = connect->data;

        if (status < 0) {
                end_server(p);
                end_client(p);
                return;
        }
        (void) uv_read_start((uv_stream_t *) &p->server, on_alloc, on_server_read);
        (void) uv_read_start((uv_stream_t *) &p->client, on_alloc, on_client_read);
}

static void on_client(uv_stream_t *listener, int status)
{
        struct redis_cut *c = listener->data;
        struct cut_pair *p = calloc(1, sizeof(*p));
        struct sockaddr_in to;

        assert_int_equal(status, 0);
        assert_non_null(p);
        p->cut = c;
        p->next = c->pairs;
        c->pairs = p;
        (void) uv_tcp_init(listener->loop, &p->client);
        (void) uv_tcp_init(listener->loop, &p->server);
        c->open_handles += 2;
        p->client.data = p->server.data = p->connect.data = p;
        assert_int_equal(uv_accept(listener, (uv_stream_t *) &p->client), 0);
        (void) uv_ip4_addr("127.0.0.1", (int) c->to_port, &to);
        assert_int_equal(uv_tcp_connect(&p->connect, &p->server, (struct sockaddr *) &to, on_connected), 0);
}

void redis_cut_start(struct redis_cut *c, uv_loop_t *loop, unsigned to_port)
{
        struct sockaddr_in at;
        int len = sizeof(at);

        *c = (struct redis_cut) { .to_port = to_port, .open_handles = 1 };
        (void) uv_tcp_init(loop, &c->listener);
        c->listener.data = c;
        (void) uv_ip4_addr("127.0.0.1", 0, &at);
        assert_int_equal(uv_tcp_bind(&c->listener, (struct sockaddr *) &at, 0), 0);
        assert_int_equal(uv_listen((uv_stream_t *) &c->listener, 16, on_client), 0);
        assert_int_equal(uv_tcp_getsockname(&c->listener, (struct sockaddr *) &at, &len), 0);
        c->port = ntohs(at.sin_port);
        (void) snprintf(c->url, sizeof(c->url), "redis://127.0.0.1:%u/0", c->port);
}

void redis_cut_release(struct redis_cut *c)
{
        c->hold_requests = false;
        for (struct cut_pair *p = c->pairs; p; p = p->next) {
                if (p->held_len > 0 && !p->server_gone)
                        pass_on(&p->server, p->held, p->held_len);
                p->held_len = 0;
        }
}

void redis_cut_stop(struct redis_cut *c, uv_loop_t *loop)
{
        uv_close((uv_handle_t *) &c->listener, on_closed);
        for (struct cut_pair *p = c->pairs; p; p = p->next) {
                end_client(p);
                end_server(p);
        }
        while (c->open_handles > 0)
                (void) uv_run(loop, UV_RUN_ONCE);
        while (c->pairs) {
                struct cut_pair *p = c->pairs;
                c->pairs = p->next;
                free(p);
        }
}
