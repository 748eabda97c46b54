/* A spine with fakes around it: the test answers claims, ends runs and answers the ledger by hand, and
 * reads what was logged. The trigger log's functions are replaced when the test is linked. */
#ifndef ONCED_RIG_H
#define ONCED_RIG_H

#include <stdbool.h>
#include <uv.h>

#include "common/config/config.h"
#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "ledger/ledger.h"
#include "worker/occurrence.h"
#include "worker/runner/runner.h"
#include "worker/shortfall.h"
#include "worker/spine.h"

#define RIG_MAX 256

/* One line of the faked trigger log. */
struct rig_line {
        char e[16];
        char occ[OCC_TEXT], trig[TRIG_TEXT];
        struct instant planned, first, last;
        enum outcome out;
        enum state state;
        enum cause cause;
        uint64_t count;
        char what[16];
};

struct rig_log {
        struct rig_line lines[RIG_MAX];
        unsigned count;
        int state;       /* what triglog_state answers */
        int run_error;   /* what triglog_run answers */
        struct cease_line ceased;   /* of the newest cease line */
};
extern struct rig_log rig_log;

unsigned rig_lines(const char *e);                      /* how many lines of a kind */
const struct rig_line *rig_line(const char *e, unsigned n);  /* the n-th of a kind, from 0; fails if none */

struct rig {
        uv_loop_t loop;
        struct delays *delays;
        struct config config;
        struct task task;
        struct job job;
        struct board *board;
        unsigned place;
        struct claimer_options claims;
        struct claimer claimer;
        struct ledger ledger;
        struct shortfalls *shortfalls;
        struct spine spine;
        struct unit *unit;          /* the job's first */

        /* what the fakes hold, oldest first */
        struct claim *claims_asked[RIG_MAX];
        unsigned claim_count;
        struct run *runs[RIG_MAX];
        unsigned run_count;
        struct ledger_call *calls[RIG_MAX];
        unsigned call_count;

        int start_error;            /* of the runner */
        unsigned stops, hurries, releases, hand_overs;
        enum run_stop stop_why;
        uint64_t deposed;
};

/* A task every hour, of which one instant was due 5 ms ago; its cursor stands right before it. */
void rig_up(struct rig *r);
void rig_down(struct rig *r);

struct instant rig_due(const struct rig *r);   /* the instant that is due */
void rig_go(struct rig *r);                    /* enlists the unit and takes a turn now */
void rig_pass(struct rig *r, int64_t ms);      /* lets the loop run for so long */

struct claim *rig_claim(struct rig *r);        /* the newest claim asked */
void rig_answer(struct rig *r, enum outcome out);
void rig_grant(struct rig *r);
void rig_start_run(struct rig *r);             /* the runner reaches its start */
void rig_end_run(struct rig *r, enum state s, enum cause c);
struct ledger_call *rig_call(struct rig *r);   /* the newest call */
void rig_answer_call(struct rig *r, int error);
uint64_t rig_counter(const struct rig *r, enum board_counter c);

#endif
