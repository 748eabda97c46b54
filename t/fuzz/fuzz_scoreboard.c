/* A scoreboard in which anything may stand: a good one, into which the input writes words. Whoever reads it, the
 * console's answers included, gets something plausible; the master can still give places back and take them. */
#include "t/fuzz/target.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/scoreboard/layout.h"
#include "common/scoreboard/scoreboard.h"
#include "console/metrics.h"
#include "console/status.h"
#include "console/tasks.h"
#include "console/workers.h"

#define WORKERS   1
#define TASKS     3
#define WORDS_MAX 256
#define OTHER_LIFE 0x80   /* flags of an input: the master works on the board too */
#define ASK_KERNEL 0x40   /*                    the console looks, and asks /proc about the processes */
#define ASK_BOARD  0x20   /*                    the console looks */

enum region { IN_HEADER, IN_PLACE, IN_ROW, IN_RETIRED_ROW, IN_RETIRED, REGION_COUNT };

/* One word as the input gives it. */
struct poke {
        uint8_t region, place;
        uint16_t row, word;
        uint64_t value;
} __attribute__((packed));

static struct task tasks[TASKS];
static const struct task *by_name[TASKS];
static char *const names[TASKS] = { (char[]) { "mail" }, (char[]) { "clear-log" }, (char[]) { "report" } };
static struct config config = { .workers = WORKERS, .tasks = tasks, .task_count = TASKS, .by_name = by_name };

static void config_fill(void)
{
        static const size_t sorted[TASKS] = { 1, 0, 2 };
        static char nowhere[] = "/nowhere";

        for (size_t i = 0; i < TASKS; i++) {
                tasks[i] = (struct task) { .name = names[i], .singleton = PATH_FLOCK, .enabled = true,
                                           .misfire = { MISFIRE_SKIP, -1, 1, 3600000 }, .timeout_ms = 30000,
                                           .shards = 1, .max_shards = 16, .history = { 1000, 0 } };
                CLAIM(schedule_every(1000, 0, &tasks[i].schedule) == 0);
        }
        for (size_t i = 0; i < TASKS; i++)
                by_name[i] = &tasks[sorted[i]];
        config.path = config.state_dir = config.run_dir = config.log.dir = nowhere;
}

static void place_fill(struct board *b, enum place_role role, unsigned slot, const struct process_id *self)
{
        int place = board_take(b, role, slot, 1);

        CLAIM(place >= 0);
        board_set_process(b, (unsigned) place, self);
        board_set_state(b, (unsigned) place, PLACE_READY);
        struct board_place *p = board_place(b, (unsigned) place);
        place_beat(p, clock_mono(), 1500);
        place_set_current(p, "00ff", names[0]);
        for (size_t i = 0; role == ROLE_WORKER && i < TASKS; i++) {
                struct board_row *r = place_row(p, names[i]);
                row_attempt(r, OUTCOME_GRANTED);
                row_started(r, (struct instant) { 1764522000000 }, 213);
                row_finished(r, STATE_SUCCEEDED, RESULT_DONE, 1234);
                row_next(r, (struct instant) { 1764522001000 });
        }
}

static struct board *board_fill(void)
{
        struct master_facts facts = { .generation = 1, .workers = WORKERS, .ready = true, .restarts = 3 };
        struct process_id self;
        struct board *b;

        CLAIM(process_identify(getpid(), &self) == 0);
        CLAIM(board_create(WORKERS, &b) == 0);
        place_fill(b, ROLE_WORKER, 0, &self);
        place_fill(b, ROLE_CONSOLE, WORKERS, &self);
        facts.process = self;
        board_set_master(b, &facts);
        return b;
}

/* The rows of the tasks and those beside them: the others are never looked at. */
static unsigned row_of(uint16_t row)
{
        if (row % 4 == 3)
                return BOARD_TASKS;
        return (unsigned) ((row_hash(names[row % 4]) + row / 4 % 4) % BOARD_TASKS);
}

