/* What a task writes to Redis: keys that belong together, and the text of a script. It is read here and now, so that
 * what runs is what was checked, on every node and until the next configuration. */
#include "common/config/rules.h"

#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define SCRIPT_MAX 65536

/* What this file's bytes cannot be; NULL: fine. */
static const char *script_flaw(const struct buf *b)
{
        if (b->len == 0)
                return "is empty";
        if (memchr(b->data, '\0', b->len))
                return "holds a NUL byte: it must be the text of a script";
        if (b->data[0] == '\033')
                return "is compiled: it must be the text of a script";
        if (strncmp(b->data, "#!", 2) == 0)
                return "must be without a first line of #!, since it is run within a script of onced";
        return NULL;
}

static void script_read(struct reading *rd, const struct node *n, struct redis_target *t)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        char why[READ_WHY];

        int r = file_read(t->script, SCRIPT_MAX, &b);
        if (r == -ENOMEM) {
                rd->error = r;
                return;
        }
        if (r < 0) {
                read_error(rd, n->place, "redis.script", "%s cannot be read: %s", t->script,
                           read_why(r, SCRIPT_MAX, why));
                return;
        }
        const char *flaw = script_flaw(&b);
        if (flaw) {
                read_error(rd, n->place, "redis.script", "%s %s", t->script, flaw);
                return;
        }
        t->text = buf_take(&b);
        if (!t->text)
                rd->error = -ENOMEM;
}

/* Complains of each of `keys` that is given beside `other`, which has no use for it. */
static void refuse_keys(struct reading *rd, const struct node *n, const char *other, const char *const *keys)
{
        char dotted[32];

        for (; *keys; keys++) {
                const struct node *given = node_get(n, *keys);
                if (!given)
                        continue;
                (void) snprintf(dotted, sizeof(dotted), "redis.%s", *keys);
                read_error(rd, given->key_place, dotted, "does not go with \"%s\"", other);
        }
}

void redis_target_settle(struct reading *rd, const struct origin *o, struct task *t)
{
        static const char *const of_streams[] = { "fields", "maxlen", NULL };
        static const char *const of_scripts[] = { "keys", "args", NULL };
        const struct node *n = node_get(o->task, "redis");

        if (!n || t->runner != RUNNER_REDIS)
                return;
        const struct node *stream = node_get(n, "stream"), *script = node_get(n, "script");
        if (t->singleton != PATH_REDIS)
                read_error(rd, origin_place(o, "singleton"), "redis",
                           "needs \"singleton: redis\" and \"redis: { url: ... }\" at the top, whose fence it checks");
        if (n->kind == NODE_MAP && !stream == !script)
                read_error(rd, n->place, "redis", "give one of stream and script");
        else if (stream)
                refuse_keys(rd, n, "stream", of_scripts);
        else if (script)
                refuse_keys(rd, n, "script", of_streams);
        if (script && t->redis.script)
                script_read(rd, script, &t->redis);
}
