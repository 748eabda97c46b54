/* An intrusive binary heap: the smallest node on top. Nodes belong to the caller, who keeps them
 * until they are removed; ties are broken by order of the compare function alone. */
#ifndef ONCED_HEAP_H
#define ONCED_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
        size_t index;   /* place + 1 in the array; 0: not in a heap */
};

struct heap {
        struct heap_node **nodes;  /* owned array of borrowed nodes */
        size_t count, room;
        bool (*less)(const struct heap_node *a, const struct heap_node *b);
};

void heap_init(struct heap *h, bool (*less)(const struct heap_node *, const struct heap_node *));
void heap_done(struct heap *h);
int heap_insert(struct heap *h, struct heap_node *n);    /* 0 or -ENOMEM */
void heap_remove(struct heap *h, struct heap_node *n);   /* n may be in no heap */
void heap_moved(struct heap *h, struct heap_node *n);    /* its key changed: restores the order */
struct heap_node *heap_top(const struct heap *h);        /* NULL when empty */

#endif
