/* What sentinels say, and what is made of it: fakes on the test's own loop, each with one answer to every question. */
#include "ledger/redis_sentinel.h"

#include "common/config/config.h"
#include "t/unit/cases.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKES_MAX 5
#define SILENT    ""          /* takes the question and says nothing */
#define ABSENT    NULL        /* refuses to connect */
#define UNKNOWN   "*-1\r\n"
#define AT_A      "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n"
#define AT_B      "*2\r\n$8\r\n10.0.0.2\r\n$4\r\n6379\r\n"
#define AT_A_TOO  "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6380\r\n"

struct fake {
        uv_tcp_t listener;
        uv_tcp_t client;
        uv_write_t write;
        const char *says;
        bool open, has_client;
        char question[256];
};

struct round {
        uv_loop_t loop;
        struct fake fakes[FAKES_MAX];
        char names[FAKES_MAX][32], *items[FAKES_MAX];
        struct text_list addresses;
        struct redis_question *question;
        unsigned answers, ends;
        struct redis_primary primary;
};

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
        static char bytes[4096];

        (void) h;
        (void) size;
        *buf = uv_buf_init(bytes, sizeof(bytes));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
        struct fake *f = s->data;

        if (n < 0)
                (void) uv_read_stop(s);
        if (n <= 0)
                return;
        (void) snprintf(f->question, sizeof(f->question), "%.*s", (int) n, buf->base);
        uv_buf_t out = uv_buf_init((char *) (uintptr_t) f->says, (unsigned) strlen(f->says));
        if (out.len > 0)
                assert_int_equal(uv_write(&f->write, s, &out, 1, NULL), 0);
}

static void on_client(uv_stream_t *listener, int status)
{
        struct fake *f = listener->data;

        assert_int_equal(status, 0);
        if (f->has_client)
                return;
        f->has_client = true;
        assert_int_equal(uv_tcp_init(listener->loop, &f->client), 0);
        f->client.data = f;
        assert_int_equal(uv_accept(listener, (uv_stream_t *) &f->client), 0);
        assert_int_equal(uv_read_start((uv_stream_t *) &f->client, on_alloc, on_read), 0);
}

static void fake_start(struct round *r, size_t i, const char *says)
{
        struct fake *f = &r->fakes[i];
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int len = sizeof(at);

        f->says = says;
        f->open = true;
        f->listener.data = f;
        assert_int_equal(uv_tcp_init(&r->loop, &f->listener), 0);
        assert_int_equal(uv_tcp_bind(&f->listener, (struct sockaddr *) &at, 0), 0);
        assert_int_equal(uv_tcp_getsockname(&f->listener, (struct sockaddr *) &at, &len), 0);
        if (says)   /* a port that is bound and not listened at refuses */
                assert_int_equal(uv_listen((uv_stream_t *) &f->listener, 4, on_client), 0);
        (void) snprintf(r->names[i], sizeof(r->names[i]), "127.0.0.1:%u", ntohs(at.sin_port));
        r->items[i] = r->names[i];
}

static void on_primary(const struct redis_primary *p, void *arg)
{
        struct round *r = arg;

        r->answers++;
        r->primary = *p;
}

static void on_ended(void *arg)
{
        struct round *r = arg;

        r->ends++;
}

static void ask(struct round *r, const char *const *says, size_t count)
{
        struct redis_sentinels s = { .addresses = &r->addresses, .master = "mine", .connect_ms = 200, .command_ms = 200 };

        *r = (struct round) { .addresses = { .items = r->items, .count = count } };
        assert_int_equal(uv_loop_init(&r->loop), 0);
        for (size_t i = 0; i < count; i++)
                fake_start(r, i, says[i]);
        assert_int_equal(redis_sentinel_ask(&r->loop, &s, on_primary, r, &r->question), 0);
        assert_int_equal(r->answers, 0);
}

/* A loop with nothing of the question left on it ends when the fakes do. */
static void end(struct round *r)
{
        for (size_t i = 0; i < r->addresses.count; i++) {
                uv_close((uv_handle_t *) &r->fakes[i].listener, NULL);
                if (r->fakes[i].has_client)
                        uv_close((uv_handle_t *) &r->fakes[i].client, NULL);
        }
        (void) uv_run(&r->loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&r->loop), 0);
}