static _Atomic uint64_t *word_of(struct board *b, const struct poke *p)
{
        unsigned place = p->place % b->places;

        switch (p->region % REGION_COUNT) {
        case IN_HEADER:
                return &board_header(b)->sequence + p->word % (FACT_WORDS + 1);
        case IN_PLACE:
                return (_Atomic uint64_t *) (void *) board_shared_place(b, place) +
                       p->word % (offsetof(struct shared_place, rows) / 8);
        case IN_ROW:
                return (_Atomic uint64_t *) (void *) &board_shared_place(b, place)->rows[row_of(p->row)] +
                       p->word % (sizeof(struct board_row) / 8);
        case IN_RETIRED_ROW:
                return (_Atomic uint64_t *) (void *) &board_retired(b)->rows[row_of(p->row)] +
                       p->word % (sizeof(struct board_row) / 8);
        default:
                return &board_retired(b)->counters[p->word % BOARD_COUNTER_COUNT_];
        }
}

static void claim_valid(json_t *json)
{
        CLAIM(json != NULL);
        char *text = json_dumps(json, 0);
        CLAIM(text != NULL);
        free(text);
        json_decref(json);
}

static void console_looks(const struct board *b, bool ask_kernel)
{
        const struct view v = { &config, b, "n1", clock_wall(), clock_mono() };
        struct workers w;
        struct buf text = BUF_EMPTY;

        CLAIM(workers_read(&v, ask_kernel, &w) == 0);
        claim_valid(status_json(&v, &w));
        claim_valid(workers_json(&w));
        claim_valid(metrics_json(&v, &w));
        claim_valid(tasks_json(&v, NULL, TASKS_PAGE));
        claim_valid(task_json(&v, &tasks[0]));
        CLAIM(metrics_text(&v, &w, &text) == 0 && !text.failed && text.len == strlen(text.data));
        for (const char *p = text.data; *p; p++)
                CLAIM(*p == '\n' || (*p >= 0x20 && *p <= 0x7e));
        (void) workers_timer(&w);
        (void) master_lives(&v);
        buf_done(&text);
        workers_done(&w);
}

static void readers_look(const struct board *b)
{
        uint64_t totals[BOARD_COUNTER_COUNT_];
        struct task_counts counts;
        struct master_facts facts;
        struct place_view v;

        for (unsigned i = 0; i <= b->places; i++) {
                if (board_read(b, i, &v) < 0)
                        continue;
                CLAIM(v.role == ROLE_WORKER || v.role == ROLE_CONSOLE);
                CLAIM(v.state > PLACE_FREE && v.state < PLACE_STATE_COUNT_);
                CLAIM(v.slot <= WORKERS && v.process.pid >= 0 && v.loop_lag_us >= 0);
                claim_text(v.occ, sizeof(v.occ));
                claim_text(v.task, sizeof(v.task));
                claim_text(v.process.start, sizeof(v.process.start));
        }
        for (size_t i = 0; i < TASKS; i++)
                (void) board_task_totals(b, names[i], &counts);
        board_all_totals(b, &counts);
        board_totals(b, totals);
        board_get_master(b, &facts);
        claim_text(facts.process.start, sizeof(facts.process.start));
}

static void master_works(struct board *b)
{
        for (unsigned i = 0; i < b->places; i++) {
                (void) place_row(board_place(b, i), names[0]);
                (void) place_row(board_place(b, i), "new");
                board_release(b, i);
        }
        for (unsigned i = 0; i < b->places; i++)
                CLAIM(board_take(b, ROLE_WORKER, 0, 2) == (int) i);
        CLAIM(board_take(b, ROLE_WORKER, 0, 2) < 0);
        readers_look(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct board *board;
        struct { _Atomic uint64_t *at; uint64_t was; } changed[WORDS_MAX];
        uint8_t flags = size ? data[0] : 0;
        size_t count = 0;

        if (!tasks[0].name)
                config_fill();
        if (!board)
                board = board_fill();
        for (size_t at = 1; at + sizeof(struct poke) <= size && count < WORDS_MAX; at += sizeof(struct poke)) {
                struct poke p;
                memcpy(&p, data + at, sizeof(p));
                changed[count].at = word_of(board, &p);
                changed[count].was = word_get(changed[count].at);
                word_put(changed[count++].at, p.value);
        }
        readers_look(board);
        if (flags & (ASK_KERNEL | ASK_BOARD))
                console_looks(board, flags & ASK_KERNEL);
        if (flags & OTHER_LIFE) {
                master_works(board);
                board = board_free(board);
        }
        /* The good board again, at the cost of the words alone: a fresh one has millions. */
        while (board && count-- > 0)
                word_put(changed[count].at, changed[count].was);
        return 0;
}
