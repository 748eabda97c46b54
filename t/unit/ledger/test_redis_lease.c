/* Leases, take-over, memory limits and many clients at once, against a real Redis server. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS  8
#define INSTANTS 200

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        world_open(w);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static enum outcome claim(struct world *w, const struct ask *a, struct ledger_call *c, struct ask_texts *texts)
{
        ask_claim(w, a, texts, c);
        world_call(w, c);
        assert_int_equal(c->error, 0);
        if (c->out.claim.outcome == OUTCOME_GRANTED)
                (void) snprintf(texts->fence, sizeof(texts->fence), "%s", c->out.claim.fence);
        return c->out.claim.outcome;
}

static enum finished finish(struct world *w, const struct ask *a, struct ask_texts *texts, struct ledger_call *c)
{
        ask_finish(w, a, texts, STATE_SUCCEEDED, c);
        world_call(w, c);
        assert_int_equal(c->error, 0);
        return c->out.finish.finished;
}

static void lease_dies(const struct world *w, const char *occ)
{
        assert_string_equal(redis_say(&redis_shared, "DEL onced:{test:%s}:l:%s", w->config.redis.group, occ), "1");
}

static const struct ask first = { .at = -9, .expect = -10 };

static void finish_comes_before_the_claim_of_its_turn(void **state)
{
        struct world w;
        struct ledger_call calls[2], c;
        struct ask_texts texts, next;
        begin(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &texts), OUTCOME_GRANTED);

        /* The first finish of this connection: its script must be known to the server already. */
        (void) redis_say(&redis_shared, "SCRIPT FLUSH");
        world_close(&w);
        world_open(&w);
        ask_claim(&w, &(struct ask) { .at = -8, .expect = -9 }, &next, &calls[0]);
        ask_finish(&w, &first, &texts, STATE_SUCCEEDED, &calls[1]);
        world_call_all(&w, calls, 2);
        assert_int_equal(calls[1].out.finish.finished, FINISHED_OK);
        assert_int_equal(calls[0].out.claim.outcome, OUTCOME_GRANTED);
        end(&w);
        (void) state;
}

static void validity_ends_before_the_lease(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts;
        begin(&w);
        world_task(&w, 1, -10);

        struct mono before = clock_mono();
        assert_int_equal(claim(&w, &first, &c, &texts), OUTCOME_GRANTED);
        /* 30 s of lease from before sending, less a fiftieth. */
        assert_true(c.out.claim.valid_until.ns >= mono_plus_ms(before, 29400).ns);
        assert_true(c.out.claim.valid_until.ns <= mono_plus_ms(clock_mono(), 29400).ns);
        assert_true(c.out.claim.store_time.ns > 0);
        end(&w);
        (void) state;
}

static void only_who_watched_the_lease_end_takes_over(void **state)
{
        struct world w;
        struct ledger_call c, late;
        struct ask_texts dead, texts;
        struct ask next = { .owner = "other.1.2.3", .at = -8, .expect = -9 };
        begin(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &dead), OUTCOME_GRANTED);
        uint64_t fence = strtoull(dead.fence, NULL, 10);

        /* The lease lives: having watched it does not help. */
        ask_claim(&w, &next, &texts, &c);
        (void) snprintf(c.in.claim.stale_occ, sizeof(c.in.claim.stale_occ), "%s", dead.occ);
        world_call(&w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.cause, CAUSE_OVERLAP);
        assert_string_equal(c.out.claim.holder_occ, dead.occ);

        /* Of many who ask for an instant all but one come too late; they must be able to watch the holder too. */
        struct ask too_late = { .owner = "third.1.2.3", .at = -8, .expect = -9 };
        assert_int_equal(claim(&w, &too_late, &late, &texts), OUTCOME_DONE);
        assert_string_equal(late.out.claim.holder_occ, dead.occ);

        /* It is gone, but this caller has not watched it. */
        lease_dies(&w, dead.occ);
        next.at = -7, next.expect = -8;
        assert_int_equal(claim(&w, &next, &c, &texts), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.cause, CAUSE_OVERLAP);

        next.at = -6, next.expect = -7;
        ask_claim(&w, &next, &texts, &c);
        (void) snprintf(c.in.claim.stale_occ, sizeof(c.in.claim.stale_occ), "%s", dead.occ);
        world_call(&w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        assert_true(strtoull(c.out.claim.fence, NULL, 10) > fence);
        assert_int_equal(c.out.claim.ended_count, 1);
        assert_string_equal(c.out.claim.ended[0].occ, dead.occ);
        assert_int_equal(c.out.claim.ended[0].state, STATE_INTERRUPTED);
        ledger_call_done(&c);

        /* The old owner wakes up: its result is not taken, and nothing is freed under the new one. */
        assert_int_equal(finish(&w, &first, &dead, &late), FINISHED_FENCED);
        next.at = -5, next.expect = -6;
        assert_int_equal(claim(&w, &next, &c, &texts), OUTCOME_DECIDED);
        end(&w);
        (void) state;
}

