/* The writer's side of the scoreboard: a process and its own place. */
#include "common/scoreboard/scoreboard.h"
#include "common/scoreboard/layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const uint32_t board_bucket_us[BOARD_BUCKETS] = {
        100, 500, 1000, 5000, 10000, 50000, 100000, 500000, 1000000, 5000000, 10000000, 60000000,
};

struct board_place *board_place(struct board *b, unsigned place)
{
        assert(place < b->places);
        struct board_place *p = &b->handles[place];

        if (p->shared)
                return p;
        p->shared = board_shared_place(b, place);
        p->hashes = calloc(BOARD_TASKS, sizeof(*p->hashes));   /* without it all goes to `_other` */
        for (unsigned i = 0; p->hashes && i < BOARD_TASKS; i++) {
                p->hashes[i] = word_get(&p->shared->rows[i].hash);
        }
        return p;
}

void place_beat(struct board_place *p, struct mono now, int64_t loop_lag_us)
{
        word_put(&p->shared->loop_lag_us, (uint64_t) loop_lag_us);
        word_put(&p->shared->beat_ns, (uint64_t) now.ns);
}

void place_set_up(struct board_place *p, struct mono now)
{
        word_put(&p->shared->set_up_ns, (uint64_t) now.ns);
}

void place_add(struct board_place *p, enum board_counter c, uint64_t n)
{
        word_add(&p->shared->counters[c], n);
}

void place_set_term(struct board_place *p, uint64_t term)
{
        word_put(&p->shared->term, term);
}

void place_set_trouble(struct board_place *p, enum place_trouble t, bool is)
{
        uint64_t now = word_get(&p->shared->troubles);

        word_put(&p->shared->troubles, is ? now | t : now & ~(uint64_t) t);
}

bool place_has_trouble(const struct board_place *p, enum place_trouble t)
{
        return word_get(&p->shared->troubles) & t;
}

void place_set_group(struct board_place *p, const struct group_facts *f)
{
        uint64_t image[GROUP_WORDS] = { 0 };

        memcpy(image, f, sizeof(*f));
        sequence_begin(&p->shared->group_sequence);
        for (size_t w = 0; w < GROUP_WORDS; w++)
                word_put(&p->shared->group[w], image[w]);
        sequence_end(&p->shared->group_sequence);
}

void place_set_current(struct board_place *p, const char *occ, const char *task)
{
        sequence_begin(&p->shared->sequence);
        words_put_text(p->shared->occ, OCC_WORDS, occ);
        words_put_text(p->shared->task, NAME_WORDS, task);
        sequence_end(&p->shared->sequence);
}

static bool row_is(const struct board_row *r, const char *task)
{
        char name[TASK_NAME_MAX];

        words_get_text(r->name, NAME_WORDS, name, sizeof(name));
        return strcmp(name, task) == 0;
}

struct board_row *place_row(struct board_place *p, const char *task)
{
        struct board_row *rows = p->shared->rows;
        uint64_t hash = row_hash(task);
        unsigned at = (unsigned) (hash % BOARD_TASKS);

        /* Of a full table all is looked at, by each of 100,000 tasks: no division here. */
        for (unsigned i = 0; p->hashes && i < BOARD_TASKS; i++, at = at + 1 < BOARD_TASKS ? at + 1 : 0) {
                if (p->hashes[at] == hash && row_is(&rows[at], task))
                        return &rows[at];
                if (p->hashes[at] != 0)
                        continue;
                words_put_text(rows[at].name, NAME_WORDS, task);
                atomic_store_explicit(&rows[at].hash, hash, memory_order_release);
                p->hashes[at] = hash;
                return &rows[at];
        }
        return &rows[BOARD_TASKS];
}

static unsigned bucket_of(int64_t us)
{
        unsigned i = 0;

        while (i < BOARD_BUCKETS && us > (int64_t) board_bucket_us[i])
                i++;
        return i;
}

void row_attempt(struct board_row *r, enum outcome o)
{
        word_add(&r->counts[ROW_WORD(attempts) + o], 1);
}

void row_started(struct board_row *r, struct instant planned, int64_t late_us)
{
        word_add(&r->counts[ROW_WORD(running)], 1);
        if (late_us != LATE_UNCOUNTED) {
                int64_t us = late_us < 0 ? 0 : late_us;
                word_add(&r->counts[ROW_WORD(lateness) + bucket_of(us)], 1);
                word_add(&r->counts[ROW_WORD(lateness_sum_us)], (uint64_t) us);
        }
        if (planned.ms > (int64_t) word_get(&r->counts[ROW_WORD(last_planned_ms)]))
                word_put(&r->counts[ROW_WORD(last_planned_ms)], (uint64_t) planned.ms);
}

void row_finished(struct board_row *r, enum state s, enum result res, int64_t run_us)
{
        word_add(&r->counts[ROW_WORD(runs) + s], 1);
        if (res == RESULT_NOOP)
                word_add(&r->counts[ROW_WORD(noop)], 1);
        if (run_us < 0)
                return;
        if (word_get(&r->counts[ROW_WORD(running)]) > 0)
                word_add(&r->counts[ROW_WORD(running)], (uint64_t) -1);
        word_add(&r->counts[ROW_WORD(run_time) + bucket_of(run_us)], 1);
        word_add(&r->counts[ROW_WORD(run_time_sum_us)], (uint64_t) run_us);
}

void row_decided(struct board_row *r, enum state s, uint64_t n)
{
        word_add(&r->counts[ROW_WORD(runs) + s], n);
}

void row_next(struct board_row *r, struct instant next)
{
        word_put(&r->counts[ROW_WORD(next_planned_ms)], instant_is_none(next) ? 0 : (uint64_t) next.ms);
}

void row_queued(struct board_row *r, int64_t more)
{
        word_add(&r->counts[ROW_WORD(queued)], (uint64_t) more);
}
