/* Builds the environment of a command from nothing. */
#include "worker/runner/exec_env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "keeper/keeper.h"
#include "worker/runner/exec_account.h"
#include "worker/runner/runner.h"

/* What `check` looks for commands on is what the keeper, which includes nothing of the rest, will look on. */
_Static_assert(__builtin_strcmp(KEEPER_PATH, EXEC_PATH) == 0, "one standard PATH");

struct env {
        char **items;    /* owned, NULL-terminated */
        size_t count, room;
        bool failed;
};

void exec_env_free(char **env)
{
        if (!env)
                return;
        for (char **e = env; *e; e++)
                free(*e);
        free(env);
}

/* Takes `item` ("NAME=value", NULL: out of memory) over. */
static void env_put(struct env *e, char *item)
{
        size_t name_len = item ? strcspn(item, "=") + 1 : 0;

        if (!item || e->failed) {
                e->failed = true;
                free(item);
                return;
        }
        for (size_t i = 0; i < e->count; i++)
                if (strncmp(e->items[i], item, name_len) == 0) {
                        free(e->items[i]);
                        e->items[i] = item;
                        return;
                }
        if (e->count + 1 >= e->room) {
                size_t room = e->room ? e->room * 2 : 32;
                char **items = reallocarray(e->items, room, sizeof(*items));
                if (!items) {
                        e->failed = true;
                        free(item);
                        return;
                }
                e->items = items;
                e->room = room;
        }
        e->items[e->count++] = item;
        e->items[e->count] = NULL;
}

__attribute__((format(printf, 2, 3)))
static void env_format(struct env *e, const char *format, ...)
{
        va_list args;
        char *item;

        va_start(args, format);
        if (vasprintf(&item, format, args) < 0)
                item = NULL;
        va_end(args);
        env_put(e, item);
}

static void env_pass(struct env *e, const char *name)
{
        const char *value = getenv(name);

        if (value)
                env_format(e, "%s=%s", name, value);
}

static void env_account(struct env *e, const struct exec_account *a)
{
        if (a->home)
                env_format(e, "HOME=%s", a->home);
        else
                env_pass(e, "HOME");
        if (a->name)
                env_format(e, "USER=%s", a->name);
        else
                env_pass(e, "USER");
}

static void env_context(struct env *e, const struct run_context *c)
{
        env_format(e, "ONCED_TASK=%s", c->task);
        env_format(e, "ONCED_OCCURRENCE=%s", c->occ);
        env_format(e, "ONCED_TRIGGER=%s", c->trig);
        env_format(e, "ONCED_PLANNED=%" PRId64, c->planned.ms);
        env_format(e, "ONCED_FENCE=%s", c->fence);
        env_format(e, "ONCED_NODE=%s", c->node);
        env_format(e, "ONCED_SHARD=%u", c->shard);
        env_format(e, "ONCED_SHARDS=%u", c->shards);
        env_format(e, "ONCED_DEADLINE=%" PRId64, stamp_instant(c->deadline).ms);
        env_format(e, "ONCED_WINDOW=%" PRId64, c->window_ms);
        env_format(e, "ONCED_ATTEMPT_LOG=%s", c->attempt_log ? c->attempt_log : "");
}

int exec_env_build(const struct exec_target *t, const struct run_context *c, const struct exec_account *a,
                   char ***ret)
{
        struct env e = { 0 };

        env_format(&e, "PATH=%s", KEEPER_PATH);
        env_account(&e, a);
        env_pass(&e, "LANG");
        env_pass(&e, "TZ");
        for (size_t i = 0; i < t->env_pass.count; i++)
                env_pass(&e, t->env_pass.items[i]);
        for (size_t i = 0; i < t->env.count; i++)
                env_put(&e, strdup(t->env.items[i]));
        env_context(&e, c);
        if (e.failed) {
                exec_env_free(e.items);
                return -ENOMEM;
        }
        *ret = e.items;
        return 0;
}