static void lost_reply_of_a_take_over_tells_again_who_was_ended(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts dead, texts;
        struct ask next = { .owner = "other.1.2.3", .at = -8, .expect = -9 };
        begin(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &dead), OUTCOME_GRANTED);
        lease_dies(&w, dead.occ);

        for (int i = 0; i < 2; i++) {
                ask_claim(&w, &next, &texts, &c);
                (void) snprintf(c.in.claim.stale_occ, sizeof(c.in.claim.stale_occ), "%s", dead.occ);
                world_call(&w, &c);
                assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
                assert_int_equal(c.out.claim.replay, i == 1);
                assert_int_equal(c.out.claim.ended_count, 1);
                assert_string_equal(c.out.claim.ended[0].occ, dead.occ);
                ledger_call_done(&c);
        }
        end(&w);
        (void) state;
}

static enum renewed renew(struct world *w, struct ask_texts *texts, int at)
{
        struct ledger_call c = { .op = LEDGER_RENEW };

        c.in.renew = (struct renew_in) { { "", WORLD_TASK, 0 }, texts->occ, texts->token, texts->fence, 30000,
                                         world_at(w, at) };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        return c.out.renew.renewed;
}

static void late_renewal_brings_the_lease_back(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts, other;
        struct ask next = { .owner = "other.1.2.3", .at = -8, .expect = -9 };
        begin(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &texts), OUTCOME_GRANTED);
        lease_dies(&w, texts.occ);

        assert_int_equal(renew(&w, &texts, -9), RENEWED_LATE);
        assert_int_equal(renew(&w, &texts, -9), RENEWED_OK);
        assert_int_equal(claim(&w, &next, &c, &other), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.seq, 2);
        lease_dies(&w, texts.occ);
        assert_int_equal(finish(&w, &first, &texts, &c), FINISHED_OK);
        assert_true(c.out.finish.lease_gap);
        assert_int_equal(renew(&w, &texts, -9), RENEWED_LOST);
        end(&w);
        (void) state;
}

static void owner_puts_back_a_claim_the_store_lost(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts, other;
        struct ask next = { .owner = "other.1.2.3", .at = -8, .expect = -9 };
        const char *group;
        begin(&w);
        group = w.config.redis.group;
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &texts), OUTCOME_GRANTED);

        /* As after a restart that lost the last second. */
        (void) redis_say(&redis_shared, "DEL onced:{test:%s}:o:%s onced:{test:%s}:l:%s onced:{test:%s}:ur:0:,4:mail,0",
                         group, texts.occ, group, texts.occ, group);
        (void) redis_say(&redis_shared, "HSET onced:{test:%s}:u:0:,4:mail,0 cursor %015lld", group,
                         (long long) world_at(&w, -10).ms);
        assert_int_equal(renew(&w, &texts, -9), RENEWED_REASSERTED);
        next.expect = -9;
        assert_int_equal(claim(&w, &next, &c, &other), OUTCOME_DECIDED);
        assert_int_equal(c.out.claim.cause, CAUSE_OVERLAP);
        assert_int_equal(finish(&w, &first, &texts, &c), FINISHED_OK);
        end(&w);
        (void) state;
}

static void full_server_takes_results_but_no_claims(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask_texts texts, second;
        begin(&w);
        world_task(&w, 1, -10);
        assert_int_equal(claim(&w, &first, &c, &texts), OUTCOME_GRANTED);

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 1");
        struct ask next = { .at = -8, .expect = -9, .overlap = OVERLAP_CONCURRENT, .max_running = 2 };
        ask_claim(&w, &next, &second, &c);
        world_call(&w, &c);
        assert_int_equal(c.error, -EAGAIN);
        assert_non_null(strstr(c.why, "OOM"));
        assert_int_equal(finish(&w, &first, &texts, &c), FINISHED_OK);
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory 0");

        /* Nothing of the refused claim was left behind. */
        assert_int_equal(claim(&w, &next, &c, &second), OUTCOME_GRANTED);
        assert_false(c.out.claim.replay);
        end(&w);
        (void) state;
}

