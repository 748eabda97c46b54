/* The rules of the top level: what `auto` is here, credentials out of the Redis URL, keys that need others.
 * Each complains at the last file that gave the key. */
#include "common/config/rules.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

#define WORKERS_MAX 256

/* As many as the CPUs this process may use, which in a container is fewer than the machine has. */
static unsigned workers_auto(void)
{
        cpu_set_t set;

        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
                return 1;
        return CPU_COUNT(&set) > WORKERS_MAX ? WORKERS_MAX : (unsigned) CPU_COUNT(&set);
}

/* The place of key.sub (or of key) in the last file that gives it. */
static struct place place_of(const struct node *const *roots, size_t count, const char *key, const char *sub)
{
        while (count-- > 0) {
                const struct node *n = node_get(roots[count], key);
                const struct node *inner = sub && n ? node_get(n, sub) : NULL;
                if (inner || (n && (!sub || n->kind != NODE_MAP)))
                        return inner ? inner->place : n->place;
        }
        return roots[0]->place;
}

static int hex_digit(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* %41 to A, in place. */
static void percent_decode(char *text)
{
        char *to = text;

        for (const char *p = text; *p; p++) {
                int high = *p == '%' ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;
                if (low >= 0 && (high || low)) {
                        *to++ = (char) (high << 4 | low);
                        p += 2;
                } else {
                        *to++ = *p;
                }
        }
        *to = '\0';
}

static void take_over(struct reading *rd, struct place at, const char *key, char *value, char **to)
{
        if (value[0] == '\0')
                return;
        percent_decode(value);
        if (*to) {
                read_error(rd, at, key, "given both in redis.url and by itself");
                return;
        }
        *to = strdup(value);
        if (!*to)
                rd->error = -ENOMEM;
}

/* The URL is shown in logs and dumps; what must not be shown leaves it here. */
static void redis_credentials(struct reading *rd, struct config *c, struct place at)
{
        char *authority = c->redis.url ? strstr(c->redis.url, "://") : NULL;
        bool is_unix = c->redis.url && strncasecmp(c->redis.url, "unix:", 5) == 0;

        if (!authority || is_unix)
                return;
        authority += 3;
        char *host = memrchr(authority, '@', strcspn(authority, "/?#"));
        if (!host)
                return;
        *host++ = '\0';
        char *colon = strchr(authority, ':');
        if (!colon)
                read_error(rd, at, "redis.url",
                           "must be written user:password@ or :password@ before the host");
        if (colon) {
                *colon++ = '\0';
                if (rd->world_readable && colon[0])
                        read_warning(rd, at, "redis.url", "a password in a file that everybody can read; use "
                                                          "redis.password: {file: PATH}, or chmod o-r");
                take_over(rd, at, "redis.user", authority, &c->redis.user);
                take_over(rd, at, "redis.password", colon, &c->redis.password);
        }
        memmove(authority, host, strlen(host) + 1);
}

/* Sentinels name a server by host and port, and say it without TLS. */
static void redis_sentinels(struct reading *rd, struct config *c, struct place at)
{
        bool any = c->redis.sentinels.count > 0;

        if (any != (c->redis.master != NULL))
                read_error(rd, at, any ? "redis.sentinels" : "redis.master", "needs \"redis.%s\"",
                           any ? "master" : "sentinels");
        else if (any && c->redis.url && strncasecmp(c->redis.url, "redis:", 6) != 0)
                read_error(rd, at, "redis.url", "must begin with redis:// where sentinels name the server");
        else if (any && !c->redis.url && asprintf(&c->redis.url, "redis://%s", c->redis.master) < 0) {
                c->redis.url = NULL;
                rd->error = -ENOMEM;
        }
}

void config_settle(struct reading *rd, struct config *c, const struct node *const *roots, size_t count)
{
        if (c->workers == 0)
                c->workers = workers_auto();
        redis_credentials(rd, c, place_of(roots, count, "redis", "url"));
        redis_sentinels(rd, c, place_of(roots, count, "redis", c->redis.sentinels.count ? "sentinels" : "master"));
        if (c->api.listen && !c->api.token)
                read_error(rd, place_of(roots, count, "api", "listen"), "api.listen",
                           "needs \"api.token\": on TCP everybody can ask");
        if ((c->user || c->group) && geteuid() != 0)
                read_warning(rd, place_of(roots, count, c->user ? "user" : "group", NULL),
                             c->user ? "user" : "group", "has no effect unless started as root");
        if (c->main_timeout_ms < 2 * c->heartbeat_ms)
                read_error(rd, place_of(roots, count, "main_timeout", NULL), "main_timeout",
                           "must be at least twice \"heartbeat\", or one lost beat moves the main node");
}