static void wait_for_answer(struct round *r)
{
        alarm(20);
        while (r->answers == 0)
                (void) uv_run(&r->loop, UV_RUN_ONCE);
        alarm(0);
}

struct vote_case {
        const char *says[FAKES_MAX];
        size_t count;
        const char *host;      /* NULL: none */
        unsigned port;
        const char *why;
};

static void check(const struct vote_case *c)
{
        struct round r;

        ask(&r, c->says, c->count);
        wait_for_answer(&r);
        end(&r);
        assert_int_equal(r.answers, 1);
        if (c->host) {
                assert_int_equal(r.primary.error, 0);
                assert_string_equal(r.primary.host, c->host);
                assert_int_equal(r.primary.port, c->port);
        } else {
                assert_int_equal(r.primary.error, -EHOSTUNREACH);
                if (!strstr(r.primary.why, c->why))
                        fail_msg("%s", r.primary.why);
        }
}

static void primary_is_what_more_than_half_of_the_sentinels_say(void **state)
{
        static const struct vote_case cases[] = {
                { { AT_A }, 1, "10.0.0.1", 6379, NULL },
                { { AT_B, AT_A, AT_A }, 3, "10.0.0.1", 6379, NULL },
                { { AT_A, ABSENT, AT_A }, 3, "10.0.0.1", 6379, NULL },
                { { AT_B, SILENT, AT_B }, 3, "10.0.0.2", 6379, NULL },
                { { AT_A, UNKNOWN, AT_B, AT_A, ABSENT }, 5, "10.0.0.1", 6379, NULL },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                check(&cases[i]);
        (void) state;
}

static void sentinels_that_are_too_few_or_of_two_minds_name_nobody(void **state)
{
        static const struct vote_case cases[] = {
                { { AT_A, AT_B }, 2, NULL, 0, "do not agree" },
                { { AT_A, AT_A_TOO, AT_B }, 3, NULL, 0, "do not agree" },
                { { AT_A, AT_A, AT_B, AT_B, ABSENT }, 5, NULL, 0, "do not agree" },
                { { AT_A, ABSENT, ABSENT }, 3, NULL, 0, "1 of 3 sentinels" },
                { { AT_A, AT_A, ABSENT, SILENT }, 4, NULL, 0, "2 of 4 sentinels" },
                { { UNKNOWN }, 1, NULL, 0, "knows no redis.master of this name" },
                { { "-NOAUTH Authentication required.\r\n" }, 1, NULL, 0, "NOAUTH" },
                { { "*2\r\n$1\r\na\r\n$5\r\n70000\r\n" }, 1, NULL, 0, "not understood" },
                { { "*2\r\n$0\r\n\r\n$4\r\n6379\r\n" }, 1, NULL, 0, "not understood" },
                { { ":1\r\n" }, 1, NULL, 0, "not understood" },
                { { "what\r\n" }, 1, NULL, 0, "0 of 1 sentinels" },
                { { ABSENT }, 1, NULL, 0, "refused" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                check(&cases[i]);
        (void) state;
}

static void question_names_the_primary_in_question(void **state)
{
        static const char *const says[] = { AT_A };
        struct round r;

        ask(&r, says, 1);
        wait_for_answer(&r);
        end(&r);
        assert_string_equal(r.fakes[0].question, "*3\r\n$8\r\nSENTINEL\r\n$23\r\nget-master-addr-by-name\r\n$4\r\nmine\r\n");
        (void) state;
}

static void ended_question_is_not_answered(void **state)
{
        static const char *const says[] = { SILENT, SILENT };
        struct round r;

        ask(&r, says, 2);
        while (!r.fakes[0].question[0])
                (void) uv_run(&r.loop, UV_RUN_ONCE);
        redis_sentinel_end(r.question, on_ended, &r);
        assert_int_equal(r.ends, 0);
        while (r.ends == 0)
                (void) uv_run(&r.loop, UV_RUN_ONCE);
        end(&r);
        assert_int_equal(r.answers, 0);
        assert_int_equal(r.ends, 1);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(primary_is_what_more_than_half_of_the_sentinels_say),
                cmocka_unit_test(sentinels_that_are_too_few_or_of_two_minds_name_nobody),
                cmocka_unit_test(question_names_the_primary_in_question),
                cmocka_unit_test(ended_question_is_not_answered),
        };
        return RUN_CASES(argc, argv, "redis_sentinel", cases);
}
