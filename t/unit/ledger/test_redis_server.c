/* Which servers are refused, by name; how one is reached; what a reader may do. */
#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#include "ledger/redis_url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *text(const char *s)
{
        return (char *) (uintptr_t) s;
}

static void begin(struct world *w)
{
        alarm(60);
        assert_int_equal(world_begin(w, &redis_backend), 0);
}

static void end(struct world *w)
{
        world_end(w);
        alarm(0);
}

static void refused_naming(struct world *w, const char *cause)
{
        struct ledger_call p = { .op = LEDGER_PEEK };

        world_wait_health(w, LEDGER_DOWN);
        if (!strstr(w->why, cause))
                fail_msg("'%s' does not name '%s'", w->why, cause);
        p.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &p);
        assert_int_equal(p.error, -EAGAIN);
        assert_non_null(strstr(p.why, cause));
}

static void evicting_server_is_refused_until_it_does_not(void **state)
{
        struct world w;
        begin(&w);
        (void) redis_say(&redis_shared, "CONFIG SET maxmemory-policy allkeys-lru");
        world_open(&w);
        refused_naming(&w, "maxmemory-policy is allkeys-lru; set noeviction");

        (void) redis_say(&redis_shared, "CONFIG SET maxmemory-policy noeviction");
        world_wait_health(&w, LEDGER_UP);
        end(&w);
        (void) state;
}

static void server_without_persistence_is_refused(void **state)
{
        struct world w;
        begin(&w);
        (void) redis_say(&redis_shared, "CONFIG SET appendonly no");
        world_open(&w);
        refused_naming(&w, "neither append-only file nor snapshots are on");

        (void) redis_say(&redis_shared, "CONFIG SET save %s", "900\\ 1");
        (void) redis_say(&redis_shared, "CONFIG SET appendonly yes");
        world_wait_health(&w, LEDGER_UP);
        end(&w);
        (void) state;
}

static void replica_is_refused(void **state)
{
        struct world w;
        begin(&w);
        (void) redis_say(&redis_shared, "REPLICAOF 127.0.0.1 1");
        world_open(&w);
        refused_naming(&w, "server is a slave");

        (void) redis_say(&redis_shared, "REPLICAOF NO ONE");
        world_wait_health(&w, LEDGER_UP);
        end(&w);
        (void) state;
}

