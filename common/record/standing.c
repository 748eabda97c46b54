/* Facts by key in order of appearance, with a hash table of places beside them: ten thousand tasks are
 * planned at once when a worker is elected. */
#include "common/record/standing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void fact_free(struct standing_fact *f)
{
        free(f->key);
        free(f->e);
        free(f->fields);
        *f = (struct standing_fact) { 0 };
}

void standing_done(struct standing *s)
{
        for (size_t i = 0; i < s->count; i++)
                fact_free(&s->facts[i]);
        free(s->facts);
        free(s->index);
        *s = (struct standing) { 0 };
}

static size_t hash_of(const char *key)
{
        uint64_t h = 1469598103934665603ULL;

        for (; *key; key++)
                h = (h ^ (unsigned char) *key) * 1099511628211ULL;
        return (size_t) (h ^ h >> 32);
}

/* The place in the index where `key` is or would be; places of dropped facts stay taken until the next
 * rebuild, so that the search does not end too early. */
static size_t *place_of(const struct standing *s, const char *key)
{
        for (size_t i = hash_of(key);; i++) {
                size_t *place = &s->index[i & (s->index_room - 1)];
                if (*place == 0)
                        return place;
                const char *there = s->facts[*place - 1].key;
                if (there && strcmp(there, key) == 0)
                        return place;
        }
}

/* Squeezes out what was dropped and grows both arrays, so that at most half of the index is taken. */
static int rebuild(struct standing *s)
{
        size_t kept = 0;

        for (size_t i = 0; i < s->count; i++)
                if (s->facts[i].key)
                        s->facts[kept++] = s->facts[i];
        s->count = kept;
        size_t room = kept < 8 ? 16 : kept * 2;
        size_t index_room = 32;
        while (index_room < room * 2)
                index_room *= 2;
        size_t *index = calloc(index_room, sizeof(*index));
        struct standing_fact *facts = index ? realloc(s->facts, room * sizeof(*facts)) : NULL;
        if (facts) {
                s->facts = facts;
                s->room = room;
                free(s->index);
                s->index = index;
                s->index_room = index_room;
        } else {
                free(index);
                if (!s->index)
                        return -ENOMEM;
                /* Without memory the old index stays; it fits, since facts only moved down. */
                memset(s->index, 0, s->index_room * sizeof(*s->index));
        }
        for (size_t i = 0; i < s->count; i++)
                *place_of(s, s->facts[i].key) = i + 1;
        return s->count < s->room ? 0 : -ENOMEM;
}

int standing_keep(struct standing *s, const char *key, const char *e, const char *fields, size_t len)
{
        struct standing_fact f = { strdup(key), strdup(e), strndup(fields, len) };

        if (!f.key || !f.e || !f.fields || (s->count == s->room && rebuild(s) < 0)) {
                fact_free(&f);
                return -ENOMEM;
        }
        size_t *place = place_of(s, key);
        if (*place) {
                fact_free(&s->facts[*place - 1]);
        } else {
                *place = ++s->count;
        }
        s->facts[*place - 1] = f;
        return 0;
}

void standing_drop(struct standing *s, const char *key)
{
        if (!s->index)
                return;
        size_t *place = place_of(s, key);
        if (*place)
                fact_free(&s->facts[*place - 1]);
}
