/* The floor for http: a bare curl-multi program on epoll, each easy handle used again and again for one URL.
 * usage: floor_http URL IN_FLIGHT SECONDS [HEADERS]     (so many header lines of its own, none without) */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "t/bench/crew.h"
#include "t/bench/times.h"

#define IN_FLIGHT_MAX 1000

struct bench {
        const char *url;
        int in_flight, epoll, going, header_count;
        struct curl_slist *headers;
        int64_t timer_ns;        /* 0: not set */
        CURLM *multi;
        struct crew_member *member;
        int64_t done;
        bool counts, failed;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
        (void) bytes;
        (void) arg;
        return size * count;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
        struct bench *b = arg;
        struct epoll_event e = { .data.fd = fd };

        (void) easy;
        if (what & CURL_POLL_IN && what != CURL_POLL_REMOVE)
                e.events |= EPOLLIN;
        if (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE)
                e.events |= EPOLLOUT;
        (void) epoll_ctl(b->epoll, what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                         &e);
        (void) curl_multi_assign(b->multi, fd, what == CURL_POLL_REMOVE ? NULL : b);
        return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
        struct bench *b = arg;

        (void) multi;
        b->timer_ns = timeout_ms < 0 ? 0 : times_mono_ns() + timeout_ms * 1000000;
        return 0;
}

static void finished(struct bench *b)
{
        CURLMsg *message;
        int left;

        while ((message = curl_multi_info_read(b->multi, &left))) {
                CURL *easy = message->easy_handle;
                if (message->msg != CURLMSG_DONE)
                        continue;
                b->failed |= message->data.result != CURLE_OK;
                b->done++;
                b->going--;
                (void) curl_multi_remove_handle(b->multi, easy);
                if (b->failed || !(b->counts ? crew_goes_on(b->member) : b->done < b->in_flight * 4))
                        continue;
                (void) curl_multi_add_handle(b->multi, easy);
                b->going++;
        }
}

static void turn(struct bench *b)
{
        struct epoll_event events[64];
        int64_t wait_ns = b->timer_ns ? b->timer_ns - times_mono_ns() : 1000000000;
        int running, n = epoll_wait(b->epoll, events, 64, wait_ns <= 0 ? 0 : (int) (wait_ns / 1000000 + 1));

        for (int i = 0; i < n; i++)
                (void) curl_multi_socket_action(b->multi, events[i].data.fd,
                                                (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                                (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                                (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
                                                &running);
        if (b->timer_ns && times_mono_ns() >= b->timer_ns) {
                b->timer_ns = 0;
                (void) curl_multi_socket_action(b->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        finished(b);
}

static void run_all(struct bench *b, CURL **easies)
{
        for (int i = 0; i < b->in_flight; i++)
                (void) curl_multi_add_handle(b->multi, easies[i]);
        b->going = b->in_flight;
        while (b->going > 0)
                turn(b);
}

static int64_t request_on(struct crew_member *m, void *arg)
{
        struct bench *b = arg;
        CURL *easies[IN_FLIGHT_MAX];

        b->member = m;
        b->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (b->epoll < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) || !(b->multi = curl_multi_init()))
                return -1;
        (void) curl_multi_setopt(b->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        (void) curl_multi_setopt(b->multi, CURLMOPT_SOCKETDATA, b);
        (void) curl_multi_setopt(b->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        (void) curl_multi_setopt(b->multi, CURLMOPT_TIMERDATA, b);
        (void) curl_multi_setopt(b->multi, CURLMOPT_MAXCONNECTS, (long) b->in_flight);
        for (int i = 0; i < b->header_count; i++)
                b->headers = curl_slist_append(b->headers, "X-Bench-Something: bench-0a1b2c3d.0.100.1-aaaa.12345");
        for (int i = 0; i < b->in_flight; i++) {
                easies[i] = curl_easy_init();
                (void) curl_easy_setopt(easies[i], CURLOPT_HTTPHEADER, b->headers);
                (void) curl_easy_setopt(easies[i], CURLOPT_URL, b->url);
                (void) curl_easy_setopt(easies[i], CURLOPT_NOSIGNAL, 1L);
                (void) curl_easy_setopt(easies[i], CURLOPT_WRITEFUNCTION, on_body);
        }
        run_all(b, easies);      /* connections stand before the clock runs */
        b->done = 0;
        b->counts = true;
        crew_begin(m);
        run_all(b, easies);
        return b->failed ? -1 : b->done;
}

int main(int argc, char **argv)
{
        struct bench b = { .in_flight = argc == 4 || argc == 5 ? atoi(argv[2]) : 0,
                           .header_count = argc == 5 ? atoi(argv[4]) : 0 };
        struct crew_sum sum;

        if (b.in_flight < 1 || b.in_flight > IN_FLIGHT_MAX)
                return 64;
        b.url = argv[1];
        if (crew_run(1, atoi(argv[3]), request_on, &b, &sum) < 0)
                return 71;
        crew_print(&sum);
        return 0;
}
