/* A set of planned instants kept as ranges: a task that runs every time is one range, however long. */
#ifndef ONCED_PROVE_SPANS_H
#define ONCED_PROVE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPANS_FIRST (-INT64_MAX / 4)   /* from ever, and for ever */
#define SPANS_LAST  (INT64_MAX / 4)

struct span {
        int64_t first, last;    /* ms, both included */
};

struct spans {
        struct span *list;      /* owned, ascending, disjoint */
        size_t count, room;
};

void spans_done(struct spans *s);
bool spans_has(const struct spans *s, int64_t ms);

/* Adds [first, last]. Ranges with nothing of interest between them are joined: `empty(after, before, arg)`
 * answers whether no instant lies strictly between. 0 or -ENOMEM. */
int spans_add(struct spans *s, int64_t first, int64_t last, bool (*empty)(int64_t, int64_t, const void *),
              const void *arg);

/* The first range that ends at or after `ms`: place in the list, `count` when there is none. */
size_t spans_find(const struct spans *s, int64_t ms);

/* Takes [first, last] out. 0 or -ENOMEM. */
int spans_cut(struct spans *s, int64_t first, int64_t last);

/* Forgets all up to `ms`. */
void spans_forget(struct spans *s, int64_t ms);

#endif
