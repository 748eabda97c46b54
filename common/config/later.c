/* What this version reads but cannot do. A task that silently never runs, or runs with less protection than
 * its file says, is worse than a daemon that refuses to start. */
#include "common/config/config.h"

#include <string.h>
#include <strings.h>

struct feature {
        const char *text;
        bool (*used)(const struct task *t);
};

static bool uses_call(const struct task *t)
{
        return t->runner == RUNNER_CALL;
}

static bool uses_main(const struct task *t)
{
        return t->scope == SCOPE_MAIN;
}

/* Such a task runs only when told to, and there is no command to tell it with. */
static bool uses_manual(const struct task *t)
{
        return t->scope == SCOPE_MANUAL;
}

static bool uses_exec_user(const struct task *t)
{
        return t->runner == RUNNER_EXEC && t->exec.user != NULL;
}

static const struct feature features[] = {
        { "the runner call", uses_call }, { "scope main", uses_main }, { "scope manual", uses_manual },
        { "exec.user", uses_exec_user },
};

static bool tasks_use(const struct config *c, const struct feature *f, struct complaints *complaints)
{
        const struct task *first = NULL;
        size_t count = 0;

        for (size_t i = 0; i < c->task_count; i++) {
                if (!f->used(&c->tasks[i]))
                        continue;
                if (count++ == 0)
                        first = &c->tasks[i];
        }
        if (count == 1)
                complain(complaints, SEVERITY_ERROR, first->place,
                         "task \"%s\": %s: not in this version; \"onced run\" refuses it",
                         first->name, f->text);
        else if (count > 1)
                complain(complaints, SEVERITY_ERROR, first->place,
                         "task \"%s\" and %zu more: %s: not in this version; \"onced run\" refuses them",
                         first->name, count - 1, f->text);
        return count > 0;
}

static bool whole_uses(const struct config *c, bool used, const char *text, struct complaints *complaints)
{
        if (used)
                complain(complaints, SEVERITY_ERROR, (struct place) { c->path, 0, 0 },
                         "%s: not in this version; \"onced run\" refuses it", text);
        return used;
}

bool config_has_later(const struct config *c, struct complaints *complaints)
{
        bool tls = c->redis.url && strncasecmp(c->redis.url, "rediss:", 7) == 0;
        bool any = false;

        any |= whole_uses(c, c->user || c->group, "user and group (dropping root's rights)", complaints);
        any |= whole_uses(c, tls, "redis.url with TLS (rediss://)", complaints);
        any |= whole_uses(c, c->redis.wait_replicas > 0, "redis.wait_replicas", complaints);
        for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
                any |= tasks_use(c, &features[i], complaints);
        return any;
}