static void more_than_a_page_of_records_is_ended(void **state)
{
        struct world w;
        struct ledger_call c;
        struct ask a = { .overlap = OVERLAP_CONCURRENT, .max_running = 1000 };
        struct ask_texts texts;
        begin(&w);
        world_task(&w, 1, -200);
        for (int i = 0; i < 150; i++) {
                a.at = -199 + i, a.expect = -200 + i, a.grace_ms = 600000;
                assert_int_equal(claim(&w, &a, &c, &texts), OUTCOME_GRANTED);
        }

        c = (struct ledger_call) { .op = LEDGER_INTERRUPT };
        c.in.interrupt = (struct interrupt_in) { w.owner, true };
        world_call(&w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.interrupt.ended_count, 150);
        ledger_call_done(&c);
        struct ledger_call said = { .op = LEDGER_SAID };
        said.in.said = (struct said_in) { w.owner, w.node, w.life };
        world_call(&w, &said);
        world_call(&w, &c);
        assert_int_equal(c.out.interrupt.ended_count, 0);
        ledger_call_done(&c);
        end(&w);
        (void) state;
}

struct client {
        struct world *w;
        struct ledger *ledger;
        char owner[OWNER_TEXT];
        int at;
        struct ledger_call call;
        struct ask_texts texts;
        unsigned *grants;            /* per instant */
        uint64_t *fences;
        bool closed;
};

static void try_next(struct client *k);

static void on_tried(struct ledger_call *c)
{
        struct client *k = c->arg;

        assert_int_equal(c->error, 0);
        if (c->out.claim.outcome == OUTCOME_GRANTED) {
                k->grants[k->at]++;
                k->fences[k->at] = strtoull(c->out.claim.fence, NULL, 10);
        } else
                assert_int_equal(c->out.claim.outcome, OUTCOME_DONE);
        k->at++;
        if (k->at < INSTANTS)
                try_next(k);
}

static void try_next(struct client *k)
{
        struct ask a = { .owner = k->owner, .at = -INSTANTS + k->at, .expect = -INSTANTS + k->at - 1,
                         .overlap = OVERLAP_CONCURRENT, .max_running = 1000, .grace_ms = 3600000 };

        ask_claim(k->w, &a, &k->texts, &k->call);
        k->call.done = on_tried;
        k->call.arg = k;
        ledger_send(k->ledger, &k->call);
}

static void on_client_closed(void *arg)
{
        *(bool *) arg = true;
}

static void many_clients_share_out_the_instants(void **state)
{
        struct world w;
        struct client clients[CLIENTS];
        unsigned grants[INSTANTS] = { 0 };
        uint64_t fences[INSTANTS] = { 0 };
        begin(&w);
        world_task(&w, 1, -INSTANTS - 1);

        for (int i = 0; i < CLIENTS; i++) {
                struct client *k = &clients[i];
                *k = (struct client) { .w = &w, .grants = grants, .fences = fences };
                (void) snprintf(k->owner, sizeof(k->owner), "node%d.0.%d.7-aaaa", i, i);
                struct ledger_options o = { .config = &w.config, .node = "n", .owner = k->owner, .boot = w.boot,
                                            .life = 1 };
                assert_int_equal(ledger_redis.open(&w.loop, &o, NULL, NULL, &k->ledger), 0);
                try_next(k);
        }
        for (int i = 0; i < CLIENTS; i++)
                while (clients[i].at < INSTANTS)
                        (void) uv_run(&w.loop, UV_RUN_ONCE);
        for (int i = 0; i < CLIENTS; i++) {
                ledger_close(clients[i].ledger, on_client_closed, &clients[i].closed);
                while (!clients[i].closed)
                        (void) uv_run(&w.loop, UV_RUN_ONCE);
        }

        for (int i = 0; i < INSTANTS; i++) {
                assert_int_equal(grants[i], 1);
                if (i > 0)
                        assert_true(fences[i] > fences[i - 1]);
        }
        end(&w);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(finish_comes_before_the_claim_of_its_turn),
                cmocka_unit_test(validity_ends_before_the_lease),
                cmocka_unit_test(only_who_watched_the_lease_end_takes_over),
                cmocka_unit_test(lost_reply_of_a_take_over_tells_again_who_was_ended),
                cmocka_unit_test(late_renewal_brings_the_lease_back),
                cmocka_unit_test(owner_puts_back_a_claim_the_store_lost),
                cmocka_unit_test(full_server_takes_results_but_no_claims),
                cmocka_unit_test(more_than_a_page_of_records_is_ended),
                cmocka_unit_test(many_clients_share_out_the_instants),
        };
        int failed = RUN_CASES(argc, argv, "redis_lease", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
