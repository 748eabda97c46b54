/* One HTTP request of a run: its address, method, body and headers (worker/runner/http.h says which). */
#ifndef ONCED_HTTP_REQUEST_H
#define ONCED_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <curl/curl.h>

struct config;
struct http_target;
struct run_context;

struct http_request {
        const struct http_target *target;     /* borrowed until done */
        const struct run_context *context;    /* borrowed until done */
        const char *secret;                   /* borrowed; NULL: not signed */
        CURLU *url;                           /* owned */
        struct curl_slist *headers;           /* owned */
        const char *method, *body;            /* borrowed; body NULL: none */
        char host[256];                       /* as libcurl looks it up, without brackets */
        char port[8];
        bool is_literal;                      /* the host is an address: nothing to look up */
        bool is_foreign;                      /* redirected to another origin: no secrets go there */
};

/* 0, or -errno with what is wrong in `why`; `r` is empty then. */
int http_request_make(struct http_request *r, const struct config *config, const struct http_target *target,
                      const struct run_context *context, char *why, size_t room);

/* The request that answers a redirect: 303 becomes GET, so does POST after 301 and 302; 307 and 308 change
 * nothing but the address. On failure `r` is as before, only its use is over. */
int http_request_redirect(struct http_request *r, const char *location, long status, char *why, size_t room);

void http_request_done(struct http_request *r);

/* The value of X-Onced-Signature for a request at `unix_s`. 0 or -EIO. */
#define HTTP_SIGNATURE_TEXT 128
int http_signature(const char *secret, long long unix_s, const char *method, const char *path_query,
                   const char *body, size_t body_len, char ret[HTTP_SIGNATURE_TEXT]);

#endif
