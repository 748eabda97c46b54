/* The console from its birth to its end: one loop with the server, the channel to the master and a beat.
 * It holds nothing that matters: killed at any moment, its successor goes on at the same socket. */
#include "console/console.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "common/channel/channel.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "console/api.h"
#include "console/server.h"

/* Messages taken per wake-up: beating must not wait for a master that talks much. */
#define MESSAGES_MAX 16

/* After this long the end does not wait for a ledger that hangs. */
#define END_MS 2000

struct console {
        const struct birth *birth;
        uv_loop_t loop;
        uv_poll_t channel;
        uv_timer_t beat, ending;
        struct board_place *place;
        struct triglog *triglog;      /* NULL: could not be opened; the console runs without */
        struct api *api;
        struct server *server;
        int log_fd;                   /* owned; -1: the one inherited */
        struct mono beat_due;
        int64_t beat_ms;
        bool ends, given_up;
};

static void on_closed_nothing(void *arg)
{
        (void) arg;
}

/* Ends what hangs longer than it may: the process goes away next, and takes it along. */
static void on_ending(uv_timer_t *timer)
{
        struct console *c = timer->data;

        c->given_up = true;
        uv_stop(&c->loop);
}

static void console_end(struct console *c, const char *reason)
{
        if (c->ends)
                return;
        c->ends = true;
        log_debug("ending: %s", reason);
        if (c->triglog)
                triglog_stop(c->triglog, reason, NULL);
        api_cancel(c->api);
        server_close(TAKE(c->server), on_closed_nothing, NULL);
        uv_close((uv_handle_t *) &c->channel, NULL);
        uv_close((uv_handle_t *) &c->beat, NULL);
        (void) uv_timer_start(&c->ending, on_ending, END_MS, 0);
        uv_unref((uv_handle_t *) &c->ending);
}

static void reopen(struct console *c, int fd)
{
        int r = c->triglog ? triglog_rotate(c->triglog) : 0;

        if (r < 0)
                log_warning(r, "trigger log: going on with the next file");
        if (fd < 0)
                return;
        (void) log_use_fd(fd);
        closep(&c->log_fd);
        c->log_fd = fd;
}

static void on_message(struct console *c, const struct message *m, int fd)
{
        switch (m->type) {
        case MESSAGE_DRAIN:
                console_end(c, "drain");
                break;
        case MESSAGE_STOP:
                console_end(c, "stop");
                break;
        case MESSAGE_REOPEN:
                reopen(c, TAKE_FD(fd));
                break;
        default:
                log_debug("channel: message %u is not for a console", m->type);
        }
        closep(&fd);
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
        struct console *c = poll->data;
        struct message m;
        int fd;

        (void) status;
        (void) events;
        for (int i = 0; i < MESSAGES_MAX && !c->ends; i++) {
                int r = channel_receive(c->birth->channel, &m, &fd);
                if (r == 0)
                        return;
                if (r == -EPROTO) {
                        log_warning(r, "channel: a message that makes no sense");
                        continue;
                }
                if (r < 0) {
                        console_end(c, "master gone");
                        return;
                }
                on_message(c, &m, fd);
        }
}

static void on_beat(uv_timer_t *timer)
{
        struct console *c = timer->data;
        struct mono now = clock_mono();
        int64_t late_us = now.ns > c->beat_due.ns ? (now.ns - c->beat_due.ns) / NS_PER_US : 0;

        place_beat(c->place, now, late_us);
        c->beat_due = mono_plus_ms(now, c->beat_ms);
        if (c->triglog && triglog_flush(c->triglog) < 0)
                place_add(c->place, COUNT_STORAGE_FAILURES, 1);
}

/* Every process of the node has a trigger log, this one with nothing but its start and its stop: the roster
 * is complete only if everybody in it has left one. */
static void triglog_begin(struct console *c)
{
        const struct birth *b = c->birth;
        _cleanup_(freep) char *dir = path_join(b->config->log.dir, "triggers");
        const struct triglog_options o = {
                .dir = dir,
                .node = b->node,
                .slot = b->slot_name,
                .pstart = b->process.start,
                .pid = b->process.pid,
                .boot = b->boot,
                .rotate_size = b->config->log.rotate_size,
                .sync = b->config->log_sync == LOG_SYNC_POWER,
        };

        int r = dir ? triglog_open(&o, &c->triglog) : -ENOMEM;
        if (r < 0) {
                log_error(r, "trigger log in %s/triggers", b->config->log.dir);
                return;
        }
        triglog_start(c->triglog, "console", b->generation, ONCED_VERSION, b->config->hash, "");
        r = triglog_flush(c->triglog);
        if (r < 0)
                log_error(r, "trigger log: the start line");
}

static int api_begin(struct console *c)
{
        const struct birth *b = c->birth;
        const struct api_options o = { b->config, b->board, b->node, b->owner, b->boot };
        int r = api_new(&c->loop, &o, &c->api);

        if (r < 0)
                return log_error(r, "api");
        r = server_open(&c->loop, b->listener, c->api, SERVER_LIMITS, &c->server);
        if (r < 0)
                return log_error(r, "api: serving its socket");
        return 0;
}

/* Whatever fails here ends the process: what is half open goes with it. */
static int console_begin(struct console *c)
{
        const struct birth *b = c->birth;
        struct message ready = { .layout = CHANNEL_LAYOUT, .type = MESSAGE_READY, .slot = b->slot,
                                 .generation = b->generation };
        int r = uv_loop_init(&c->loop);

        if (r < 0)
                return log_error(r, "loop");
        c->place = board_place(b->board, b->place);
        triglog_begin(c);
        r = api_begin(c);
        if (r < 0)
                return r;
        r = uv_poll_init(&c->loop, &c->channel, b->channel);
        if (r < 0)
                return log_error(r, "channel to the master");
        (void) uv_timer_init(&c->loop, &c->beat);
        (void) uv_timer_init(&c->loop, &c->ending);
        c->channel.data = c->beat.data = c->ending.data = c;
        (void) uv_poll_start(&c->channel, UV_READABLE, on_channel);
        c->beat_due = clock_mono();
        c->beat_ms = beat_interval_ms(c->birth->config->hang_timeout_ms);
        (void) uv_timer_start(&c->beat, on_beat, 0, (uint64_t) c->beat_ms);
        r = channel_send(b->channel, &ready, -1);
        if (r < 0)
                return log_error(r, "channel: saying ready");
        return 0;
}

static void console_done(struct console *c)
{
        c->triglog = triglog_close(c->triglog);
        if (!c->given_up) {
                uv_close((uv_handle_t *) &c->ending, NULL);
                (void) uv_run(&c->loop, UV_RUN_DEFAULT);
                (void) uv_loop_close(&c->loop);
                c->api = api_free(c->api);
        }
}

int console_main(const struct birth *b)
{
        struct console c = { .birth = b, .log_fd = -1 };

        /* What a terminal or a process manager tells the whole group is the master's to answer, who ends the
         * console last; a client that leaves is no event. */
        (void) signal(SIGTERM, SIG_IGN);
        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGHUP, SIG_IGN);
        (void) signal(SIGPIPE, SIG_IGN);
        log_identity("console");
        if (console_begin(&c) < 0)
                return EXIT_OS;
        (void) uv_run(&c.loop, UV_RUN_DEFAULT);
        console_done(&c);
        return EXIT_FINE;
}

const struct child_kind console_kind = { "console", console_main };
