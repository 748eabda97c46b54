/* A ledger's own thread. Two lists under one mutex: asked (loop to thread) and answered (thread to loop). A
 * thread of its own instead of libuv's pool, since four stuck jobs there would stop every commit. */
#include "ledger/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"

struct call_list {
        struct ledger_call *first, **end;
};

struct ledger_thread {
        const struct thread_work *work;
        void *store;                     /* borrowed, freed by the owner after `closed` */
        size_t batch;
        ledger_health_cb health;
        void *health_arg;
        void (*closed)(void *arg);
        void *closed_arg;

        uv_async_t wake;                 /* the loop's side */
        uv_prepare_t handover;           /* runs while something gathers */
        unsigned open_handles;
        struct call_list gathered;       /* sent in this turn of the loop */
        size_t outstanding;
        pthread_t thread;

        pthread_mutex_t mutex;           /* guards all that follows */
        pthread_cond_t asked_some;
        struct call_list asked, answered;
        bool stopping, ended, told;
        enum ledger_health newest;
        char why[240];
};

static void list_init(struct call_list *l)
{
        l->first = NULL;
        l->end = &l->first;
}

static void list_add(struct call_list *l, struct ledger_call *c)
{
        c->next = NULL;
        *l->end = c;
        l->end = &c->next;
}

static void list_move(struct call_list *from, struct call_list *to)
{
        if (!from->first)
                return;
        *to->end = from->first;
        to->end = from->end;
        list_init(from);
}

/* The first `most` of the list, cut off. */
static struct ledger_call *list_take(struct call_list *l, size_t most)
{
        struct ledger_call *first = l->first, **cut = &l->first;

        for (size_t n = 0; n < most && *cut; n++)
                cut = &(*cut)->next;
        l->first = *cut;
        if (!l->first)
                l->end = &l->first;
        *cut = NULL;
        return cut == &l->first ? NULL : first;
}

/* An idle ledger must not keep a drained worker's loop alive. */
static void hold_loop(struct ledger_thread *t)
{
        if (t->outstanding > 0 || t->closed)
                uv_ref((uv_handle_t *) &t->wake);
        else
                uv_unref((uv_handle_t *) &t->wake);
}

static void wait_for_calls(struct ledger_thread *t, int64_t wait_ms)
{
        struct timespec until;

        (void) clock_gettime(CLOCK_MONOTONIC, &until);
        if (wait_ms >= 0) {
                until.tv_sec += wait_ms / 1000;
                until.tv_nsec += wait_ms % 1000 * NS_PER_MS;
                if (until.tv_nsec >= NS_PER_S) {
                        until.tv_sec++;
                        until.tv_nsec -= NS_PER_S;
                }
        }
        while (!t->asked.first && !t->stopping) {
                if (wait_ms < 0)
                        (void) pthread_cond_wait(&t->asked_some, &t->mutex);
                else if (pthread_cond_timedwait(&t->asked_some, &t->mutex, &until) == ETIMEDOUT)
                        return;
        }
}

static void serve_one_batch(struct ledger_thread *t, struct ledger_call *calls)
{
        struct call_list answered;

        t->work->serve(t->store, calls);
        list_init(&answered);
        for (struct ledger_call *c = calls, *next; c; c = next) {
                next = c->next;
                list_add(&answered, c);
        }
        (void) pthread_mutex_lock(&t->mutex);
        list_move(&answered, &t->answered);
        (void) pthread_mutex_unlock(&t->mutex);
        (void) uv_async_send(&t->wake);
}

static void *thread_main(void *arg)
{
        struct ledger_thread *t = arg;

        for (;;) {
                int64_t wait_ms = t->work->tend(t->store);

                (void) pthread_mutex_lock(&t->mutex);
                wait_for_calls(t, wait_ms);
                bool stopping = t->stopping;
                struct ledger_call *calls = list_take(&t->asked, t->batch);
                (void) pthread_mutex_unlock(&t->mutex);
                if (calls)
                        serve_one_batch(t, calls);
                else if (stopping)
                        break;
        }
        t->work->end(t->store);
        (void) pthread_mutex_lock(&t->mutex);
        t->ended = true;
        (void) uv_async_send(&t->wake);
        (void) pthread_mutex_unlock(&t->mutex);
        return NULL;
}

static void on_handle_closed(uv_handle_t *h)
{
        struct ledger_thread *t = h->data;
        void (*closed)(void *) = t->closed;
        void *arg = t->closed_arg;

        if (--t->open_handles > 0)
                return;
        (void) pthread_mutex_destroy(&t->mutex);
        (void) pthread_cond_destroy(&t->asked_some);
        free(t);
        if (closed)
                closed(arg);
}

static void close_handles(struct ledger_thread *t)
{
        uv_close((uv_handle_t *) &t->wake, on_handle_closed);
        uv_close((uv_handle_t *) &t->handover, on_handle_closed);
}

