/* `onced once FILE` and `onced work COUNT INTERVAL_MS FILE`: a bounded number of rounds in this very process, on the same
 * ground that a master would stand on, so that there is never more than one of either kind. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/prepare.h"
#include "common/birth.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/log.h"
#include "common/scoreboard/scoreboard.h"
#include "supervisor/ground.h"
#include "worker/solo.h"

#define ROUNDS_MAX      1000000
#define INTERVAL_MIN_MS 10
#define INTERVAL_MAX_MS (24 * 60 * 60 * 1000)

#define SLOT 0

DEFINE_CLEANUP(struct config *, config_freep, (void) config_free)

/* All decimal digits, and within the range; -1. */
static int64_t number(const char *text, int64_t min, int64_t max)
{
        int64_t n = 0;

        for (const char *p = text; *p; p++) {
                if (*p < '0' || *p > '9' || n > max)
                        return -1;
                n = n * 10 + (*p - '0');
        }
        return *text && n >= min && n <= max ? n : -1;
}

static int be_born(const struct config *c, const struct ground *g, struct board *board, struct birth *ret)
{
        *ret = (struct birth) {
                .config = c, .board = board, .slot = SLOT, .generation = 1, .slot_name = "0",
                .channel = -1, .node_lock = g->node_lock, .tree_pipe = -1, .listener = -1,
                .node = g->node, .life = g->life, .boot = g->boot,
                .start = &g->start,
        };
        int r = process_identify(getpid(), &ret->process);
        if (r < 0)
                return r;
        r = board_take(board, ROLE_WORKER, SLOT, ret->generation);
        if (r < 0)
                return r;
        ret->place = (unsigned) r;
        owner_text(ret->node, ret->slot_name, &ret->process, ret->owner);
        return 0;
}

static int run_on_ground(const struct config *c, const struct ground *g, const struct solo_options *o)
{
        struct board *board;
        struct birth b;

        int r = board_create(1, &board);
        if (r < 0) {
                (void) log_error(r, "scoreboard");
                return EXIT_OS;
        }
        r = be_born(c, g, board, &b);
        if (r < 0)
                (void) log_error(r, "own start time");
        int code = r < 0 ? EXIT_OS : solo_run(&b, o);
        (void) board_free(board);
        return code;
}

static int run_rounds(const char *path, const struct solo_options *o)
{
        _cleanup_(config_freep) struct config *config = NULL;
        struct ground ground;
        int log_fd = -1;

        log_identity(o->role);
        int code = prepare(path, false, &config);
        if (code != EXIT_FINE)
                return code;
        code = ground_lay(&ground, config);
        bool has_lock = code == EXIT_FINE && ground.node_lock >= 0;
        if (has_lock && ground_log(config, &log_fd) < 0)
                code = EXIT_CANTCREAT;
        else if (has_lock)
                code = run_on_ground(config, &ground, o);
        ground_done(&ground);
        if (log_fd >= 0) {
                (void) log_use_fd(STDERR_FILENO);
                (void) close(log_fd);
        }
        return code;
}

int command_once(int argc, char **argv)
{
        static const struct argument none[] = { { 0 } };
        const char *file[1] = { NULL };

        int r = arguments_read(argc, argv, none, file, ARRAY_SIZE(file));
        if (r)
                return r;
        if (!file[0])
                return usage_error("once", "one configuration file is needed");
        return run_rounds(file[0], &(struct solo_options) { .role = "once", .rounds = 1 });
}

int command_work(int argc, char **argv)
{
        static const struct argument none[] = { { 0 } };
        const char *words[3] = { NULL };
        struct solo_options o = { .role = "work" };

        int r = arguments_read(argc, argv, none, words, ARRAY_SIZE(words));
        if (r)
                return r;
        if (!words[2])
                return usage_error("work", "a number of rounds, an interval in milliseconds and a file are needed");
        int64_t rounds = number(words[0], 1, ROUNDS_MAX);
        if (rounds < 0)
                return usage_error("work", "COUNT is a number from 1 to %d, not %s", ROUNDS_MAX, words[0]);
        o.rounds = (unsigned) rounds;
        o.interval_ms = number(words[1], INTERVAL_MIN_MS, INTERVAL_MAX_MS);
        if (o.interval_ms < 0)
                return usage_error("work", "INTERVAL_MS is a number from %d to %d, not %s", INTERVAL_MIN_MS,
                                   INTERVAL_MAX_MS, words[1]);
        return run_rounds(words[2], &o);
}
