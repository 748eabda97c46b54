/* Effects on Redis, against a real server: made once for an occurrence, by who still holds its run, and by nobody else. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_cut.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

static const struct ask first = { .at = -9, .expect = -10 };
static const char *const context[] = { "occurrence", "9f", "shard", "0" };
static const char *const fields[] = { "kind", "daily", "note", "two\nlines" };

/* A run that was granted, and its effect. */
struct held {
        struct world w;
        struct ask_texts texts;
        char stream[64];
        const char *keys[1];
        struct ledger_call call;
};

static void grant(struct held *h)
{
        struct ledger_call c;

        world_open(&h->w);
        world_task(&h->w, 1, -10);
        ask_claim(&h->w, &first, &h->texts, &c);
        world_call(&h->w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        (void) snprintf(h->texts.fence, sizeof(h->texts.fence), "%s", c.out.claim.fence);
        (void) snprintf(h->stream, sizeof(h->stream), "events:%s", h->w.config.redis.group);
        h->keys[0] = h->stream;
        h->call = (struct ledger_call) { .op = LEDGER_EFFECT };
        h->call.in.effect = (struct effect_in) {
                .occ = h->texts.occ, .token = h->texts.token, .fence = h->texts.fence,
                .kind = EFFECT_STREAM, .key = h->stream,
                .fields = fields, .field_count = ARRAY_SIZE(fields),
                .context = context, .context_count = ARRAY_SIZE(context),
        };
}

static void begin_world(struct held *h)
{
        alarm(60);
        assert_int_equal(world_begin(&h->w, &redis_backend), 0);
}

static void begin(struct held *h)
{
        begin_world(h);
        grant(h);
}

static void end(struct held *h)
{
        ledger_call_done(&h->call);
        world_end(&h->w);
        alarm(0);
}

static enum effected make(struct held *h)
{
        ledger_call_done(&h->call);
        world_call(&h->w, &h->call);
        if (h->call.error)
                fail_msg("%s", h->call.why);
        return h->call.out.effect.effected;
}

static int make_fails(struct held *h)
{
        ledger_call_done(&h->call);
        world_call(&h->w, &h->call);
        return h->call.error;
}

/* From here on the effect is this script, with the stream's name as its key. */
static void becomes(struct held *h, const char *script)
{
        h->call.in.effect = (struct effect_in) {
                .occ = h->texts.occ, .token = h->texts.token, .fence = h->texts.fence,
                .kind = EFFECT_SCRIPT, .script = script, .keys = h->keys, .key_count = 1,
                .fields = fields, .field_count = ARRAY_SIZE(fields),
                .context = context, .context_count = ARRAY_SIZE(context),
        };
}

static const char *entries(const struct held *h)
{
        return redis_say(&redis_shared, "XLEN %s", h->stream);
}

static const char *value(const struct held *h)
{
        return redis_say(&redis_shared, "GET %s", h->stream);
}

static void entry_tells_its_run_before_what_is_configured(void **state)
{
        struct held h;
        char expected[256];
        begin(&h);

        assert_int_equal(make(&h), EFFECT_DONE);
        assert_true(h.call.out.effect.text_len > 0);
        (void) snprintf(expected, sizeof(expected), "%s occurrence,9f,shard,0,kind,daily,note,two\nlines",
                        h.call.out.effect.text);
        assert_string_equal(redis_say(&redis_shared, "EVAL %s 1 %s",
                                      "local e = redis.call('XRANGE', KEYS[1], '-', '+')[1] "
                                      "return e[1] .. ' ' .. table.concat(e[2], ',')", h.stream), expected);
        end(&h);
        (void) state;
}

static void asked_again_it_tells_what_came_of_it_the_first_time(void **state)
{
        struct held h;
        char id[64];
        begin(&h);
        assert_int_equal(make(&h), EFFECT_DONE);
        (void) snprintf(id, sizeof(id), "%s", h.call.out.effect.text);

        assert_int_equal(make(&h), EFFECT_BEFORE);
        assert_string_equal(h.call.out.effect.text, id);
        assert_string_equal(entries(&h), "1");

        /* Also when the run was ended by another meanwhile: that it was made is the truth. */
        struct ledger_call c;
        ask_finish(&h.w, &first, &h.texts, STATE_SUCCEEDED, &c);
        world_call(&h.w, &c);
        assert_int_equal(make(&h), EFFECT_BEFORE);
        assert_string_equal(entries(&h), "1");
        end(&h);
        (void) state;
}

static void effect_whose_reply_was_lost_is_not_made_again(void **state)
{
        static struct task short_lease = { .singleton = PATH_REDIS, .lease_ms = 1000 };   /* short deadline of commands */
        struct held h;
        struct redis_cut cut;
        begin_world(&h);
        h.w.config.tasks = &short_lease;
        h.w.config.task_count = 1;
        redis_cut_start(&cut, &h.w.loop, redis_shared.port);
        h.w.config.redis.url = cut.url;
        grant(&h);

        cut.lose_replies = true;
        assert_int_equal(make_fails(&h), -ETIMEDOUT);
        assert_string_equal(entries(&h), "1");
        cut.lose_replies = false;
        world_wait_health(&h.w, LEDGER_UP);
        assert_int_equal(make(&h), EFFECT_BEFORE);
        assert_string_equal(entries(&h), "1");

        ledger_call_done(&h.call);
        world_close(&h.w);
        redis_cut_stop(&cut, &h.w.loop);
        end(&h);
        (void) state;
}

static void whoever_does_not_hold_the_run_writes_nothing(void **state)
{
        struct held h;
        struct effect_in right;
        char other_token[TOKEN_TEXT];
        begin(&h);
        right = h.call.in.effect;
        claim_token("other.1.2.3", h.texts.occ, other_token);

        h.call.in.effect.token = other_token;
        assert_int_equal(make(&h), EFFECT_FENCED);
        h.call.in.effect = right;
        h.call.in.effect.fence = "1";
        assert_int_equal(make(&h), EFFECT_FENCED);
        h.call.in.effect = right;
        h.call.in.effect.occ = "0000";
        assert_int_equal(make(&h), EFFECT_FENCED);
        h.call.in.effect = right;
        (void) redis_say(&redis_shared, "DEL onced:{test:%s}:l:%s", h.w.config.redis.group, h.texts.occ);
        assert_int_equal(make(&h), EFFECT_FENCED);
        assert_string_equal(entries(&h), "0");
        end(&h);
        (void) state;
}

static void only_who_made_it_is_told_that_it_was_made(void **state)
{
        struct held h;
        char other_token[TOKEN_TEXT];
        begin(&h);
        assert_int_equal(make(&h), EFFECT_DONE);
        claim_token("other.1.2.3", h.texts.occ, other_token);
        h.call.in.effect.token = other_token;

        assert_int_equal(make(&h), EFFECT_FENCED);
        assert_string_equal(h.call.out.effect.text, "");
        end(&h);
        (void) state;
}

static void run_that_was_taken_over_writes_nothing(void **state)
{
        struct held h;
        struct ledger_call c;
        struct ask_texts next;
        begin(&h);
        (void) redis_say(&redis_shared, "DEL onced:{test:%s}:l:%s", h.w.config.redis.group, h.texts.occ);
        ask_claim(&h.w, &(struct ask) { .owner = "other.1.2.3", .at = -8, .expect = -9 }, &next, &c);
        (void) snprintf(c.in.claim.stale_occ, sizeof(c.in.claim.stale_occ), "%s", h.texts.occ);
        world_call(&h.w, &c);
        assert_int_equal(c.out.claim.ended_count, 1);

        /* The old owner wakes up. */
        assert_int_equal(make(&h), EFFECT_FENCED);
        assert_string_equal(entries(&h), "0");

        h.call.in.effect.occ = next.occ;
        h.call.in.effect.token = next.token;
        h.call.in.effect.fence = c.out.claim.fence;
        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(entries(&h), "1");
        ledger_call_done(&c);
        end(&h);
        (void) state;
}

static void run_that_ended_makes_no_effect(void **state)
{
        struct held h;
        struct ledger_call c;
        begin(&h);
        ask_finish(&h.w, &first, &h.texts, STATE_SUCCEEDED, &c);
        world_call(&h.w, &c);

        assert_int_equal(make(&h), EFFECT_FENCED);
        /* Nor does a lease that came back by mistake make one. */
        (void) redis_say(&redis_shared, "SET onced:{test:%s}:l:%s %s", h.w.config.redis.group, h.texts.occ, h.texts.token);
        assert_int_equal(make(&h), EFFECT_FENCED);
        assert_string_equal(entries(&h), "0");
        end(&h);
        (void) state;
}

static void long_stream_is_cut(void **state)
{
        struct held h;
        begin(&h);
        for (int i = 0; i < 1000; i++)
                (void) redis_say(&redis_shared, "XADD %s * a b", h.stream);

        h.call.in.effect.maxlen = 100;
        assert_int_equal(make(&h), EFFECT_DONE);
        assert_in_range(strtol(entries(&h), NULL, 10), 100, 250);
        end(&h);
        (void) state;
}

static void what_the_server_refuses_is_named_and_not_tried_again(void **state)
{
        struct held h;
        begin(&h);
        (void) redis_say(&redis_shared, "SET %s text", h.stream);

        assert_int_equal(make(&h), EFFECT_FAILED);
        assert_non_null(strstr(h.call.out.effect.text, "WRONGTYPE"));
        (void) redis_say(&redis_shared, "DEL %s", h.stream);
        assert_int_equal(make(&h), EFFECT_FAILED);
        assert_non_null(strstr(h.call.out.effect.text, "WRONGTYPE"));
        assert_string_equal(entries(&h), "0");
        end(&h);
        (void) state;
}

static int make_on_a_full_server(struct held *h)
{
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        int r = make_fails(h);
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");
        return r;
}

/* Not even what a full server would let a script do. */
static void full_server_has_executed_nothing(void **state)
{
        struct held h;
        begin(&h);
        assert_int_equal(make_on_a_full_server(&h), -EAGAIN);
        assert_non_null(strstr(h.call.why, "OOM"));
        assert_string_equal(entries(&h), "0");
        assert_int_equal(make(&h), EFFECT_DONE);
        end(&h);

        begin(&h);
        becomes(&h, "redis.call('DEL', KEYS[1]) redis.pcall('SET', KEYS[1], 'new') return 'done'");
        (void) redis_say(&redis_shared, "SET %s old", h.stream);
        assert_int_equal(make_on_a_full_server(&h), -EAGAIN);
        assert_string_equal(value(&h), "old");
        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(value(&h), "new");
        end(&h);
        (void) state;
}

static void store_that_waits_for_its_owners_makes_no_effect(void **state)
{
        struct held h;
        begin(&h);
        (void) redis_say(&redis_shared, "HSET onced:{test:%s}:store hold 999999999999999", h.w.config.redis.group);
        assert_int_equal(make_fails(&h), -EAGAIN);
        (void) redis_say(&redis_shared, "HSET onced:{test:%s}:store hold 000000000000000", h.w.config.redis.group);
        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(entries(&h), "1");
        end(&h);
        (void) state;
}

static void reader_makes_no_effect(void **state)
{
        struct held h;
        begin(&h);
        world_close(&h.w);
        h.w.read_only = true;
        world_open(&h.w);
        assert_int_equal(make_fails(&h), -EROFS);
        assert_string_equal(entries(&h), "0");
        end(&h);
        (void) state;
}

static void script_gets_keys_arguments_and_its_run(void **state)
{
        struct held h;
        begin(&h);
        becomes(&h, "-- a comment first, and what closes brackets: ]] ]=]\n"
                    "redis.call('SET', KEYS[1], table.concat(ARGV, ',') .. ' ' .. onced.occurrence .. ' ' .. onced.shard)\n"
                    "return #KEYS + #ARGV");

        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(h.call.out.effect.text, "5");
        assert_string_equal(value(&h), "kind,daily,note,two\nlines 9f 0");
        end(&h);
        (void) state;
}

static void script_forgotten_by_the_server_is_sent_again(void **state)
{
        struct held h;
        begin(&h);
        becomes(&h, "return redis.call('INCR', KEYS[1])");

        (void) redis_say(&redis_shared, "SCRIPT FLUSH");
        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(h.call.out.effect.text, "1");
        (void) redis_say(&redis_shared, "SCRIPT FLUSH");
        assert_int_equal(make(&h), EFFECT_BEFORE);
        assert_string_equal(h.call.out.effect.text, "1");
        assert_string_equal(value(&h), "1");
        end(&h);
        (void) state;
}

static void script_that_fails_half_way_is_named_and_not_run_again(void **state)
{
        struct held h;
        begin(&h);
        becomes(&h, "redis.call('INCR', KEYS[1])\n\nerror('no such month')");

        assert_int_equal(make(&h), EFFECT_FAILED);
        assert_string_equal(h.call.out.effect.text, "script:3: no such month");
        assert_int_equal(make(&h), EFFECT_FAILED);
        assert_string_equal(h.call.out.effect.text, "script:3: no such month");
        assert_string_equal(value(&h), "1");
        end(&h);
        (void) state;
}

static void script_of_a_stale_holder_is_not_run(void **state)
{
        struct held h;
        begin(&h);
        becomes(&h, "return redis.call('INCR', KEYS[1])");
        h.call.in.effect.fence = "1";

        assert_int_equal(make(&h), EFFECT_FENCED);
        assert_string_equal(value(&h), "");
        end(&h);
        (void) state;
}

static void what_a_script_returns_becomes_text(void **state)
{
        static const struct {
                const char *script, *text;
                enum effected effected;
        } cases[] = {
                { "return 'plain'", "plain", EFFECT_DONE },
                { "return ''", "", EFFECT_DONE },
                { "return nil", "", EFFECT_DONE },
                { "return false", "", EFFECT_DONE },
                { "return 1764522000000042", "1764522000000042", EFFECT_DONE },
                { "return 2.5", "2.5", EFFECT_DONE },
                { "return { 'a', 'b' }", "[\"a\",\"b\"]", EFFECT_DONE },
                { "return redis.status_reply('noop')", "noop", EFFECT_DONE },
                { "return redis.error_reply('CLOSED for today')", "CLOSED for today", EFFECT_FAILED },
                { "error({ err = 'MINE' })", "MINE", EFFECT_FAILED },
                { "return redis.call('INCR')", "ERR Wrong number of args", EFFECT_FAILED },
                { "return (", "script:1: unexpected symbol", EFFECT_FAILED },
                { "x = 1", "script:1:", EFFECT_FAILED },
                { "end redis.call('SET', KEYS[1], 'x') do", "script:1:", EFFECT_FAILED },
                { "return function() end", "function", EFFECT_DONE },
                { "return { function() end }", "", EFFECT_DONE },
                { "return string.rep('x', 70000)", "xxx", EFFECT_DONE },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct held h;
                begin(&h);
                becomes(&h, cases[i].script);
                if (make(&h) != cases[i].effected)
                        fail_msg("%s: %s", cases[i].script, h.call.out.effect.text);
                if (strncmp(h.call.out.effect.text, cases[i].text, strlen(cases[i].text)) != 0)
                        fail_msg("%s: %s", cases[i].script, h.call.out.effect.text);
                assert_true(h.call.out.effect.text_len <= 65536);
                assert_string_equal(value(&h), "");
                end(&h);
        }
        (void) state;
}

static void scripts_arrive_byte_by_byte_whatever_brackets_they_hold(void **state)
{
        static const char *const parts[] = { "]", "]]", "]=", "]=]", "]==", "]==]", "]=]==]===", "\n]=]\n\n]==]", "[=[" };
        char scripts[2 * ARRAY_SIZE(parts)][64];   /* they outlive the ledger */

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                const char *part = parts[i / 2];
                struct held h;
                char expected[32];
                (void) snprintf(expected, sizeof(expected), ".%s", part);
                /* In the middle, and as the last bytes. */
                (void) snprintf(scripts[i], sizeof(scripts[i]),
                                i % 2 ? "\nreturn [=====[.%s]=====]" : "\nreturn [=====[.%s]=====] -- %s", part,
                                strchr(part, '\n') ? "" : part);
                begin(&h);
                becomes(&h, scripts[i]);
                assert_int_equal(make(&h), EFFECT_DONE);
                assert_string_equal(h.call.out.effect.text, expected);
                end(&h);
        }
        (void) state;
}

