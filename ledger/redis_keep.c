/* When the node's memory of the store is read and written: read before each hello, written before the first claim
 * under a new identity may be granted, and once a minute for how far grants came. */
#include "ledger/redis_ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Fences and barriers go on from the clock: what was seen matters only when the server's clock went back too. */
#define FLOORS_MS 60000

/* Without it no store can be trusted: hello is refused, and said again. */
void redis_recall(struct redis_ledger *l)
{
        int r = l->memory_path ? redis_memory_load(l->memory_path, &l->memory) : 0;
        const char *name = l->memory_path ? strrchr(l->memory_path, '/') + 1 : "";

        l->hello.refusal[0] = '\0';
        if (r == 0)
                l->kept = l->memory;
        else
                (void) snprintf(l->hello.refusal, sizeof(l->hello.refusal),
                                "state_dir/%.60s, which remembers the store: %s%s", name,
                                r == -EINVAL ? "damaged" : strerror(-r), r == -EINVAL ? "; cure: remove it" : "");
        (void) snprintf(l->was, sizeof(l->was), "%s", l->memory.incarnation);
}

static void drop_for(struct redis_ledger *l, int error)
{
        char why[160];

        (void) snprintf(why, sizeof(why), "state_dir/%.60s, which remembers the store: %s",
                        strrchr(l->memory_path, '/') + 1, strerror(-error));
        redis_link_drop(l->link, why);
}

static bool identity_is_kept(const struct redis_ledger *l)
{
        return strcmp(l->kept.incarnation, l->memory.incarnation) == 0 && strcmp(l->kept.epoch, l->memory.epoch) == 0;
}

static void on_kept(int result, void *arg)
{
        struct redis_ledger *l = arg;

        l->keeping = false;
        if (l->state == REDIS_CLOSING) {
                redis_closed_one(l);
                return;
        }
        /* A sibling remembers a third one: the next hello finds out which of them is there. */
        if (result == -ESTALE)
                redis_link_drop(l->link, "the store was replaced meanwhile");
        else if (result < 0 && l->state != REDIS_UP)
                drop_for(l, result);
        if (result < 0) {
                l->kept = (struct redis_memory) { 0 };
                return;
        }
        if (l->greeted && l->state != REDIS_UP)
                redis_keep_identity(l);
}

static int keep(struct redis_ledger *l)
{
        int r = redis_memory_keep_later(l->loop, l->memory_path, l->was, &l->memory, on_kept, l);

        if (r < 0)
                return r;
        l->keeping = true;
        l->kept = l->memory;
        l->kept_at = clock_mono();
        return 0;
}

void redis_keep_identity(struct redis_ledger *l)
{
        if (!l->memory_path || (identity_is_kept(l) && !l->keeping)) {
                redis_go_up(l);
                return;
        }
        if (l->keeping)
                return;   /* its end comes here again */
        int r = keep(l);
        if (r < 0)
                drop_for(l, r);
}

void redis_keep_floors(struct redis_ledger *l)
{
        if (!l->memory_path || l->keeping || mono_since_ms(l->kept_at, clock_mono()) < FLOORS_MS)
                return;
        (void) snprintf(l->was, sizeof(l->was), "%s", l->memory.incarnation);
        (void) keep(l);   /* else the next grant tries again */
}
