/* The redis runner before a ledger that answers as each case says: when it asks again, and what it makes of the end. */
#include "t/unit/cases.h"
#include "t/unit/runner/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ledger/ledger.h"

/* One answer; the last one is given again and again. */
struct reply {
        int error;
        enum effected effected;
        const char *text;
};

struct store {
        struct ledger base;
        const struct reply *replies;
        size_t count, asked;
        uv_timer_t timer;           /* answers come later, on the loop */
        struct ledger_call *call;
        struct effect_in seen;      /* of the newest request; its texts may be gone */
        char texts[512];            /* those it was sent with */
        uint64_t delay_ms;
        void (*on_asked)(void);
};

static struct trial t;
static struct store store;

static void on_answer(uv_timer_t *timer)
{
        const struct reply *r = &store.replies[store.asked <= store.count ? store.asked - 1 : store.count - 1];
        struct ledger_call *c = store.call;

        (void) timer;
        store.call = NULL;
        c->error = r->error;
        (void) snprintf(c->why, sizeof(c->why), "%s", r->error ? "the server says no" : "");
        if (r->error == 0) {
                c->out.effect.effected = r->effected;
                c->out.effect.text = strdup(r->text);
                assert_non_null(c->out.effect.text);
                c->out.effect.text_len = strlen(r->text);
        }
        ledger_answer(c);
}

static void add_texts(const char *const *list, size_t count)
{
        size_t len = strlen(store.texts);

        for (size_t i = 0; i < count; i++)
                len += (size_t) snprintf(store.texts + len, sizeof(store.texts) - len, "%s|", list[i]);
}

static void store_send(struct ledger *l, struct ledger_call *c)
{
        assert_ptr_equal(l, &store.base);
        assert_int_equal(c->op, LEDGER_EFFECT);
        assert_null(store.call);
        assert_int_equal(t.started, 1);   /* the run line comes before the request can leave */
        store.asked++;
        store.call = c;
        store.seen = c->in.effect;
        store.texts[0] = '\0';
        add_texts(c->in.effect.keys, c->in.effect.key_count);
        add_texts(c->in.effect.fields, c->in.effect.field_count);
        add_texts(c->in.effect.context, c->in.effect.context_count);
        (void) uv_timer_start(&store.timer, on_answer, store.delay_ms, 0);
        if (store.on_asked)
                store.on_asked();
}

static const struct ledger_kind store_kind = { .name = "store", .send = store_send };

static char stream[] = "events", script[] = "/etc/onced/tally.lua", script_text[] = "return 1", token[] = "tok";
static char *pairs[] = { (char[]) { "kind=daily" }, (char[]) { "note=a=b" }, NULL };
static char *words[] = { (char[]) { "x" }, (char[]) { "" }, NULL };

static int setup(void **state)
{
        (void) state;
        trial_init(&t, &runner_redis);
        store = (struct store) { .base = { .kind = &store_kind } };
        t.group = &store.base;
        t.run.token = token;
        t.task.redis = (struct redis_target) { .stream = stream, .fields = { pairs, 2 }, .maxlen = 50 };
        return 0;
}

static void open_with(const struct reply *replies, size_t count)
{
        store.replies = replies;
        store.count = count;
        (void) uv_timer_init(&t.loop, &store.timer);
        trial_open(&t);
}

#define OPEN(...)                                                                                                    \
        do {                                                                                                         \
                static const struct reply replies_[] = { __VA_ARGS__ };                                              \
                open_with(replies_, ARRAY_SIZE(replies_));                                                           \
        } while (0)

static void end(void)
{
        uv_close((uv_handle_t *) &store.timer, NULL);
        trial_close(&t);
}