static void cluster_is_refused(void **state)
{
        static const char *const extra[] = { "--cluster-enabled", "yes", NULL };
        struct redis_server s;
        struct world w;
        redis_server_start(&s, extra);
        begin(&w);
        w.config.redis.url = s.url;
        world_open(&w);
        refused_naming(&w, "cluster_enabled is 1");
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

static void wrong_password_is_named_and_the_right_one_is_taken(void **state)
{
        static const char *const extra[] = { "--requirepass", "s3cret/x", NULL };
        struct redis_server s;
        struct world w;
        char url[96];
        redis_server_start(&s, extra);

        begin(&w);
        w.config.redis.url = s.url;
        world_open(&w);
        refused_naming(&w, "NOAUTH");
        end(&w);

        begin(&w);
        w.config.redis.url = s.url;
        w.config.redis.password = text("wrong");
        world_open(&w);
        refused_naming(&w, "WRONGPASS");
        assert_null(strstr(w.why, "wrong "));
        end(&w);

        begin(&w);
        w.config.redis.url = s.url;
        w.config.redis.user = text("default");
        w.config.redis.password = text("s3cret/x");
        world_open(&w);
        world_wait_health(&w, LEDGER_UP);
        end(&w);

        begin(&w);
        (void) snprintf(url, sizeof(url), "redis://:s3cret%%2fx@127.0.0.1:%u/3", s.port);
        w.config.redis.url = url;
        world_open(&w);
        world_wait_health(&w, LEDGER_UP);
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

static void missing_permission_is_named_with_its_cure(void **state)
{
        struct world w;
        begin(&w);
        w.config.redis.user = text("app");
        w.config.redis.password = text("pw");
        (void) redis_say(&redis_shared, "ACL SETUSER app on >pw ~* +@all -info");
        world_open(&w);
        refused_naming(&w, "+info +role +time");

        /* Where CONFIG is forbidden, INFO says enough about an append-only file. */
        (void) redis_say(&redis_shared, "ACL SETUSER app +info -config");
        world_wait_health(&w, LEDGER_UP);
        end(&w);
        (void) state;
}

static void unix_socket_and_database_are_reached(void **state)
{
        static char path[] = "/tmp/onced-redis-test.XXXXXX";
        struct redis_server s;
        struct world w;
        char url[128];
        assert_non_null(mkdtemp(path));
        char sock[64];
        (void) snprintf(sock, sizeof(sock), "%s/s", path);
        const char *const extra[] = { "--unixsocket", sock, NULL };
        redis_server_start(&s, extra);

        begin(&w);
        (void) snprintf(url, sizeof(url), "unix://%s?db=2", sock);
        w.config.redis.url = url;
        world_open(&w);
        world_task(&w, 1, -10);
        assert_string_equal(redis_say(&s, "DBSIZE"), "0");
        end(&w);
        redis_server_stop(&s);
        (void) unlink(sock);
        assert_int_equal(rmdir(path), 0);
        (void) state;
}

static void name_of_the_server_is_resolved(void **state)
{
        struct world w;
        char url[64];
        begin(&w);
        /* localhost may have an IPv6 address first, where nobody listens. */
        (void) snprintf(url, sizeof(url), "redis://localhost:%u", redis_shared.port);
        w.config.redis.url = url;
        world_open(&w);
        world_wait_health(&w, LEDGER_UP);
        assert_int_equal(w.health_changes, 1);
        end(&w);
        (void) state;
}

static void reader_makes_nothing(void **state)
{
        struct world w;
        struct ledger_call p = { .op = LEDGER_PEEK }, h = { .op = LEDGER_HISTORY }, reg = { .op = LEDGER_REGISTER };
        struct redis_server s;
        redis_server_start(&s, NULL);
        begin(&w);
        w.config.redis.url = s.url;
        w.read_only = true;
        world_open(&w);

        p.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(&w, &p);
        assert_int_equal(p.error, 0);
        assert_false(p.out.peek.registered);
        h.in.history = (struct history_in) { NULL, -1, INSTANT_NONE, 10 };
        world_call(&w, &h);
        assert_int_equal(h.error, 0);
        assert_int_equal(h.out.history.count, 0);
        ledger_call_done(&h);
        reg.in.reg = (struct register_in) { { "", WORLD_TASK, 0 }, world_at(&w, -10) };
        world_call(&w, &reg);
        assert_int_equal(reg.error, -EROFS);
        assert_string_equal(redis_say(&s, "DBSIZE"), "0");
        end(&w);
        redis_server_stop(&s);
        (void) state;
}

static void addresses_are_read_strictly(void **state)
{
        struct redis_url u;

        assert_int_equal(redis_url_parse("redis://h", &u), 0);
        assert_string_equal(u.host, "h");
        assert_int_equal(u.port, 6379);
        assert_int_equal(u.db, 0);
        assert_int_equal(redis_url_parse("redis://me:p@ss/w@[::1]:7000/12", &u), 0);
        assert_string_equal(u.user, "me");
        assert_string_equal(u.password, "p@ss/w");
        assert_string_equal(u.host, "::1");
        assert_int_equal(u.port, 7000);
        assert_int_equal(u.db, 12);
        assert_int_equal(redis_url_parse("unix:///run/r.sock?db=3", &u), 0);
        assert_true(u.unix_socket);
        assert_string_equal(u.path, "/run/r.sock");
        assert_int_equal(u.db, 3);

        static const char *const malformed[] = {
                "redis://", "redis://:6379", "redis://h:", "redis://h:x", "redis://h/x", "redis://[::1",
                "redis://[::1]x",
                "redis://%zz@h", "redis://a%00@h", "unix://", "unix://relative", "unix:///s?x=1", "unix:///s?db=",
        };
        for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
                if (redis_url_parse(malformed[i], &u) != -EINVAL)
                        fail_msg("%s is not refused", malformed[i]);
        assert_int_equal(redis_url_parse("redis://h:65536", &u), -ERANGE);
        assert_int_equal(redis_url_parse("redis://h:0", &u), -ERANGE);
        assert_int_equal(redis_url_parse("redis://h/99999999999999999999", &u), -ERANGE);
        assert_int_equal(redis_url_parse("rediss://h", &u), -EPROTONOSUPPORT);
        assert_int_equal(redis_url_parse("", &u), -EPROTONOSUPPORT);
        (void) state;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test(evicting_server_is_refused_until_it_does_not),
                cmocka_unit_test(server_without_persistence_is_refused),
                cmocka_unit_test(replica_is_refused),
                cmocka_unit_test(cluster_is_refused),
                cmocka_unit_test(wrong_password_is_named_and_the_right_one_is_taken),
                cmocka_unit_test(missing_permission_is_named_with_its_cure),
                cmocka_unit_test(unix_socket_and_database_are_reached),
                cmocka_unit_test(name_of_the_server_is_resolved),
                cmocka_unit_test(reader_makes_nothing),
                cmocka_unit_test(addresses_are_read_strictly),
        };
        int failed = RUN_CASES(argc, argv, "redis_server", cases);

        redis_server_stop(&redis_shared);
        return failed;
}
