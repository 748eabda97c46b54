/* A store that lost what it knew, and who comes after those who knew it: other processes of the node, its next life,
 * other nodes. None of them starts what may have been started. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/file.h"
#include "ledger/recover.h"
#include "ledger/redis_memory.h"

/* A server that the case may empty, and a node beside it with a store that it makes itself. */
static void begin(struct world *w, struct redis_server *s)
{
        alarm(60);
        redis_server_start(s, NULL);
        assert_int_equal(world_begin(w, &redis_backend), 0);
        w->config.redis.url = s->url;
        world_open(w);
}

static void end(struct world *w, struct redis_server *s)
{
        world_end(w);
        redis_server_stop(s);
        alarm(0);
}

/* Another process of the same node, or its next life. */
static void come_again(struct world *w)
{
        world_close(w);
        w->health = LEDGER_DOWN;
        w->health_changes = 0;
        world_open(w);
}

static char *memory_of(const struct world *w)
{
        char prefix[64];

        (void) snprintf(prefix, sizeof(prefix), "onced:{test:%s}:", w->config.redis.group);
        char *path = redis_memory_path(w->config.state_dir, prefix);
        assert_non_null(path);
        return path;
}

static void forget(const struct world *w)
{
        char *path = memory_of(w);

        assert_int_equal(unlink(path), 0);
        free(path);
}

static enum outcome claim(struct world *w, int at, int expect, struct ledger_call *c)
{
        struct ask_texts texts;

        ask_claim(w, &(struct ask) { .at = at, .expect = expect }, &texts, c);
        world_call(w, c);
        ledger_call_done(c);
        return c->out.claim.outcome;
}

static const char *store_field(const struct world *w, const struct redis_server *s, const char *field)
{
        return redis_say(s, "HGET onced:{test:%s}:store %s", w->config.redis.group, field);
}

/* The unit's cursor, after a registration that asks for `cursor`. */
static struct instant registered(struct world *w, struct instant cursor)
{
        struct ledger_call reg = { .op = LEDGER_REGISTER };

        reg.in.reg = (struct register_in) { { "", WORLD_TASK, 0 }, cursor };
        world_call(w, &reg);
        assert_int_equal(reg.error, 0);
        return reg.out.reg.cursor;
}

static void unit_of_a_new_store_begins_behind_its_creation(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        int64_t before = stamp_instant(clock_wall()).ms;
        begin(&w, &s);
        world_task(&w, 1, -10);

        struct instant cursor = registered(&w, world_at(&w, -10));
        assert_true(cursor.ms >= before);
        assert_int_equal(claim(&w, -9, -10, &c), OUTCOME_DONE);

        /* The first instant behind it is run, with nothing recorded as possibly started. */
        struct ask_texts texts;
        ask_claim(&w, &(struct ask) { .at = -1, .expect = -2 }, &texts, &c);
        c.in.claim.planned.ms = cursor.ms + 1;
        c.in.claim.expect = cursor;
        occurrence_id("", WORLD_TASK, 0, c.in.claim.planned, texts.occ);
        world_call(&w, &c);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
        ledger_call_done(&c);
        end(&w, &s);
        (void) state;
}

static void definition_of_a_new_store_is_not_older_than_it(void **state)
{
        struct world w;
        struct redis_server s;
        begin(&w, &s);
        struct ledger_call def = { .op = LEDGER_DEFINE };
        def.in.define = (struct define_in) { .task = WORLD_TASK, .when_hash = "0123456789abcdef",
                                             .def_hash = "fedcba9876543210", .shards = 1, .competes = true,
                                             .node = w.node };
        assert_int_equal(schedule_every(1000, 0, &def.in.define.schedule), 0);
        world_call(&w, &def);
        assert_int_equal(def.error, 0);
        assert_true(def.out.define.valid_from.ms >= strtoll(store_field(&w, &s, "born"), NULL, 10));
        end(&w, &s);
        (void) state;
}

