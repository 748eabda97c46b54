/* Lost replies, dead and restarted servers, lost data: nothing starts twice, and what happened is named. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_cut.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A lease of one second makes the deadline of a command 166 ms. */
static struct task short_lease = { .singleton = PATH_REDIS, .lease_ms = 1000 };

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        w->config.tasks = &short_lease;
        w->config.task_count = 1;
}

/* On a server of its own, which the case may hurt. */
static void begin_on(struct world *w, struct redis_server *s)
{
        redis_server_start(s, NULL);
        begin(w);
        w->config.redis.url = s->url;
        redis_store_of_old(s, w->config.redis.group);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static enum outcome claim(struct world *w, int at, int expect, struct ledger_call *c, struct ask_texts *texts)
{
        ask_claim(w, &(struct ask) { .at = at, .expect = expect }, texts, c);
        world_call(w, c);
        ledger_call_done(c);
        return c->out.claim.outcome;
}

static void scripts_forgotten_by_the_server_are_sent_again(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        world_open(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&redis_shared, "SCRIPT FLUSH");
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_GRANTED);
        assert_int_equal(c.error, 0);
        end(&w);
        (void) state;
}

static void lost_reply_gives_one_grant_and_the_same_fence(void **state)
{
        struct world w;
        struct redis_cut cut;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_GRANTED);
        uint64_t before = strtoull(c.out.claim.fence, NULL, 10);
        struct ask next = { .at = -8, .expect = -9, .overlap = OVERLAP_CONCURRENT, .max_running = 2 };

        cut.lose_replies = true;
        ask_claim(&w, &next, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        cut.lose_replies = false;
        world_wait_health(&w, LEDGER_UP);

        ask_claim(&w, &next, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_true(c.out.claim.replay);
        assert_true(strtoull(c.out.claim.fence, NULL, 10) > before);
        assert_string_equal(c.out.claim.fence, redis_say(&redis_shared, "GET onced:{%s:%s}:fence", w.config.redis.app,
                                                         w.config.redis.group));

        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        end(&w);
        (void) state;
}

static void request_that_lay_on_the_wire_past_its_time_does_nothing(void **state)
{
        struct world w;
        struct redis_cut cut;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        world_task(&w, 1, -10);

        cut.hold_requests = true;
        ask_claim(&w, &(struct ask) { .at = -9, .expect = -10, .void_after_ms = 100 }, &texts, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -ETIMEDOUT);
        redis_cut_release(&cut);
        world_wait_health(&w, LEDGER_UP);

        struct ledger_call p = { .op = LEDGER_PEEK };
        p.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(&w, &p);
        assert_int_equal(p.out.peek.cursor.ms, world_at(&w, -10).ms);
        assert_int_equal(p.out.peek.running, 0);

        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        end(&w);
        (void) state;
}

static void connection_cut_after_sending_is_unknown(void **state)
{
        struct world w;
        struct redis_cut cut;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        redis_cut_start(&cut, &w.loop, redis_shared.port);
        w.config.redis.url = cut.url;
        world_open(&w);
        world_task(&w, 1, -10);

        cut.cut_on_request = true;
        (void) claim(&w, -9, -10, &c, &texts);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DOWN);
        cut.cut_on_request = false;
        world_wait_health(&w, LEDGER_UP);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_GRANTED);

        world_close(&w);
        redis_cut_stop(&cut, &w.loop);
        end(&w);
        (void) state;
}

static void silent_server_is_given_up_at_the_deadline(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        world_open(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&redis_shared, "CLIENT PAUSE 1000 ALL");
        struct mono start = clock_mono();
        (void) claim(&w, -9, -10, &c, &texts);
        assert_int_equal(c.error, -ETIMEDOUT);
        assert_true(mono_since_ms(start, clock_mono()) < 900);
        assert_int_equal(w.health, LEDGER_DOWN);

        world_wait_health(&w, LEDGER_UP);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_GRANTED);
        end(&w);
        (void) state;
}

static void on_answered(struct ledger_call *c)
{
        *(bool *) c->arg = true;
}

static void stalled_loop_looks_for_the_reply_before_it_judges(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        const struct timespec stall = { 0, 400 * 1000000 };
        bool answered = false;
        begin(&w);
        world_open(&w);
        world_task(&w, 1, -10);

        ask_claim(&w, &(struct ask) { .at = -9, .expect = -10 }, &texts, &c);
        c.done = on_answered;
        c.arg = &answered;
        ledger_send(w.ledger, &c);
        (void) uv_run(&w.loop, UV_RUN_NOWAIT);   /* handed to the connection */
        (void) uv_run(&w.loop, UV_RUN_NOWAIT);   /* and to the socket */
        /* The whole process stands still, as when stopped, with the reply in the socket. */
        (void) nanosleep(&stall, NULL);
        while (!answered)
                (void) uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        end(&w);
        (void) state;
}

