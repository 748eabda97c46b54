/* The reader's side of the scoreboard. What is there was written by a process that may have gone mad:
 * everything is copied first, then checked, and what cannot be is left out. */
#include "common/scoreboard/scoreboard.h"
#include "common/scoreboard/layout.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"

const char *const board_counter_names[] = {
        "triggered",     "failed",          "interrupted",  "lease_conflicts", "storage_failures", "cleanup_failures",
        "limit_reached", "stop_rejections", "ledger_calls", "ledger_us",       "redis_noscript",   "redis_reconnects",
        NULL,
};

_Static_assert(ARRAY_SIZE(board_counter_names) == BOARD_COUNTER_COUNT_ + 1, "one name a counter");

/* A writer may die between the two ends of a sequence: a few tries, then the texts are left out. */
#define SEQUENCE_TRIES 8

static void read_current(const struct shared_place *p, struct place_view *v)
{
        for (int i = 0; i < SEQUENCE_TRIES; i++) {
                uint64_t seen;
                if (!sequence_read(&p->sequence, &seen))
                        continue;
                words_get_text(p->occ, OCC_WORDS, v->occ, sizeof(v->occ));
                words_get_text(p->task, NAME_WORDS, v->task, sizeof(v->task));
                if (sequence_same(&p->sequence, seen))
                        return;
        }
        v->occ[0] = 0;
        v->task[0] = 0;
}

static int64_t positive(uint64_t word)
{
        return word > INT64_MAX ? 0 : (int64_t) word;
}

int board_read(const struct board *b, unsigned place, struct place_view *ret)
{
        struct place_view v = { .place = place };

        if (place >= b->places)
                return -ENOENT;
        struct shared_place *p = board_shared_place(b, place);

        uint32_t role = atomic_load(&p->role), state = atomic_load(&p->state);
        uint64_t pid = word_get(&p->pid);
        v.slot = atomic_load(&p->slot);
        if ((role != ROLE_WORKER && role != ROLE_CONSOLE) || state == PLACE_FREE || state >= PLACE_STATE_COUNT_ ||
            v.slot > b->workers_max || pid > INT32_MAX)
                return -ENOENT;
        v.role = role;
        v.state = state;
        v.generation = atomic_load(&p->generation);
        v.timer_worker = atomic_load(&p->timer_worker) != 0;
        v.process.pid = (pid_t) pid;
        words_get_text(p->start, START_WORDS, v.process.start, sizeof(v.process.start));
        v.started.ns = positive(word_get(&p->started_ns));
        v.term = word_get(&p->term);
        v.troubles = (unsigned) word_get(&p->troubles) & TROUBLE_ALL;
        v.loop_lag_us = positive(word_get(&p->loop_lag_us));
        v.beat.ns = positive(word_get(&p->beat_ns));
        v.set_up.ns = positive(word_get(&p->set_up_ns));
        int64_t now = clock_mono().ns;
        if (v.beat.ns > now)
                v.beat.ns = now;
        if (v.set_up.ns > now)
                v.set_up.ns = now;
        read_current(p, &v);
        for (unsigned c = 0; c < BOARD_COUNTER_COUNT_; c++)
                v.counters[c] = word_get(&p->counters[c]);
        *ret = v;
        return 0;
}

static void add_row(uint64_t sum[ROW_WORDS], const struct board_row *r)
{
        for (size_t w = 0; w < ROW_WORDS; w++) {
                int64_t value = (int64_t) word_get(&r->counts[w]);
                if (w == ROW_WORD(last_planned_ms)) {
                        if (value > (int64_t) sum[w])
                                sum[w] = (uint64_t) value;
                } else if (w == ROW_WORD(next_planned_ms)) {
                        if (value > 0 && (sum[w] == 0 || value < (int64_t) sum[w]))
                                sum[w] = (uint64_t) value;
                } else {
                        sum[w] += (uint64_t) value;
                }
        }
}

bool board_task_totals(const struct board *b, const char *task, struct task_counts *ret)
{
        uint64_t sum[ROW_WORDS] = { 0 };
        bool found = false;

        if (!task)
                return false;
        const struct board_row *r = rows_find(board_retired(b)->rows, task);
        if (r) {
                add_row(sum, r);
                found = true;
        }
        for (unsigned i = 0; i < b->places; i++) {
                const struct shared_place *p = board_shared_place(b, i);
                if (atomic_load(&p->role) == ROLE_FREE)
                        continue;
                r = rows_find(p->rows, task);
                if (!r)
                        continue;
                add_row(sum, r);
                found = true;
        }
        if (!found)
                return false;
        memcpy(ret, sum, sizeof(*ret));
        return true;
}