static void entry_carries_its_run_and_the_configured_fields(void **state)
{
        (void) state;
        OPEN({ 0, EFFECT_DONE, "1764522000000-0" });
        trial_run(&t);

        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, -1);
        assert_true(trial_text_has(&t, "1764522000000-0"));
        assert_int_equal(store.seen.kind, EFFECT_STREAM);
        assert_ptr_equal(store.seen.key, stream);
        assert_int_equal(store.seen.maxlen, 50);
        assert_ptr_equal(store.seen.token, token);
        assert_ptr_equal(store.seen.occ, t.context.occ);
        assert_ptr_equal(store.seen.fence, t.context.fence);
        assert_string_equal(store.texts,
                            "kind|daily|note|a=b|"
                            "occurrence|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef|"
                            "trigger|web1-2a3b4c5d.2.4711.81234-a2f3.17|task|mail|planned|1764522000000|"
                            "fence|1764522000000042|node|web1-2a3b4c5d|shard|1|shards|3|");
        end();
}

static void script_is_given_its_keys_and_arguments(void **state)
{
        (void) state;
        t.task.redis = (struct redis_target) { .script = script, .text = script_text, .keys = { pairs, 1 },
                                               .args = { words, 2 } };
        OPEN({ 0, EFFECT_DONE, "3" });
        trial_run(&t);

        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, -1);
        assert_int_equal(store.seen.kind, EFFECT_SCRIPT);
        assert_ptr_equal(store.seen.script, script_text);
        assert_memory_equal(store.texts, "kind=daily|x||occurrence|", 25);
        end();
}

