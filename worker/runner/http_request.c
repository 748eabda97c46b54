/* Builds the request of a run: what it is told goes into headers and query, and under a signature. */
#include "worker/runner/http_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "worker/runner/runner.h"

static void curl_freep(char **text)
{
        curl_free(*text);
}

static int wrong(char *why, size_t room, int error, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

static int wrong(char *why, size_t room, int error, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        (void) vsnprintf(why, room, format, args);
        va_end(args);
        return error;
}

int http_signature(const char *secret, long long unix_s, const char *method, const char *path_query,
                   const char *body, size_t body_len, char ret[HTTP_SIGNATURE_TEXT])
{
        unsigned char mac[EVP_MAX_MD_SIZE];
        unsigned mac_len;
        char digest[DIGEST_TEXT];
        struct buf b = BUF_EMPTY;

        digest_hex(body ? body : "", body_len, digest);
        buf_format(&b, "%lld.%s.%s.%s", unix_s, method, path_query, digest);
        const char *text = buf_string(&b);
        bool made = text && HMAC(EVP_sha256(), secret, (int) strlen(secret), (const unsigned char *) text, b.len,
                                 mac, &mac_len);
        buf_done(&b);
        if (!made)
                return -EIO;
        int n = snprintf(ret, HTTP_SIGNATURE_TEXT, "t=%lld,v1=", unix_s);
        for (unsigned i = 0; i < mac_len && n + 2 < HTTP_SIGNATURE_TEXT; i++)
                n += snprintf(ret + n, HTTP_SIGNATURE_TEXT - (size_t) n, "%02x", mac[i]);
        return 0;
}

/* Names that a task cannot set: they carry what sinks rely on, or would break the framing of the request. */
static bool header_is_ours(const char *line)
{
        static const char *const ours[] = {
                "Idempotency-Key", "traceparent", "Content-Length", "Transfer-Encoding", "Connection", "Expect",
        };
        size_t len = strcspn(line, ":;");

        if (strncasecmp(line, "X-Onced-", 8) == 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
                if (strlen(ours[i]) == len && strncasecmp(line, ours[i], len) == 0)
                        return true;
        return false;
}

static bool header_is(const char *line, const char *name)
{
        size_t len = strlen(name);

        return strncasecmp(line, name, len) == 0 && (line[len] == ':' || line[len] == ';');
}

static int header_put(struct curl_slist **list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int header_put(struct curl_slist **list, const char *format, ...)
{
        char *line;
        va_list args;

        va_start(args, format);
        int n = vasprintf(&line, format, args);
        va_end(args);
        if (n < 0)
                return -ENOMEM;

        /* A line break in a value would begin a header of the value's choice. */
        struct curl_slist *longer = strpbrk(line, "\r\n") ? NULL : curl_slist_append(*list, line);
        int r = longer ? 0 : strpbrk(line, "\r\n") ? -EINVAL : -ENOMEM;
        free(line);
        if (longer)
                *list = longer;
        return r;
}

static int context_headers(const struct run_context *c, struct curl_slist **list)
{
        char span[DIGEST_TEXT];
        int r;

        digest_hex(c->trig, strlen(c->trig), span);
        if ((r = header_put(list, "X-Onced-Task: %s", c->task)) < 0 ||
            (r = header_put(list, "X-Onced-Occurrence: %s", c->occ)) < 0 ||
            (r = header_put(list, "X-Onced-Trigger: %s", c->trig)) < 0 ||
            (r = header_put(list, "X-Onced-Planned: %" PRId64, c->planned.ms)) < 0 ||
            (r = header_put(list, "X-Onced-Fence: %s", c->fence)) < 0 ||
            (r = header_put(list, "X-Onced-Node: %s", c->node)) < 0 ||
            (r = header_put(list, "X-Onced-Shard: %u", c->shard)) < 0 ||
            (r = header_put(list, "X-Onced-Shards: %u", c->shards)) < 0 ||
            (r = header_put(list, "X-Onced-Deadline: %" PRId64, stamp_instant(c->deadline).ms)) < 0 ||
            (r = header_put(list, "X-Onced-Window: %" PRId64, c->window_ms)) < 0 ||
            (r = header_put(list, "Idempotency-Key: %s", c->occ)) < 0)
                return r;
        return header_put(list, "traceparent: 00-%.32s-%.16s-01", c->occ, span);
}

/* A header without a value is written "Name;" for libcurl, which takes "Name:" for one to be left out. */
static int task_header_put(struct curl_slist **list, const char *line)
{
        size_t name = strcspn(line, ":");

        if (line[name] == ':' && line[name + 1 + strspn(line + name + 1, " \t")] == '\0')
                return header_put(list, "%.*s;", (int) name, line);
        return header_put(list, "%s", line);
}

static int task_headers(const struct http_request *q, struct curl_slist **list)
{
        bool has_type = false;
        int r;

        for (size_t i = 0; i < q->target->headers.count; i++) {
                const char *line = q->target->headers.items[i];
                if (header_is_ours(line))
                        continue;
                if (q->is_foreign && (header_is(line, "Authorization") || header_is(line, "Cookie") ||
                                      header_is(line, "Host")))
                        continue;
                has_type |= header_is(line, "Content-Type");
                if ((r = task_header_put(list, line)) < 0)
                        return r;
        }

        /* A body is not a form unless the task says so; and nobody waits a second for "100 Continue". */
        if (q->body && !has_type && (r = header_put(list, "Content-Type:")) < 0)
                return r;
        return header_put(list, "Expect:");
}

static int signature_header(const struct http_request *q, struct curl_slist **list)
{
        _cleanup_(curl_freep) char *path = NULL, *query = NULL;
        _cleanup_(freep) char *path_query = NULL;
        char signature[HTTP_SIGNATURE_TEXT];

        if (!q->secret || q->is_foreign)
                return 0;
        if (curl_url_get(q->url, CURLUPART_PATH, &path, CURLU_URLENCODE) != CURLUE_OK)
                return -ENOMEM;
        (void) curl_url_get(q->url, CURLUPART_QUERY, &query, 0);
        if (asprintf(&path_query, "%s%s%s", path, query ? "?" : "", query ? query : "") < 0) {
                path_query = NULL;
                return -ENOMEM;
        }
        int r = http_signature(q->secret, clock_wall().ns / NS_PER_S, q->method, path_query, q->body,
                               q->body ? strlen(q->body) : 0, signature);
        if (r < 0)
                return r;
        return header_put(list, "X-Onced-Signature: %s", signature);
}

static int headers_make(struct http_request *q, char *why, size_t room)
{
        struct curl_slist *list = NULL;
        int r;

        if ((r = context_headers(q->context, &list)) < 0 || (r = task_headers(q, &list)) < 0 ||
            (r = signature_header(q, &list)) < 0) {
                curl_slist_free_all(list);
                if (r == -EINVAL)
                        return wrong(why, room, r, "a header holds a line break");
                return wrong(why, room, r, "headers: %s", strerror(-r));
        }
        curl_slist_free_all(q->headers);
        q->headers = list;
        return 0;
}

static CURLUcode query_append(CURLU *u, const char *name, const char *value)
{
        _cleanup_(freep) char *pair = NULL;

        if (asprintf(&pair, "%s=%s", name, value) < 0) {
                pair = NULL;
                return CURLUE_OUT_OF_MEMORY;
        }
        return curl_url_set(u, CURLUPART_QUERY, pair, CURLU_APPENDQUERY | CURLU_URLENCODE);
}

static CURLUcode context_query(CURLU *u, const struct run_context *c)
{
        char shard[16], shards[16];
        CURLUcode code;

        (void) snprintf(shard, sizeof(shard), "%u", c->shard);
        (void) snprintf(shards, sizeof(shards), "%u", c->shards);
        if ((code = query_append(u, "concurrency_id", shard)) != CURLUE_OK ||
            (code = query_append(u, "concurrency_count", shards)) != CURLUE_OK)
                return code;
        return query_append(u, "host_id", c->node);
}

/* Reads scheme, host and port of the URL. In the form libcurl uses as the key of its own name cache. */
static int address_read(struct http_request *q, CURLU *u, char *why, size_t room)
{
        _cleanup_(curl_freep) char *scheme = NULL, *host = NULL, *port = NULL;
        struct in_addr four;

        if (curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
            (strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0))
                return wrong(why, room, -EPROTONOSUPPORT, "only http and https are called, not %.32s",
                             scheme ? scheme : "this");
        CURLUcode code = curl_url_get(u, CURLUPART_HOST, &host, CURLU_PUNYCODE);
        if (code != CURLUE_OK)
                return wrong(why, room, -EINVAL, "host: %s", curl_url_strerror(code));
        code = curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
        if (code != CURLUE_OK)
                return wrong(why, room, -EINVAL, "port: %s", curl_url_strerror(code));

        size_t len = strlen(host);
        bool bracketed = host[0] == '[' && len > 2;
        if (len >= sizeof(q->host) || strlen(port) >= sizeof(q->port))
                return wrong(why, room, -ENAMETOOLONG, "the host name is too long");
        (void) snprintf(q->host, sizeof(q->host), "%.*s", bracketed ? (int) len - 2 : (int) len,
                        bracketed ? host + 1 : host);
        (void) snprintf(q->port, sizeof(q->port), "%s", port);
        q->is_literal = bracketed || inet_pton(AF_INET, host, &four) == 1;
        return 0;
}

static int url_parse(const char *text, CURLU **ret, char *why, size_t room)
{
        CURLU *u = curl_url();

        if (!u)
                return wrong(why, room, -ENOMEM, "out of memory");
        CURLUcode code = curl_url_set(u, CURLUPART_URL, text, CURLU_URLENCODE);
        if (code != CURLUE_OK) {
                curl_url_cleanup(u);
                return wrong(why, room, -EINVAL, "url: %s", curl_url_strerror(code));
        }
        *ret = u;
        return 0;
}

/* A path is called on `http_base`; the configuration gives effective values, a bare task may not. */
static char *url_text(const struct config *config, const char *url)
{
        const char *base = config && url[0] == '/' ? config->http_base : NULL;
        size_t len = base ? strlen(base) : 0;
        char *text;

        while (len > 0 && base[len - 1] == '/')
                len--;
        return asprintf(&text, "%.*s%s", (int) len, base ? base : "", url) < 0 ? NULL : text;
}

int http_request_make(struct http_request *q, const struct config *config, const struct http_target *target,
                      const struct run_context *context, char *why, size_t room)
{
        _cleanup_(freep) char *text = NULL;

        *q = (struct http_request) {
                .target = target,
                .context = context,
                .secret = config ? config->http_secret : NULL,
                .method = target->method ? target->method : target->body ? "POST" : "GET",
                .body = target->body,
        };
        text = target->url ? url_text(config, target->url) : strdup("");
        if (!text)
                return wrong(why, room, -ENOMEM, "out of memory");
        int r = url_parse(text, &q->url, why, room);
        if (r < 0)
                return r;
        CURLUcode code = target->query ? context_query(q->url, context) : CURLUE_OK;
        r = code == CURLUE_OK ? address_read(q, q->url, why, room)
                              : wrong(why, room, -EINVAL, "query: %s", curl_url_strerror(code));
        if (r == 0)
                r = headers_make(q, why, room);
        if (r < 0)
                http_request_done(q);
        return r;
}

static bool same_origin(CURLU *a, CURLU *b)
{
        static const CURLUPart parts[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                _cleanup_(curl_freep) char *one = NULL, *other = NULL;
                if (curl_url_get(a, parts[i], &one, CURLU_DEFAULT_PORT) != CURLUE_OK ||
                    curl_url_get(b, parts[i], &other, CURLU_DEFAULT_PORT) != CURLUE_OK ||
                    strcasecmp(one, other) != 0)
                        return false;
        }
        return true;
}

int http_request_redirect(struct http_request *q, const char *location, long status, char *why, size_t room)
{
        CURLU *u = NULL;

        int r = url_parse(location, &u, why, room);
        if (r < 0)
                return r;
        r = address_read(q, u, why, room);
        if (r < 0) {
                curl_url_cleanup(u);
                return r;
        }

        /* Once foreign, foreign for good: the way back may be of the foreigner's choice. */
        q->is_foreign |= !same_origin(q->url, u);
        curl_url_cleanup(q->url);
        q->url = u;
        if ((status == 303 && strcmp(q->method, "HEAD") != 0) ||
            ((status == 301 || status == 302) && strcmp(q->method, "POST") == 0)) {
                q->method = "GET";
                q->body = NULL;
        }
        return headers_make(q, why, room);
}

void http_request_done(struct http_request *q)
{
        curl_slist_free_all(q->headers);
        curl_url_cleanup(q->url);
        q->headers = NULL;
        q->url = NULL;
}
