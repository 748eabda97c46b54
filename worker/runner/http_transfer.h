/* One exchange with a server, as libcurl does it, and what came of it. */
#ifndef ONCED_HTTP_TRANSFER_H
#define ONCED_HTTP_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <curl/curl.h>

struct http_multi;
struct http_request;
struct resolved;
struct run;

struct http_transfer {
        struct run *run;               /* borrowed: it outlives its transfers */
        struct http_multi *multi;      /* borrowed: the worker's */
        CURL *easy;                    /* owned; NULL between transfers */
        struct curl_slist *addresses;  /* owned */
        char error[CURL_ERROR_SIZE];

        /* Over all transfers of the run: */
        bool sent;                     /* the run line is written, a request may have left */
        bool log_failed;               /* it could not be written: no request left */
        size_t header_bytes;

        /* Of this transfer: */
        bool begun;                    /* libcurl asked once already */
        bool repeats;                  /* libcurl wanted to send it a second time, and was refused */
        bool says_noop;
        bool floods;                   /* headers without end */
        bool is_cut;                   /* the body was longer than is kept */
};

/* Begins the exchange; `private` comes back in the multi's done. `addresses` NULL: the host is a literal one.
 * 0 or -errno. */
int http_transfer_begin(struct http_transfer *t, const struct http_request *q, const struct resolved *addresses,
                        int64_t connect_ms, void *private);

/* Ends it, in whatever state it is. Fine without one. */
void http_transfer_end(struct http_transfer *t);

/* True when a whole answer came, as far as it is kept. */
bool http_transfer_answered(const struct http_transfer *t, CURLcode code);

long http_transfer_status(const struct http_transfer *t);

/* Absolute address of a redirect; NULL: none. Valid until the end of the transfer. */
const char *http_transfer_location(const struct http_transfer *t);

#endif
