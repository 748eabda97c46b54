/* A small HTTP server on the test's own loop: it records each request and answers as the test says. */
#ifndef ONCED_SINK_H
#define ONCED_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct sink;

struct sink_connection {
        uv_tcp_t tcp;
        struct sink *sink;
        char request[16384];           /* what has come of the present one */
        size_t len;
        unsigned requests;             /* whole ones on this connection */
        uv_timer_t drip;
        const char *drip_text;
        bool drips_for_ever;
        bool closing;
        int open_handles;
        struct sink_connection *next;
};

struct sink {
        uv_loop_t *loop;
        uv_tcp_t server;
        int port;
        unsigned connections, requests;
        char last[16384];              /* the newest whole request, with body */
        struct sink_connection *first;
        bool closed;
        /* Called for each whole request; answers, or does not. */
        void (*answer)(struct sink_connection *c);
};

void sink_open(struct sink *s, uv_loop_t *loop, void (*answer)(struct sink_connection *c));
void sink_close(struct sink *s);       /* runs the loop until all is closed */

void sink_say(struct sink_connection *c, const char *text, size_t len);
void sink_text(struct sink_connection *c, const char *text);
void sink_hang_up(struct sink_connection *c);

/* Says `text` again every 20 ms, for ever. */
void sink_drip(struct sink_connection *c, const char *text);

/* Says `text` again as fast as the other side reads. */
void sink_flood(struct sink_connection *c, const char *text);

/* Value of a header of the last request, "" if there is none. Static memory. */
const char *sink_header(const struct sink *s, const char *name);

#endif
