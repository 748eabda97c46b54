/* Array-backed binary heap; every node knows its place, so that removal from the middle is O(log n). */
#include "common/heap.h"

#include <errno.h>
#include <stdlib.h>

void heap_init(struct heap *h, bool (*less)(const struct heap_node *, const struct heap_node *))
{
        *h = (struct heap) { .less = less };
}

void heap_done(struct heap *h)
{
        free(h->nodes);
        *h = (struct heap) { .less = h->less };
}

static void put(struct heap *h, size_t place, struct heap_node *n)
{
        h->nodes[place - 1] = n;
        n->index = place;
}

static void sift_up(struct heap *h, struct heap_node *n)
{
        size_t i = n->index;

        for (; i > 1 && h->less(n, h->nodes[i / 2 - 1]); i /= 2)
                put(h, i, h->nodes[i / 2 - 1]);
        put(h, i, n);
}

static void sift_down(struct heap *h, struct heap_node *n)
{
        size_t i = n->index;

        for (;;) {
                size_t child = 2 * i;
                if (child > h->count)
                        break;
                if (child < h->count && h->less(h->nodes[child], h->nodes[child - 1]))
                        child++;
                if (!h->less(h->nodes[child - 1], n))
                        break;
                put(h, i, h->nodes[child - 1]);
                i = child;
        }
        put(h, i, n);
}

int heap_insert(struct heap *h, struct heap_node *n)
{
        if (h->count == h->room) {
                size_t room = h->room ? 2 * h->room : 16;
                struct heap_node **nodes = realloc(h->nodes, room * sizeof(*nodes));
                if (!nodes)
                        return -ENOMEM;
                h->nodes = nodes;
                h->room = room;
        }
        put(h, ++h->count, n);
        sift_up(h, n);
        return 0;
}

void heap_moved(struct heap *h, struct heap_node *n)
{
        sift_up(h, n);
        sift_down(h, n);
}

void heap_remove(struct heap *h, struct heap_node *n)
{
        size_t place = n->index;

        if (place == 0)
                return;
        struct heap_node *last = h->nodes[--h->count];
        n->index = 0;
        if (last != n) {
                put(h, place, last);
                heap_moved(h, last);
        }
}

struct heap_node *heap_top(const struct heap *h)
{
        return h->count ? h->nodes[0] : NULL;
}
