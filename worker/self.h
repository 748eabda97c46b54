/* Everything one worker process is made of; shared by the files that make up its life. */
#ifndef ONCED_SELF_H
#define ONCED_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "common/birth.h"
#include "common/config/config.h"
#include "worker/channel_end.h"
#include "worker/claim/claim.h"
#include "worker/delay.h"
#include "worker/lead.h"
#include "worker/queues.h"
#include "worker/runner/runner.h"
#include "worker/setup.h"
#include "worker/spine.h"
#include "worker/terminate.h"
#include "worker/tidy.h"
#include "worker/wakeup.h"

#define RUNNER_TYPES (RUNNER_REDIS + 1)

struct shortfalls;
struct solo;
struct worker;

/* One ledger of the worker; index of its health callback. */
struct worker_ledger {
        struct worker *worker;
        struct ledger *ledger;        /* owned; NULL: not configured, or closed */
        struct setup *setup;          /* owned */
        struct queues *queues;        /* owned; NULL before it is set up */
        bool was_up;
        bool is_set_up;
};

struct worker {
        const struct birth *birth;    /* borrowed from the image of the fork */
        const struct config *config;
        struct board_place *place;
        char *log_dir;                /* owned */
        char keeper[4096];

        uv_loop_t loop;
        uv_prepare_t turn_end;
        uv_timer_t beat;
        struct mono beat_due;
        int64_t beat_ms;
        struct triglog *log;          /* owned, and all below */
        unsigned log_files;           /* of it, when it was tidied newest */
        struct delays *delays;
        struct wakeup *wakeup;
        struct terminate *terminate;
        struct tidy *tidy;
        struct channel_end *channel;  /* NULL: there is no master, but: */
        struct solo *solo;            /* borrowed, outlives us; NULL: there is a master */
        struct lead *lead;
        struct worker_ledger local, group;
        struct queues *own_queues;    /* of tasks in no ledger */
        struct claimer *claimers[PATH_COUNT_];
        struct runner *runners[RUNNER_TYPES];
        struct claimer_options claims;
        struct shortfalls *shortfalls;
        struct spine spine;
        struct job *jobs;
        size_t job_count;

        bool ready, ending, orphaned, said_log;
        bool has_ahead;               /* units whose cursor is ahead of the clock were registered, and not told of */
        int exit_code;
        unsigned open;                /* things whose closing is awaited */
};

/* worker.c: one without parts; NULL, said, when there is no memory. */
struct worker *worker_new(const struct birth *b);

/* Its whole life; it is freed. An exit code. */
int worker_live(struct worker *w);

/* parts.c: opens everything in order, so that worker_close can end what was reached. 0, or -errno, said. */
int worker_open(struct worker *w);

/* Begins to look after the queues of one ledger, NULL: of none. 0 or -errno, said. */
int worker_begin_queues(struct worker *w, struct ledger *l, struct queues **ret);

/* Begins to close everything; the loop ends by itself afterwards. */
void worker_close(struct worker *w);

/* After the loop ended. */
void worker_free(struct worker *w);

/* worker.c: callbacks of the parts. */
void worker_on_message(const struct message *m, int fd, void *arg);
void worker_on_orphaned(void *arg);
void worker_on_terminate(int signum, void *arg);
void worker_on_due(void *arg);
void worker_on_stepped(const struct clock_jump *jump, void *arg);
void worker_on_health(enum ledger_health h, const char *why, void *arg);
void worker_on_deposed(uint64_t term, void *arg);
void worker_on_led(uint64_t term, void *arg);
void worker_on_settled(const char *owner, bool trees_gone, void *arg);
void worker_on_defined(struct job *j, bool by_us, void *arg);
void worker_on_registered(struct unit *u, void *arg);
void worker_on_local_set_up(int error, const char *why, void *arg);
void worker_on_group_set_up(int error, const char *why, void *arg);

#endif