static void emptied_store_halts_a_process_that_comes_later(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        begin(&w, &s);
        world_task(&w, 1, -10);

        (void) redis_say(&s, "FLUSHALL");
        come_again(&w);
        world_wait_health(&w, LEDGER_HALTED);
        assert_non_null(strstr(w.why, "lost its identity"));
        assert_int_equal(claim(&w, -9, -10, &c), OUTCOME_HALTED);
        assert_string_equal(redis_say(&s, "DBSIZE"), "0");
        end(&w, &s);
        (void) state;
}

static void emptied_store_is_made_anew_by_who_knows_of_none_behind_what_may_have_run(void **state)
{
        struct world w;
        struct redis_server s;
        begin(&w, &s);
        world_task(&w, 1, -10);

        (void) redis_say(&s, "FLUSHALL");
        int64_t emptied = stamp_instant(clock_wall()).ms;
        world_close(&w);
        forget(&w);              /* as another node, without this one's memory */
        world_open(&w);
        world_task(&w, 1, -10);
        assert_true(registered(&w, world_at(&w, -10)).ms >= emptied);
        end(&w, &s);
        (void) state;
}

static void store_of_another_incarnation_halts_by_name(void **state)
{
        struct world w;
        struct redis_server s;
        struct ledger_call c;
        char old[9], new[9];
        begin(&w, &s);
        world_task(&w, 1, -10);
        (void) snprintf(old, sizeof(old), "%.8s", store_field(&w, &s, "inc"));

        /* Another node, which remembers nothing, makes a new store. */
        (void) redis_say(&s, "FLUSHALL");
        redis_store_of_old(&s, w.config.redis.group);
        (void) snprintf(new, sizeof(new), "%.8s", store_field(&w, &s, "inc"));

        /* Who lived through it sees it by the next call, though epoch and server are the same ... */
        assert_int_equal(claim(&w, -9, -10, &c), OUTCOME_DOWN);
        world_wait_health(&w, LEDGER_HALTED);
        assert_non_null(strstr(w.why, old));
        assert_non_null(strstr(w.why, new));
        assert_non_null(strstr(w.why, "onced recover --store -c FILE"));
        /* ... and who comes later by the node's memory. */
        come_again(&w);
        world_wait_health(&w, LEDGER_HALTED);
        assert_int_equal(claim(&w, -9, -10, &c), OUTCOME_HALTED);
        end(&w, &s);
        (void) state;
}

static void store_that_was_once_recovered_is_not_taken_for_any_other(void **state)
{
        struct world w;
        struct redis_server s;
        begin(&w, &s);
        world_task(&w, 1, -10);

        (void) redis_say(&s, "HSET onced:{test:%s}:store inc 00000000000000000000000000000001 recovered 1 replaces %s",
                         w.config.redis.group, "00000000000000000000000000000002 ");
        come_again(&w);
        world_wait_health(&w, LEDGER_HALTED);
        assert_non_null(strstr(w.why, "not the one this node remembers"));
        end(&w, &s);
        (void) state;
}

static void recovered_store_is_taken_by_who_remembers_what_it_replaces(void **state)
{
        struct world w;
        struct redis_server s;
        struct recover_done done;
        char why[RECOVER_TEXT];
        begin(&w, &s);
        world_task(&w, 1, -10);
        (void) redis_say(&s, "FLUSHALL");
        come_again(&w);
        world_wait_health(&w, LEDGER_HALTED);

        assert_int_equal(recover_store(&w.config, &done, why), 0);
        world_wait_health(&w, LEDGER_UP);
        assert_string_equal(store_field(&w, &s, "inc"), done.incarnation);
        assert_true(done.barrier.ms >= w.base.ms);
        /* The node has learnt it: losing it again is a loss again. */
        (void) redis_say(&s, "FLUSHALL");
        come_again(&w);
        world_wait_health(&w, LEDGER_HALTED);
        end(&w, &s);
        (void) state;
}

