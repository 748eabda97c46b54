/* The http runner with the real resolver, as far as it goes without a name server. */
#include "t/unit/runner/http_trial.h"

/* The server listens on the IPv4 address alone, while localhost may have both. */
static void localhost_is_found_and_reused(void **state)
{
        (void) state;
        http_trial_begin_at("localhost", "/do", sink_says_ok);
        for (int i = 0; i < 3; i++) {
                trial_run(&t);
                trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, 200);
                trial_again(&t);
        }
        assert_int_equal(sink.requests, 3);
        assert_int_equal(sink.connections, 1);
        http_trial_end();
}

static void name_that_cannot_be_is_not_sent(void **state)
{
        (void) state;
        t.task.http.connect_timeout_ms = 2000;
        http_trial_begin_at("no-such-name.invalid", "/do", sink_says_ok);
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_int_equal(t.started, 0);
        http_trial_end();
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup(f, http_trial_setup)
        const struct CMUnitTest tests[] = {
                CASE(localhost_is_found_and_reused),
                CASE(name_that_cannot_be_is_not_sent),
        };

        return RUN_CASES(argc, argv, "http_names", tests);
}