static void tell_health(struct ledger_thread *t)
{
        char why[sizeof(t->why)];

        (void) pthread_mutex_lock(&t->mutex);
        bool news = !t->told;
        enum ledger_health h = t->newest;
        (void) snprintf(why, sizeof(why), "%s", t->why);
        t->told = true;
        (void) pthread_mutex_unlock(&t->mutex);
        if (news && t->health)
                t->health(h, why, t->health_arg);
}

static void on_wake(uv_async_t *wake)
{
        struct ledger_thread *t = container_of(wake, struct ledger_thread, wake);
        struct call_list answered;

        tell_health(t);
        list_init(&answered);
        (void) pthread_mutex_lock(&t->mutex);
        list_move(&t->answered, &answered);
        bool ended = t->ended;
        (void) pthread_mutex_unlock(&t->mutex);

        for (struct ledger_call *c = answered.first, *next; c; c = next) {
                next = c->next;
                c->next = NULL;
                t->outstanding--;
                ledger_answer(c);
        }
        /* With outstanding calls another wake follows: a `done` may have sent one more. */
        if (ended && t->outstanding == 0 && !uv_is_closing((uv_handle_t *) wake)) {
                (void) pthread_join(t->thread, NULL);
                close_handles(t);
                return;
        }
        hold_loop(t);
}

/* All that one turn of the loop sent goes over at once, just before the loop waits: one transaction. */
static void on_handover(uv_prepare_t *handover)
{
        struct ledger_thread *t = container_of(handover, struct ledger_thread, handover);

        (void) uv_prepare_stop(handover);
        (void) pthread_mutex_lock(&t->mutex);
        list_move(&t->gathered, &t->asked);
        (void) pthread_cond_signal(&t->asked_some);
        (void) pthread_mutex_unlock(&t->mutex);
}

void ledger_thread_send(struct ledger_thread *t, struct ledger_call *c)
{
        c->sent = clock_mono();
        c->tries++;
        t->outstanding++;
        hold_loop(t);
        if (t->closed) {
                c->error = -ECANCELED;
                (void) pthread_mutex_lock(&t->mutex);
                list_add(&t->answered, c);
                (void) pthread_mutex_unlock(&t->mutex);
                (void) uv_async_send(&t->wake);
                return;
        }
        list_add(&t->gathered, c);
        (void) uv_prepare_start(&t->handover, on_handover);
}

void ledger_thread_report(struct ledger_thread *t, enum ledger_health h, const char *why)
{
        (void) pthread_mutex_lock(&t->mutex);
        t->newest = h;
        t->told = false;
        (void) snprintf(t->why, sizeof(t->why), "%s", why);
        (void) pthread_mutex_unlock(&t->mutex);
        (void) uv_async_send(&t->wake);
}

void ledger_thread_close(struct ledger_thread *t, void (*closed)(void *arg), void *arg)
{
        t->closed = closed;
        t->closed_arg = arg;
        hold_loop(t);
        (void) uv_prepare_stop(&t->handover);
        (void) pthread_mutex_lock(&t->mutex);
        t->stopping = true;
        list_move(&t->gathered, &t->asked);
        for (struct ledger_call *c = t->asked.first; c; c = c->next)
                c->error = -ECANCELED;
        list_move(&t->asked, &t->answered);
        (void) pthread_cond_signal(&t->asked_some);
        (void) pthread_mutex_unlock(&t->mutex);
        (void) uv_async_send(&t->wake);
}

/* Signals belong to the loop's thread: this one is born with all of them blocked. */
static int start_thread(struct ledger_thread *t)
{
        sigset_t all, before;

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = pthread_create(&t->thread, NULL, thread_main, t);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

int ledger_thread_start(uv_loop_t *loop, const struct thread_work *work, void *store, size_t batch,
                        ledger_health_cb health, void *arg, struct ledger_thread **ret)
{
        pthread_condattr_t monotonic;
        struct ledger_thread *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        *t = (struct ledger_thread) { .work = work, .store = store, .batch = batch, .health = health,
                                      .health_arg = arg, .told = true };
        list_init(&t->gathered);
        list_init(&t->asked);
        list_init(&t->answered);
        (void) pthread_mutex_init(&t->mutex, NULL);
        (void) pthread_condattr_init(&monotonic);
        (void) pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        (void) pthread_cond_init(&t->asked_some, &monotonic);
        (void) pthread_condattr_destroy(&monotonic);
        int r = uv_async_init(loop, &t->wake, on_wake);
        if (r < 0) {
                free(t);
                return r;
        }
        (void) uv_prepare_init(loop, &t->handover);
        uv_unref((uv_handle_t *) &t->handover);
        t->wake.data = t->handover.data = t;
        t->open_handles = 2;
        hold_loop(t);
        *ret = t;
        r = start_thread(t);
        if (r < 0) {
                *ret = NULL;
                close_handles(t);
        }
        return r;
}