static void epoch_is_raised_above_what_the_node_remembers_of_it(void **state)
{
        struct world w;
        struct redis_server s;
        begin(&w, &s);
        world_task(&w, 1, -10);
        (void) redis_say(&s, "HSET onced:{test:%s}:store epoch 7", w.config.redis.group);
        come_again(&w);
        world_wait_health(&w, LEDGER_UP);

        /* An older copy is put back. */
        (void) redis_say(&s, "HSET onced:{test:%s}:store epoch 3", w.config.redis.group);
        come_again(&w);
        world_wait_health(&w, LEDGER_UP);
        assert_string_equal(store_field(&w, &s, "epoch"), "8");
        assert_true(strtoll(store_field(&w, &s, "barrier"), NULL, 10) >= w.base.ms);
        end(&w, &s);
        (void) state;
}

static void damaged_memory_is_named_with_its_cure(void **state)
{
        struct world w;
        struct redis_server s;
        begin(&w, &s);
        world_task(&w, 1, -10);
        char *path = memory_of(&w);

        world_close(&w);
        assert_int_equal(file_replace(path, "rubbish\n", 8, 0600), 0);
        w.health = LEDGER_UP;
        w.health_changes = 0;
        world_open(&w);
        world_wait_health(&w, LEDGER_DOWN);
        assert_non_null(strstr(w.why, "damaged; cure: remove it"));
        forget(&w);
        world_wait_health(&w, LEDGER_UP);
        free(path);
        end(&w, &s);
        (void) state;
}

/* The file alone. */

static char *scratch(char folder[32])
{
        (void) snprintf(folder, 32, "/tmp/onced-memory-XXXXXX");
        assert_non_null(mkdtemp(folder));
        return redis_memory_path(folder, "onced:{a:b}:");
}

static void scratch_end(const char *folder, char *path)
{
        char lock[128];

        (void) snprintf(lock, sizeof(lock), "%s.lock", path);
        (void) unlink(lock);
        (void) unlink(path);
        assert_int_equal(rmdir(folder), 0);
        free(path);
}

static const struct redis_memory some = { .incarnation = "aa", .epoch = "3", .fence = "1764522000000042",
                                          .planned = { 1764522000000 } };

static void memory_that_was_written_is_read(void **state)
{
        char folder[32], *path = scratch(folder);
        struct redis_memory m = { .run_id = "77", .planned = INSTANT_NONE };
        struct stat st;

        assert_int_equal(redis_memory_load(path, &m), 0);
        assert_string_equal(m.incarnation, "");
        assert_int_equal(redis_memory_keep(path, "", &some), 0);
        assert_int_equal(redis_memory_load(path, &m), 0);
        assert_string_equal(m.incarnation, "aa");
        assert_string_equal(m.epoch, "3");
        assert_string_equal(m.fence, "1764522000000042");
        assert_string_equal(m.run_id, "77");
        assert_int_equal(m.planned.ms, 1764522000000);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        scratch_end(folder, path);
        (void) state;
}

static void memory_of_the_file_and_of_the_process_are_merged_upwards(void **state)
{
        char folder[32], *path = scratch(folder);
        struct redis_memory m = { .incarnation = "aa", .epoch = "12", .fence = "9", .planned = { 5 } };

        assert_int_equal(redis_memory_keep(path, "", &some), 0);
        assert_int_equal(redis_memory_keep(path, "aa", &m), 0);
        assert_int_equal(redis_memory_load(path, &m), 0);
        assert_string_equal(m.epoch, "12");
        assert_string_equal(m.fence, some.fence);
        assert_int_equal(m.planned.ms, some.planned.ms);
        scratch_end(folder, path);
        (void) state;
}

