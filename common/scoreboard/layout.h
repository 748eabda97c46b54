/* The bytes of the scoreboard, for the files of this folder alone. Everything is an atomic word, so that a
 * reader of a place whose owner died in the middle of a write sees old or new words and nothing undefined.
 * Texts are runs of words; those that must fit together are guarded by a sequence word. */
#ifndef ONCED_SCOREBOARD_LAYOUT_H
#define ONCED_SCOREBOARD_LAYOUT_H

#include "common/scoreboard/scoreboard.h"

#define BOARD_MAGIC  UINT64_C(0x6f6e636564313233)
#define BOARD_LAYOUT 4

#define WORDS(bytes) (((bytes) + 7) / 8)
#define NAME_WORDS   WORDS(TASK_NAME_MAX)
#define OCC_WORDS    WORDS(OCC_TEXT)
#define START_WORDS  WORDS(PSTART_TEXT)
#define ROW_WORDS    (sizeof(struct task_counts) / 8)
#define FACT_WORDS   WORDS(sizeof(struct master_facts))
#define GROUP_WORDS  WORDS(sizeof(struct group_facts))

#define BOARD_ROWS (BOARD_TASKS + 1)   /* the last one is `_other` */
#define OTHER_NAME "_other"

/* The word of struct task_counts that holds `member`. */
#define ROW_WORD(member) (offsetof(struct task_counts, member) / 8)

_Static_assert(sizeof(struct task_counts) % 8 == 0, "task_counts is made of 64-bit words alone");

/* One task in one process. `hash` is written last and is 0 in an unused row. */
struct board_row {
        _Atomic uint64_t hash;
        _Atomic uint64_t name[NAME_WORDS];
        _Atomic uint64_t counts[ROW_WORDS];
};

struct shared_place {
        /* the master's */
        _Atomic uint32_t role, state, slot, generation, timer_worker;
        _Atomic uint64_t pid, started_ns;
        _Atomic uint64_t start[START_WORDS];
        /* the owner's, on a cache line of its own */
        _Alignas(64) _Atomic uint64_t beat_ns;
        _Atomic uint64_t set_up_ns, loop_lag_us, term, troubles;
        _Atomic uint64_t sequence;      /* odd while occ and task are being written */
        _Atomic uint64_t occ[OCC_WORDS];
        _Atomic uint64_t task[NAME_WORDS];
        _Atomic uint64_t group_sequence;   /* odd while the facts are being written */
        _Atomic uint64_t group[GROUP_WORDS];
        _Atomic uint64_t counters[BOARD_COUNTER_COUNT_];
        struct board_row rows[BOARD_ROWS];
};

/* What reaped places have counted. */
struct shared_retired {
        _Atomic uint64_t counters[BOARD_COUNTER_COUNT_];
        struct board_row rows[BOARD_ROWS];
};

struct shared_header {
        uint64_t magic;
        uint32_t layout, places;
        uint64_t size;
        _Atomic uint64_t sequence;      /* odd while the facts are being written */
        _Atomic uint64_t facts[FACT_WORDS];
};

struct board_place {
        struct shared_place *shared;    /* NULL: no handle was asked for yet */
        uint64_t *hashes;               /* owned; the rows' hashes side by side: 100,000 tasks are looked up
                                         * at a start, and the rows themselves lie far apart */
};

struct board {
        int fd;
        unsigned workers_max, places;
        size_t size, stride;            /* whole mapping; bytes from one place to the next */
        char *base;
        struct board_place *handles;    /* owned, one a place */
};

static inline struct shared_header *board_header(const struct board *b)
{
        return (struct shared_header *) (void *) b->base;
}

struct shared_retired *board_retired(const struct board *b);
struct shared_place *board_shared_place(const struct board *b, unsigned place);

static inline uint64_t word_get(const _Atomic uint64_t *w)
{
        return atomic_load_explicit(w, memory_order_relaxed);
}

static inline void word_put(_Atomic uint64_t *w, uint64_t value)
{
        atomic_store_explicit(w, value, memory_order_relaxed);
}

/* Each word has one writer: no read-modify-write instruction is needed. */
static inline void word_add(_Atomic uint64_t *w, uint64_t n)
{
        word_put(w, word_get(w) + n);
}

void words_put_text(_Atomic uint64_t *w, size_t words, const char *text);

/* The text, or "" when it is not one of printable ASCII that ends within `room` bytes. */
void words_get_text(const _Atomic uint64_t *w, size_t words, char *ret, size_t room);

/* Writer's side of a sequence word: begin, put, end. Reader's side: copy between begin and an unchanged end. */
void sequence_begin(_Atomic uint64_t *s);
void sequence_end(_Atomic uint64_t *s);
bool sequence_read(const _Atomic uint64_t *s, uint64_t *ret);
bool sequence_same(const _Atomic uint64_t *s, uint64_t seen);

uint64_t row_hash(const char *name);   /* of a task, or a unit; never 0 */

/* The row of `task`, NULL when there is none. */
const struct board_row *rows_find(const struct board_row *rows, const char *task);

#endif