static void on_stranger(uv_stream_t *listener, int status)
{
        static char text[] = "220 mail ready\r\n";
        static uv_write_t request;
        uv_tcp_t *client = listener->data;
        uv_buf_t buf = uv_buf_init(text, sizeof(text) - 1);

        if (status == 0 && uv_is_closing((uv_handle_t *) client) == 0 && !client->data) {
                client->data = client;
                assert_int_equal(uv_accept(listener, (uv_stream_t *) client), 0);
                (void) uv_write(&request, (uv_stream_t *) client, &buf, 1, NULL);
        }
}

static void server_of_another_kind_is_down(void **state)
{
        struct world w;
        struct sockaddr_in at;
        int len = sizeof(at);
        uv_tcp_t listener, client;
        char url[64];
        begin(&w);
        (void) uv_tcp_init(&w.loop, &listener);
        (void) uv_tcp_init(&w.loop, &client);
        listener.data = &client;
        client.data = NULL;
        (void) uv_ip4_addr("127.0.0.1", 0, &at);
        assert_int_equal(uv_tcp_bind(&listener, (struct sockaddr *) &at, 0), 0);
        assert_int_equal(uv_listen((uv_stream_t *) &listener, 4, on_stranger), 0);
        assert_int_equal(uv_tcp_getsockname(&listener, (struct sockaddr *) &at, &len), 0);
        (void) snprintf(url, sizeof(url), "redis://127.0.0.1:%d", ntohs(at.sin_port));
        w.config.redis.url = url;
        world_open(&w);

        world_wait_health(&w, LEDGER_DOWN);
        assert_non_null(strstr(w.why, "Protocol error"));
        world_close(&w);
        uv_close((uv_handle_t *) &listener, NULL);
        uv_close((uv_handle_t *) &client, NULL);
        end(&w);
        (void) state;
}

static void missing_server_is_said_at_once(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        struct ask_texts texts;
        begin_on(&w, &s);
        redis_server_kill(&s);
        world_open(&w);

        struct mono start = clock_mono();
        (void) claim(&w, -9, -10, &c, &texts);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DOWN);
        assert_non_null(strstr(c.why, "refused"));
        (void) claim(&w, -9, -10, &c, &texts);
        assert_int_equal(c.error, -EAGAIN);
        assert_true(mono_since_ms(start, clock_mono()) < 500);
        assert_int_equal(w.health, LEDGER_DOWN);
        assert_int_equal(w.health_changes, 1);

        redis_server_again(&s);
        start = clock_mono();
        world_wait_health(&w, LEDGER_UP);
        assert_true(mono_since_ms(start, clock_mono()) < 1500);
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

/* A claim of an instant of now, which no grid knows. */
static enum outcome claim_now(struct world *w, struct instant expect, struct ledger_call *c, struct ask_texts *texts)
{
        ask_claim(w, &(struct ask) { .at = -1, .expect = -2 }, texts, c);
        c->in.claim.planned.ms = stamp_instant(clock_wall()).ms + 40;
        c->in.claim.expect = expect;
        occurrence_id("", WORLD_TASK, 0, c->in.claim.planned, texts->occ);
        claim_token(w->owner, texts->occ, texts->token);
        world_call(w, c);
        ledger_call_done(c);
        return c->out.claim.outcome;
}

static void restarted_server_may_have_lost_claims(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c, fin;
        struct ask_texts texts;
        begin_on(&w, &s);
        world_open(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_GRANTED);
        uint64_t fence = strtoull(c.out.claim.fence, NULL, 10);
        (void) snprintf(texts.fence, sizeof(texts.fence), "%s", c.out.claim.fence);
        ask_finish(&w, &(struct ask) { .at = -9 }, &texts, STATE_SUCCEEDED, &fin);
        world_call(&w, &fin);

        redis_server_kill(&s);
        world_wait_health(&w, LEDGER_DOWN);
        redis_server_again(&s);
        world_wait_health(&w, LEDGER_UP);

        /* What was planned before the restart may have been started under a claim that was lost. */
        assert_int_equal(claim(&w, -8, -9, &c, &texts), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.state, STATE_UNKNOWN);
        assert_int_equal(c.out.claim.cause, CAUSE_BARRIER);
        char key[64];
        (void) snprintf(key, sizeof(key), "onced:{test:%s}:store", w.config.redis.group);
        assert_string_equal(redis_say(&s, "HGET %s epoch", key), "2");
        while (claim_now(&w, c.out.claim.cursor, &c, &texts) == OUTCOME_DECIDED)
                assert_int_equal(c.out.claim.cause, CAUSE_BARRIER);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_true(strtoull(c.out.claim.fence, NULL, 10) > fence);
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

static void fences_go_on_from_the_clock_when_the_counter_went_back(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        struct ask_texts texts;
        char key[64];
        begin_on(&w, &s);
        world_open(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim_now(&w, world_at(&w, -10), &c, &texts), OUTCOME_GRANTED);
        uint64_t fence = strtoull(c.out.claim.fence, NULL, 10);
        struct instant cursor = c.in.claim.planned;

        /* As if an older copy had been restored. */
        (void) snprintf(key, sizeof(key), "onced:{test:%s}:fence", w.config.redis.group);
        (void) redis_say(&s, "SET %s 5", key);
        redis_server_kill(&s);
        world_wait_health(&w, LEDGER_DOWN);
        redis_server_again(&s);
        world_wait_health(&w, LEDGER_UP);

        c.out.claim.cursor = cursor;
        do {
                ask_claim(&w, &(struct ask) { .at = -1, .expect = -2, .overlap = OVERLAP_CONCURRENT,
                                              .max_running = 9 }, &texts, &c);
                c.in.claim.expect = cursor;
                c.in.claim.planned.ms = stamp_instant(clock_wall()).ms + 40;
                occurrence_id("", WORLD_TASK, 0, c.in.claim.planned, texts.occ);
                world_call(&w, &c);
                cursor = c.out.claim.cursor;
        } while (c.out.claim.outcome == OUTCOME_DECIDED || c.out.claim.outcome == OUTCOME_DONE);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_true(strtoull(c.out.claim.fence, NULL, 10) > fence);
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

/* How often the server was asked for its role. */
static int hellos(const struct redis_server *s)
{
        return atoi(redis_say(s, "EVAL %s 0", "return string.match(redis.call('INFO', 'commandstats'), "
                              "'cmdstat_role:calls=(%d+)') or '0'"));
}

static void emptied_store_halts_who_remembers_it(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        struct ask_texts texts;
        begin_on(&w, &s);
        world_open(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&s, "FLUSHALL");
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_HALTED);
        assert_int_equal(c.error, -EUCLEAN);
        assert_int_equal(w.health, LEDGER_HALTED);
        assert_non_null(strstr(w.why, "lost its identity"));

        /* It stays so after the next hello, which is not news, and does not make a new store by itself. */
        unsigned changes = w.health_changes;
        (void) redis_say(&s, "CONFIG RESETSTAT");
        while (hellos(&s) < 2)
                (void) uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.health, LEDGER_HALTED);
        assert_int_equal(w.health_changes, changes);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_HALTED);
        assert_string_equal(redis_say(&s, "DBSIZE"), "0");
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

