/* The http runner: from a looked-up name over one exchange, or a few with redirects, to an outcome.
 * worker/runner/http.h is the contract with the services it calls. */
#include "worker/runner/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/resolver.h"
#include "worker/runner/http_multi.h"
#include "worker/runner/http_request.h"
#include "worker/runner/http_transfer.h"
#include "worker/runner/outcome.h"

#define CONNECT_MS 30000

struct runner {
        uv_loop_t *loop;               /* borrowed, outlives us: it runs our callbacks */
        const struct config *config;   /* borrowed, outlives us: the worker's */
        struct http_multi *multi;      /* owned */
        struct resolver *resolver;     /* owned */
        void (*closed)(void *arg);
        void *closed_arg;
};

enum http_phase { HTTP_WAITING, HTTP_LOOKING, HTTP_EXCHANGING, HTTP_FINISHED };

struct http_lookup;

struct http_run {
        struct run *run;               /* borrowed until done */
        struct runner *runner;         /* borrowed: closed after its runs */
        enum http_phase phase;
        bool is_stopped;
        enum run_stop why;             /* with is_stopped */
        uv_timer_t timer;              /* the begin, then the deadline */
        struct http_request request;
        struct http_transfer transfer;
        struct http_lookup *lookup;    /* NULL unless looking */
        struct mono looked_from;
        unsigned redirects;
        char refused[256];             /* why the last redirect was not followed; "" */
};

/* A name being looked up. It cannot be called back, so it may outlive the run that asked. */
struct http_lookup {
        struct http_run *asker;        /* NULL: not wanted any more */
};

static struct run_outcome *outcome_of(struct http_run *h)
{
        return &h->run->outcome;
}

static void on_closed(uv_handle_t *handle)
{
        struct http_run *h = container_of(handle, struct http_run, timer);
        struct run *r = h->run;

        free(h);
        r->state = NULL;
        r->done(r);
}

/* The outcome is in place: lets go of everything, `done` follows from the close callback. */
static void http_finish(struct http_run *h)
{
        h->phase = HTTP_FINISHED;
        if (h->lookup)
                h->lookup->asker = NULL;
        http_transfer_end(&h->transfer);
        http_request_done(&h->request);
        uv_close((uv_handle_t *) &h->timer, on_closed);
}

/* Before a byte has left it is a failure, and nobody need fear that the work was done. */
static void settle_unsent(struct http_run *h, const char *why)
{
        if (h->transfer.sent)
                outcome_set(outcome_of(h), STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, "redirected, then: %.1024s", why);
        else
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, "not sent: %.1024s", why);
}

static const char *failure_text(const struct http_transfer *t, CURLcode code)
{
        if (t->repeats)
                return "the connection died; the request is not repeated";
        if (t->floods)
                return "more than 64 KiB of headers";
        return t->error[0] ? t->error : curl_easy_strerror(code);
}

static void settle_status(struct http_run *h, long status)
{
        unsigned follow = h->run->task->http.follow;

        if (!http_transfer_location(&h->transfer))
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_STATUS, RESULT_NONE, "status %ld", status);
        else if (h->refused[0])
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_STATUS, RESULT_NONE, "status %ld, a redirect that is refused: %s",
                            status, h->refused);
        else if (follow == 0)
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_STATUS, RESULT_NONE,
                            "status %ld, a redirect; none is followed (follow: 0)", status);
        else
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_STATUS, RESULT_NONE,
                            "status %ld, one redirect too many (follow: %u)", status, follow);
}

static void settle_answered(struct http_run *h, long status)
{
        struct run_outcome *o = outcome_of(h);

        o->code = (int) status;
        if (status < 200 || status > 299)
                settle_status(h, status);
        else
                outcome_set(o, STATE_SUCCEEDED, CAUSE_NONE, h->transfer.says_noop ? RESULT_NOOP : RESULT_DONE, NULL);
}

static void settle(struct http_run *h, CURLcode code)
{
        const struct http_transfer *t = &h->transfer;

        if (t->log_failed)
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_LOG, RESULT_NONE, "the run line could not be written");
        else if (!t->begun)
                settle_unsent(h, failure_text(t, code));
        else if (!http_transfer_answered(t, code))
                outcome_set(outcome_of(h), STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, "sent, no whole answer: %.1024s",
                            failure_text(t, code));
        else
                settle_answered(h, http_transfer_status(t));
}

static void settle_timeout(struct http_run *h)
{
        long long ms = (long long) h->run->timeout_ms;

        if (h->transfer.sent)
                outcome_set(outcome_of(h), STATE_UNKNOWN, CAUSE_TIMEOUT, RESULT_NONE,
                            "sent, no whole answer within %lld ms", ms);
        else
                outcome_set(outcome_of(h), STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, "not sent within %lld ms", ms);
}

static int64_t connect_ms(const struct http_run *h)
{
        int64_t ms = h->run->task->http.connect_timeout_ms;

        return ms > 0 ? ms : CONNECT_MS;
}

static void exchange_begin(struct http_run *h, const struct resolved *addresses)
{
        int64_t left_ms = connect_ms(h) - mono_since_ms(h->looked_from, clock_mono());

        h->phase = HTTP_EXCHANGING;
        int r = http_transfer_begin(&h->transfer, &h->request, addresses, left_ms, h);
        if (r == 0)
                return;
        settle_unsent(h, strerror(-r));
        http_finish(h);
}

