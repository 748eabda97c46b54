/* The master's side of the scoreboard: its memory, and who owns which place.
 * A place is page-aligned, so that a released one gives its memory back and comes up zeroed. */
#include "common/scoreboard/scoreboard.h"
#include "common/scoreboard/layout.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"

const char *const place_state_names[] = { "free", "starting", "ready", "draining", "ended", NULL };

_Static_assert(ARRAY_SIZE(place_state_names) == PLACE_STATE_COUNT_ + 1, "one name a state");

static size_t page_up(size_t n)
{
        size_t page = (size_t) sysconf(_SC_PAGESIZE);

        return (n + page - 1) / page * page;
}

struct shared_retired *board_retired(const struct board *b)
{
        return (struct shared_retired *) (void *) (b->base + page_up(sizeof(struct shared_header)));
}

static size_t place_offset(const struct board *b, unsigned place)
{
        return page_up(sizeof(struct shared_header)) + page_up(sizeof(struct shared_retired)) + place * b->stride;
}

struct shared_place *board_shared_place(const struct board *b, unsigned place)
{
        return (struct shared_place *) (void *) (b->base + place_offset(b, place));
}

struct board *board_free(struct board *b)
{
        if (!b)
                return NULL;
        if (b->base)
                (void) munmap(b->base, b->size);
        if (b->fd >= 0)
                (void) close(b->fd);
        if (b->handles)
                for (unsigned i = 0; i < b->places; i++)
                        free(b->handles[i].hashes);
        free(b->handles);
        free(b);
        return NULL;
}

DEFINE_CLEANUP(struct board *, board_freep, (void) board_free)

static int board_map(struct board *b)
{
        b->fd = memfd_create("onced-scoreboard", MFD_CLOEXEC);
        if (b->fd < 0)
                return -errno;
        if (ftruncate(b->fd, (off_t) b->size) < 0)
                return -errno;
        void *base = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
        if (base == MAP_FAILED)
                return -errno;
        b->base = base;
        return 0;
}

int board_create(unsigned workers_max, struct board **ret)
{
        _cleanup_(board_freep) struct board *b = calloc(1, sizeof(*b));
        int r;

        if (!b)
                return -ENOMEM;
        b->fd = -1;
        b->workers_max = workers_max;
        b->places = 2 * workers_max + 1;
        b->stride = page_up(sizeof(struct shared_place));
        b->size = place_offset(b, b->places);
        b->handles = calloc(b->places, sizeof(*b->handles));
        if (!b->handles)
                return -ENOMEM;
        r = board_map(b);
        if (r < 0)
                return r;

        struct shared_header *h = board_header(b);
        h->magic = BOARD_MAGIC;
        h->layout = BOARD_LAYOUT;
        h->places = b->places;
        h->size = b->size;
        *ret = TAKE(b);
        return 0;
}

unsigned board_places(const struct board *b)
{
        return b->places;
}

int board_take(struct board *b, enum place_role role, unsigned slot, uint32_t generation)
{
        for (unsigned i = 0; i < b->places; i++) {
                struct shared_place *p = board_shared_place(b, i);
                if (atomic_load(&p->role) != ROLE_FREE)
                        continue;
                atomic_store(&p->slot, slot);
                atomic_store(&p->generation, generation);
                atomic_store(&p->state, PLACE_STARTING);
                word_put(&p->started_ns, (uint64_t) clock_wall().ns);
                atomic_store(&p->role, role);
                return (int) i;
        }
        return -ENOSPC;
}

void board_set_process(struct board *b, unsigned place, const struct process_id *id)
{
        struct shared_place *p = board_shared_place(b, place);

        words_put_text(p->start, START_WORDS, id->start);
        word_put(&p->pid, (uint64_t) id->pid);
}

void board_set_state(struct board *b, unsigned place, enum place_state s)
{
        atomic_store(&board_shared_place(b, place)->state, s);
}

void board_set_timer_worker(struct board *b, unsigned place, bool is)
{
        atomic_store(&board_shared_place(b, place)->timer_worker, is);
}

static struct board_row *retired_row(struct shared_retired *t, const char *task)
{
        uint64_t hash = row_hash(task);
        char name[TASK_NAME_MAX];

        if (strcmp(task, OTHER_NAME) == 0)
                return &t->rows[BOARD_TASKS];
        for (unsigned i = 0; i < BOARD_TASKS; i++) {
                struct board_row *r = &t->rows[(hash + i) % BOARD_TASKS];
                uint64_t found = word_get(&r->hash);
                if (found == 0) {
                        words_put_text(r->name, NAME_WORDS, task);
                        atomic_store_explicit(&r->hash, hash, memory_order_release);
                        return r;
                }
                words_get_text(r->name, NAME_WORDS, name, sizeof(name));
                if (found == hash && strcmp(name, task) == 0)
                        return r;
        }
        return &t->rows[BOARD_TASKS];
}

/* Counts are added; of the gauges only the newest planned instant means anything after death. */
static void retire_row(struct board_row *to, const struct board_row *from)
{
        for (size_t w = 0; w < ROW_WORDS; w++) {
                if (w == ROW_WORD(running) || w == ROW_WORD(queued) || w == ROW_WORD(next_planned_ms))
                        continue;
                if (w != ROW_WORD(last_planned_ms))
                        word_add(&to->counts[w], word_get(&from->counts[w]));
                else if ((int64_t) word_get(&from->counts[w]) > (int64_t) word_get(&to->counts[w]))
                        word_put(&to->counts[w], word_get(&from->counts[w]));
        }
}

void board_release(struct board *b, unsigned place)
{
        struct shared_place *p = board_shared_place(b, place);
        struct shared_retired *t = board_retired(b);
        char name[TASK_NAME_MAX];

        for (unsigned c = 0; c < BOARD_COUNTER_COUNT_; c++)
                word_add(&t->counters[c], word_get(&p->counters[c]));
        for (unsigned i = 0; i < BOARD_TASKS; i++) {
                if (word_get(&p->rows[i].hash) == 0)
                        continue;
                words_get_text(p->rows[i].name, NAME_WORDS, name, sizeof(name));
                if (name[0])
                        retire_row(retired_row(t, name), &p->rows[i]);
        }
        retire_row(&t->rows[BOARD_TASKS], &p->rows[BOARD_TASKS]);

        if (b->handles[place].hashes) {
                free(b->handles[place].hashes);
                b->handles[place] = (struct board_place) { 0 };
        }
        if (fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) place_offset(b, place),
                      (off_t) b->stride) < 0)
                memset((void *) p, 0, sizeof(*p));
}

void board_set_master(struct board *b, const struct master_facts *f)
{
        struct shared_header *h = board_header(b);
        uint64_t image[FACT_WORDS] = { 0 };

        memcpy(image, f, sizeof(*f));
        sequence_begin(&h->sequence);
        for (size_t w = 0; w < FACT_WORDS; w++)
                word_put(&h->facts[w], image[w]);
        sequence_end(&h->sequence);
}
