/* Nodes and the arena they live in. Blocks are large, so that a file of 100,000 tasks costs a few dozen
 * allocations, and nothing is freed singly. */
#include "common/config/node.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/utf8.h"

#define ARENA_BLOCK 262144U

struct arena {
        struct arena *older;
        size_t used, room;
        max_align_t bytes[];
};

void *arena_take(struct arena **a, size_t size)
{
        size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
        if (!*a || (*a)->room - (*a)->used < size) {
                size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;
                struct arena *block = calloc(1, sizeof(*block) + room);
                if (!block)
                        return NULL;
                block->room = room;
                block->older = *a;
                *a = block;
        }
        void *p = (char *) (*a)->bytes + (*a)->used;
        (*a)->used += size;
        return p;
}

const char *arena_text(struct arena **a, const char *text, size_t len)
{
        char *copy = arena_take(a, len + 1);
        if (copy)
                memcpy(copy, text, len);
        return copy;
}

void tree_done(struct tree *t)
{
        while (t->arena) {
                struct arena *older = t->arena->older;
                free(t->arena);
                t->arena = older;
        }
        *t = TREE_NONE;
}

const struct node *node_get(const struct node *map, const char *key)
{
        if (!map || map->kind != NODE_MAP)
                return NULL;
        for (const struct node *n = map->first; n; n = n->next)
                if (strcmp(n->key, key) == 0)
                        return n;
        return NULL;
}

bool node_is_null(const struct node *n)
{
        return n->kind == NODE_TEXT && !n->quoted &&
               (n->text[0] == '\0' || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0);
}

/* Columns count characters, as the parser's do. */
struct place node_place_in(const struct node *n, size_t at, size_t length)
{
        struct place place = n->place;

        if (n->verbatim && length > 0)
                place.column += n->quoted + (unsigned) utf8_count(n->text, strnlen(n->text, at));
        return place;
}

const char *node_kind_text(const struct node *n)
{
        if (node_is_null(n))
                return "nothing";
        return n->kind == NODE_MAP ? "a map" : n->kind == NODE_LIST ? "a list" : "text";
}

const char *quote(const char *text, char ret[QUOTE_TEXT])
{
        size_t n = 0;

        ret[n++] = '"';
        for (; *text && n < QUOTE_TEXT - 6; text++)
                ret[n++] = (unsigned char) *text < 0x20 || *text == 0x7f ? '?' : *text;
        if (*text) {
                while (n > 1 && ((unsigned char) ret[n - 1] & 0xc0) == 0x80)   /* no torn UTF-8 */
                        n--;
                if (n > 1 && (unsigned char) ret[n - 1] >= 0xc0)
                        n--;
                memcpy(ret + n, "...", 3);
                n += 3;
        }
        ret[n++] = '"';
        ret[n] = '\0';
        return ret;
}