static void script_that_says_noop_had_nothing_to_do(void **state)
{
        (void) state;
        t.task.redis = (struct redis_target) { .script = script, .text = script_text };
        OPEN({ 0, EFFECT_DONE, "noop" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_NOOP, -1);
        end();
}

static void lost_answer_is_asked_for_again(void **state)
{
        (void) state;
        OPEN({ -ETIMEDOUT, 0, NULL }, { -EAGAIN, 0, NULL }, { 0, EFFECT_BEFORE, "7-0" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, -1);
        assert_true(trial_text_has(&t, "7-0"));
        assert_int_equal(store.asked, 3);
        assert_int_equal(t.started, 1);
        end();
}

static void fenced_run_is_interrupted(void **state)
{
        (void) state;
        OPEN({ 0, EFFECT_FENCED, "" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_non_null(strstr(t.run.outcome.error, "nothing was written"));
        assert_int_equal(store.asked, 1);
        end();
}

static void what_went_wrong_is_the_error_of_the_run(void **state)
{
        (void) state;
        OPEN({ 0, EFFECT_FAILED, "script:3: no such month" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_STATUS, RESULT_NONE, -1);
        assert_string_equal(t.run.outcome.error, "script:3: no such month");
        end();
}

static void never_executed_until_the_deadline_is_a_failure(void **state)
{
        (void) state;
        t.run.timeout_ms = 120;
        OPEN({ -EAGAIN, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_string_equal(t.run.outcome.error, "not executed: the server says no");
        end();
}

static void unanswered_until_the_deadline_is_unknown(void **state)
{
        (void) state;
        t.run.timeout_ms = 120;
        OPEN({ -ETIMEDOUT, 0, NULL }, { -EAGAIN, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_TIMEOUT, RESULT_NONE, -1);
        assert_string_equal(t.run.outcome.error, "sent, no answer: the server says no");
        end();
}

static void answer_that_comes_after_the_deadline_is_taken(void **state)
{
        (void) state;
        t.run.timeout_ms = 20;
        store.delay_ms = 60;
        OPEN({ 0, EFFECT_DONE, "7-0" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, -1);
        end();
}

static void store_that_is_lost_is_not_asked_again(void **state)
{
        (void) state;
        OPEN({ -EUCLEAN, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_NOT_SENT, RESULT_NONE, -1);
        assert_int_equal(store.asked, 1);
        end();
}

static void store_that_is_lost_after_an_unanswered_request_leaves_it_unknown(void **state)
{
        (void) state;
        OPEN({ -ETIMEDOUT, 0, NULL }, { -EUCLEAN, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_UNKNOWN, CAUSE_NO_ANSWER, RESULT_NONE, -1);
        end();
}

static void closed_ledger_ends_the_run(void **state)
{
        (void) state;
        OPEN({ -ECANCELED, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        end();
}

static void refused_start_asks_for_nothing(void **state)
{
        (void) state;
        t.refuses_start = true;
        OPEN({ 0, EFFECT_DONE, "7-0" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_FAILED, CAUSE_LOG, RESULT_NONE, -1);
        assert_int_equal(store.asked, 0);
        end();
}

static void stopped_before_its_start_it_asks_for_nothing(void **state)
{
        (void) state;
        OPEN({ 0, EFFECT_DONE, "7-0" });
        trial_start(&t);
        t.kind->stop(t.runner, &t.run, RUN_STOP_DRAIN);
        t.kind->stop(t.runner, &t.run, RUN_STOP_LEASE_LOST);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, -1);
        assert_int_equal(store.asked, 0);
        end();
}

static void stop_now(void)
{
        t.kind->stop(t.runner, &t.run, RUN_STOP_LEASE_LOST);
}

static void stopped_while_it_asks_it_tells_the_answer(void **state)
{
        (void) state;
        store.on_asked = stop_now;
        OPEN({ 0, EFFECT_DONE, "7-0" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_SUCCEEDED, CAUSE_NONE, RESULT_DONE, -1);
        end();
}

static void stopped_while_it_asks_in_vain_it_is_interrupted(void **state)
{
        (void) state;
        store.on_asked = stop_now;
        OPEN({ -ETIMEDOUT, 0, NULL }, { 0, EFFECT_DONE, "7-0" });
        trial_run(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_int_equal(store.asked, 1);
        end();
}

static void on_stop_timer(uv_timer_t *timer)
{
        stop_now();
        uv_close((uv_handle_t *) timer, NULL);
}

static void stopped_between_two_tries_it_ends(void **state)
{
        uv_timer_t timer;
        (void) state;
        OPEN({ -EAGAIN, 0, NULL });
        (void) uv_timer_init(&t.loop, &timer);
        trial_start(&t);
        (void) uv_timer_start(&timer, on_stop_timer, 20, 0);
        trial_finish(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        end();
}

static void past_its_limit_it_does_not_ask_again(void **state)
{
        (void) state;
        t.run.valid_until = mono_plus_ms(clock_mono(), 30);
        OPEN({ -EAGAIN, 0, NULL });
        trial_run(&t);
        trial_assert_ended(&t, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, -1);
        assert_int_equal(store.asked, 1);
        end();
}

static void without_a_group_there_is_no_runner(void **state)
{
        struct runner_options o = { .loop = &t.loop };
        struct runner *rn;

        (void) state;
        assert_int_equal(runner_redis.open(&o, &rn), -EINVAL);
        assert_int_equal(uv_loop_close(&t.loop), 0);
}

int main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
        const struct CMUnitTest tests[] = {
                CASE(entry_carries_its_run_and_the_configured_fields),
                CASE(script_is_given_its_keys_and_arguments),
                CASE(script_that_says_noop_had_nothing_to_do),
                CASE(lost_answer_is_asked_for_again),
                CASE(fenced_run_is_interrupted),
                CASE(what_went_wrong_is_the_error_of_the_run),
                CASE(never_executed_until_the_deadline_is_a_failure),
                CASE(unanswered_until_the_deadline_is_unknown),
                CASE(answer_that_comes_after_the_deadline_is_taken),
                CASE(store_that_is_lost_is_not_asked_again),
                CASE(store_that_is_lost_after_an_unanswered_request_leaves_it_unknown),
                CASE(closed_ledger_ends_the_run),
                CASE(refused_start_asks_for_nothing),
                CASE(stopped_before_its_start_it_asks_for_nothing),
                CASE(stopped_while_it_asks_it_tells_the_answer),
                CASE(stopped_while_it_asks_in_vain_it_is_interrupted),
                CASE(stopped_between_two_tries_it_ends),
                CASE(past_its_limit_it_does_not_ask_again),
                CASE(without_a_group_there_is_no_runner),
        };

        return RUN_CASES(argc, argv, "redis_runner", tests);
}
