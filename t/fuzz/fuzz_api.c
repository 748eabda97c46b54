/* Bytes at the API's socket, through the real server. The input is what one client sends, in pieces that end at
 * byte 0x1e; then it has nothing more to say. The server answers in whole and valid answers, and the connection
 * ends. Ledgers are those of the console's unit tests. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "console/api.h"
#include "console/server.h"
#include "t/unit/console/fake_ledgers.h"
#include "t/unit/console/world.h"

#define PIECE_END 0x1e
#define STUCK_MS  3000

static struct world world;
static struct api *api;
static struct server *server;
static uv_loop_t loop;
static uv_timer_t stuck;

static void on_closed(void *arg)
{
        (void) arg;
}

/* What it leaves behind at the end of the process would be a leak of its own. */
static void server_end(void)
{
        api_cancel(api);
        server_close(server, on_closed, NULL);
        uv_close((uv_handle_t *) &stuck, NULL);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        (void) uv_loop_close(&loop);
        api = api_free(api);
        world_done(&world);
}

static void server_begin(void)
{
        static struct api_options o;

        log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
        fake_sqlite.rows = fake_redis.rows = 5;
        world_init(&world, 2, 3);
        world_master(&world, true, false);
        (void) world_add(&world, ROLE_WORKER, 0, 1, 100);
        (void) world_add(&world, ROLE_WORKER, 1, 1, 100);
        world_listen(&world);
        o = (struct api_options) { &world.config, world.board, "n1", "n1.c.7.5-ab", "b00t" };
        CLAIM(uv_loop_init(&loop) == 0);
        CLAIM(uv_timer_init(&loop, &stuck) == 0);
        CLAIM(api_new(&loop, &o, &api) == 0);
        CLAIM(server_open(&loop, world.listener, api, SERVER_LIMITS, &server) == 0);
        (void) atexit(server_end);
}

static int client_new(void)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CLAIM(fd >= 0);
        (void) snprintf(at.sun_path, sizeof(at.sun_path), "%s", world.socket);
        CLAIM(connect(fd, (struct sockaddr *) &at, sizeof(at)) == 0);
        CLAIM(fd_nonblock(fd) >= 0);
        return fd;
}

/* 0: the server has ended the connection. */
static ssize_t client_read(int fd, struct buf *answers)
{
        char bytes[65536];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n > 0)
                buf_add(answers, bytes, (size_t) n);
        return n < 0 && errno != EAGAIN ? 0 : n;   /* a reset is an end too */
}

static void client_say(int fd, const uint8_t *data, size_t size, struct buf *answers)
{
        while (size > 0) {
                const uint8_t *end = memchr(data, PIECE_END, size);
                size_t len = end ? (size_t) (end - data) : size;
                for (size_t sent = 0; sent < len;) {
                        ssize_t n = send(fd, data + sent, len - sent, MSG_NOSIGNAL);
                        if (n < 0 && errno != EAGAIN)
                                return;
                        sent += n > 0 ? (size_t) n : 0;
                        (void) uv_run(&loop, UV_RUN_NOWAIT);
                        (void) client_read(fd, answers);
                }
                (void) uv_run(&loop, UV_RUN_NOWAIT);
                data += len + (end != NULL);
                size -= len + (end != NULL);
        }
}

/* A turn of the loop, once there is something for it or for the client: uv_run alone would run what is due and
 * then sleep, with the answer already there. */
static void turn(int fd)
{
        struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = uv_backend_fd(&loop), .events = POLLIN } };

        (void) uv_run(&loop, UV_RUN_NOWAIT);
        (void) poll(fds, 2, uv_backend_timeout(&loop));
}

static void on_stuck(uv_timer_t *timer)
{
        (void) timer;
        claim_fails(__FILE__, __LINE__, "a connection without a client ends");
}

static const char *header_of(const char *head, const char *name)
{
        const char *at = strcasestr(head, name);

        return at ? at + strlen(name) : "";
}

/* One answer at the start of `text`; gives back its length. */
static size_t claim_one(const char *text, size_t len)
{
        char head[4096];
        const char *end = memmem(text, len, "\r\n\r\n", 4);

        CLAIM(end != NULL && (size_t) (end - text) < sizeof(head));
        size_t body = (size_t) (end + 4 - text);
        memcpy(head, text, body - 4);
        head[body - 4] = '\0';
        CLAIM(strncmp(head, "HTTP/1.", 7) == 0);
        int status = atoi(head + 9);
        CLAIM(status >= 100 && status < 600);
        if (body == len || strncmp(text + body, "HTTP/1.", 7) == 0)
                return body;   /* of HEAD, or there is none */
        size_t body_len = strtoul(header_of(head, "Content-Length: "), NULL, 10);
        CLAIM(body + body_len <= len);
        if (strncmp(header_of(head, "Content-Type: "), "application/", 12) == 0 &&
            !strstr(header_of(head, "Content-Type: "), "openmetrics")) {
                json_t *json = json_loadb(text + body, body_len, 0, NULL);
                CLAIM(json != NULL);
                json_decref(json);
        }
        return body + body_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct buf answers = BUF_EMPTY;

        if (!server)
                server_begin();
        int fd = client_new();
        client_say(fd, data, size, &answers);
        (void) shutdown(fd, SHUT_WR);
        (void) uv_timer_start(&stuck, on_stuck, STUCK_MS, 0);
        for (ssize_t n; (n = client_read(fd, &answers)) != 0;)
                if (n < 0)
                        turn(fd);
        (void) uv_timer_stop(&stuck);
        (void) close(fd);
        CLAIM(!answers.failed);
        for (size_t at = 0; at < answers.len;)
                at += claim_one(answers.data + at, answers.len - at);
        buf_done(&answers);
        return 0;
}
