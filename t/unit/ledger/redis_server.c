/* Starting, killing and asking a redis-server. */
#include "t/unit/ledger/redis_server.h"

#include "t/unit/cases.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INSTALLED 127
#define WAIT_MS       10000

struct redis_server redis_shared;

static unsigned port_of_the_kernel(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &at, len), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) &at, &len), 0);
        (void) close(fd);
        return ntohs(at.sin_port);
}

/* A server in cluster mode also listens 10000 above. */
static unsigned free_port(void)
{
        unsigned port;

        do
                port = port_of_the_kernel();
        while (port > 65535 - 10000);
        return port;
}

static void child(const struct redis_server *s)
{
        char port[8];
        const char *argv[32] = { "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", s->dir, "--save", "",
                                 "--appendonly", "yes", "--logfile", "log" };
        size_t n = 13;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) snprintf(port, sizeof(port), "%u", s->port);
        for (size_t i = 0; s->extra[i]; i++)
                argv[n++] = s->extra[i];
        execvp(argv[0], (char *const *) (void *) argv);
        _exit(NOT_INSTALLED);
}

static void wait_until_it_answers(struct redis_server *s)
{
        const struct timespec pause = { 0, 5 * 1000000 };
        int status;

        for (int i = 0; i < WAIT_MS / 5; i++) {
                struct timeval limit = { 1, 0 };
                redisContext *c = redisConnectWithTimeout("127.0.0.1", (int) s->port, limit);
                redisReply *r = c && !c->err ? redisCommand(c, "PING") : NULL;
                /* NOAUTH is an answer too; LOADING is not. */
                bool answers = r && !(r->type == REDIS_REPLY_ERROR && strncmp(r->str, "LOADING", 7) == 0);
                if (r)
                        freeReplyObject(r);
                if (c)
                        redisFree(c);
                if (answers)
                        return;
                if (waitpid(s->pid, &status, WNOHANG) == s->pid) {
                        s->pid = 0;
                        fail_msg("%s", WIFEXITED(status) && WEXITSTATUS(status) == NOT_INSTALLED
                                 ? "redis-server is not installed: apt-get install redis-server"
                                 : "redis-server ended at its start");
                }
                (void) nanosleep(&pause, NULL);
        }
        fail_msg("redis-server did not answer on port %u", s->port);
}

void redis_server_again(struct redis_server *s)
{
        (void) fflush(NULL);
        s->pid = fork();
        assert_true(s->pid >= 0);
        if (s->pid == 0)
                child(s);
        wait_until_it_answers(s);
}

void redis_server_start(struct redis_server *s, const char *const *extra)
{
        *s = (struct redis_server) { .port = free_port() };
        (void) snprintf(s->dir, sizeof(s->dir), "/tmp/onced-redis-XXXXXX");
        assert_non_null(mkdtemp(s->dir));
        for (size_t i = 0; extra && extra[i]; i++)
                s->extra[i] = extra[i];
        (void) snprintf(s->url, sizeof(s->url), "redis://127.0.0.1:%u/0", s->port);
        redis_server_again(s);
}

void redis_server_kill(struct redis_server *s)
{
        if (s->pid <= 0)
                return;
        (void) kill(s->pid, SIGKILL);
        (void) waitpid(s->pid, NULL, 0);
        s->pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
        (void) st;
        (void) type;
        (void) at;
        return remove(path);
}

void redis_server_stop(struct redis_server *s)
{
        redis_server_kill(s);
        if (s->dir[0])
                (void) nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        s->dir[0] = '\0';
}

const char *redis_say(const struct redis_server *s, const char *format, ...)
{
        static char text[512];
        struct timeval limit = { 5, 0 };
        va_list ap;
        redisContext *c = redisConnectWithTimeout("127.0.0.1", (int) s->port, limit);

        assert_non_null(c);
        assert_int_equal(c->err, 0);
        va_start(ap, format);
        redisReply *r = redisvCommand(c, format, ap);
        va_end(ap);
        text[0] = '\0';
        if (r && r->type == REDIS_REPLY_INTEGER)
                (void) snprintf(text, sizeof(text), "%lld", r->integer);
        else if (r && r->str)
                (void) snprintf(text, sizeof(text), "%s", r->str);
        if (r)
                freeReplyObject(r);
        redisFree(c);
        return text;
}

void redis_store_of_old(const struct redis_server *s, const char *group)
{
        (void) redis_say(s, "EVAL %s 2 onced:{test:%s}:store onced:{test:%s}:fence",
                         "redis.call('SET', KEYS[2], '1')"
                         "redis.call('HSET', KEYS[1], 'v', '1', 'inc', '0123456789abcdef0123456789abcdef',"
                         "  'epoch', '1',"
                         "  'run_id', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),"
                         "  'barrier', '000000000000000', 'born', '000000000000000', 'hold', '000000000000000')",
                         group, group);
}

struct fresh {
        char group[16], state_dir[32];
};

static int fresh(struct config *config, void **ret_data)
{
        static unsigned count;
        struct fresh *f = calloc(1, sizeof(*f));

        if (!f)
                return -ENOMEM;
        if (redis_shared.pid == 0)
                redis_server_start(&redis_shared, NULL);
        (void) snprintf(f->group, sizeof(f->group), "case%u", ++count);
        (void) snprintf(f->state_dir, sizeof(f->state_dir), "/tmp/onced-redis-node-XXXXXX");
        assert_non_null(mkdtemp(f->state_dir));
        redis_store_of_old(&redis_shared, f->group);
        config->redis.url = redis_shared.url;
        config->redis.app = (char *) (uintptr_t) "test";
        config->redis.group = f->group;
        config->state_dir = f->state_dir;
        *ret_data = f;
        return 0;
}

static void drop(struct config *config, void *data)
{
        struct fresh *f = data;

        (void) config;
        (void) nftw(f->state_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(f);
}

const struct conformance_backend redis_backend = {
        .name = "redis", .kind = &ledger_redis, .forgets_leases = true, .fresh = fresh, .drop = drop,
};
