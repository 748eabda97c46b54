/* Open addressing; nothing is ever removed. */
#include "cli/prove/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dict_done(struct dict *t)
{
        for (size_t i = 0; i < t->room; i++)
                free(t->slots[i].key);
        free(t->slots);
        *t = (struct dict) { 0 };
}

static uint64_t hash_of(const void *key, size_t len)
{
        const unsigned char *p = key;
        uint64_t h = 1469598103934665603ULL;

        for (size_t i = 0; i < len; i++)
                h = (h ^ p[i]) * 1099511628211ULL;
        return h ^ h >> 29;
}

static struct dict_slot *slot_of(const struct dict *t, const void *key, size_t len, uint64_t hash)
{
        for (size_t i = (size_t) hash;; i++) {
                struct dict_slot *s = &t->slots[i & (t->room - 1)];
                if (!s->key || (s->hash == hash && s->len == len && memcmp(s->key, key, len) == 0))
                        return s;
        }
}

void *dict_get(const struct dict *t, const void *key, size_t len)
{
        if (t->count == 0)
                return NULL;
        return slot_of(t, key, len, hash_of(key, len))->value;
}

static int grow(struct dict *t)
{
        struct dict bigger = { .room = t->room ? t->room * 2 : 64 };

        bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t i = 0; i < t->room; i++)
                if (t->slots[i].key)
                        *slot_of(&bigger, t->slots[i].key, t->slots[i].len, t->slots[i].hash) = t->slots[i];
        bigger.count = t->count;
        free(t->slots);
        *t = bigger;
        return 0;
}

int dict_put(struct dict *t, const void *key, size_t len, void *value)
{
        if (t->count * 2 >= t->room && grow(t) < 0)
                return -ENOMEM;
        char *copy = malloc(len + 1);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, key, len);
        copy[len] = '\0';
        uint64_t hash = hash_of(key, len);
        *slot_of(t, key, len, hash) = (struct dict_slot) { copy, len, hash, value };
        t->count++;
        return 0;
}