static void on_resolved(const struct resolved *found, void *arg)
{
        struct http_lookup *l = arg;
        struct http_run *h = l->asker;

        free(l);
        if (!h)
                return;
        h->lookup = NULL;
        if (found->error == 0 && found->count > 0) {
                exchange_begin(h, found);
                return;
        }
        settle_unsent(h, found->why[0] ? found->why : strerror(found->error < 0 ? -found->error : ENOENT));
        http_finish(h);
}

static void look_up(struct http_run *h)
{
        h->looked_from = clock_mono();
        if (h->request.is_literal) {
                exchange_begin(h, NULL);
                return;
        }
        h->lookup = calloc(1, sizeof(*h->lookup));
        if (!h->lookup) {
                settle_unsent(h, "out of memory");
                http_finish(h);
                return;
        }
        h->lookup->asker = h;
        h->phase = HTTP_LOOKING;
        resolver_lookup(h->runner->resolver, h->request.host, connect_ms(h), on_resolved, h->lookup);
}

/* True when the answer is a redirect that is to be followed, and that is under way. */
static bool redirect_follow(struct http_run *h, CURLcode code)
{
        const struct http_transfer *t = &h->transfer;
        char *location;

        if (!t->begun || !http_transfer_answered(t, code) || h->redirects >= h->run->task->http.follow ||
            !http_transfer_location(t))
                return false;
        location = strdup(http_transfer_location(t));
        int r = location ? http_request_redirect(&h->request, location, http_transfer_status(t), h->refused,
                                                 sizeof(h->refused))
                         : -ENOMEM;
        free(location);
        if (r < 0)
                return false;
        h->redirects++;
        http_transfer_end(&h->transfer);

        /* The text is the last answer's alone. */
        run_done_free(h->run);
        outcome_of(h)->text_cut = 0;
        look_up(h);
        return true;
}

static void on_exchanged(void *transfer, CURLcode code)
{
        struct http_run *h = transfer;

        if (redirect_follow(h, code))
                return;
        settle(h, code);
        http_finish(h);
}

static void on_timer(uv_timer_t *timer)
{
        struct http_run *h = container_of(timer, struct http_run, timer);

        if (h->is_stopped)
                outcome_stopped(outcome_of(h), h->why);
        else
                settle_timeout(h);
        http_finish(h);
}

static void on_begin(uv_timer_t *timer)
{
        struct http_run *h = container_of(timer, struct http_run, timer);
        char why[256];

        if (h->is_stopped) {
                on_timer(timer);
                return;
        }
        int r = http_request_make(&h->request, h->runner->config, &h->run->task->http, h->run->context, why,
                                  sizeof(why));
        if (r < 0) {
                settle_unsent(h, why);
                http_finish(h);
                return;
        }
        (void) uv_timer_start(timer, on_timer, h->run->timeout_ms > 0 ? (uint64_t) h->run->timeout_ms : 0, 0);
        look_up(h);
}

static int http_start(struct runner *rn, struct run *r)
{
        struct http_run *h = calloc(1, sizeof(*h));

        if (!h)
                return -ENOMEM;
        h->run = r;
        h->runner = rn;
        h->transfer.run = r;
        h->transfer.multi = rn->multi;
        outcome_init(&r->outcome);
        r->state = h;
        r->runner = rn;
        (void) uv_timer_init(rn->loop, &h->timer);
        (void) uv_timer_start(&h->timer, on_begin, 0, 0);
        return 0;
}

/* Left to the timer, so that it may be asked from within a callback of libcurl, as `starting` is. */
static void http_stop(struct runner *rn, struct run *r, enum run_stop why)
{
        struct http_run *h = r->state;

        (void) rn;
        if (!h || h->is_stopped || h->phase == HTTP_FINISHED)
                return;
        h->is_stopped = true;
        h->why = why;
        if (h->phase != HTTP_WAITING)
                (void) uv_timer_start(&h->timer, on_timer, 0, 0);
}

static int http_open(const struct runner_options *o, struct runner **ret)
{
        struct runner *rn = calloc(1, sizeof(*rn));

        if (!rn)
                return -ENOMEM;
        rn->loop = o->loop;
        rn->config = o->config;

        /* OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that went away must not end the worker. */
        (void) signal(SIGPIPE, SIG_IGN);
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
                free(rn);
                return -ENOMEM;
        }
        int r = http_multi_open(o->loop, o->config ? o->config->max_handles : 100, on_exchanged, &rn->multi);
        if (r == 0) {
                r = resolver_open(o->loop, &rn->resolver);
                if (r < 0)
                        http_multi_close(rn->multi, NULL, NULL);
        }
        if (r < 0) {
                curl_global_cleanup();
                free(rn);
                return r;
        }
        *ret = rn;
        return 0;
}

static void on_multi_closed(void *arg)
{
        struct runner *rn = arg;
        void (*closed)(void *) = rn->closed;
        void *closed_arg = rn->closed_arg;

        curl_global_cleanup();
        free(rn);
        closed(closed_arg);
}

static void on_resolver_closed(void *arg)
{
        struct runner *rn = arg;

        http_multi_close(rn->multi, on_multi_closed, rn);
}

static void http_close(struct runner *rn, void (*closed)(void *arg), void *arg)
{
        rn->closed = closed;
        rn->closed_arg = arg;
        resolver_close(rn->resolver, on_resolver_closed, rn);
}

const struct runner_kind runner_http = {
        .name = "http",
        .open = http_open,
        .start = http_start,
        .stop = http_stop,
        .close = http_close,
        .tree = false,
};
