/* Names and literal addresses, answered on the loop, exactly once. No case needs a network. */
#include "t/unit/cases.h"

#include "ledger/resolver.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct answer {
        unsigned times;
        struct resolved r;
};

static void on_resolved(const struct resolved *r, void *arg)
{
        struct answer *a = arg;

        a->times++;
        a->r = *r;
}

static void on_closed(void *arg)
{
        *(bool *) arg = true;
}

struct fixture {
        uv_loop_t loop;
        struct resolver *resolver;
};

static void begin(struct fixture *f)
{
        alarm(30);
        assert_int_equal(uv_loop_init(&f->loop), 0);
        assert_int_equal(resolver_open(&f->loop, &f->resolver), 0);
}

static void end(struct fixture *f)
{
        bool closed = false;

        resolver_close(f->resolver, on_closed, &closed);
        assert_false(closed);
        (void) uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_true(closed);
        assert_int_equal(uv_loop_close(&f->loop), 0);
        alarm(0);
}

static void look_up(struct fixture *f, const char *host, int64_t timeout_ms, struct answer *a)
{
        *a = (struct answer) { 0 };
        resolver_lookup(f->resolver, host, timeout_ms, on_resolved, a);
        assert_int_equal(a->times, 0);   /* never before the loop turns */
        while (a->times == 0)
                (void) uv_run(&f->loop, UV_RUN_ONCE);
        assert_int_equal(a->times, 1);
}

static void literal_addresses_need_no_server(void **state)
{
        struct fixture f;
        struct answer a;
        begin(&f);

        look_up(&f, "192.0.2.7", 0, &a);
        assert_int_equal(a.r.error, 0);
        assert_int_equal(a.r.count, 1);
        assert_string_equal(a.r.addresses[0], "192.0.2.7");
        look_up(&f, "2001:db8::1", 0, &a);
        assert_int_equal(a.r.error, 0);
        assert_string_equal(a.r.addresses[0], "2001:db8::1");
        end(&f);
        (void) state;
}

static void names_of_the_hosts_file_need_no_server(void **state)
{
        struct fixture f;
        struct answer a;
        bool loopback = false;
        begin(&f);

        look_up(&f, "localhost", 5000, &a);
        assert_int_equal(a.r.error, 0);
        assert_true(a.r.count >= 1);
        for (unsigned i = 0; i < a.r.count; i++)
                loopback = loopback || strcmp(a.r.addresses[i], "127.0.0.1") == 0;
        assert_true(loopback);
        end(&f);
        (void) state;
}

static void name_that_cannot_be_found_is_an_error_in_time(void **state)
{
        struct fixture f;
        struct answer a;
        begin(&f);

        uint64_t start = uv_hrtime();
        look_up(&f, "no-such-name.invalid", 300, &a);
        assert_true(a.r.error < 0);
        assert_int_equal(a.r.count, 0);
        assert_true(a.r.why[0] != '\0');
        assert_true(uv_hrtime() - start < 2000000000ULL);
        end(&f);
        (void) state;
}

static void overlong_and_empty_names_are_errors(void **state)
{
        struct fixture f;
        struct answer a;
        char name[400];
        begin(&f);

        memset(name, 'a', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        look_up(&f, name, 300, &a);
        assert_true(a.r.error < 0);
        look_up(&f, "..", 300, &a);
        assert_true(a.r.error < 0);
        end(&f);
        (void) state;
}

static void closing_answers_what_is_outstanding(void **state)
{
        struct fixture f;
        struct answer slow = { 0 }, literal = { 0 };
        begin(&f);

        resolver_lookup(f.resolver, "127.0.0.1", 1000, on_resolved, &literal);
        resolver_lookup(f.resolver, "no-such-name.invalid", 60000, on_resolved, &slow);
        end(&f);

        assert_int_equal(literal.times, 1);
        assert_int_equal(slow.times, 1);
        assert_int_equal(slow.r.error, -ECANCELED);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(literal_addresses_need_no_server),
                cmocka_unit_test(names_of_the_hosts_file_need_no_server),
                cmocka_unit_test(name_that_cannot_be_found_is_an_error_in_time),
                cmocka_unit_test(overlong_and_empty_names_are_errors),
                cmocka_unit_test(closing_answers_what_is_outstanding),
        };
        return RUN_CASES(argc, argv, "resolver", cases);
}
