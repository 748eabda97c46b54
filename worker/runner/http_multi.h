/* libcurl's multi interface on a libuv loop. One per worker: its connections are reused by all transfers. */
#ifndef ONCED_HTTP_MULTI_H
#define ONCED_HTTP_MULTI_H

#include <curl/curl.h>
#include <uv.h>

struct http_multi;

/* `done` runs from the loop with what was set as CURLOPT_PRIVATE; the transfer is still added then. */
int http_multi_open(uv_loop_t *loop, unsigned connections, void (*done)(void *transfer, CURLcode code),
                    struct http_multi **ret);

/* Makes the sockets of `easy` ours: close-on-exec, and never closed while the loop still watches them. */
int http_multi_prepare(struct http_multi *m, CURL *easy);

int http_multi_add(struct http_multi *m, CURL *easy);        /* 0 or -EIO, -ENOMEM */

/* Ends the transfer if it is still going. Not to be called from within a callback of libcurl. */
void http_multi_remove(struct http_multi *m, CURL *easy);

/* No transfer is left. Closes all connections; `closed` runs later. */
void http_multi_close(struct http_multi *m, void (*closed)(void *arg), void *arg);

#endif