static void lost_unit_is_not_made_anew(void **state)
{
        struct world w;
        struct ledger_call c, reg = { .op = LEDGER_REGISTER };
        struct ask_texts texts;
        begin(&w);
        world_open(&w);
        world_task(&w, 1, -10);

        (void) redis_say(&redis_shared, "DEL onced:{test:%s}:u:0:,%d:%s,0", w.config.redis.group,
                         (int) strlen(WORLD_TASK), WORLD_TASK);
        assert_int_equal(claim(&w, -9, -10, &c, &texts), OUTCOME_HALTED);
        assert_int_equal(c.error, 0);
        assert_non_null(strstr(c.why, "the cursor of " WORLD_TASK ", shard 0; cure: onced recover TASK --cursor now"));
        reg.in.reg = (struct register_in) { { "", WORLD_TASK, 0 }, world_at(&w, -10) };
        world_call(&w, &reg);
        assert_int_equal(reg.error, -EUCLEAN);
        assert_non_null(strstr(reg.why, "the cursor of " WORLD_TASK
                                         ", shard 0; cure: onced recover TASK --cursor now"));
        end(&w);
        (void) state;
}

static void on_canceled(struct ledger_call *c)
{
        *(unsigned *) c->arg += c->error == -ECANCELED;
}

static void closing_answers_what_is_outstanding(void **state)
{
        struct world w;
        struct ledger_call calls[3];
        struct ask_texts texts[3];
        unsigned canceled = 0;
        begin(&w);
        world_open(&w);
        world_task(&w, 1, -10);

        for (int i = 0; i < 3; i++) {
                ask_claim(&w, &(struct ask) { .at = -9 + i, .expect = -10 + i }, &texts[i], &calls[i]);
                calls[i].done = on_canceled;
                calls[i].arg = &canceled;
                ledger_send(w.ledger, &calls[i]);
                if (i == 0)
                        (void) uv_run(&w.loop, UV_RUN_NOWAIT);   /* the first is on its way */
        }
        world_close(&w);
        assert_int_equal(canceled, 3);
        end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(scripts_forgotten_by_the_server_are_sent_again),
                cmocka_unit_test(lost_reply_gives_one_grant_and_the_same_fence),
                cmocka_unit_test(request_that_lay_on_the_wire_past_its_time_does_nothing),
                cmocka_unit_test(connection_cut_after_sending_is_unknown),
                cmocka_unit_test(silent_server_is_given_up_at_the_deadline),
                cmocka_unit_test(stalled_loop_looks_for_the_reply_before_it_judges),
                cmocka_unit_test(server_of_another_kind_is_down),
                cmocka_unit_test(missing_server_is_said_at_once),
                cmocka_unit_test(restarted_server_may_have_lost_claims),
                cmocka_unit_test(fences_go_on_from_the_clock_when_the_counter_went_back),
                cmocka_unit_test(emptied_store_halts_who_remembers_it),
                cmocka_unit_test(lost_unit_is_not_made_anew),
                cmocka_unit_test(closing_answers_what_is_outstanding),
        };
        int failed = RUN_CASES(argc, argv, "redis_faults", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