static void add_rows(uint64_t sum[ROW_WORDS], const struct board_row *rows)
{
        for (unsigned i = 0; i < BOARD_ROWS; i++)
                if (i == BOARD_TASKS || word_get(&rows[i].hash) != 0)
                        add_row(sum, &rows[i]);
}

void board_all_totals(const struct board *b, struct task_counts *ret)
{
        uint64_t sum[ROW_WORDS] = { 0 };

        add_rows(sum, board_retired(b)->rows);
        for (unsigned i = 0; i < b->places; i++) {
                const struct shared_place *p = board_shared_place(b, i);
                if (atomic_load(&p->role) != ROLE_FREE)
                        add_rows(sum, p->rows);
        }
        memcpy(ret, sum, sizeof(*ret));
}

void board_totals(const struct board *b, uint64_t ret[BOARD_COUNTER_COUNT_])
{
        const struct shared_retired *t = board_retired(b);

        for (unsigned c = 0; c < BOARD_COUNTER_COUNT_; c++)
                ret[c] = word_get(&t->counters[c]);
        for (unsigned i = 0; i < b->places; i++) {
                const struct shared_place *p = board_shared_place(b, i);
                if (atomic_load(&p->role) == ROLE_FREE)
                        continue;
                for (unsigned c = 0; c < BOARD_COUNTER_COUNT_; c++)
                        ret[c] += word_get(&p->counters[c]);
        }
}

/* A bool of any other value than 0 and 1 is undefined to read: made one while it is still bytes. */
static void bool_clean(void *facts, size_t offset)
{
        unsigned char *byte = (unsigned char *) facts + offset;

        *byte = *byte != 0;
}

static void text_clean(char *text, size_t room)
{
        for (size_t i = 0; i < room; i++) {
                if (text[i] == 0)
                        return;
                if (text[i] < 0x20 || text[i] > 0x7e)
                        break;
        }
        text[0] = 0;
}

void board_get_master(const struct board *b, struct master_facts *ret)
{
        const struct shared_header *h = board_header(b);
        uint64_t image[FACT_WORDS] = { 0 };

        for (int i = 0; i < SEQUENCE_TRIES; i++) {
                uint64_t seen;
                if (!sequence_read(&h->sequence, &seen))
                        continue;
                for (size_t w = 0; w < FACT_WORDS; w++)
                        image[w] = word_get(&h->facts[w]);
                if (sequence_same(&h->sequence, seen))
                        break;
        }
        bool_clean(image, offsetof(struct master_facts, ready));
        bool_clean(image, offsetof(struct master_facts, draining));
        bool_clean(image, offsetof(struct master_facts, degraded));
        memcpy(ret, image, sizeof(*ret));
        text_clean(ret->process.start, sizeof(ret->process.start));
}

/* False: its writer was in the middle of it, again and again. */
static bool read_group(const struct shared_place *p, struct group_facts *ret)
{
        uint64_t image[GROUP_WORDS] = { 0 };

        for (int i = 0; i < SEQUENCE_TRIES; i++) {
                uint64_t seen;
                if (!sequence_read(&p->group_sequence, &seen))
                        continue;
                for (size_t w = 0; w < GROUP_WORDS; w++)
                        image[w] = word_get(&p->group[w]);
                if (!sequence_same(&p->group_sequence, seen))
                        continue;
                memcpy(ret, image, sizeof(*ret));
                text_clean(ret->main, sizeof(ret->main));
                text_clean(ret->other_host, sizeof(ret->other_host));
                return true;
        }
        return false;
}

bool board_get_group(const struct board *b, struct group_facts *ret)
{
        struct group_facts newest = { 0 }, one;
        struct mono now = clock_mono();

        for (unsigned i = 0; i < b->places; i++) {
                const struct shared_place *p = board_shared_place(b, i);
                if (atomic_load(&p->role) != ROLE_WORKER || !read_group(p, &one))
                        continue;
                if (one.heard.ns > newest.heard.ns && one.heard.ns <= now.ns)
                        newest = one;
        }
        if (newest.heard.ns == 0)
                return false;
        *ret = newest;
        return true;
}