static void long_script_and_many_texts_fit(void **state)
{
        static char script[65537];
        static const char *many[1000];
        struct held h;
        begin(&h);
        memset(script, ' ', sizeof(script) - 1);
        static const char last[] = "return #KEYS .. ' ' .. #ARGV";
        memcpy(script + sizeof(script) - sizeof(last), last, sizeof(last));
        for (size_t i = 0; i < ARRAY_SIZE(many); i++)
                many[i] = "x";
        becomes(&h, script);
        h.call.in.effect.keys = h.call.in.effect.fields = many;
        h.call.in.effect.key_count = h.call.in.effect.field_count = ARRAY_SIZE(many);

        assert_int_equal(make(&h), EFFECT_DONE);
        assert_string_equal(h.call.out.effect.text, "1000 1000");
        end(&h);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(entry_tells_its_run_before_what_is_configured),
                cmocka_unit_test(asked_again_it_tells_what_came_of_it_the_first_time),
                cmocka_unit_test(effect_whose_reply_was_lost_is_not_made_again),
                cmocka_unit_test(whoever_does_not_hold_the_run_writes_nothing),
                cmocka_unit_test(only_who_made_it_is_told_that_it_was_made),
                cmocka_unit_test(run_that_was_taken_over_writes_nothing),
                cmocka_unit_test(run_that_ended_makes_no_effect),
                cmocka_unit_test(long_stream_is_cut),
                cmocka_unit_test(what_the_server_refuses_is_named_and_not_tried_again),
                cmocka_unit_test(full_server_has_executed_nothing),
                cmocka_unit_test(store_that_waits_for_its_owners_makes_no_effect),
                cmocka_unit_test(reader_makes_no_effect),
                cmocka_unit_test(script_gets_keys_arguments_and_its_run),
                cmocka_unit_test(script_forgotten_by_the_server_is_sent_again),
                cmocka_unit_test(script_that_fails_half_way_is_named_and_not_run_again),
                cmocka_unit_test(script_of_a_stale_holder_is_not_run),
                cmocka_unit_test(what_a_script_returns_becomes_text),
                cmocka_unit_test(scripts_arrive_byte_by_byte_whatever_brackets_they_hold),
                cmocka_unit_test(long_script_and_many_texts_fit),
        };

        int r = RUN_CASES(argc, argv, "redis_effect", tests);
        redis_server_stop(&redis_shared);
        return r;
}
