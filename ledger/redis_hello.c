/* Questions are sent in one go; each answer can only add an objection, the first one counts. INFO is asked
 * rather than CONFIG where it can tell, since many servers forbid CONFIG. */
#include "ledger/redis_hello.h"

#include "common/cleanup.h"
#include "common/file.h"
#include "ledger/redis_args.h"
#include "ledger/redis_refusal.h"
#include "ledger/redis_reply.h"
#include "ledger/redis_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

/* Claims may come this much before their instant, so an instant this far ahead may have been started. */
#define BARRIER_MARGIN_MS 50

/* What is left of the reason's room behind the name of a command. */
#define REFUSAL_TEXT 150

#define OLDEST_MAJOR 6
#define OLDEST_MINOR 2

static void object(struct redis_hello *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void object(struct redis_hello *h, const char *format, ...)
{
        va_list ap;

        if (h->why[0])
                return;
        va_start(ap, format);
        (void) vsnprintf(h->why, sizeof(h->why), format, ap);
        va_end(ap);
}

/* An error reply becomes an objection. */
static bool refused(struct redis_hello *h, const char *what, const struct redisReply *r)
{
        char text[REFUSAL_TEXT];

        if (r->type != REDIS_REPLY_ERROR)
                return false;
        redis_refusal(r->str, h->prefix, text, sizeof(text));
        object(h, "%s: %s", what, text);
        return true;
}

static void conclude(struct redis_hello *h);

/* Value of `key` in INFO's text, "" when it is not there. */
static void info_value(const char *info, const char *key, char *ret, size_t room)
{
        size_t len = strlen(key);

        ret[0] = '\0';
        for (const char *line = info; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                if (strncmp(line, key, len) != 0 || line[len] != ':')
                        continue;
                (void) snprintf(ret, room, "%.*s", (int) strcspn(line + len + 1, "\r\n"), line + len + 1);
                return;
        }
}

static void check_version(struct redis_hello *h, const char *version)
{
        unsigned major = 0, minor = 0;

        if (sscanf(version, "%u.%u", &major, &minor) != 2 || major < OLDEST_MAJOR ||
            (major == OLDEST_MAJOR && minor < OLDEST_MINOR))
                object(h, "server version is %s; 6.2 or newer is needed", *version ? version : "unknown");
}

static void read_info(struct redis_hello *h, const char *info)
{
        char v[64];

        info_value(info, "redis_version", v, sizeof(v));
        check_version(h, v);
        info_value(info, "cluster_enabled", v, sizeof(v));
        if (strcmp(v, "1") == 0)
                object(h, "cluster_enabled is 1; Redis Cluster is not supported, use a single primary");
        info_value(info, "loading", v, sizeof(v));
        if (strcmp(v, "1") == 0)
                object(h, "server is loading its data");
        info_value(info, "maxmemory_policy", v, sizeof(v));
        if (strcmp(v, "noeviction") != 0)
                object(h, "maxmemory-policy is %s; set noeviction", *v ? v : "unknown");
        info_value(info, "aof_enabled", v, sizeof(v));
        h->aof = strcmp(v, "1") == 0;
        info_value(info, "aof_last_write_status", v, sizeof(v));
        if (h->aof && strcmp(v, "ok") != 0)
                object(h, "aof_last_write_status is %s; the append-only file cannot be written", v);
        info_value(info, "rdb_last_bgsave_status", v, sizeof(v));
        if (!h->aof && strcmp(v, "ok") != 0)
                object(h, "rdb_last_bgsave_status is %s; snapshots cannot be written", v);
        info_value(info, "run_id", h->memory->run_id, sizeof(h->memory->run_id));
}

static void on_info(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;

        if (error < 0)
                return;
        if (!refused(h, "INFO", r) && r->type == REDIS_REPLY_STRING)
                read_info(h, r->str);
        conclude(h);
}

static void on_role(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;

        if (error < 0)
                return;
        if (!refused(h, "ROLE", r) && strcmp(reply_text(r, 0), "master") != 0)
                object(h, "server is a %s; the ledger needs the master", reply_text(r, 0));
        conclude(h);
}

static void on_save(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;

        if (error < 0)
                return;
        h->rdb_known = r->type == REDIS_REPLY_ARRAY && r->elements == 2;
        h->rdb = *reply_text(r, 1) != '\0';
        conclude(h);
}

/* A server that refuses to load gets the text with each call. */
static void on_loaded(int error, const struct redisReply *r, void *arg)
{
        (void) r;
        if (error == 0)
                conclude(arg);
}

static void on_login(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;

        if (error < 0)
                return;
        (void) refused(h, "AUTH", r);
        conclude(h);
}

static void on_select(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;

        if (error < 0)
                return;
        (void) refused(h, "SELECT", r);
        conclude(h);
}

static void remember(struct redis_hello *h, const struct redisReply *r)
{
        reply_copy(r, 3, h->memory->incarnation, sizeof(h->memory->incarnation));
        reply_copy(r, 4, h->memory->epoch, sizeof(h->memory->epoch));
}

/* This hello found it out; those after it find all settled. */
static void note_barrier(struct redis_hello *h, const struct redisReply *r)
{
        char until[STAMP_TEXT];

        if (!*reply_text(r, 5))
                return;
        instant_text((struct instant) { strtoll(reply_text(r, 5), NULL, 10) }, until);
        object(h, "the server restarted, failed over or was put back (its run id or data changed): what was planned until "
               "%s and not decided is given up as unknown (barrier)", until);
}

static void on_rebase(int error, const struct redisReply *r, void *arg)
{
        struct redis_hello *h = arg;
        const char *verdict = error < 0 ? "" : reply_text(r, 0);

        if (error < 0)
                return;
        if (strcmp(verdict, "OK") == 0) {
                remember(h, r);
                note_barrier(h, r);
                h->done(HELLO_OK, h->why, h->arg);
        } else if (strcmp(verdict, "STORE_LOST") == 0) {
                h->done(HELLO_HALTED, REDIS_STORE_LOST, h->arg);
        } else if (strcmp(verdict, "STORE_OTHER") == 0) {
                object(h, "this store (%.8s) is not the one this node remembers (%.8s): claims may be lost; cure: the "
                       "right server, or onced recover --store -c FILE", reply_text(r, 3), h->memory->incarnation);
                h->done(HELLO_HALTED, h->why, h->arg);
        } else if (strcmp(verdict, "SCHEMA") == 0) {
                object(h, "the store has schema %s; this version knows 1", reply_text(r, 3));
                h->done(HELLO_HALTED, h->why, h->arg);
        } else if (strcmp(verdict, "MOVED") == 0) {
                h->done(HELLO_REFUSED, "something between moves the connection to another server", h->arg);
        } else {
                if (!refused(h, "hello", r))
                        object(h, "hello: the server's answer is not understood");
                h->done(HELLO_REFUSED, h->why, h->arg);
        }
}

static int rebase(struct redis_hello *h)
{
        const struct redis_memory *m = h->memory;
        struct redis_args a = { 0 };
        char fresh[33];
        int r = random_hex(fresh, 16);

        if (r < 0)
                return r;
        redis_args_text(&a, h->prefix);
        redis_args_text(&a, m->run_id);
        redis_args_text(&a, fresh);
        redis_args_text(&a, m->incarnation);
        redis_args_text(&a, m->epoch[0] ? m->epoch : "0");
        redis_args_instant(&a, m->planned);
        redis_args_text(&a, m->fence[0] ? m->fence : "0");
        redis_args_int(&a, BARRIER_MARGIN_MS + h->margin_ms);
        redis_args_int(&a, h->quarantine_ms);
        return redis_script_send(h->link, &redis_scripts[REDIS_REBASE], h->store_key, &a, on_rebase, h);
}

static void conclude(struct redis_hello *h)
{
        if (--h->waiting > 0)
                return;
        if (!h->aof && h->rdb_known && !h->rdb)
                object(h, "neither append-only file nor snapshots are on; set appendonly yes");
        if (!h->aof && !h->rdb_known)
                object(h, "appendonly is no, and CONFIG GET save is refused; set appendonly yes");
        if (h->why[0])
                h->done(HELLO_REFUSED, h->why, h->arg);
        else if (h->reader)
                h->done(HELLO_OK, "", h->arg);
        else if (rebase(h) < 0)
                h->done(HELLO_REFUSED, "out of memory", h->arg);
}

/* Before they are needed: a script that must be sent twice would be overtaken by the requests behind it, and a
 * claim would find the slot that a finish of the same turn was to free. */
static void load_scripts(struct redis_hello *h)
{
        for (int i = 0; i < REDIS_SCRIPT_COUNT_; i++) {
                const char *argv[] = { "SCRIPT", "LOAD", redis_scripts[i].text };
                size_t lens[] = { 6, 4, redis_scripts[i].len };
                if (redis_link_send(h->link, 3, argv, lens, on_loaded, h) == 0)
                        h->waiting++;
        }
}

static void ask(struct redis_hello *h, redis_reply_cb cb, int argc, const char **argv)
{
        size_t lens[3];

        for (int i = 0; i < argc; i++)
                lens[i] = strlen(argv[i]);
        if (redis_link_send(h->link, argc, argv, lens, cb, h) == 0)
                h->waiting++;
}

void redis_hello_say(struct redis_hello *h, struct redis_link *l)
{
        char db[16];

        h->link = l;
        h->waiting = 0;
        (void) snprintf(h->why, sizeof(h->why), "%s", h->refusal);
        h->aof = h->rdb = h->rdb_known = false;
        if (h->password && *h->password) {
                const char *with_user[] = { "AUTH", h->user, h->password }, *plain[] = { "AUTH", h->password };
                if (h->user && *h->user)
                        ask(h, on_login, 3, with_user);
                else
                        ask(h, on_login, 2, plain);
        }
        if (h->db > 0) {
                (void) snprintf(db, sizeof(db), "%u", h->db);
                ask(h, on_select, 2, (const char *[]) { "SELECT", db });
        }
        load_scripts(h);
        ask(h, on_role, 1, (const char *[]) { "ROLE" });
        ask(h, on_info, 1, (const char *[]) { "INFO" });
        ask(h, on_save, 3, (const char *[]) { "CONFIG", "GET", "save" });
}
