/* Reading the address of a Redis server. Strict: what is not understood is refused, not skipped. */
#include "ledger/redis_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hex_value(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c = (char) tolower((unsigned char) c);
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies [p, end) decoded. */
static int part_read(const char *p, const char *end, char *ret, size_t room)
{
        size_t n = 0;

        for (; p < end; p++) {
                int c = (unsigned char) *p;
                if (c == '%') {
                        if (end - p < 3 || hex_value(p[1]) < 0 || hex_value(p[2]) < 0)
                                return -EINVAL;
                        c = hex_value(p[1]) * 16 + hex_value(p[2]);
                        p += 2;
                }
                if (c == 0)
                        return -EINVAL;
                if (n + 1 >= room)
                        return -ERANGE;
                ret[n++] = (char) c;
        }
        ret[n] = '\0';
        return 0;
}

static int number_read(const char *p, const char *end, unsigned max, unsigned *ret)
{
        unsigned v = 0;

        if (p == end)
                return -EINVAL;
        for (; p < end; p++) {
                if (*p < '0' || *p > '9')
                        return -EINVAL;
                v = v * 10 + (unsigned) (*p - '0');
                if (v > max)
                        return -ERANGE;
        }
        *ret = v;
        return 0;
}

/* "user:password@" at *p, which is moved behind it. The last @ counts: passwords are often not encoded. */
static int login_read(const char **p, const char *end, struct redis_url *u)
{
        const char *at = memrchr(*p, '@', (size_t) (end - *p));

        if (!at)
                return 0;
        const char *colon = memchr(*p, ':', (size_t) (at - *p));
        int r = part_read(*p, colon ? colon : at, u->user, sizeof(u->user));
        if (r == 0 && colon)
                r = part_read(colon + 1, at, u->password, sizeof(u->password));
        *p = at + 1;
        return r;
}

static int host_read(const char *p, const char *end, struct redis_url *u)
{
        const char *host = p, *host_end, *rest;

        if (p >= end)
                return -EINVAL;
        if (*p == '[') {
                host = p + 1;
                host_end = memchr(host, ']', (size_t) (end - host));
                if (!host_end)
                        return -EINVAL;
                rest = host_end + 1;
        } else {
                host_end = memchr(p, ':', (size_t) (end - p));
                if (!host_end)
                        host_end = end;
                rest = host_end;
        }
        if (host == host_end)
                return -EINVAL;
        int r = part_read(host, host_end, u->host, sizeof(u->host));
        if (r < 0 || rest == end)
                return r;
        if (*rest != ':')
                return -EINVAL;
        r = number_read(rest + 1, end, 65535, &u->port);
        return r < 0 ? r : u->port == 0 ? -ERANGE : 0;
}

static int tcp_read(const char *p, const char *end, struct redis_url *u)
{
        /* A slash may stand in a password: the database is what follows the host. */
        const char *at = memrchr(p, '@', (size_t) (end - p));
        const char *from = at ? at : p;
        const char *slash = strchr(from, '/');
        int r = login_read(&p, slash ? slash : end, u);
        if (r < 0)
                return r;
        u->port = 6379;
        r = host_read(p, slash ? slash : end, u);
        if (r < 0 || !slash || slash + 1 == end)
                return r;
        return number_read(slash + 1, end, 65535, &u->db);
}

static int unix_read(const char *p, const char *end, struct redis_url *u)
{
        const char *query = memchr(p, '?', (size_t) (end - p));
        const char *path_end = query ? query : end;
        int r = login_read(&p, path_end, u);

        if (r < 0)
                return r;
        if (p == path_end || *p != '/')
                return -EINVAL;
        u->unix_socket = true;
        r = part_read(p, path_end, u->path, sizeof(u->path));
        if (r < 0 || !query)
                return r;
        if (end - query < 4 || strncmp(query, "?db=", 4) != 0)
                return -EINVAL;
        return number_read(query + 4, end, 65535, &u->db);
}

int redis_url_parse(const char *text, struct redis_url *ret)
{
        struct redis_url u = { 0 };
        const char *end = text + strlen(text);
        int r = -EPROTONOSUPPORT;

        if (strncmp(text, "redis://", 8) == 0)
                r = tcp_read(text + 8, end, &u);
        else if (strncmp(text, "unix://", 7) == 0)
                r = unix_read(text + 7, end, &u);
        if (r < 0)
                return r;
        *ret = u;
        return 0;
}
