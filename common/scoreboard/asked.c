/* The table: open addressing by a hash of the unit's text. An entry is two words. `asking` holds the low bits of the
 * instant and the time when it was asked for, so that both change in one step; taken together with its age, an instant
 * cannot be confused with one that looks alike. */
#include "common/scoreboard/asked.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/scoreboard/layout.h"

#define PROBES_MAX   32
#define TIME_BITS    24
#define TIME_MASK    ((UINT64_C(1) << TIME_BITS) - 1)   /* of ms: 4.6 h, far beyond any patience */

struct asked {
        _Atomic uint64_t unit;      /* hash; 0: free */
        _Atomic uint64_t asking;    /* instant and time; 0: nobody asks */
        _Atomic int64_t decided;    /* newest instant that was decided, in ms and one more; 0: none */
};

struct asked_table {
        struct asked *words;        /* shared mapping */
};

#define TABLE_SIZE (ASKED_UNITS * sizeof(struct asked))

int asked_create(struct asked_table **ret)
{
        struct asked_table *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;

        void *words = mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (words == MAP_FAILED) {
                int r = -errno;
                free(t);
                return r;
        }
        t->words = words;
        *ret = t;
        return 0;
}

struct asked_table *asked_free(struct asked_table *t)
{
        if (t)
                (void) munmap(t->words, TABLE_SIZE);
        free(t);
        return NULL;
}

/* Two units with one hash share a word, and at worst ask more than they need. */
struct asked *asked_find(struct asked_table *t, const char *unit)
{
        uint64_t h = row_hash(unit);

        for (size_t n = 0; t && n < PROBES_MAX; n++) {
                struct asked *a = &t->words[(h + n) % ASKED_UNITS];
                uint64_t found = 0;
                if (atomic_compare_exchange_strong(&a->unit, &found, h) || found == h)
                        return a;
        }
        return NULL;
}

static uint64_t asking(struct instant planned, struct mono now)
{
        uint64_t ms = (uint64_t) (now.ns / NS_PER_MS) & TIME_MASK;

        return (uint64_t) planned.ms << TIME_BITS | ms;
}

static bool is_of(uint64_t word, struct instant planned)
{
        return word >> TIME_BITS == (uint64_t) planned.ms << TIME_BITS >> TIME_BITS;
}

enum asked_answer asked_try(struct asked *a, struct instant planned, struct mono now, int64_t patience_ms)
{
        uint64_t mine = asking(planned, now), was = atomic_load(&a->asking);

        if (atomic_load(&a->decided) == planned.ms + 1)
                return ASKED_DECIDED;
        if (was && is_of(was, planned) && ((mine - was) & TIME_MASK) < (uint64_t) patience_ms)
                return ASKED_BY_OTHER;
        return atomic_compare_exchange_strong(&a->asking, &was, mine) ? ASKED_YOURS : ASKED_BY_OTHER;
}

void asked_decided(struct asked *a, struct instant planned)
{
        atomic_store(&a->decided, planned.ms + 1);
}

void asked_undecided(struct asked *a, struct instant planned)
{
        uint64_t was = atomic_load(&a->asking);

        if (is_of(was, planned))
                (void) atomic_compare_exchange_strong(&a->asking, &was, 0);
}