static void incarnation_is_replaced_only_by_who_knew_it(void **state)
{
        char folder[32], *path = scratch(folder);
        struct redis_memory next = { .incarnation = "bb", .epoch = "1", .planned = INSTANT_NONE }, m = next;

        assert_int_equal(redis_memory_keep(path, "", &some), 0);
        assert_int_equal(redis_memory_keep(path, "", &next), -ESTALE);
        assert_int_equal(redis_memory_keep(path, "cc", &next), -ESTALE);
        assert_int_equal(redis_memory_keep(path, "aa", &next), 0);
        assert_int_equal(redis_memory_keep(path, "aa", &some), -ESTALE);
        /* Epochs of another store are not its own; fences go on through all of them. */
        assert_int_equal(redis_memory_load(path, &m), 0);
        assert_string_equal(m.incarnation, "bb");
        assert_string_equal(m.epoch, "1");
        assert_string_equal(m.fence, some.fence);
        scratch_end(folder, path);
        (void) state;
}

static void memory_that_is_not_understood_is_refused(void **state)
{
        static const char *const texts[] = {
                "", "\n", "incarnation aa\n", "epoch 1\n", "incarnation AA\nepoch 1\n", "incarnation aa\nepoch x\n",
                "incarnation aa\nepoch 1\nplanned -5\n", "incarnation aa\nepoch 1\nplanned 1234567890123456\n",
                "incarnation aa\nepoch 1\nnews 1\n", "incarnation aa\nepoch 1\nfence \n",
                "incarnation 0123456789abcdef0123456789abcdef0\nepoch 1\n",
        };
        char folder[32], *path = scratch(folder);
        struct redis_memory m = { .planned = INSTANT_NONE };

        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                assert_int_equal(file_replace(path, texts[i], strlen(texts[i]), 0600), 0);
                assert_int_equal(redis_memory_load(path, &m), -EINVAL);
                assert_int_equal(redis_memory_keep(path, "", &some), -EINVAL);
        }
        scratch_end(folder, path);
        (void) state;
}

static void processes_that_write_at_once_lose_nothing(void **state)
{
        enum { PROCESSES = 4, ROUNDS = 25 };
        char folder[32], *path = scratch(folder);
        struct redis_memory m = some;
        pid_t pids[PROCESSES];

        assert_int_equal(redis_memory_keep(path, "", &some), 0);
        for (int p = 0; p < PROCESSES; p++) {
                pids[p] = fork();
                assert_true(pids[p] >= 0);
                for (int i = 1; pids[p] == 0 && i <= ROUNDS; i++) {
                        (void) snprintf(m.epoch, sizeof(m.epoch), "%d", 100 + i * PROCESSES + p);
                        if (redis_memory_keep(path, "aa", &m) < 0)
                                _exit(1);
                }
                if (pids[p] == 0)
                        _exit(0);
        }
        for (int p = 0; p < PROCESSES; p++) {
                int status;
                assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
                assert_int_equal(status, 0);
        }
        assert_int_equal(redis_memory_load(path, &m), 0);
        assert_int_equal(atoi(m.epoch), 100 + ROUNDS * PROCESSES + PROCESSES - 1);
        scratch_end(folder, path);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(unit_of_a_new_store_begins_behind_its_creation),
                cmocka_unit_test(definition_of_a_new_store_is_not_older_than_it),
                cmocka_unit_test(emptied_store_halts_a_process_that_comes_later),
                cmocka_unit_test(emptied_store_is_made_anew_by_who_knows_of_none_behind_what_may_have_run),
                cmocka_unit_test(store_of_another_incarnation_halts_by_name),
                cmocka_unit_test(store_that_was_once_recovered_is_not_taken_for_any_other),
                cmocka_unit_test(recovered_store_is_taken_by_who_remembers_what_it_replaces),
                cmocka_unit_test(epoch_is_raised_above_what_the_node_remembers_of_it),
                cmocka_unit_test(damaged_memory_is_named_with_its_cure),
                cmocka_unit_test(memory_that_was_written_is_read),
                cmocka_unit_test(memory_of_the_file_and_of_the_process_are_merged_upwards),
                cmocka_unit_test(incarnation_is_replaced_only_by_who_knew_it),
                cmocka_unit_test(memory_that_is_not_understood_is_refused),
                cmocka_unit_test(processes_that_write_at_once_lose_nothing),
        };
        int failed = RUN_CASES(argc, argv, "redis_memory", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
