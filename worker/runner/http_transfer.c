/* One exchange over libcurl. The one idea here is the moment of the start: libcurl's prerequest callback comes
 * when a connection stands and before a byte of the request has left. It comes again when libcurl repeats
 * a request, POST too, because a kept-alive connection turned out dead: that is refused, since the server may
 * have read the first one. */
#include "worker/runner/http_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/config/config.h"
#include "common/fault.h"
#include "ledger/resolver.h"
#include "worker/runner/http.h"
#include "worker/runner/http_multi.h"
#include "worker/runner/http_request.h"
#include "worker/runner/outcome.h"

static int on_prerequest(void *arg, char *peer, char *own, int peer_port, int own_port)
{
        struct http_transfer *t = arg;

        (void) peer;
        (void) own;
        (void) peer_port;
        (void) own_port;
        if (t->begun) {
                t->repeats = true;
                return CURL_PREREQFUNC_ABORT;
        }
        t->begun = true;
        if (t->sent)
                return CURL_PREREQFUNC_OK;
        if (t->run->starting(t->run) < 0) {
                t->log_failed = true;
                return CURL_PREREQFUNC_ABORT;
        }
        t->sent = true;
        return CURL_PREREQFUNC_OK;
}

static bool header_says_noop(const char *line, size_t len)
{
        static const char name[] = "X-Onced-Result:";
        size_t at = sizeof(name) - 1;

        if (len < at || strncasecmp(line, name, at) != 0)
                return false;
        while (at < len && (line[at] == ' ' || line[at] == '\t'))
                at++;
        while (len > at && strchr(" \t\r\n", line[len - 1]))
                len--;
        return len - at == 4 && strncasecmp(line + at, "noop", 4) == 0;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
        struct http_transfer *t = arg;
        size_t len = size * count;

        fault_point("started");
        t->header_bytes += len;
        if (t->header_bytes > HTTP_HEADERS_MAX) {
                t->floods = true;
                return 0;
        }
        /* A status line begins anew: what an interim answer said is not the answer's. */
        if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
                t->says_noop = false;
        else if (header_says_noop(line, len))
                t->says_noop = true;
        return len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
        struct http_transfer *t = arg;
        size_t len = size * count;

        if (outcome_text_add(&t->run->outcome, bytes, len) == len)
                return len;
        t->is_cut = true;
        return 0;
}

/* Never asked for a name that was looked up before; a thread of libcurl's would stop the loop when joined. */
static int on_resolve(void *state, void *reserved, void *arg)
{
        (void) state;
        (void) reserved;
        (void) arg;
        return 1;
}

/* "+host:port:address,address": in libcurl's cache for a while, then forgotten. */
static int addresses_put(struct http_transfer *t, const struct http_request *q, const struct resolved *found)
{
        struct buf b = BUF_EMPTY;

        buf_format(&b, "+%s:%s:", q->host, q->port);
        for (unsigned i = 0; i < found->count && i < RESOLVER_ADDRESSES; i++) {
                bool six = strchr(found->addresses[i], ':');
                buf_format(&b, six ? "%s[%s]" : "%s%s", i > 0 ? "," : "", found->addresses[i]);
        }
        const char *text = buf_string(&b);
        if (text)
                t->addresses = curl_slist_append(NULL, text);
        buf_done(&b);
        if (!t->addresses)
                return -ENOMEM;
        (void) curl_easy_setopt(t->easy, CURLOPT_RESOLVE, t->addresses);
        (void) curl_easy_setopt(t->easy, CURLOPT_RESOLVER_START_FUNCTION, on_resolve);
        return 0;
}

static void options_callbacks(struct http_transfer *t, void *private)
{
        CURL *e = t->easy;

        (void) curl_easy_setopt(e, CURLOPT_PRIVATE, private);
        (void) curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
        (void) curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_prerequest);
        (void) curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
        (void) curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
        (void) curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
        (void) curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
        (void) curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
}

static bool method_has_body(const char *method)
{
        return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
}

static void options_method(CURL *e, const struct http_request *q)
{
        if (q->body || method_has_body(q->method)) {
                (void) curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) (q->body ? strlen(q->body) : 0));
                (void) curl_easy_setopt(e, CURLOPT_POSTFIELDS, q->body ? q->body : "");
        } else if (strcmp(q->method, "HEAD") == 0) {
                (void) curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
        }
        (void) curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, q->method);
}

/* An option that libcurl does not know would weaken a promise: any failure here ends the run unsent. */
static int options_safety(CURL *e)
{
        /* One request a connection at a time: HTTP/2 has further ways to repeat one silently. */
        const struct { CURLoption option; long value; } numbers[] = {
                { CURLOPT_NOSIGNAL, 1 },
                { CURLOPT_FOLLOWLOCATION, 0 },
                { CURLOPT_SSL_VERIFYPEER, 1 },
                { CURLOPT_SSL_VERIFYHOST, 2 },
                { CURLOPT_NETRC, CURL_NETRC_IGNORED },
                { CURLOPT_HTTPAUTH, (long) CURLAUTH_BASIC },
                { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
        };
        const struct { CURLoption option; const char *value; } texts[] = {
                { CURLOPT_PROTOCOLS_STR, "http,https" },
                { CURLOPT_PROXY, "" },
                { CURLOPT_USERAGENT, "onced/" ONCED_VERSION },
        };

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                if (curl_easy_setopt(e, numbers[i].option, numbers[i].value) != CURLE_OK)
                        return -EIO;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                if (curl_easy_setopt(e, texts[i].option, texts[i].value) != CURLE_OK)
                        return -EIO;
        return 0;
}

int http_transfer_begin(struct http_transfer *t, const struct http_request *q, const struct resolved *addresses,
                        int64_t connect_ms, void *private)
{
        t->begun = t->repeats = t->says_noop = t->floods = t->is_cut = false;
        t->error[0] = '\0';
        t->easy = curl_easy_init();
        if (!t->easy)
                return -ENOMEM;
        options_callbacks(t, private);
        options_method(t->easy, q);
        (void) curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long) (connect_ms > 0 ? connect_ms : 1));
        int r = options_safety(t->easy);
        if (r == 0 && (curl_easy_setopt(t->easy, CURLOPT_CURLU, q->url) != CURLE_OK ||
                       curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, q->headers) != CURLE_OK))
                r = -ENOMEM;
        if (r == 0 && addresses)
                r = addresses_put(t, q, addresses);
        if (r == 0)
                r = http_multi_prepare(t->multi, t->easy);
        if (r == 0)
                r = http_multi_add(t->multi, t->easy);
        if (r < 0)
                http_transfer_end(t);
        return r;
}

void http_transfer_end(struct http_transfer *t)
{
        if (t->easy) {
                http_multi_remove(t->multi, t->easy);
                curl_easy_cleanup(t->easy);
                t->easy = NULL;
        }
        curl_slist_free_all(t->addresses);
        t->addresses = NULL;
}

bool http_transfer_answered(const struct http_transfer *t, CURLcode code)
{
        return code == CURLE_OK || (t->is_cut && code == CURLE_WRITE_ERROR);
}

long http_transfer_status(const struct http_transfer *t)
{
        long status = 0;

        (void) curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        return status;
}

const char *http_transfer_location(const struct http_transfer *t)
{
        char *location = NULL;

        (void) curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &location);
        return location;
}
